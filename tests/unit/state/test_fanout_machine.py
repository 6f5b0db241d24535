"""Groups: whose turn it is, within the group's bound and the lanes', each once, and nobody forgotten."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.state.affordable import KEPT_FREE, affordable
from outsourcerer.state.fanout_machine import (
    TRANSITIONS,
    Claim,
    FanoutMachine,
    Finish,
    Granted,
    Looked,
    Member,
    Phase,
    Place,
    Policy,
    Release,
    step,
)
from outsourcerer.state.lane_slots import LaneSlots, Pace


def group(lanes, phase=Phase.RUNNING):
    return FanoutMachine({f"j{number}": Member(lane) for number, lane in enumerate(lanes)}, phase)


def test_members_have_their_turn_in_order_and_within_the_bound():
    machine, effects = step(group("aab"), Looked({}), Policy(2))
    assert effects == (Claim("a", 2), Claim("b", 1))
    machine, effects = step(machine, Granted("a", 1), Policy(2))
    assert effects == (Release(("j0",)),)
    machine, effects = step(machine, Granted("b", 5), Policy(2))
    assert effects == (Release(("j2",)),)
    assert step(machine, Granted("a", 1), Policy(2)) == (machine, ())
    machine, effects = step(machine, Looked({"j0": Place.ENDED, "j2": Place.RELEASED}), Policy(2))
    assert effects == (Claim("a", 1),)


def test_late_news_takes_nothing_back():
    machine, _ = step(group("a"), Granted("a", 1), Policy(1))
    assert step(machine, Looked({"j0": Place.WAITING}), Policy(1)) == (machine, ())
    machine, effects = step(machine, Looked({"j0": Place.ENDED}), Policy(1))
    assert (machine.phase, effects) == (Phase.ENDED, (Finish(),))
    assert step(machine, Looked({"j0": Place.RELEASED}), Policy(1)) == (machine, ())
    assert step(machine, Granted("a", 1), Policy(1)) == (machine, ())


def test_a_group_that_is_canceled_releases_nobody():
    machine, effects = step(group("aa"), Looked({}, canceling=True), Policy(2))
    assert (machine.phase, effects) == (Phase.CANCELING, ())
    assert step(machine, Granted("a", 2), Policy(2)) == (machine, ())


def test_every_phase_knows_every_event():
    assert set(TRANSITIONS) == set(Phase)
    assert all(set(row) == {Looked, Granted} for row in TRANSITIONS.values())


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_groups_share_lanes_to_the_end(data):
    """Whatever ends when: no bound is ever passed, each member is released once, and all come to their end."""
    caps = {"a": data.draw(st.none() | st.integers(1, 3)), "b": data.draw(st.none() | st.integers(1, 2))}
    apart = {"a": data.draw(st.sampled_from([0.0, 0.5])), "b": 0.0}
    slots, now, told = LaneSlots(), 0.0, set()
    machines, policies, released = {}, {}, []
    for name in ("g1", "g2", "g3"):
        machines[name] = group(data.draw(st.lists(st.sampled_from("ab"), min_size=1, max_size=6)))
        policies[name] = Policy(data.draw(st.integers(1, 4)))
        told.add(name)
    timers: list[tuple[float, str]] = []
    at_work: list[tuple[str, str]] = []

    def perform(name, effects):
        for effect in effects:
            match effect:
                case Claim(lane, count):
                    count = min(count, policies[name].most - machines[name].released().total())
                    grant = slots.claim(name, lane, count, Pace(caps[lane], apart[lane]), now)
                    told.update({grant.tell} - {None})
                    if grant.again_s is not None:
                        timers.append((now + grant.again_s, name))
                    if grant.count:
                        act(name, Granted(lane, grant.count))
                case Release(job_ids):
                    released.extend((name, job) for job in job_ids)
                    at_work.extend((name, job) for job in job_ids)
                case Finish():
                    told.update(slots.forget(name))

    def act(name, event):
        machines[name], effects = step(machines[name], event, policies[name])
        if isinstance(event, Looked):
            told.update(slots.declare(name, machines[name].released()) - {name})
        perform(name, effects)

    def look(name):
        if machines[name].phase is Phase.ENDED:
            return
        act(name, Looked({}))
        settle(name)

    def settle(name):
        machine = machines[name]
        told.update(slots.declare(name, machine.released()) - {name})
        waiting = {one.lane for one in machine.members.values() if one.place is Place.WAITING}
        for lane in "ab":
            if lane not in waiting or machine.released().total() >= policies[name].most:
                told.update(slots.unqueue(name, lane) - {name})

    for _ in range(500):
        while told:
            look(told.pop())
            for name, machine in machines.items():
                assert machine.released().total() <= policies[name].most
            for lane, cap in caps.items():
                assert cap is None or sum(one.released()[lane] for one in machines.values()) <= cap
        if at_work:
            name, job = at_work.pop(data.draw(st.integers(0, len(at_work) - 1)))
            act(name, Looked({job: Place.ENDED}))
            if machines[name].phase is not Phase.ENDED:
                settle(name)
            continue
        if not timers:
            break
        timers.sort()
        now, name = timers.pop(0)
        told.add(name)
    assert all(machine.phase is Phase.ENDED for machine in machines.values())
    assert len(released) == len(set(released)) == sum(len(one.members) for one in machines.values())


def test_two_groups_take_turns_on_a_scarce_lane():
    slots, pace = LaneSlots(), Pace(1)
    assert slots.claim("g1", "a", 3, pace, 0.0).count == 1
    assert slots.claim("g2", "a", 3, pace, 0.0).count == 0
    assert slots.declare("g1", {}) == ({"g2"} if slots.first("a") == "g2" else set())
    turns = []
    for _ in range(4):
        first = slots.first("a")
        assert slots.claim(first, "a", 3, pace, 0.0).count == 1
        turns.append(first)
        slots.declare(first, {})
    assert turns[:2] == turns[2:]
    assert set(turns) == {"g1", "g2"}


def test_starts_of_a_cli_that_rewrites_its_files_are_held_apart():
    slots, pace = LaneSlots(), Pace(None, 0.5)
    first = slots.claim("g", "a", 3, pace, 10.0)
    assert (first.count, first.again_s) == (1, 0.5)
    assert slots.claim("g", "a", 2, pace, 10.2).count == 0
    assert slots.claim("g", "a", 2, pace, 10.5).count == 1


@pytest.mark.parametrize(
    ("wanted", "free", "need", "young", "at_work", "allowed"),
    [
        (5, None, 100, 0, 0, 5),
        (5, 1, None, 0, 0, 5),
        (5, KEPT_FREE + 350, 100, 0, 1, 3),
        (5, KEPT_FREE + 350, 100, 2, 2, 1),
        (5, 10, 100, 0, 0, 1),
        (5, 10, 100, 3, 3, 0),
        (0, 10, 100, 0, 0, 0),
    ],
)
def test_jobs_wait_for_memory_but_never_for_nobody(wanted, free, need, young, at_work, allowed):
    assert affordable(wanted, free=free, need=need, young=young, at_work=at_work) == allowed
