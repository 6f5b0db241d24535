from fakes.state import NOW, any_fact, facts_of_a_life, identity, job_id, record
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages.facts import (
    JobAccepted,
    JobCancelRequested,
    JobEnded,
    JobEnding,
    JobHeld,
    JobHopped,
    JobLaunching,
    JobProgressed,
    JobRemoved,
    JobSpawned,
    JobStateChanged,
)
from outsourcerer.messages.job import Attempted, Cost, ExitStatus, Progress
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.records import apply

NAME = job_id()


def fold(facts, start=None):
    found = start
    for step, fact in enumerate(facts):
        found = apply(found, fact, NOW + step)
    return found


def test_a_whole_life():
    found = fold(facts_of_a_life())
    assert found.state is JobState.DONE
    assert (found.exit, found.exit_status) == (0, ExitStatus(code=0))
    assert (found.started, found.ended, found.attempt) == (NOW + 2, NOW + 4, 1)
    assert found.progress.reads == 3, "a verdict without progress keeps what was seen"
    assert found.marker_id == "secret-marker"


def test_spawning_makes_a_launched_job_run_but_an_adoption_keeps_its_state():
    running = fold(facts_of_a_life()[:3])
    assert running.state is JobState.RUNNING
    stalled = apply(running, JobStateChanged(job_id=NAME, state=JobState.STALLED, reason="silent"), NOW)
    assert (stalled.state, stalled.reason) == (JobState.STALLED, "silent")
    adopted = apply(stalled, JobSpawned(job_id=NAME, shim=None, delegate=identity(99)), NOW + 50)
    assert adopted.state is JobState.STALLED
    assert adopted.started == NOW + 2
    assert adopted.delegate.pid == 99


def test_a_new_attempt_forgets_the_old_processes_and_an_old_one_changes_nothing():
    running = fold(facts_of_a_life()[:3])
    again = apply(running, JobLaunching(job_id=NAME, attempt=2), NOW)
    assert (again.state, again.attempt, again.shim, again.delegate) == (JobState.LAUNCHING, 2, None, None)
    assert apply(again, JobLaunching(job_id=NAME, attempt=2), NOW) is again
    assert apply(again, JobLaunching(job_id=NAME, attempt=1), NOW) is again


def test_only_an_end_ends():
    running = fold(facts_of_a_life()[:3])
    assert apply(running, JobStateChanged(job_id=NAME, state=JobState.DONE), NOW) is running
    assert apply(running, JobEnded(job_id=NAME, state=JobState.RUNNING, exit=0), NOW) is running


def test_a_verdict_is_replaced_only_by_one_that_revises():
    wedged = fold([*facts_of_a_life()[:4], JobEnded(job_id=NAME, state=JobState.WEDGED, exit=125, reason="stall-kill")])
    late = JobEnded(job_id=NAME, state=JobState.DONE, exit=0)
    assert apply(wedged, late, NOW + 9) is wedged
    revised = apply(wedged, late.model_copy(update={"revises": True}), NOW + 9)
    assert (revised.state, revised.exit, revised.reason, revised.ended) == (JobState.DONE, 0, None, NOW + 9)


def test_nothing_else_changes_what_has_ended():
    ended = fold(facts_of_a_life())
    for late in (
        JobAccepted(job_id=NAME, record=record()),
        JobLaunching(job_id=NAME, attempt=9),
        JobSpawned(job_id=NAME, shim=None, delegate=None),
        JobStateChanged(job_id=NAME, state=JobState.RUNNING),
        JobProgressed(job_id=NAME, progress=Progress(reads=9)),
        JobCancelRequested(job_id=NAME),
        JobEnding(job_id=NAME, cause="stall"),
    ):
        assert apply(ended, late, NOW + 9) is ended, late.kind


