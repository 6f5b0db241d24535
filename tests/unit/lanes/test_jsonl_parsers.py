"""JSON-lines parsers: noise, floods, cuts, and one end per turn."""

from __future__ import annotations

import json
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Stream
from outsourcerer.lanes.framing import LINE_CAP
from outsourcerer.lanes.jsonl import coalesce
from outsourcerer.lanes.osrc_jsonl import OsrcParser
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import (
    ConversationStarted,
    FailureKind,
    ModelObserved,
    Retrying,
    Spoke,
    Thought,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    Unrecognised,
    UsageReported,
)

OK = ExitStatus(code=0)


def line(**fields) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def parse(*chunks: bytes, exit_status: ExitStatus = OK) -> list:
    parser = OsrcParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return coalesce(events + parser.finish(exit_status))


END = line(type="end", ok=True, text="bye")
ENDED = TurnEnded(ok=True, text="bye")


def test_every_kind_of_line() -> None:
    assert parse(
        line(type="start", model="m", conversation="c"),
        line(type="text", text="he", partial=True),
        line(type="thought", chars=7),
        line(type="tool", tool="write", name="edit", target="a.py"),
        line(type="tool_end", name="edit", ok=False, denied=True, excerpt="no"),
        line(type="usage", input=3, cached_input=1, output=2),
        line(type="retry", attempt=1, status=503, delay_s=0.5, message="busy"),
        line(type="end", ok=False, failure="auth", message="key", until=9.0),
    ) == [
        ModelObserved(model="m"),
        ConversationStarted(conversation="c"),
        Spoke(text="he", partial=True),
        Thought(chars=7),
        ToolCalled(tool=ToolKind.WRITE, name="edit", target="a.py"),
        ToolFinished(name="edit", ok=False, denied=True, excerpt="no"),
        UsageReported(usage=TokenUsage(input=3, cached_input=1, output=2)),
        Retrying(attempt=1, status=503, delay_s=0.5, message="busy"),
        TurnEnded(ok=False, text="he", failure=FailureKind.AUTH, message="key", until=9.0),
    ]


def test_a_final_event_that_is_too_long_is_told_from_one_that_never_came() -> None:
    long = line(type="end", ok=True, text="x" * (LINE_CAP + 9))
    for chunks in ((long,), (long[:99], long[99:])):
        assert parse(line(type="text", text="hi"), *chunks)[-1].unread == len(long) - 1
    assert parse(line(type="text", text="hi"))[-1].unread is None
    assert parse(b"x" * (LINE_CAP + 9) + b"\n")[-1].unread is None, "no event"
    assert parse(long, line(type="text", text="went on"))[-1].unread is None


def test_noise_is_counted_not_listed() -> None:
    noise = [
        b"starting up\n",
        b"\n",
        b"  \r\n",
        b"{\n",
        b'{"type":"unheard of"}\n',
        b'["type"]\n',
        b'{"type":3}\n',
        b'{"x":"type"}\n',
    ]
    assert parse(*noise, END) == [Unrecognised(excerpt="starting up", count=6), ENDED]
    assert parse(b"".join(noise) + END) == [Unrecognised(excerpt="starting up", count=6), ENDED]


def test_a_flood_of_noise_is_one_event_a_chunk() -> None:
    parser = OsrcParser()
    for flood in (b"same line\n" * 5000, b"".join(b"line %d\n" % i for i in range(5000)), line(type="x") * 5000):
        assert [event.count for event in parser.feed(flood)] == [5000]


def test_terminal_noise_around_an_object_is_no_obstacle() -> None:
    noisy = b"\x1b]0;title\x07\x1b[2K\rspinner\r" + END[:-1] + b"\x1b[0m\r\n"
    assert parse(noisy) == [ENDED]
    assert parse(b"\xef\xbb\xbf" + END) == [ENDED]


def test_a_last_line_without_newline_counts() -> None:
    assert parse(END[:-1]) == [ENDED]
    assert parse(END[:-3])[0].excerpt.startswith('{"type"')


def test_a_line_over_the_cap_is_one_unrecognised_event_and_the_next_is_read() -> None:
    huge = line(type="text", text="x" * (LINE_CAP + 10))
    events = parse(huge, END)
    assert [type(event) for event in events] == [Unrecognised, TurnEnded]
    assert len(events[0].excerpt) <= 300


def test_a_turn_ends_once_whatever_is_said_after_it() -> None:
    ends = [event for event in parse(END, END, line(type="text", text="x"), END) if isinstance(event, TurnEnded)]
    assert ends == [ENDED]
    assert OsrcParser().finish(OK)[-1].synthetic
    parser = OsrcParser()
    parser.finish(OK)
    assert parser.finish(OK) == []


def test_a_second_turn_has_an_end_of_its_own() -> None:
    events = parse(END, line(type="start"), line(type="text", text="more"))
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [True, False]


def test_what_was_said_before_a_cut_is_kept() -> None:
    [*_, end] = parse(line(type="text", text="so ", partial=True), line(type="text", text="far", partial=True))
    assert end == TurnEnded(
        ok=False,
        text="so far",
        failure=FailureKind.TASK,
        message="the delegate ended without its final event",
        synthetic=True,
    )


def test_an_end_explains_itself_with_stderr() -> None:
    parser = OsrcParser()
    parser.feed(b"x" * 100_000 + b"\nTraceback: \x1b[31mboom\x1b[0m\n", Stream.ERR)
    [end] = parser.finish(ExitStatus(signal=9))
    assert end.failure is FailureKind.INTERRUPTED
    assert end.message.startswith("x")
    assert "\x1b" not in end.message
    assert len(end.message) <= 2000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ["text", "partial", "model", "conversation", "chars", "tool", "name", "target", "ok", "denied", "excerpt"]
FIELDS += ["input", "cached_input", "output", "attempt", "status", "delay_s", "message", "failure", "until"]
objects = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from([kind.decode() for kind in sorted(OsrcParser.types)]),
    st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=6),
)


@given(st.lists(objects | json_values, max_size=6))
def test_any_json_is_taken(items: list) -> None:
    data = b"".join(json.dumps(item).encode() + b"\n" for item in items)
    events = parse(data)
    assert isinstance(events[-1], TurnEnded) or any(isinstance(event, TurnEnded) for event in events)
    for event in events:
        event.model_dump_json()  # every event can be written down, lone surrogates and NaN included


chunks = st.lists(
    st.one_of(
        st.binary(max_size=30),
        st.sampled_from(
            [
                b"\n",
                END,
                line(type="text", text="\u00e9\u4e2d", partial=True),
                b'{"type":"end"',
                b'"type"',
                b"x\n",
                b" \r\n",
            ]
        ),
    ),
    max_size=12,
).map(b"".join)


@given(chunks, st.lists(st.integers(0, 10_000), max_size=8))
def test_any_cut_gives_the_same_events(data: bytes, places: list[int]) -> None:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    whole = parse(data)
    assert parse(*[data[a:b] for a, b in pairwise(edges)]) == whole
    assert parse(*[data[i : i + 1] for i in range(len(data))]) == whole
