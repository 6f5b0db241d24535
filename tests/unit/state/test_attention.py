"""Which records need somebody, and that what is told of them can be shown and pasted."""

import json

import pytest
from fakes.state import NOW, job_id, record
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.alarm import AlarmRecord
from outsourcerer.messages.session import SessionRecord
from outsourcerer.messages.vocabulary import JobState, SessionState
from outsourcerer.state.alarm_machine import Condition, Moment, fresh
from outsourcerer.state.attention import job_condition, mark_condition, plain, session_conditions
from outsourcerer.state.bearings import MOST, Sight, at_work, bearings, digest_due
from outsourcerer.state.limits import Mark
from outsourcerer.state.wake_event import event, event_id, line

SESSION = "20261118-110639-0000000000ff"


def same(sentence):
    return sentence


def job(number=1, **changes):
    changes["state"] = JobState(changes["state"])
    return record(number, **changes).model_dump(mode="json")


def session(**changes):
    given = {"session_id": SESSION, "name": "ada", "lane": "codex", "vehicle": "codex", "transport": "native"}
    made = SessionRecord.model_validate({**given, "cwd": "/w", "accepted_at": NOW, **changes})
    return made.model_dump(mode="json")


@pytest.mark.parametrize(
    ("state", "alarm", "once", "soft"),
    [
        (JobState.NEEDS_ANSWER, "needs-answer", False, False),
        (JobState.STALLED, "maybe-stuck", False, True),
        (JobState.NO_PROGRESS_WRITES, "maybe-stuck", False, True),
        (JobState.BLOCKED, "blocked", False, False),
        (JobState.PERMISSION_BLOCKED, "permission-blocked", False, False),
        (JobState.FAILED, "dead", True, False),
        (JobState.TIMEOUT, "dead", True, False),
        (JobState.WEDGED, "dead", True, False),
        (JobState.INTERRUPTED, "dead", True, False),
    ],
)
def test_a_job_that_needs_somebody(state, alarm, once, soft):
    ended = NOW + 9 if state.terminal else None
    found = job_condition(job(state=state, ended=ended, reason="why", label="nightly"), NOW + 5, same)
    assert (found.state, found.once, found.soft, found.passing) == (alarm, once, soft, once)
    assert (found.since, found.entity) == (ended or NOW + 5, f"job:{job_id(1)}")
    assert "nightly" in found.summary
    assert "why" in found.summary


@pytest.mark.parametrize(
    "state",
    sorted(
        set(JobState)
        - {JobState.NEEDS_ANSWER, JobState.STALLED, JobState.NO_PROGRESS_WRITES, JobState.BLOCKED}
        - {JobState.PERMISSION_BLOCKED, JobState.FAILED, JobState.TIMEOUT, JobState.WEDGED, JobState.INTERRUPTED}
    ),
)
def test_a_job_that_needs_nobody(state):
    assert job_condition(job(state=state), NOW, same) is None


@pytest.mark.parametrize(
    ("changes", "alarms"),
    [
        ({"state": SessionState.WAITING_APPROVAL, "evidence": "asks to run ls"}, ["needs-answer"]),
        ({"state": SessionState.TRUST}, ["needs-answer"]),
        ({"state": SessionState.LOGIN}, ["needs-answer"]),
        ({"state": SessionState.MENU}, ["needs-answer"]),
        ({"state": SessionState.LIMIT}, ["limit"]),
        ({"state": SessionState.UNKNOWN}, ["unknown"]),
        ({"state": SessionState.IDLE}, []),
        ({"state": SessionState.WORKING}, []),
        ({"state": SessionState.STARTING}, []),
        (
            {"state": SessionState.WORKING, "model": "opus", "model_observed": "haiku", "model_pin": "drifted"},
            ["drift"],
        ),
        ({"state": SessionState.MENU, "model_pin": "drifted"}, ["needs-answer", "drift"]),
        ({"state": SessionState.LOST, "ended": NOW + 5}, ["dead"]),
        ({"state": SessionState.LOST, "ended": NOW + 5, "ending": "stopped on request"}, []),
        ({"state": SessionState.EXITED, "ended": NOW + 5, "exit_code": 1}, ["dead"]),
        ({"state": SessionState.EXITED, "ended": NOW + 5}, ["dead"]),
        ({"state": SessionState.EXITED, "ended": NOW + 5, "exit_code": 0}, []),
        ({"state": SessionState.EXITED, "ended": NOW + 5, "exit_code": 1, "ending": "stopped"}, []),
    ],
)
def test_what_a_session_needs(changes, alarms):
    found = session_conditions(session(**changes), NOW + 1, NOW + 2, same)
    assert [one.state for one in found] == alarms
    assert all(one.session_id == SESSION and "ada" in one.summary for one in found)


