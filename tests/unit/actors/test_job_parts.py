"""The parts of a job's actor that decide without it: launches that hang, watches on disk, what output means."""

import os
import signal
import subprocess

import pytest
from fakes.actors import eventually
from fakes.lanes import install_fake_lanes
from fakes.state import record, scratch_home
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.attempt import hurry, resume, state_of
from outsourcerer.actors.job_end import cost_of, ended_fact, failed
from outsourcerer.actors.job_facts import facts_of, gauges_of
from outsourcerer.actors.job_output import Heard, meaning
from outsourcerer.actors.job_terms import cause_of, load_watch, policy_of, save_watch
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.lanes.evidence import Evidence, fold
from outsourcerer.messages.facts import JobEnding, JobLaunching, JobSpawned, JobStateChanged
from outsourcerer.messages.job import Cost, Identity
from outsourcerer.messages.lane_events import LimitReported, LimitWindow
from outsourcerer.messages.vocabulary import JobState, Verb
from outsourcerer.state.identity import identify
from outsourcerer.state.job_folder import WATCH, JobFolder
from outsourcerer.state.job_machine import (
    Announce,
    Asked,
    EndTree,
    FinalSeen,
    Hopeless,
    JobMachine,
    Launch,
    Life,
    LimitWait,
    ProcessState,
    SlotGranted,
    Spawned,
    Tick,
)
from outsourcerer.state.watchdog import Cause, Watch


@pytest.fixture
def folder(tmp_path):
    return JobFolder.create(scratch_home(tmp_path), record().job_id)


# --- a shim that hangs


@pytest.fixture
def shim(folder):
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    folder.claim(1, {"by": "shim", **identify(process.pid)})
    yield process
    process.kill()
    process.wait()


def test_a_shim_in_its_time_is_left_alone(folder, shim):
    os.kill(shim.pid, signal.SIGSTOP)
    claimed = folder.read_claim(1).process
    eventually(lambda: state_of(claimed) is ProcessState.STOPPED)
    hurry(folder, 1, waited_s=44.0, grace_s=45.0)
    assert state_of(claimed) is ProcessState.STOPPED
    hurry(folder, 1, waited_s=46.0, grace_s=45.0)
    eventually(lambda: state_of(claimed) is ProcessState.RUNNING)
    hurry(folder, 1, waited_s=89.0, grace_s=45.0)
    assert shim.poll() is None
    hurry(folder, 1, waited_s=90.0, grace_s=45.0)
    assert shim.wait(120) == -signal.SIGKILL


def test_a_claim_of_ours_or_of_nobody_hurries_nobody(folder):
    hurry(folder, 1, waited_s=1e6, grace_s=45.0)
    (folder.path / "claim.1").write_bytes(b"")
    hurry(folder, 1, waited_s=1e6, grace_s=45.0)


def test_a_recycled_pid_is_neither_resumed_nor_hurried(folder, shim):
    os.kill(shim.pid, signal.SIGSTOP)
    now = Identity.model_validate(identify(shim.pid))
    eventually(lambda: state_of(now) is ProcessState.STOPPED)
    other = now.model_copy(update={"started": now.started - 1})
    resume(other)
    (folder.path / "claim.2").write_text(other.model_dump_json())
    hurry(folder, 2, waited_s=1e6, grace_s=45.0)
    assert state_of(now) is ProcessState.STOPPED
    assert state_of(None) is ProcessState.GONE


# --- the watch on disk


def test_a_watch_comes_back_for_its_own_attempt_only(folder):
    watch = Watch(age_s=100.0, silent_s=30.0, initialised=True, final_s=3.0)
    save_watch(folder, JobMachine(state=JobState.RUNNING, attempt=2, watch=watch), {"out": 7, "err": 0})
    assert load_watch(folder, 2) == (watch, {"out": 7, "err": 0})
    assert load_watch(folder, 1) == (Watch(), {})


@given(
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from(
            [
                b'{"machine": []}',
                b'{"machine": {"attempt": 1, "watch": 7}, "read": []}',
                b'{"machine": {"attempt": 1}, "read": {"out": "7", "err": -1}}',
                b'{"machine": {"attempt": 1, "watch": {"age_s": NaN, "silent_s": Infinity, "wrote": 1}}}',
                b"[1]",
            ]
        ),
    )
)
@settings(max_examples=60, deadline=None)
def test_a_watch_of_garbage_is_a_fresh_one(tmp_path_factory, data):
    folder = JobFolder(tmp_path_factory.mktemp("job"))
    (folder.path / WATCH).write_bytes(data)
    assert load_watch(folder, 1) == (Watch(), {})


# --- what output means


