"""Why a CLI tries again, how a connection that stays cut ends, and that a job and a session read it alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from outsourcerer.actors.job_output import JobOutput, meaning
from outsourcerer.actors.retry_telling import MOST, RetryTelling
from outsourcerer.cli.render.lines import change_line
from outsourcerer.cli.render.progress import live_line
from outsourcerer.cli.render.table import last_words
from outsourcerer.lanes.contract import Task
from outsourcerer.lanes.evidence import Evidence, fold, why_retrying
from outsourcerer.lanes.outcome import judge
from outsourcerer.lanes.registry import builtin
from outsourcerer.lanes.vehicles.claude_code.control import ClaudeTalk
from outsourcerer.lanes.vehicles.claude_code.events import ClaudeParser
from outsourcerer.lanes.vehicles.pi_cli.rpc import PiTalk
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, Retrying, Spoke, Thought, TurnEnded
from outsourcerer.messages.vocabulary import JobState, Verb
from outsourcerer.state.job_machine import Life, LimitWait

JOB = "20261130-120000-abcdefabcdef"
TASK = Task(verb=Verb.RUN, prompt="x", cwd="/")
CUT = {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": None, "error": "unknown"}


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (Retrying(status=429), FailureKind.RATE_LIMIT),
        (Retrying(status=402), FailureKind.PLAN_LIMIT),
        (Retrying(message="429 Rate limit reached"), FailureKind.RATE_LIMIT),
        (Retrying(status=503), FailureKind.TRANSPORT),
        (Retrying(status=529), FailureKind.TRANSPORT),
        (Retrying(failure=FailureKind.TRANSPORT), FailureKind.TRANSPORT),
        (Retrying(message="fetch failed"), FailureKind.TRANSPORT),
        (Retrying(status=401), FailureKind.AUTH),
        (Retrying(message="something else"), None),
        (Retrying(), None),
    ],
)
def test_only_a_limit_is_waited_for(event: Retrying, why: FailureKind | None, tmp_path: Path) -> None:
    assert why_retrying(event) is why
    evidence = fold(Evidence(), event)
    assert evidence.retrying is why
    limits = (FailureKind.RATE_LIMIT, FailureKind.PLAN_LIMIT)
    line = {"type": "retry", "status": event.status, "message": event.message}
    if event.failure is None:
        heard = hear("local", tmp_path, line)
        assert (heard.waiting, heard.retrying) == (why in limits, why not in limits)
        (first, *_) = meaning(heard, Evidence(), Verb.RUN, 0)
        assert isinstance(first, LimitWait if why in limits else Life)
        assert isinstance(first, LimitWait) or first.initialised
    for later in (Spoke(text="a"), Spoke(text="a", partial=True), Thought(chars=1)):
        assert fold(evidence, later).retrying is None


def hear(lane: str, folder: Path, *lines: dict[str, Any]) -> Any:
    output = JobOutput(builtin(lane), TASK, None, folder / "events.jsonl")
    try:
        return output.feed("".join(json.dumps(line) + "\n" for line in lines).encode(), "out")
    finally:
        output.close()


@pytest.mark.parametrize(
    ("lane", "line", "waits"),
    [
        ("claude", CUT, False),
        ("claude", CUT | {"error_status": 503}, False),
        ("claude", CUT | {"error_status": 529}, False),
        ("claude", CUT | {"error_status": 429}, True),
        ("pi", {"type": "auto_retry_start", "attempt": 1, "delayMs": 2000, "errorMessage": "terminated"}, False),
        ("pi", {"type": "auto_retry_start", "attempt": 1, "errorMessage": "503 status code (no body)"}, False),
        ("pi", {"type": "auto_retry_start", "attempt": 1, "errorMessage": "429 Rate limit reached"}, True),
    ],
)
def test_a_cut_connection_or_a_503_is_no_limit(lane: str, line: dict[str, Any], waits: bool, tmp_path: Path) -> None:
    heard = hear(lane, tmp_path, line)
    assert (heard.waiting, heard.retrying) == (waits, not waits)


class Silence:
    state = JobState.WEDGED
    reason = "no sign of life for 240 s"


def test_silence_after_a_lost_connection_is_a_lost_connection() -> None:
    killed = ExitStatus(signal=15)
    lost = fold(Evidence(), Retrying(failure=FailureKind.TRANSPORT))
    verdict = judge(lost, killed, watchdog=Silence())
    assert (verdict.state, verdict.outcome) == (JobState.FAILED, "transport")
    assert "could not be reached" in (verdict.reason or "")
    assert Silence.reason in (verdict.reason or "")
    for other in (
        fold(lost, Spoke(text="here again")),
        fold(Evidence(), Retrying(status=429)),
        fold(Evidence(), Retrying()),
        Evidence(),
    ):
        assert judge(other, killed, watchdog=Silence()).state is JobState.WEDGED


def test_what_the_cli_does_is_told_once_and_taken_back(tmp_path: Path) -> None:
    telling, lost = RetryTelling(), fold(Evidence(), Retrying(status=503))
    retry = hear("claude", tmp_path, CUT)
    (fact,) = telling.tell(JOB, JobState.RUNNING, retry, lost)
    assert fact.reason == "the model's service could not be reached; its CLI tries again"
    assert telling.tell(JOB, JobState.RUNNING, retry, lost) == []
    spoke = hear("local", tmp_path, {"type": "text", "text": "here"})
    (over,) = telling.tell(JOB, JobState.RUNNING, spoke, Evidence())
    assert over.reason is None
    assert telling.tell(JOB, JobState.RUNNING, spoke, Evidence()) == []
    (unknown,) = telling.tell(JOB, JobState.RUNNING, retry, Evidence())
    assert unknown.reason == "its CLI tries its provider again"
    many = [
        fact
        for _ in range(MOST)
        for heard in (spoke, retry)
        for fact in telling.tell(JOB, JobState.RUNNING, heard, lost)
    ]
    assert len(many) < MOST


@pytest.mark.parametrize("show", [change_line, last_words, lambda job: live_line([job], "0:01")])
def test_whoever_watches_is_told_why_it_takes_so_long(show: Any) -> None:
    job = {"job_id": JOB, "state": "running", "age_s": 5, "progress": {"last_marker": "PROGRESS 1/2"}}
    assert "PROGRESS 1/2" in show(job)
    assert "its CLI tries again" in show(job | {"reason": "the service could not be reached; its CLI tries again"})


SENTENCES = [
    "Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.",
    "Connection dropped (UND_ERR_SOCKET)",
    "Connection lost while your computer was asleep",
    "Connection closed before the response finished",
    "Connection refused \u2014 a firewall or proxy may be blocking it (ECONNREFUSED)",
    "Can't reach the API server \u2014 check your internet or DNS (ENOTFOUND)",
    "No internet route \u2014 check your connection or VPN (ENETUNREACH)",
    "Couldn't connect through your proxy (ERR_PROXY_TUNNEL) \u2014 the proxy refused the tunnel",
    "No response from API",
    "The API is temporarily unavailable",
    "Request timed out. Check your internet connection and proxy settings",
    "Unable to connect to API (ECONNRESET)",
]


@pytest.mark.parametrize("words", SENTENCES)
def test_claude_codes_words_for_a_lost_connection(words: str) -> None:
    line = {"type": "result", "subtype": "success", "is_error": True, "terminal_reason": "api_error"}
    line |= {"result": f"API Error: {words}", "api_error_status": None}
    (end,) = [e for e in ClaudeParser().feed(json.dumps(line).encode() + b"\n") if isinstance(e, TurnEnded)]
    assert end.failure is FailureKind.TRANSPORT
    assert session_end(ClaudeTalk({}), line)["failure"] == "transport"
    talked_of = line | {"terminal_reason": "completed", "result": f"The log says: {words}"}
    (end,) = [e for e in ClaudeParser().feed(json.dumps(talked_of).encode() + b"\n") if isinstance(e, TurnEnded)]
    assert end.failure is FailureKind.TASK


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        ("terminated", "transport"),
        ("503 status code (no body)", "transport"),
        ("Connection error.", "transport"),
        ("429 Rate limit reached for requests", "rate-limit"),
        ("429 You've hit your usage limit", "plan-limit"),
        ("401 Incorrect API key provided: x", "auth"),
        ("the tool was terminated by the test", "task"),
    ],
)
def test_pi_reads_an_error_alike_in_jobs_and_sessions(words: str, failure: str) -> None:
    message = {"role": "assistant", "stopReason": "error", "errorMessage": words, "content": []}
    lines = [{"type": "agent_start"}, {"type": "message_end", "message": message}, {"type": "agent_end"}]
    parser = builtin("pi").parser(TASK)
    parser.feed("".join(json.dumps(line) + "\n" for line in lines).encode())
    (end,) = [event for event in parser.finish(ExitStatus(code=0)) if isinstance(event, TurnEnded)]
    assert end.failure == failure
    assert session_end(PiTalk({}), *lines)["failure"] == failure


def session_end(talk: Any, *lines: dict[str, Any]) -> dict[str, Any]:
    talk.send(1, "hello")
    for line in lines:
        talk.heard(line)
    return next(event for event in talk.events if event["type"] == "end")