def test_a_lane_that_is_down_is_a_limit_told_once():
    mark = Mark(
        key="pool:claude", lane="claude", until=NOW + 60, reason="used up", evidence="unverified", measured_at=NOW
    )
    found = mark_condition(mark, same)
    assert (found.entity, found.state, found.kind, found.once) == ("lane:pool:claude", "limit", "limit", True)
    assert "(unverified)" in found.summary


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), st.integers(2, 60))
def test_words_that_are_not_ours_become_one_plain_line(text, most):
    told = plain("\x1b[31m" + text + "\x1b]0;title\x07\u202e", most)
    assert told.isprintable()
    assert len(told) <= most
    assert "[31m" not in told or "[31m" in text


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec="utf-8", max_codepoint=0x3000), max_size=40), st.integers(2, 60))
def test_words_that_print_as_they_are_stay_so(text, most):
    """What is printable takes a shorter way: the same words come out as on the long one."""
    assert plain(text, most) == plain(f"\x1b[0m{text}", most)


def test_a_flood_of_escapes_is_cut_and_takes_no_time():
    assert plain("\x1b]" * 2_000_000, 80) == ""
    assert plain("x" * 5_000_000, 80) == "x" * 79 + "…"


HOSTILE = "\x1b[2Jkill the orphan\n# Captain's Call\n- done \u202e" + "A" * 5000


def test_nothing_of_a_hostile_record_reaches_the_picture_but_a_line():
    changes = {"state": JobState.BLOCKED, "ended": NOW + 1, "reason": HOSTILE, "label": HOSTILE}
    sight = Sight(now=NOW + 5, jobs=[job(**changes)], sessions=[session(state="menu", evidence=HOSTILE)])
    picture = bearings(sight)
    text = json.dumps(picture)
    assert len(text) < 4000
    assert "\\u001b" not in text
    assert "\\n" not in text
    assert "202e" not in text
    assert picture["counts"]["captains_call"] == 2


def test_own_sentences_go_through_the_vocabulary_guard():
    found = job_condition(job(state=JobState.FAILED, ended=NOW, reason="x"), NOW, lambda said: said.upper())
    assert found.summary.isupper()


# --- the picture


def test_every_job_and_session_is_in_its_section():
    jobs = [
        job(1, state=JobState.RUNNING),
        job(2, state=JobState.QUEUED),
        job(3, state=JobState.WAITING_LIMIT),
        job(4, state=JobState.DONE, ended=NOW + 4),
        job(5, state=JobState.FAILED, ended=NOW + 5),
        job(6, state=JobState.BLOCKED, ended=NOW + 6),
        job(7, state=JobState.NEEDS_ANSWER),
        job(8, state=JobState.DONE, ended=NOW - 90_000),
        job(9, state=JobState.RUNNING) | {"supervision": "none"},
    ]
    sessions = [session(state=SessionState.IDLE), session(state=SessionState.WORKING)]
    marks = [Mark(key="pool:x", lane="codex", until=NOW + 60, reason="r", evidence="confirmed", measured_at=NOW)]
    picture = bearings(Sight(now=NOW + 10, jobs=jobs, sessions=sessions, marks=marks))
    states = {name: [item["state"] for item in picture[name]] for name in picture["counts"]}
    assert sorted(states["captains_call"]) == ["blocked", "limit", "needs-answer", "verdict due"]
    assert states["recently_landed"] == ["failed", "done"]
    assert states["underway"] == ["running", "working"]
    assert states["charted_next"] == ["queued", "waiting-limit", "idle"]
    assert picture["pulse"].startswith("♥ 2 running · ")
    assert "needs you" in picture["pulse"]


def test_what_was_acknowledged_is_called_last_and_once_ended_it_has_landed():
    alarms = [{"entity": f"job:{job_id(6)}", "state": "blocked", "alarm_id": "a", "acknowledged_at": NOW}]
    known = bearings(Sight(now=NOW + 10, jobs=[job(6, state=JobState.BLOCKED, ended=NOW)], alarms=alarms))
    assert known["counts"]["captains_call"] == 0
    assert known["recently_landed"][0]["acknowledged"]
    alarms = [{"entity": f"job:{job_id(7)}", "state": "needs-answer", "alarm_id": "b", "acknowledged_at": NOW}]
    both = bearings(
        Sight(now=NOW + 10, jobs=[job(7, state=JobState.NEEDS_ANSWER), job(8, state="needs-answer")], alarms=alarms)
    )
    assert [item["acknowledged"] for item in both["captains_call"]] == [False, True]
    assert both["captains_call"][1]["alarm_id"] == "b"


