"""The end of a job in words: when a limit ends, and where it can go on."""

from __future__ import annotations

import time

from fakes.state import job_id, record
from outsourcerer.actors.job_end import ended_fact, limit_note, session_note
from outsourcerer.lanes.evidence import Evidence
from outsourcerer.lanes.outcome import Verdict
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.lane_events import FailureKind, Marked, MarkerKind, TurnEnded
from outsourcerer.messages.vocabulary import JobState

NOW = 1_796_000_000.0


def turn(**values: object) -> TurnEnded:
    return TurnEnded(ok=False, failure=FailureKind.PLAN_LIMIT, **values)


def test_an_instant_that_the_cli_gave_is_said_in_utc():
    assert limit_note(turn(until=NOW + 3600), NOW) == "the limit ends at " + time.strftime(
        "%Y-%m-%d %H:%M UTC", time.gmtime(NOW + 3600)
    )


def test_words_are_read_where_the_job_ran():
    assert limit_note(turn(message="try again in 2h30m"), NOW) == "the limit ends at " + time.strftime(
        "%Y-%m-%d %H:%M UTC", time.gmtime(NOW + 9000)
    )


def test_what_was_not_said_or_can_not_be_is_not_said():
    assert limit_note(turn(message="no more for you"), NOW) is None
    assert limit_note(turn(until=NOW - 1), NOW) is None
    assert limit_note(turn(until=NOW + 30 * 86400), NOW) is None
    assert limit_note(None, NOW) is None
    assert limit_note(TurnEnded(ok=True, until=NOW + 60), NOW) is None
    assert limit_note(TurnEnded(ok=False, failure=FailureKind.AUTH, until=NOW + 60), NOW) is None


def test_a_job_that_needs_an_answer_names_the_session_that_goes_on():
    job, claude = record(1), builtin("claude")
    stuck = Verdict(state=JobState.PERMISSION_BLOCKED, exit=3, reason="x", outcome="blocked")
    known = Evidence(conversation="82758fb7")
    assert session_note(job, stuck, claude, known) == (
        f"in a session you can answer it: osrc session start --continue {job_id(1)}"
    )
    assert (
        session_note(job, stuck, claude, Evidence())
        == "in a session you can answer it: osrc session start --lane claude ..."
    )
    assert session_note(job, stuck, builtin("embedded"), known) is None
    asked = Evidence(conversation="c", last_marker=Marked(marker=MarkerKind.NEED_INPUT, text="which?", signed=True))
    blocked = Verdict(state=JobState.BLOCKED, exit=3, reason="x", outcome="blocked")
    assert str(session_note(job, blocked, claude, asked)).endswith(job_id(1))
    assert session_note(job, blocked, claude, known) is None
    done = Verdict(state=JobState.DONE, exit=0, reason=None, outcome="done")
    assert session_note(job, done, claude, asked) is None


def test_a_secret_in_a_delegates_last_words_is_in_no_part_of_the_end():
    secret = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 3
    verdict = Verdict(
        state=JobState.FAILED, exit=1, reason=f"transport: lim {secret}", outcome="transport", note=secret
    )
    ended = ended_fact(record(1), verdict, None, evidence=None, notes=[f"said {secret}"])
    assert secret not in ended.model_dump_json()
    assert (ended.reason or "").startswith("transport: lim ")
