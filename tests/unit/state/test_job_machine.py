"""The job machine, driven for hours of its own time: every walk keeps the promises of the table."""

import json
import random
from dataclasses import replace

import pytest
from fakes.job_walks import EDIT, HOURS, RUN, Job
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.vocabulary import TERMINAL_STATES, JobState, Tier, Verb
from outsourcerer.state.job_machine import (
    RUNNING_STATES,
    TRANSITIONS,
    Announce,
    Asked,
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
    LookClosely,
    Looked,
    ProcessState,
    Relaunched,
    Revised,
    SlotGranted,
    Spawned,
    Tick,
    next_tick_s,
    restore,
    snapshot,
)
from outsourcerer.state.watchdog import Cause, policy_for

policies = st.builds(
    lambda tier, verb, streamed, agentic, own: policy_for(
        own.get, tier=tier, verb=verb, streamed=streamed, agentic=agentic
    ),
    st.sampled_from(Tier),
    st.sampled_from(Verb),
    st.booleans(),
    st.booleans(),
    st.dictionaries(
        st.sampled_from(
            [
                "poll",
                "stall_warn",
                "stall_kill",
                "timeout",
                "timeout_max",
                "noinit_secs",
                "nowrite_warn",
                "nowrite_kill",
                "noprogress_secs",
                "noprogress_kill_secs",
                "final_grace",
            ]
        ),
        st.one_of(st.just(0.0), st.floats(2, 5000)),
        max_size=4,
    ),
)
events = st.one_of(
    st.just(SlotGranted()),
    st.just(Relaunched()),
    st.just(Spawned()),
    st.builds(Life, initialised=st.booleans(), wrote=st.booleans(), acted=st.booleans()),
    st.just(FinalSeen()),
    st.just(LimitWait()),
    st.just(Asked()),
    st.builds(Hopeless, st.sampled_from([Cause.AUTH, Cause.PERMISSION])),
    st.builds(Tick, st.sampled_from(ProcessState)),
    st.builds(Looked, files=st.booleans(), busy=st.booleans()),
    st.builds(CancelRequested, at_once=st.booleans()),
    st.just(Exited()),
    st.builds(Judged, st.sampled_from(sorted(TERMINAL_STATES))),
    st.builds(Revised, st.sampled_from([JobState.DONE, JobState.FAILED]), st.integers(0, 2)),
)
steps = st.tuples(st.one_of(st.floats(0, 60), st.sampled_from([0.0, 10.0, 500.0, 9 * HOURS])), events)


# --- any walk


@given(policies, st.lists(steps, max_size=60))
@settings(max_examples=100, deadline=None)
def test_no_walk_leaves_the_table(policy, walk):
    job = Job(policy)
    ends_of: dict[tuple[Cause, bool], int] = {}
    for seconds, event in walk:
        before = job.machine
        row = TRANSITIONS[before.state]
        job.pass_(seconds)
        if type(event) not in row:
            with pytest.raises(IllegalEvent):
                job(event)
            assert job.machine == before
            continue
        effects = job(event)
        after = job.machine
        assert after.state in row[type(event)]
        if before.ended:
            assert after.state is before.state or isinstance(event, Revised)
            assert not any(isinstance(effect, EndTree | Judge | Launch | LookClosely) for effect in effects)
        if before.cause is not None:
            assert after.cause is before.cause, "the first cause is the cause"
        for effect in effects:
            if isinstance(effect, EndTree):
                key = (effect.cause, effect.grace_s == 0)
                ends_of[key] = ends_of.get(key, 0) + 1
    assert all(count == 1 for count in ends_of.values()), ends_of
    assert sum(isinstance(effect, Judge) for effect in job.effects) <= 1


@given(policies, st.lists(steps, max_size=40), st.lists(st.floats(-1e9, 1e9), min_size=40, max_size=40))
@settings(max_examples=100, deadline=None)
def test_the_wall_clock_decides_nothing(policy, walk, walls):
    """Setting it, daylight saving and drift are all the same thing to the machine: no thing."""
    one, other = Job(policy), Job(policy)
    for (seconds, event), wall in zip(walk, walls, strict=False):
        one.pass_(seconds)
        other.mono, other.wall = one.mono, wall
        if type(event) in TRANSITIONS[one.machine.state]:
            assert one(event) == other(event)
            assert one.machine == other.machine