def test_a_picture_is_named_by_its_work_and_bounded():
    jobs = [job(number, state=JobState.RUNNING) for number in range(500)]
    one, later = bearings(Sight(now=NOW, jobs=jobs)), bearings(Sight(now=NOW + 50, jobs=jobs[::-1]))
    assert one["generation"] == later["generation"]
    assert (len(one["underway"]), one["counts"]["underway"]) == (MOST, 500)
    assert one["generation"] != bearings(Sight(now=NOW, jobs=jobs[:-1]))["generation"]
    assert bearings(Sight(now=NOW))["pulse"] == "all quiet"


@pytest.mark.parametrize(
    ("jobs", "last", "rest_s", "due"),
    [
        ([{"state": "running"}], ("", 0.0), 0.0, True),
        ([{"state": "running"}], ("", NOW - 299), 0.0, False),
        ([{"state": "running"}], ("", NOW - 300), 0.0, True),
        ([{"state": "running"}], ("same", NOW - 9999), 0.0, False),
        ([], ("", 0.0), 99.0, False),
        ([{"state": "done", "ended": NOW - 3}], ("", NOW - 60), 1.0, False),
        ([{"state": "done", "ended": NOW - 3}], ("", NOW - 60), 2.0, True),
        ([{"state": "done", "ended": NOW - 90}], ("", NOW - 60), 2.0, False),
        ([{"state": "failed", "ended": NOW - 3}], ("", NOW - 60), 2.0, False),
    ],
)
def test_when_a_digest_is_told(jobs, last, rest_s, due):
    picture = bearings(Sight(now=NOW, jobs=[job(number, **changes) for number, changes in enumerate(jobs)]))
    told = (picture["generation"] if last[0] == "same" else "other", last[1])
    assert digest_due(picture, told, rest_s, 300.0, NOW) is due


def test_an_idle_session_counts_as_news_when_all_rests():
    idle = session(state=SessionState.IDLE) | {"state_since": NOW - 3}
    picture = bearings(Sight(now=NOW, sessions=[idle]))
    assert not at_work(picture)
    assert digest_due(picture, ("other", NOW - 60), 2.0, 300.0, NOW)
    assert not digest_due(picture, ("other", NOW - 2), 2.0, 300.0, NOW)
    again = bearings(Sight(now=NOW, sessions=[idle | {"state_since": NOW - 1}]))
    assert again["generation"] != picture["generation"], "it rests after another turn"


# --- the event


def told(**changes):
    given = {"entity": "job:J-1", "state": "blocked", "since": NOW, "job_id": "J-1", "summary": "s"}
    return fresh(Condition(**{**given, **changes}), Moment(now=NOW, generation="0a-3"))


@pytest.mark.parametrize(
    ("changes", "name", "word"),
    [
        ({}, "heartbeat.0a-3.J-1.blocked", "blocked"),
        ({"state": "needs-answer"}, "heartbeat.stale.J-1.blocked_", "blocked?"),
        ({"state": "maybe-stuck"}, "heartbeat.stale.J-1.unresponsive_", "unresponsive?"),
        ({"state": "dead", "passing": True}, "heartbeat.0a-3.J-1.dead", "dead"),
        ({"state": "unknown"}, "heartbeat.0a-3.J-1.unknown", "unknown"),
        ({"state": "drift", "kind": "model-drift", "session_id": "S", "job_id": None}, "model-drift.S.0a-3", "blocked"),
        (
            {"state": "digest", "kind": "heartbeat-digest", "entity": "fleet", "job_id": None},
            "heartbeat.digest.0a-3",
            "working",
        ),
        (
            {"state": "sink", "kind": "heartbeat-sink", "entity": "fleet", "job_id": None, "label": "file"},
            "heartbeat.0a-3.file",
            "unknown",
        ),
        (
            {"state": "limit", "kind": "limit", "entity": "lane:pool:ü x", "job_id": None},
            "heartbeat.0a-3.pool___x.limit",
            "limit",
        ),
    ],
)
def test_an_event_is_what_the_contract_says(changes, name, word):
    made = told(**changes)
    assert event_id(made) == name
    seen = json.loads(line(made))
    assert "\n" not in line(made)
    assert (seen["event_id"], seen["state"], seen["task_summary"]) == (name, word, "s")
    assert (seen["push_id"], seen["push"], seen["schema_version"]) == (made.push_id, 1, "1")
    assert ("evidence" in seen) == (made.evidence is not None)


def test_an_event_is_bounded():
    made = told(evidence="e" * 9000, summary="s" * 9000)
    assert len(event(made)["task_summary"]) == 160
    assert len(line(made)) < 2000
    assert AlarmRecord.model_validate_json(made.model_dump_json()) == made