@pytest.mark.parametrize(
    ("heard", "evidence", "verb", "events"),
    [
        (Heard(), Evidence(), Verb.RUN, [Life()]),
        (Heard(wrote=True, acted=True), Evidence(), Verb.RUN, [Life(wrote=True, acted=True)]),
        (Heard(final=True, acted=True), Evidence(), Verb.RUN, [FinalSeen()]),
        (Heard(waiting=True), Evidence(), Verb.RUN, [LimitWait()]),
        (Heard(asked=True), Evidence(), Verb.RUN, [Life(), Asked()]),
        (Heard(asked=True, final=True), Evidence(), Verb.RUN, [FinalSeen()]),
        (Heard(), Evidence(denials=3), Verb.EDIT, [Life(), Hopeless(Cause.PERMISSION)]),
        (Heard(), Evidence(denials=2), Verb.EDIT, [Life()]),
        (Heard(), Evidence(denials=3), Verb.RUN, [Life()]),
        (Heard(), Evidence(denials=3, writes=1), Verb.EDIT, [Life()]),
    ],
)
def test_meaning(heard, evidence, verb, events):
    assert list(meaning(heard, evidence, verb, 3)) == events


def test_refusals_are_borne_where_nobody_counts_them():
    assert list(meaning(Heard(), Evidence(denials=99), Verb.EDIT, 0)) == [Life()]


# --- terms, facts, ends


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({}, None),
        ({"ending": "stall-kill"}, Cause.STALL),
        ({"ending": "no such cause"}, None),
        ({"cancel_requested": True}, Cause.CANCEL),
        ({"cancel_requested": True, "ending": "hard-timeout"}, Cause.HARD),
    ],
)
def test_the_first_cause_that_was_journalled_is_the_cause(changes, cause):
    assert cause_of(record(**changes)) is cause


def test_the_terms_of_a_job_are_its_records(tmp_path):
    home = scratch_home(tmp_path)
    install_fake_lanes(home.root)
    book = LaneBook(home)
    terms = policy_of(record(windows={"stall_warn": 3.0}, verb=Verb.EDIT, agentic=False), book.lane("fake"))
    assert (terms.stall_warn_s, terms.agentic, terms.streamed) == (3.0, False, True)
    assert not policy_of(record(), book.lane("fake-buffered")).streamed


def test_facts_of_steps():
    one = record()
    queued, launching = JobMachine(), JobMachine(state=JobState.LAUNCHING, attempt=1)
    running = JobMachine(state=JobState.RUNNING, attempt=1)
    stalled = JobMachine(state=JobState.STALLED, attempt=1)
    name = one.job_id
    assert facts_of(one, queued, launching, SlotGranted(), (Launch(1),)) == [JobLaunching(job_id=name, attempt=1)]
    assert facts_of(one, launching, running, Spawned(), ()) == [JobSpawned(job_id=name, shim=None, delegate=None)]
    tick = Tick(ProcessState.RUNNING)
    assert facts_of(one, running, stalled, tick, (Announce("silent"),)) == [
        JobStateChanged(job_id=name, state=JobState.STALLED, reason="silent")
    ]
    assert facts_of(one, running, running, tick, (EndTree(Cause.HARD, 2.0),)) == [
        JobEnding(job_id=name, cause="hard-timeout")
    ]
    assert facts_of(one, running, running, tick, (EndTree(Cause.CANCEL, 2.0),)) == []


def test_an_end_that_saw_nothing_says_nothing():
    fact = ended_fact(record(), failed("launch: no"), None, evidence=None, notes=["a", "b"])
    assert (fact.state, fact.exit, fact.exit_status, fact.note) == (JobState.FAILED, 1, None, "a; b")
    assert fact.cost.tokens is None


@pytest.mark.parametrize(
    ("kind", "cash", "measured"), [("free", 0.0, True), ("plan", 0.0, False), ("metered", 0.5, False)]
)
def test_cash_is_what_is_known(kind, cash, measured):
    cost = cost_of(record(cost=Cost(kind=kind)), Evidence(cash_usd=0.5))
    assert (cost.kind, cost.cash_usd, cost.measured) == (kind, cash, measured)
    assert cost_of(record(cost=Cost(kind="metered")), None).cash_usd is None


def test_a_plans_gauges_are_journalled_with_the_time_of_the_attempts_end():
    windows = (LimitWindow(name="five_hour", utilization=0.4), LimitWindow(name="seven_day"))
    seen = fold(Evidence(), LimitReported(windows=windows))
    told = gauges_of(record(1, pool="claude"), seen, 5.0)
    assert [(fact.pool, fact.measured_at, [one.name for one in fact.windows]) for fact in told] == [
        ("claude", 5.0, ["five_hour"])
    ]
    assert gauges_of(record(1), seen, None) == []  # nobody knows how old they are
    assert gauges_of(record(1), Evidence(), 5.0) == []