@given(policies, st.lists(steps, max_size=40))
@settings(max_examples=100, deadline=None)
def test_a_snapshot_comes_back(policy, walk):
    job = Job(policy)
    for seconds, event in walk:
        job.pass_(seconds)
        if type(event) in TRANSITIONS[job.machine.state]:
            job(event)
    back = restore(json.loads(json.dumps(snapshot(job.machine))))
    kept = replace(job.machine.watch, looking_s=None, ending_s=None)
    assert (back.state, back.attempt, back.cause, back.mono) == (
        job.machine.state,
        job.machine.attempt,
        job.machine.cause,
        None,
    )
    assert back.watch == kept


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from(["state", "attempt", "cause", "watch", "x"]), json_values),
    st.dictionaries(st.sampled_from([*snapshot(JobMachine())["watch"], "x"]), json_values),
)
@settings(max_examples=100, deadline=None)
def test_a_snapshot_of_garbage_is_a_machine_that_works(values, watch):
    machine = restore({"watch": watch, **values})
    job = Job()
    job.machine = machine
    if machine.state in RUNNING_STATES:
        job.watch_until(2 * RUN.hard_max_s)
        assert job.machine.cause or job.machine.exited
    assert 0 <= machine.watch.age_s < 1e9
    assert machine.attempt >= 0


def test_a_snapshot_with_the_wrong_attempt_or_state_is_a_fresh_machine():
    assert restore({"state": "running", "attempt": "3"}) == JobMachine()
    assert restore({"state": ["running"]}) == JobMachine()
    assert restore({"state": "running", "attempt": 3, "cause": "no such cause"}) == JobMachine()


def test_every_state_and_event_is_met_by_some_walk():
    chance = random.Random(7)
    seen_states: set[JobState] = set()
    seen_rows: set[tuple[JobState, type]] = set()
    pool = [SlotGranted(), Relaunched(), Spawned(), Spawned(), Life(), Life(acted=True, initialised=True), FinalSeen()]
    pool += [LimitWait(), Asked(), Hopeless(Cause.AUTH), CancelRequested(), Exited(), Looked(files=False, busy=False)]
    pool += [Tick(ProcessState.RUNNING)] * 12 + [Tick(ProcessState.STOPPED)]
    pool += [Looked(files=False, busy=False)] * 6 + [Revised(JobState.DONE, 1)]
    verdicts = [Judged(state) for state in sorted(TERMINAL_STATES)]
    for _ in range(1200):
        job = Job(replace(EDIT, stall_warn_s=60.0, explore_warn_s=30.0, no_progress_s=90.0, first_output_s=0.0))
        for _ in range(80):
            event = chance.choice(pool) if chance.random() > 0.01 else chance.choice(verdicts)
            if type(event) not in TRANSITIONS[job.machine.state]:
                continue
            seen_rows.add((job.machine.state, type(event)))
            job(event, chance.choice([1.0, 10.0, 30.0]))
            seen_states.add(job.machine.state)
    assert seen_states == set(JobState)
    assert seen_rows == {(state, kind) for state, row in TRANSITIONS.items() for kind in row}


# --- nobody lives for ever, nobody is ended too early


