"""What the real CLIs printed, read back: one row per recorded case."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest
from outsourcerer.lanes.contract import Ending, Stream, Task
from outsourcerer.lanes.evidence import Evidence, fold, hopeless
from outsourcerer.lanes.outcome import Verdict, judge
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, LaneEvent, Retrying
from outsourcerer.messages.vocabulary import Verb

STREAMS = Path(__file__).parents[2] / "golden" / "streams"
CLAUDE, CODEX = "claude/2.1.332-2026-11-30", "codex/0.171.0-2026-11-30"


def replay(folder: str, case: str) -> tuple[list[LaneEvent], Evidence, Verdict]:
    lane = builtin(folder.partition("/")[0])
    place = STREAMS / folder
    number = int((place / f"{case}.rc").read_text())
    status = ExitStatus(code=number) if number >= 0 else ExitStatus(signal=-number)
    parser = lane.parser(Task(verb=Verb.RUN, prompt="x", cwd="/"))
    events = parser.feed((place / f"{case}.out").read_bytes())
    events += parser.feed((place / f"{case}.err").read_bytes(), Stream.ERR)
    events += parser.finish(status)
    evidence = reduce(fold, events, Evidence())
    failure = lane.classify(Ending(exit=status, turn=evidence.turn, retries=evidence.retry_statuses))
    return events, evidence, judge(evidence, status, failure=failure)


def cases(folder: str) -> list[str]:
    return sorted(path.stem for path in (STREAMS / folder).glob("*.rc"))


# case: verdict, outcome, answer, (reads, writes, commands), refusals
CLAUDE_CASES = {
    "a": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "b": ("done?", "unverified", "Done: created hello.txt and ran the command.", (0, 1, 1), 0),
    "bypass": ("failed", "launch", None, (0, 0, 0), 0),
    "c": ("failed", "rate-limit", None, (0, 0, 0), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "c529": ("failed", "transport", None, (0, 0, 0), 0),
    "cplan": ("failed", "rate-limit", None, (0, 0, 0), 0),
    "cutoff": ("failed", "transport", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("done?", "unverified", "recovered after the drop", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 2),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 1), 0),
    "oauth": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "oauthplan": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "resume": ("done?", "unverified", "Second turn answered.", (0, 0, 0), 0),
    "s401": ("interrupted", "interrupted", None, (0, 0, 0), 0),
    "sandboxbypass": ("done?", "unverified", "ok", (0, 1, 0), 0),
    "sigterm": ("interrupted", "interrupted", None, (0, 0, 0), 0),
    "wall": ("done?", "unverified", "I could not.", (0, 0, 0), 2),
}
CODEX_CASES = {
    "a": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "b": ("done?", "unverified", "Done: created hello.txt and ran the command.", (0, 1, 1), 0),
    "bypass": ("done?", "unverified", "Bypassed.", (0, 1, 1), 0),
    "c": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "c529": ("failed", "transport", None, (0, 0, 0), 0),
    "codemode": ("done?", "unverified", "Done it.", (0, 1, 1), 0),
    "cplan": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edit": ("done?", "unverified", "Edited.", (0, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 0), 0),
    "offline": ("interrupted", "interrupted", None, (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "resume": ("done?", "unverified", "Second turn answered.", (0, 0, 0), 0),
    "sigint": ("failed", "exit-nonzero", None, (0, 0, 0), 0),
    "sigterm": ("interrupted", "interrupted", None, (0, 0, 0), 0),
}


@pytest.mark.parametrize(
    ("folder", "case", "expected"),
    [(CLAUDE, case, row) for case, row in CLAUDE_CASES.items()]
    + [(CODEX, case, row) for case, row in CODEX_CASES.items()],
)
def test_each_recorded_case_has_its_verdict(folder: str, case: str, expected: tuple) -> None:
    _, evidence, verdict = replay(folder, case)
    tally = (evidence.reads, evidence.writes, evidence.bash)
    assert (verdict.state, verdict.outcome, evidence.answer, tally, evidence.denials) == expected
    assert evidence.unrecognised == 0


def test_every_recorded_case_is_in_the_table() -> None:
    assert cases(CLAUDE) == sorted(CLAUDE_CASES)
    assert cases(CODEX) == sorted(CODEX_CASES)


def test_claude_names_model_conversation_usage_and_price() -> None:
    _, evidence, _ = replay(CLAUDE, "b")
    assert evidence.model == "claude-opus-5-5"
    assert evidence.conversation == "a57612fa-f8c1-44be-a74b-26d76deaf755"
    usage = TokenUsage(input=3702, cached_input=600, cache_write=0, output=168, reasoning=0)
    assert evidence.usage == usage
    assert evidence.by_model == (("claude-opus-5-5", usage),)
    assert evidence.cash_usd == pytest.approx(0.018288)
    assert replay(CLAUDE, "a")[1].model == "claude-opus-5-5"


def test_a_synthetic_sentence_of_claude_is_neither_model_nor_answer() -> None:
    _, evidence, verdict = replay(CLAUDE, "c")
    assert evidence.model == "claude-opus-5-5"
    assert evidence.answer is None
    assert "Request rejected (429)" in verdict.reason
    assert evidence.retries == 10


def test_a_plan_limit_keeps_its_reset_time() -> None:
    _, evidence, verdict = replay(CLAUDE, "oauthplan")
    assert evidence.turn.until == evidence.limit.windows[0].resets_at
    assert evidence.limit.rejected
    assert "5-hour limit" in verdict.reason
    _, evidence, _ = replay(CODEX, "cplan")
    assert evidence.turn.message.endswith("try again at 9:18 AM.")
    assert evidence.turn.until is None


def test_a_gauge_is_reported_without_a_limit() -> None:
    limit = replay(CLAUDE, "oauth")[1].limit
    assert not limit.rejected
    assert {window.name: window.utilization for window in limit.windows} == {"five_hour": 0.42, "seven_day": 0.17}


def test_a_key_refused_again_and_again_is_hopeless_while_it_retries() -> None:
    events, evidence, _ = replay(CLAUDE, "s401")
    assert {event.status for event in events if isinstance(event, Retrying)} == {401}
    assert hopeless(evidence) is FailureKind.AUTH
    assert hopeless(replay(CLAUDE, "crate")[1]) is None


def test_codex_counts_cached_tokens_apart_and_names_no_model() -> None:
    _, evidence, _ = replay(CODEX, "b")
    assert evidence.usage == TokenUsage(input=3102, cached_input=600, cache_write=0, output=168, reasoning=0)
    assert evidence.conversation == "01a22ba5-ba67-7503-9ab9-3c662392cee4"
    assert evidence.model is None
    assert evidence.cash_usd is None


def test_a_reconnection_of_codex_is_a_retry_with_its_status() -> None:
    events, _, _ = replay(CODEX, "c401")
    retries = [event for event in events if isinstance(event, Retrying)]
    assert [(event.attempt, event.status) for event in retries] == [(n, 401) for n in range(1, 6)]
    assert [e.status for e in replay(CODEX, "crate")[0] if isinstance(e, Retrying)] == [429]
    assert replay(CODEX, "offline")[1].retries > 4


def test_refusals_are_named_in_the_note() -> None:
    assert replay(CLAUDE, "wall")[2].note == "2 tool uses refused (Write, Bash)"
    assert replay(CODEX, "e")[2].note == "1 tool use refused (apply_patch)"
