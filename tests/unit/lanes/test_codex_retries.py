"""Codex asleep until a limit ends: read from its own log, whichever output comes first."""

from __future__ import annotations

import pytest
from outsourcerer.lanes.contract import Stream
from outsourcerer.lanes.vehicles.codex_cli.events import CodexParser
from outsourcerer.lanes.vehicles.codex_cli.retries import asleep, log_words
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, LaneEvent, Retrying, TurnEnded

LINE = (
    "2026-11-30T14:36:19.938482Z  WARN session_loop{thread_id=01a2}: codex_core::responses_retry: stream disconnected - "
    "retrying sampling request (1/5 in %s)... turn_id=01a2 retries=1 max_retries=5 sampling_error=%s"
)
TOO_MANY = "exceeded retry limit, last status: 429 Too Many Requests"
SPENT = "unexpected status 402 Payment Required: Usage limit reached, url: http://127.0.0.1/v1/responses"
SAID = b'{"type":"error","message":"Reconnecting... 1/5 (' + TOO_MANY.encode() + b')"}\n'
AGAIN = b'{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"Done after all."}}\n'
FINISHED = b'{"type":"turn.completed","usage":{}}\n'
AT = 1_796_049_379.938482


@pytest.mark.parametrize(
    ("pause", "said", "failure"),
    [
        ("3599.99887311s", TOO_MANY, FailureKind.PLAN_LIMIT),
        ("3600s", SPENT, FailureKind.PLAN_LIMIT),
        ("3600s", "unexpected status 503 Service Unavailable: later", FailureKind.TRANSPORT),
        ("3600s", "stream closed before response.completed", None),
        ("299.9s", TOO_MANY, None),
        ("194.77ms", TOO_MANY, None),
        ("99999999999999999999s", TOO_MANY, None),
    ],
)
def test_a_long_pause_is_what_its_status_says(pause: str, said: str, failure: FailureKind | None) -> None:
    found = asleep(LINE % (pause, said))
    assert (found.failure if found else None) == failure
    if found is not None:
        assert found.message == said
        assert found.until == pytest.approx(AT + int(float(pause[:-1])))


def test_a_line_without_a_time_names_no_end() -> None:
    found = asleep((LINE % ("3600s", TOO_MANY)).partition(" ")[2])
    assert found is not None
    assert found.until is None


def test_an_end_that_the_provider_names_outranks_the_pause() -> None:
    found = asleep(LINE % ("3600s", SPENT.replace("reached", "reached. Your limit will reset at 10:37")))
    assert found is not None
    assert (found.failure, found.until) == (FailureKind.PLAN_LIMIT, None)


def fed(*pieces: tuple[bytes, Stream]) -> list[LaneEvent]:
    parser = CodexParser()
    events: list[LaneEvent] = []
    for data, stream in pieces:
        events += parser.feed(data, stream)
    return [*events, *parser.finish(ExitStatus(code=0))]


LOGGED = (LINE % ("3600s", TOO_MANY)).encode() + b"\n"


@pytest.mark.parametrize("first", ["log", "stream"])
def test_the_turn_ends_once(first: str) -> None:
    pieces = [(LOGGED, Stream.ERR), (SAID, Stream.OUT)]
    events = fed(*(pieces if first == "log" else pieces[::-1]))
    (end,) = (event for event in events if isinstance(event, TurnEnded))
    assert (end.ok, end.failure, end.synthetic) == (False, FailureKind.PLAN_LIMIT, False)
    assert isinstance(events[-1], TurnEnded)
    assert sum(isinstance(event, Retrying) for event in events) == (first == "stream")


def test_a_model_that_is_heard_after_all_reopens_the_turn() -> None:
    events = fed((LOGGED, Stream.ERR), (AGAIN, Stream.OUT), (FINISHED, Stream.OUT))
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [False, True]
    assert events[-1].text == "Done after all."


def test_a_short_pause_ends_nothing() -> None:
    events = fed(
        ((LINE % ("1.2s", TOO_MANY)).encode() + b"\n", Stream.ERR), (AGAIN, Stream.OUT), (FINISHED, Stream.OUT)
    )
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [True]


def test_the_callers_own_log_words_are_kept() -> None:
    assert log_words({}) == {"RUST_LOG": "error,codex_core::responses_retry=warn"}
    assert log_words({"RUST_LOG": "info"}) == {"RUST_LOG": "info,codex_core::responses_retry=warn"}