@given(policies, st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_silent_delegate_is_judged_within_its_bound(policy, answer):
    """Also if nobody ever answers a close look, and also if its processes can't be ended."""
    job = Job(policy).run()
    bound = max(policy.hard_s, policy.hard_max_s) + 4 * policy.poll_s
    ticks = job.watch_until(bound + 1, answer=answer)
    assert job.machine.cause is not None
    assert ticks <= 3 * bound / policy.poll_s + 50, "a busy loop"
    since = job.mono
    while not job.machine.exited:
        job(Tick(ProcessState.RUNNING), next_tick_s(job.machine, policy))
        assert job.mono - since <= policy.end_s + 2 * policy.poll_s + 1
    assert len(job.ends()) == 1
    assert job.effects.count(Judge()) == 1


@given(policies, st.sampled_from([LimitWait(), Asked(), Life(acted=True), FinalSeen()]), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_delegate_that_only_ever_waits_or_chats_is_bounded_by_its_cap(policy, event, seed):
    chance = random.Random(seed)
    job = Job(policy).run()
    job(Life(initialised=True, wrote=True))
    bound = max(policy.hard_s, policy.hard_max_s) + 3 * policy.poll_s + policy.final_grace_s
    while job.machine.cause is None and job.mono < 1000 + 2 * bound + 100:
        job(event, chance.uniform(0, min(policy.poll_s, 30)))
        job(Tick(ProcessState.RUNNING), chance.uniform(0, min(policy.poll_s, 30)))
        if job.machine.watch.looking_s is not None:
            job(Looked(files=False, busy=True))
    assert job.machine.cause in (Cause.HARD, Cause.FINAL_GRACE)


@given(policies, st.integers(0, 2**32), st.sampled_from(["life", "files"]))
@settings(max_examples=80, deadline=None)
def test_a_delegate_that_shows_life_in_every_window_is_never_ended_for_silence(policy, seed, how):
    chance = random.Random(seed)
    job = Job(policy).run()
    job(Life(initialised=True, wrote=True))
    window = min(policy.stall_kill_s, policy.explore_kill_s or 1e9, policy.stall_warn_s)
    life_at = job.mono + chance.uniform(0, window)
    while job.machine.watch.age_s < policy.hard_s - 2 * policy.poll_s and job.machine.cause is None:
        pause = next_tick_s(job.machine, policy)
        while how == "life" and job.mono + pause >= life_at:
            pause -= max(0.0, life_at - job.mono)
            job(Life(acted=chance.random() > 0.5), max(0.0, life_at - job.mono))
            life_at = job.mono + chance.uniform(0.5, 0.99) * window
        job(Tick(ProcessState.RUNNING), max(0.0, pause))
        if job.machine.watch.looking_s is not None:
            job(Looked(files=how == "files", busy=False))
    assert job.machine.cause is None, job.effects


@given(policies, st.lists(st.tuples(st.floats(0, 900), st.floats(100, 40 * HOURS)), max_size=6))
@settings(max_examples=80, deadline=None)
def test_a_gap_ends_nobody_and_is_not_counted(policy, gaps):
    job = Job(policy).run()
    job(Life(initialised=True, wrote=True))
    watched = 0.0
    for lead, gap in gaps:
        until = watched + lead
        while watched < until and job.machine.cause is None:
            pause = min(next_tick_s(job.machine, policy), policy.poll_s)
            watched += pause
            job(Tick(ProcessState.RUNNING), pause)
            if job.machine.watch.looking_s is not None:
                job(Looked(files=False, busy=False))
        if gap <= policy.max_gap_s or job.machine.cause is not None:
            return
        effects = job(Tick(ProcessState.RUNNING), gap)
        watched += policy.poll_s
        assert not any(isinstance(effect, EndTree | LookClosely) for effect in effects)
        assert any(isinstance(effect, Announce) and "gap" in effect.sentence for effect in effects)
        assert job.machine.watch.age_s <= watched + 1
        job(Tick(ProcessState.RUNNING), 0.0)
        if job.machine.watch.looking_s is not None:
            job(Looked(files=False, busy=False))


def test_a_machine_that_is_late_all_the_time_still_judges():
    job = Job().run()
    for _ in range(400):
        job(Tick(ProcessState.RUNNING), RUN.max_gap_s + 1)
        if job.machine.watch.looking_s is not None:
            job(Looked(files=False, busy=False), RUN.max_gap_s + 1)
        if job.machine.cause:
            return
    raise AssertionError("never judged")


def test_nine_hours_of_sleep_cost_at_most_a_poll():
    plain, slept = Job().run(), Job().run()
    for job in (plain, slept):
        job(Life(initialised=True))
        for _ in range(30):
            job(Tick(ProcessState.RUNNING), 10)
    slept(Tick(ProcessState.RUNNING), 9 * HOURS)
    assert slept.machine.watch.age_s - plain.machine.watch.age_s <= RUN.poll_s
    slept(Life())
    assert slept.machine.state is JobState.RUNNING


def test_a_monotonic_clock_that_runs_back_is_no_time():
    job = Job().run()
    job(Tick(ProcessState.RUNNING), 5)
    job(Tick(ProcessState.RUNNING), -500)
    assert job.machine.watch.age_s == 5