def test_a_verdict_that_knows_less_does_not_erase_what_was_seen():
    known = record(
        state=JobState.RUNNING,
        progress=Progress(writes=2),
        cost=Cost(kind="plan", plan="Max"),
        conversation="c1",
        note="n",
        exit_status=ExitStatus(code=7),
    )
    ended = apply(known, JobEnded(job_id=NAME, state=JobState.INTERRUPTED, exit=130), NOW)
    assert ended.progress.writes == 2
    assert ended.cost.plan == "Max"
    assert (ended.conversation, ended.note, ended.exit_status) == ("c1", "n", ExitStatus(code=7))


def test_other_live_facts():
    live = record(state=JobState.RUNNING)
    assert apply(live, JobCancelRequested(job_id=NAME), NOW).cancel_requested
    seen = apply(live, JobProgressed(job_id=NAME, progress=Progress(reads=1), model_observed="m"), NOW)
    assert (seen.progress.reads, seen.model_observed) == (1, "m")
    assert apply(seen, JobProgressed(job_id=NAME, progress=Progress(reads=2)), NOW).model_observed == "m"
    ending = apply(live, JobEnding(job_id=NAME, cause="stall-kill"), NOW)
    assert ending.ending == "stall-kill"
    assert apply(ending, JobEnding(job_id=NAME, cause="other"), NOW).ending == "stall-kill", "the first cause stays"
    assert apply(live, JobRemoved(job_id=NAME), NOW) is None
    assert apply(live, JobAccepted(job_id=NAME, record=record(label="other")), NOW) is live
    assert apply(None, JobCancelRequested(job_id=NAME), NOW) is None


@given(st.lists(any_fact(NAME), max_size=25))
def test_any_order_of_facts_makes_sense(facts):
    """Total, never a mix: an ended record changes only by a revising end, and is whole."""
    found = None
    for step, fact in enumerate(facts):
        before = found
        found = apply(found, fact, NOW + step)
        if before is not None and before.state.terminal and found is not before and found is not None:
            assert isinstance(fact, JobEnded)
            assert fact.revises
        if before is None and found is not None:
            assert isinstance(fact, JobAccepted)
        if found is not None:
            assert found.job_id == NAME
            assert found.state.terminal == (found.ended is not None)
            assert found.state.terminal == (found.exit is not None)


def test_a_hop_changes_where_a_job_runs_and_nothing_of_what_was_asked_for():
    over = Attempted(attempt=1, lane="claude", vehicle="claude", outcome="plan-limit", why="moved")
    asked = record(
        label="mine", cancel_requested=True, attempt=1, started=NOW, model_observed="opus", ending="stall-kill"
    )
    new = record(lane="codex", vehicle="codex", model="gpt-5.6-sol", marker_id="another", label="not mine")
    moved = apply(asked, JobHopped(job_id=job_id(), over=over, record=new, why="moved"), NOW)
    assert (moved.lane, moved.model, moved.marker_id, moved.label) == ("codex", "gpt-5.6-sol", "another", "mine")
    assert (moved.cancel_requested, moved.started, moved.attempt) == (True, NOW, 1)
    assert (moved.model_observed, moved.ending, moved.delegate) == (None, None, None)
    assert moved.hops == (over,)
    assert apply(moved, JobHopped(job_id=job_id(), over=over, record=new, why="again"), NOW).hops == (over,)


def test_a_job_that_is_held_has_no_process_and_is_launched_anew():
    over = Attempted(attempt=1, lane="claude", vehicle="claude", outcome="plan-limit", why="waits")
    running = record(state=JobState.RUNNING, attempt=1, delegate=identity(3), shim=identity(4))
    held = apply(running, JobHeld(job_id=job_id(), until=NOW + 9, why="waits", over=over), NOW)
    assert (held.state, held.wake_at, held.delegate, held.reason) == (JobState.WAITING_LIMIT, NOW + 9, None, "waits")
    launched = apply(held, JobLaunching(job_id=job_id(), attempt=2), NOW)
    assert (launched.state, launched.wake_at, launched.reason, launched.hops) == (
        JobState.LAUNCHING,
        None,
        None,
        (over,),
    )
