import json

import pytest
from fakes.state import NOW, identity, job_id, record
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages.job import Cost, Progress
from outsourcerer.messages.vocabulary import JobState, repeats
from outsourcerer.state.loop_views import loop_object
from outsourcerer.state.session_views import session_object
from outsourcerer.state.views import derive, is_live, job_object

CONTRACT = {
    "schema_version",
    "job_id",
    "label",
    "group_id",
    "provider",
    "lane",
    "vehicle",
    "verb",
    "shape",
    "model",
    "model_observed",
    "conversation",
    "continues",
    "retries",
    "tier",
    "effort",
    "state",
    "exit",
    "reason",
    "outcome",
    "started",
    "ended",
    "age_s",
    "cwd",
    "worktree",
    "branch",
    "base",
    "after",
    "priority",
    "progress",
    "cost",
    "supervision",
    "hops",
    "wake_at",
    "result_path",
    "log_path",
    "note",
    "status",
}


def plain(**changes):
    return json.loads(record(**changes).model_dump_json())


def test_the_keys_are_the_contract():
    found = job_object(plain(), "/home/x", NOW + 5)
    assert set(found) == CONTRACT
    assert set(found["progress"]) == {"last_marker", "reads", "writes", "bash", "percent"}
    assert set(found["cost"]) == {"kind", "cash_usd", "measured", "plan", "tokens"}
    assert found["schema_version"] == "1"
    assert found["result_path"] == f"/home/x/jobs/{job_id()}/last.txt"
    assert found["log_path"] == f"/home/x/jobs/{job_id()}/out.log"
    assert "secret-marker" not in json.dumps(found)


def test_values():
    ended = plain(
        state=JobState.DONE_UNVERIFIED, exit=2, ended=NOW + 9, cost=Cost(kind="plan", plan="Max"), started=NOW + 1
    )
    found = job_object(ended, "/h", NOW + 100)
    assert (found["status"], found["state"], found["exit"], found["age_s"], found["started"]) == (
        "done?",
        "done?",
        2,
        9.0,
        NOW + 1,
    )
    assert found["cost"]["plan"] == "Max"
    queued = job_object(plain(), "/h", NOW + 7)
    assert (queued["started"], queued["exit"], queued["age_s"]) == (None, None, 7.0)
    assert job_object(plain(), "/h", NOW - 50)["age_s"] == 0.0, "a clock that went back"


def test_what_a_supervisor_knows_beyond_the_record():
    live = {"progress": {"reads": 5, "secret": 1}, "state": "stalled?", "note": "hm", "extra": 1, "job_id": job_id()}
    found = job_object(plain(progress=Progress(writes=2)), "/h", NOW, live)
    assert found["progress"] == {"last_marker": None, "reads": 5, "writes": 2, "bash": 0, "percent": None}
    assert (found["status"], found["note"]) == ("stalled?", "hm")
    assert "extra" not in found


def test_a_record_of_which_only_the_columns_are_left():
    found = job_object(
        {"job_id": "x", "state": "done", "accepted_at": 1.0, "ended": None, "note": "damaged"}, "/h", 3.0
    )
    assert set(found) == CONTRACT
    assert (found["state"], found["model"], found["age_s"], found["note"]) == ("done", None, 2.0, "damaged")


@pytest.mark.parametrize("state", list(JobState))
def test_a_reason_that_only_repeats_the_state_is_none(state):
    for reason in (state.value, state.value.title(), f"{state.value}."):
        assert job_object(plain() | {"state": state.value, "reason": reason}, "/h", NOW)["reason"] is None
        assert repeats(state.value, reason)
    for view in (session_object, lambda record, *rest: loop_object({**record, "end": record["state"]}, *rest)):
        for reason, shown in ((state.value, None), ("no room", "no room"), (None, None)):
            assert view({"state": state.value, "reason": reason}, "/h", NOW)["reason"] == shown
    told = plain() | {"state": state.value, "reason": f"{state.value}: no room"}
    assert job_object(told, "/h", NOW)["reason"] == f"{state.value}: no room"


@given(
    st.dictionaries(
        st.sampled_from(sorted(CONTRACT)), st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers())
    )
)
def test_any_record_has_a_view(anything):
    assert set(job_object(anything, "/h", 1.0)) == CONTRACT
    derive(anything, lambda *_: "gone")


def running(**more):
    return plain(state=JobState.RUNNING, shim=identity(10), delegate=identity(11), **more)


def looking(**by_pid):
    return lambda pid, started, boot: by_pid.get(f"p{pid}", "gone")


@pytest.mark.parametrize(
    ("shim", "delegate"), [("running", "running"), ("running", "gone"), ("gone", "running"), ("running", "zombie")]
)
def test_one_living_process_keeps_the_state(shim, delegate):
    assert derive(running(), looking(p10=shim, p11=delegate)) == running()


@pytest.mark.parametrize(("shim", "delegate"), [("gone", "gone"), ("zombie", "gone"), ("zombie", "zombie")])
def test_when_none_is_left_the_verdict_is_due_and_nothing_is_said_about_the_end(shim, delegate):
    before = running()
    found = derive(before, looking(p10=shim, p11=delegate))
    assert (found["state"], found["exit"], found["reason"]) == ("running", None, None)
    assert found["supervision"] == "none"
    assert f"osrc wait {job_id()}" in found["note"]
    assert before == running()


def test_a_stopped_delegate_is_said():
    assert "stopped" in derive(running(), looking(p10="running", p11="stopped"))["note"]
    assert "stopped" in derive(running(), looking(p11="stopped"))["note"]
    assert derive(running(), looking(p10="running", p11="stopped"))["state"] == "running"


def test_a_job_without_processes_or_with_an_end_is_left_alone():
    for kept in (plain(), plain(state=JobState.DONE, shim=identity(1)), plain(state=JobState.LAUNCHING)):
        assert derive(kept, looking()) == kept
    assert is_live(plain())
    assert not is_live(plain(state=JobState.DONE))
    assert derive({"state": "running", "shim": {"pid": "x"}}, looking())["supervision"] == "none"


def test_an_earlier_attempt_is_shown_whole_and_says_where_its_log_is():
    over = {"attempt": 1, "lane": "claude", "outcome": "plan-limit", "why": "moved", "cost": {"kind": "plan"}}
    (shown,) = job_object({**plain(), "hops": [over], "wake_at": NOW}, "/home/x", NOW)["hops"]
    assert (shown["lane"], shown["outcome"], shown["cost"]["kind"]) == ("claude", "plan-limit", "plan")
    assert (shown["model"], shown["cost"]["cash_usd"]) == (None, None)
    assert shown["log_path"] == f"/home/x/jobs/{job_id()}/attempts/1/out.log"
