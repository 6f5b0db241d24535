"""The job machine in single stories: what one event after another makes of a job."""

from dataclasses import replace

import pytest
from fakes.job_walks import RUN, Job
from outsourcerer.messages.vocabulary import TERMINAL_STATES, JobState
from outsourcerer.state import job_machine as jm
from outsourcerer.state.job_machine import (
    Announce,
    CancelRequested,
    EndTree,
    Exited,
    FinalSeen,
    Hopeless,
    IllegalEvent,
    JobMachine,
    Judge,
    Judged,
    Launch,
    Life,
    LimitWait,
    Looked,
    ProcessState,
    Relaunched,
    Revised,
    SlotGranted,
    Spawned,
    Tick,
    next_tick_s,
    recall,
)
from outsourcerer.state.watchdog import Cause, Watch

# --- single stories


def test_a_plain_job():
    job = Job()
    assert job(SlotGranted()) == (Launch(1),)
    job(Spawned())
    job(Life(initialised=True, acted=True), 3)
    job(FinalSeen(), 60)
    assert job(Exited(), 1) == (Judge(),)
    assert job(Exited()) == ()
    job(Judged(JobState.DONE))
    assert job.machine.ended
    assert not job.ends()


def test_an_unclaimed_launch_is_tried_again_and_not_for_ever():
    job = Job()
    job(SlotGranted())
    for attempt in range(2, RUN.launches + 1):
        assert job(Relaunched()) == (Launch(attempt),)
    assert job(Relaunched()) == ()
    assert job.machine.state is JobState.FAILED


def test_a_cancel_before_the_process_exists():
    queued = Job()
    queued(CancelRequested())
    assert queued.machine.state is JobState.CANCELED
    launching = Job()
    launching(SlotGranted())
    assert launching(CancelRequested()) == ()
    assert launching(Relaunched()) == ()
    assert launching.machine.state is JobState.CANCELED
    too_late = Job()
    too_late(SlotGranted())
    too_late(CancelRequested(at_once=True))
    assert too_late(Spawned()) == (EndTree(Cause.CANCEL, 0.0),)


def test_a_cancel_is_asked_for_once_and_may_be_hastened_once():
    job = Job().run()
    assert job(CancelRequested()) == (EndTree(Cause.CANCEL, RUN.kill_grace_s),)
    assert job(CancelRequested()) == ()
    assert job(CancelRequested(at_once=True)) == (EndTree(Cause.CANCEL, 0.0),)
    assert job(CancelRequested(at_once=True)) == ()
    job(Exited())
    assert job(CancelRequested(at_once=True)) == ()
    job(Judged(JobState.CANCELED))
    assert job(CancelRequested()) == ()
    assert job.machine.state is JobState.CANCELED


def test_a_process_that_is_gone_is_judged_at_the_second_look():
    for state in (ProcessState.GONE, ProcessState.ZOMBIE):
        job = Job().run()
        assert job(Tick(state), 10) == ()
        assert job(Tick(state), 10) == (Judge(),)
        again = Job().run()
        again(Tick(state), 10)
        again(Tick(ProcessState.RUNNING), 1)
        assert again(Tick(state), 10) == ()


def test_a_stopped_process_is_a_doubt_said_once_and_ends_like_silence():
    job = Job().run()
    job(Life(initialised=True, wrote=True))
    said = job(Tick(ProcessState.STOPPED), 10)
    assert job.machine.state is JobState.STALLED
    assert [type(effect) for effect in said] == [Announce]
    assert job(Tick(ProcessState.STOPPED), 10) == ()
    job(Tick(ProcessState.RUNNING), 10)
    assert job.machine.state is JobState.RUNNING
    while job.machine.cause is None:
        job(Tick(ProcessState.STOPPED), 10)
        assert job.mono < 1000 + 2 * RUN.stall_kill_s
    assert job.machine.cause is Cause.STALL


def test_an_exit_beats_the_watchdog():
    job = Job().run()
    job(Exited())
    for _ in range(500):
        assert job(Tick(ProcessState.RUNNING), 10) == ()
    assert job(Hopeless(Cause.AUTH)) == ()
    assert job.machine.cause is None


def test_work_after_a_final_event_takes_it_back():
    job = Job().run()
    job(FinalSeen())
    job(Life(), 5)
    assert job.machine.watch.final_s == 5, "noise on stderr is not work"
    job(Life(acted=True), 5)
    assert job.machine.watch.final_s is None
    job(FinalSeen())
    job(FinalSeen(), 15)
    ended = job(Tick(ProcessState.RUNNING), 5)
    assert EndTree(Cause.FINAL_GRACE, RUN.kill_grace_s) in ended


def test_waiting_for_a_limit_is_no_silence_but_ages():
    job = Job().run()
    job(LimitWait())
    job.watch_until(RUN.hard_s - 20)
    assert job.machine.cause is None
    assert job.machine.state is JobState.WAITING_LIMIT
    assert job.machine.watch.silent_s == 0
    job(Life())
    assert job.machine.state is JobState.WAITING_LIMIT
    job(Life(acted=True))
    assert job.machine.state is JobState.RUNNING


def test_a_late_look_answer_changes_nothing_once_the_end_is_asked_for():
    job = Job().run()
    job(CancelRequested())
    before = job.machine
    assert job(Looked(files=True, busy=True)) == ()
    assert job.machine == before


def test_what_was_heard_before_counts_as_no_life():
    job = Job().run()
    job(Tick(ProcessState.RUNNING), 30)
    told = recall(job.machine, initialised=True, wrote=True)
    assert told.watch == replace(job.machine.watch, initialised=True, wrote=True)
    assert recall(told, initialised=False, wrote=False) == told


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
def test_a_verdict_is_revised_only_by_its_own_attempt_and_only_if_revocable(state):
    job = Job().run()
    job(Judged(state))
    if state in jm.REVOCABLE:
        job(Revised(JobState.DONE, 2))
        assert job.machine.state is state
        job(Revised(JobState.DONE, 1))
        assert job.machine.state is JobState.DONE
    with pytest.raises(IllegalEvent):
        job(Revised(JobState.FAILED, 1))


def test_a_judgement_must_be_an_end():
    job = Job().run()
    with pytest.raises(IllegalEvent):
        job(Judged(JobState.STALLED))
    assert job.machine.state is JobState.RUNNING


def test_the_machine_asks_nothing_of_the_past():
    assert next_tick_s(JobMachine(), RUN) == RUN.poll_s
    past = JobMachine(state=JobState.RUNNING, watch=Watch(age_s=1e9, silent_s=1e9))
    assert 0 < next_tick_s(past, RUN) <= RUN.poll_s
