"""A job that goes on with another one's conversation: whose terms it takes, and what refuses it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fakes.state import record, scratch_home
from outsourcerer.actors.continuing import check_lane, earlier, taken_over
from outsourcerer.lanes.registry import all_lanes, builtin
from outsourcerer.messages.facts import JobAccepted
from outsourcerer.messages.job import JobRecord, JobRequest
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.session import SessionAccepted, SessionRecord
from outsourcerer.messages.vocabulary import Effort, JobState, SessionState, Verb
from outsourcerer.state.job_folder import JobFolder
from outsourcerer.state.store import Store

ENDED = {"state": JobState.DONE, "ended": 2.0, "conversation": "0198-abc", "lane": "claude", "model": "opus"}


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


def kept(home, **fields) -> JobRecord:
    one = record(1, **{**ENDED, **fields})
    store = Store.open(home.database, now=1.0)
    store.append([JobAccepted(job_id=one.job_id, record=one)], 1.0)
    store.commit()
    store.close()
    return one


def request(job_id: str | None, **fields) -> JobRequest:
    return JobRequest(**{"task": "go on", "cwd": "/elsewhere", "verb": Verb.YOLO, "continues": job_id, **fields})


def test_its_lane_folder_verb_and_model_are_taken_over(home):
    one = kept(home, verb=Verb.EDIT, cwd="/srv", effort=Effort.HIGH)
    found = earlier(request(one.job_id), home)
    assert found == one
    taken = taken_over(request(one.job_id), one)
    assert isinstance(taken, JobRequest)
    assert (taken.lane, taken.cwd, taken.model, taken.effort) == ("claude", "/srv", "opus", Effort.HIGH)
    assert taken.verb is Verb.EDIT, "going on must not give it more than it was given"
    other = taken_over(request(one.job_id, model="haiku", effort=Effort.LOW), one)
    assert isinstance(other, JobRequest)
    assert (other.model, other.effort, other.task) == ("haiku", Effort.LOW, "go on")


def test_a_job_that_continues_nothing_is_its_own(home):
    assert earlier(request(None), home) is None


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"conversation": None}, RefusalCode.NO_RESULT),
        ({"conversation": "--dangerously-skip-permissions"}, RefusalCode.NO_RESULT),
        ({"conversation": "a b"}, RefusalCode.NO_RESULT),
        ({"conversation": "x" * 201}, RefusalCode.NO_RESULT),
        ({"conversation": "a\n"}, RefusalCode.NO_RESULT),
        ({"state": JobState.RUNNING, "ended": None}, RefusalCode.NOT_FINISHED),
    ],
)
def test_what_can_not_be_continued(home, fields, code):
    found = earlier(request(kept(home, **fields).job_id), home)
    assert isinstance(found, Refused)
    assert found.code is code
    assert found.hint


def test_a_copy_that_somebody_rewrote_gives_nothing_more(home):
    one = kept(home, verb=Verb.RUN)
    poisoned = one.model_copy(update={"verb": Verb.YOLO, "cwd": "/", "lane": "codex"})
    JobFolder.create(home, one.job_id).write_meta(poisoned)
    assert earlier(request(one.job_id), home) == one


def test_a_job_that_is_gone(home):
    found = earlier(request(record(7).job_id), home)
    assert isinstance(found, Refused)
    assert found.code is RefusalCode.NO_SUCH_JOB


def test_a_conversation_does_not_change_lanes(home):
    one = kept(home)
    refused = taken_over(request(one.job_id, lane="codex"), one)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.LANE_CONFLICT
    assert isinstance(taken_over(request(one.job_id, lane="claude"), one), JobRequest)


def session(home, **fields) -> SessionRecord:
    fixed = {
        "session_id": record(3).job_id,
        "name": "fix",
        "lane": "claude",
        "vehicle": "claude",
        "transport": "native",
    }
    fixed |= {"cwd": "/srv", "accepted_at": 1.0, "state": SessionState.EXITED, "conversation": "0198-abc"}
    one = SessionRecord(**{**fixed, "model": "opus", **fields})
    store = Store.open(home.database, now=1.0)
    store.append([SessionAccepted(session_id=one.session_id, record=one)], 1.0)
    store.commit()
    store.close()
    return one


def test_an_ended_session_goes_on_in_a_job_that_only_reads(home):
    one = session(home)
    assert earlier(request(one.session_id), home) == one
    taken = taken_over(request(one.session_id), one)
    assert isinstance(taken, JobRequest)
    assert (taken.lane, taken.cwd, taken.model, taken.verb) == ("claude", "/srv", "opus", Verb.RUN)
    refused = check_lane(builtin("cline"), all_lanes({}), one)
    assert refused is not None
    assert f"osrc session relaunch {one.session_id}" in (refused.hint or "")


@pytest.mark.parametrize(
    ("fields", "code", "hint"),
    [
        ({"state": SessionState.IDLE}, RefusalCode.NOT_FINISHED, "osrc session send fix"),
        ({"conversation": None}, RefusalCode.NO_RESULT, "osrc session relaunch"),
        ({"conversation": "--yolo"}, RefusalCode.NO_RESULT, "osrc session relaunch"),
    ],
)
def test_a_session_that_does_not_says_which_command_does(home, fields, code, hint):
    found = earlier(request(session(home, **fields).session_id), home)
    assert isinstance(found, Refused)
    assert found.code is code
    assert hint in (found.hint or "")


def test_a_lane_that_can_not_says_why_and_who_can():
    registry = all_lanes({})
    assert check_lane(builtin("claude"), registry) is None
    refused = check_lane(builtin("cline"), registry)
    assert refused is not None
    assert "only in its own screen" in refused.message
    assert "claude" in (refused.hint or "")
    assert "cline" not in (refused.hint or "")
    assert check_lane(replace(builtin("claude"), resume=()), registry) is not None
