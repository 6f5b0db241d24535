"""The verdict table: named cases, and every combination once more."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.evidence import Evidence
from outsourcerer.lanes.outcome import EXIT_CODES, RULES, Case, judge
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, Marked, MarkerKind, TurnEnded
from outsourcerer.messages.vocabulary import TERMINAL_STATES, JobState, Verb


@dataclass(frozen=True)
class Found:
    state: JobState
    reason: str = "stall-kill"


def marked(kind: MarkerKind, text: str = "") -> Marked:
    return Marked(marker=kind, text=text, signed=True)


DONE = marked(MarkerKind.DONE, "all good")
GOOD = TurnEnded(ok=True, text="the answer")
BAD = TurnEnded(ok=False, failure=FailureKind.PLAN_LIMIT, message="You've hit your limit")
SILENT = TurnEnded(ok=True, text=" \n")
CUT_OFF = TurnEnded(ok=False, failure=FailureKind.TASK, synthetic=True)
PRINTED = TurnEnded(ok=True, text="the answer", synthetic=True)
EXIT_0, EXIT_1 = ExitStatus(code=0), ExitStatus(code=1)
KILLED, LOST = ExitStatus(signal=9), ExitStatus(lost=True)


@pytest.mark.parametrize("said", [Evidence(), Evidence(spoken_chars=9, last_text="so far")])
def test_a_last_line_that_was_too_long_to_be_read_is_named(said):
    turn = TurnEnded(ok=False, failure=FailureKind.TASK, synthetic=True, unread=2_000_000)
    found = judge(replace(said, turn=turn), EXIT_0)
    assert (found.state, found.outcome) == (JobState.FAILED, "no-final-event")
    assert "2000000 bytes" in found.reason
    assert "log" in found.reason


@pytest.mark.parametrize(
    ("evidence", "exit_status", "options", "state", "outcome"),
    [
        (Evidence(turn=GOOD, last_terminal=DONE), EXIT_0, {}, "done", "completed"),
        (Evidence(turn=GOOD), EXIT_0, {}, "done?", "unverified"),
        (Evidence(turn=GOOD), EXIT_0, {"verified": True}, "done", "completed"),
        (Evidence(turn=GOOD, last_terminal=DONE), EXIT_0, {"verified": False}, "failed", "check-failed"),
        (Evidence(turn=GOOD, last_terminal=DONE), EXIT_0, {"checks": True, "verified": True}, "done", "completed"),
        (Evidence(turn=GOOD, last_terminal=DONE), EXIT_0, {"checks": True}, "done?", "unverified"),
        (Evidence(turn=PRINTED), EXIT_0, {}, "done?", "unverified"),
        (Evidence(turn=PRINTED, last_terminal=DONE), EXIT_0, {}, "done", "completed"),
        (Evidence(turn=GOOD, last_terminal=marked(MarkerKind.BLOCKED, "no net")), EXIT_0, {}, "blocked", "blocked"),
        (
            Evidence(turn=GOOD, last_terminal=marked(MarkerKind.NEED_INPUT, "which?")),
            EXIT_0,
            {},
            "blocked",
            "needs-input",
        ),
        (Evidence(turn=CUT_OFF, last_terminal=marked(MarkerKind.BLOCKED, "no net")), EXIT_1, {}, "blocked", "blocked"),
        (Evidence(turn=BAD, last_terminal=DONE), EXIT_0, {}, "failed", "plan-limit"),
        (Evidence(turn=BAD), EXIT_1, {"failure": FailureKind.PLAN_LIMIT}, "failed", "plan-limit"),
        (Evidence(turn=SILENT, last_terminal=DONE), EXIT_0, {}, "failed", "empty-output"),
        (Evidence(turn=SILENT, denials=2), EXIT_0, {}, "permission-blocked", "permission"),
        (Evidence(), EXIT_0, {}, "failed", "empty-output"),
        (
            Evidence(turn=CUT_OFF, spoken_chars=9, last_text="so far", last_terminal=DONE),
            EXIT_0,
            {},
            "failed",
            "no-final-event",
        ),
        (Evidence(turn=CUT_OFF), EXIT_1, {}, "failed", "exit-nonzero"),
        (Evidence(turn=CUT_OFF), EXIT_1, {"failure": FailureKind.AUTH}, "failed", "auth"),
        (Evidence(turn=CUT_OFF), EXIT_1, {"failure": FailureKind.INTERRUPTED}, "interrupted", "interrupted"),
        (Evidence(turn=CUT_OFF), KILLED, {}, "interrupted", "interrupted"),
        (Evidence(last_text="so far"), LOST, {}, "interrupted", "interrupted"),
        (Evidence(turn=GOOD, last_terminal=DONE), LOST, {}, "done", "completed"),
        (Evidence(turn=GOOD, last_terminal=DONE), KILLED, {}, "done", "completed"),
        (Evidence(turn=PRINTED, last_terminal=DONE), LOST, {}, "interrupted", "interrupted"),
        (Evidence(), ExitStatus(error="no such file"), {}, "failed", "launch"),
        (Evidence(), KILLED, {"watchdog": Found(JobState.WEDGED)}, "wedged", "wedged"),
        (Evidence(turn=CUT_OFF), KILLED, {"watchdog": Found(JobState.TIMEOUT)}, "timeout", "timeout"),
        (Evidence(turn=GOOD), KILLED, {"watchdog": Found(JobState.WEDGED)}, "done?", "unverified"),
        (Evidence(), KILLED, {"watchdog": Found(JobState.DONE)}, "wedged", "wedged"),
        (Evidence(), KILLED, {"cancel": True}, "canceled", "canceled"),
        (Evidence(turn=PRINTED, last_terminal=DONE), EXIT_0, {"cancel": True}, "canceled", "canceled"),
        (Evidence(turn=GOOD, last_terminal=DONE), EXIT_0, {"cancel": True}, "done", "completed"),
        (Evidence(turn=BAD), KILLED, {"cancel": True, "watchdog": Found(JobState.WEDGED)}, "canceled", "canceled"),
    ],
)
def test_named_cases(evidence: Evidence, exit_status: ExitStatus, options: dict, state: str, outcome: str) -> None:
    verdict = judge(evidence, exit_status, **options)
    assert (verdict.state, verdict.outcome) == (state, outcome)
    assert verdict.exit == EXIT_CODES[JobState(state)]


def test_reasons_are_words_of_at_most_200_characters() -> None:
    long = marked(MarkerKind.BLOCKED, "why\n" * 400)
    verdict = judge(Evidence(turn=GOOD, last_terminal=long), EXIT_0)
    assert verdict.reason.startswith("why why")
    assert len(verdict.reason) <= 200
    assert judge(Evidence(turn=GOOD, last_terminal=DONE), EXIT_0).reason is None
    assert "hit your limit" in judge(Evidence(turn=BAD), EXIT_1).reason


def test_a_refused_edit_with_an_answer_stays_an_answer_and_is_noted() -> None:
    verdict = judge(Evidence(turn=GOOD, denials=2, denied=("Write", "Bash")), EXIT_0, verb=Verb.RUN)
    assert verdict.state is JobState.DONE_UNVERIFIED
    assert verdict.note == "2 tool uses refused (Write, Bash)"


def test_a_refused_key_that_was_not_waited_for_is_called_so() -> None:
    refused = Evidence(retries=2, retry_statuses=(401, 401))
    verdict = judge(refused, KILLED, watchdog=Found(JobState.FAILED, "auth"), failure=FailureKind.INTERRUPTED)
    assert (verdict.state, verdict.outcome) == (JobState.FAILED, "auth")
    assert "key was refused" in verdict.reason
    assert judge(Evidence(), KILLED, watchdog=Found(JobState.FAILED, "gave up")).reason == "gave up"
    crossed = replace(refused, turn=TurnEnded(ok=False, failure=FailureKind.AUTH, message="401"))
    assert judge(crossed, KILLED, watchdog=Found(JobState.FAILED, "auth")).outcome == "auth", (
        "it gave up as it was ended"
    )


def test_what_contradicts_the_verdict_is_noted() -> None:
    finished = Evidence(turn=GOOD, last_terminal=DONE)
    assert "exited 3" in judge(finished, ExitStatus(code=3)).note
    assert "was lost" in judge(finished, LOST).note
    assert "after its final event" in judge(finished, KILLED).note
    assert "stall-kill" in judge(finished, KILLED, watchdog=Found(JobState.WEDGED)).note
    assert "cancel came after" in judge(finished, EXIT_0, cancel=True).note


PART = TurnEnded(ok=False, synthetic=True, text="part")
TURNS = [None, GOOD, BAD, SILENT, CUT_OFF, PRINTED, PART, PART.model_copy(update={"unread": 2_000_000})]
EXITS = [EXIT_0, EXIT_1, ExitStatus(code=143), KILLED, LOST, ExitStatus(error="gone"), ExitStatus()]
MARKERS = [None, *(marked(kind) for kind in MarkerKind if kind.terminal)]
FINDINGS = [None, Found(JobState.WEDGED), Found(JobState.FAILED), Found(JobState.DONE), Found(JobState.RUNNING)]
KINDS = [FailureKind.NONE, FailureKind.TASK, FailureKind.AUTH, FailureKind.INTERRUPTED, FailureKind.PERMISSION]


def test_every_combination_has_one_verdict_and_done_needs_evidence() -> None:
    seen = set()
    for turn, status, marker, finding, cancel, failure, text, verified, denials, breach in itertools.product(
        TURNS,
        EXITS,
        MARKERS,
        FINDINGS,
        (False, True),
        KINDS,
        (None, "words"),
        (None, True, False),
        (0, 1),
        ((), ("a",)),
    ):
        evidence = Evidence(
            turn=turn, last_terminal=marker, last_text=text, spoken_chars=len(text or ""), denials=denials
        )
        case = Case(
            evidence=evidence,
            exit=status,
            watchdog=finding,
            cancel=cancel,
            failure=failure,
            verb=Verb.EDIT,
            verified=verified,
            breach=breach,
        )
        rule = next(rule for rule in RULES if rule.when(case))
        verdict = rule.then(case)
        seen.add(rule.name)
        assert verdict.state in TERMINAL_STATES
        assert verdict.exit == EXIT_CODES[verdict.state]
        if verdict.state in (JobState.DONE, JobState.DONE_UNVERIFIED):
            assert turn is not None
            assert turn.ok
            assert evidence.answer
            assert not (turn.synthetic and status.code != 0)
            assert not (cancel and turn.synthetic)
        assert not (breach and verdict.state in (JobState.DONE, JobState.DONE_UNVERIFIED))
        if verdict.state is JobState.DONE:
            assert verified is True or (marker is not None and marker.marker is MarkerKind.DONE)
        if cancel and not (turn is not None and turn.ok and not turn.synthetic):
            assert verdict.state is JobState.CANCELED
    assert seen == {rule.name for rule in RULES}


@given(st.text(), st.text())
def test_no_words_of_a_delegate_break_the_verdict(message: str, text: str) -> None:
    turn = TurnEnded(ok=False, message=message, text=text)
    verdict = judge(Evidence(turn=turn, last_terminal=marked(MarkerKind.BLOCKED, text)), EXIT_1)
    assert verdict.reason is None or len(verdict.reason) <= 200
