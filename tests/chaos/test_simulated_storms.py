"""Storms on the simulated machine: a slice of ``make chaos`` with fixed seeds, and what storms have found so far.

A storm is run in a process of its own, where the order of sets is fixed too: the same history each time.
"""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes import sim_world
from fakes.chaos_storm import live
from fakes.lanes import steps
from fakes.sim_checks import command
from fakes.sim_machine import KILL, Machine, Proc
from outsourcerer.actors.loop_names import loop_actor
from outsourcerer.state.groups_reader import group
from outsourcerer.state.loops_reader import live_loops, loop
from outsourcerer.state.store import Reader

pytestmark = pytest.mark.chaos

RUN = Path(__file__).with_name("run_chaos.py")
FAULTS = 450
KEPT = (32, 47, 504, 508, 556, 560, 628, 690, 2103, 7219, 1796085721, 1796085769, 1796096130)
"""Seeds in which something was found once."""


KEPT_TALKS = (3, 42, 31153, 31298, 31315, 31342, 31369)
"""The same, of storms of sessions."""


def played(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(RUN), *words], capture_output=True, text=True, check=False, timeout=540)


def test_what_a_program_opens_while_the_supervisor_waits_is_not_the_supervisors(tmp_path: Path) -> None:
    """Else its death would close it, and the program another's file by the same number."""
    machine, seen = Machine(random.Random(1), tmp_path), []

    def program(_: Proc) -> Iterator[None]:
        seen.append(machine.in_supervisor)
        yield

    proc = machine.spawn("shim", program=program)
    machine.in_supervisor = True
    machine.run(proc)
    assert (seen, machine.in_supervisor) == ([False], True)


def test_a_slice_of_storms() -> None:
    done = played("--faults", str(FAULTS), "--seed", "1", "--real", "0", "--talk", "0", "--workers", "1")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "supervisor killed in a call" in done.stdout


def test_what_storms_have_found() -> None:
    done = played(*(word for seed in KEPT for word in ("--only", f"sim:{seed}")))
    assert done.stdout.count(" 0 violations") == len(KEPT), done.stdout[-4000:] + done.stderr[-4000:]
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_storms_of_sessions() -> None:
    done = played(*(word for seed in KEPT_TALKS for word in ("--only", f"talk:{seed}")))
    assert done.stdout.count(" 0 violations") == len(KEPT_TALKS), done.stdout[-4000:] + done.stderr[-4000:]
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    for word in ("holder killed", "session_given", "session.steer", "session.stop"):
        assert word in done.stdout, f"these storms have none: {word}"


@pytest.fixture
def world(tmp_path: Path):
    with sim_world.World(1, tmp_path) as made:
        yield made


def record(world: sim_world.World, job_id: str) -> dict[str, object]:
    with Reader(world.home.database) as reader:
        return reader.record(job_id) or {}


def test_a_launch_that_failed_unheard_is_judged(world: sim_world.World) -> None:
    """Its shim could not write the claim's second line, wrote why, and was gone before a supervisor listened."""
    world.start()
    world.lose_hints = True
    accepted = world.submit({"mark": "DONE"}, {"end": "x"})
    world.run_until(lambda: world.requests, 30)
    world.kill()
    folder = world.home.job_dir(accepted.job_id)
    while not (folder / "claim.1").exists():
        world.step()
    world.machine.full = True
    for _ in range(20):
        world.step()
    world.machine.full = False
    while not (folder / "exit.json").exists():
        world.step()
    assert world.run_until(lambda: world.assembly is not None and not live(world), 300)
    assert record(world, accepted.job_id)["state"] == "failed"
    assert not world.stage.delivered


def test_no_descriptors_for_a_moment_are_no_missing_lane(world: sim_world.World) -> None:
    """An adopting supervisor that can't read the lanes' files waits; the delegate goes on, and its end is believed."""
    world.start()
    accepted = world.submit({"sleep": 40}, {"mark": "DONE"}, {"end": "x"})
    world.run_until(lambda: world.stage.delivered, 30)
    world.kill()
    world.start()
    lane = world.assembly.services.lane.__self__
    lane._known = (None, type(lane._known[1])())
    world.machine.no_files = True
    world.assembly.services.directory.tell(f"job:{accepted.job_id}", object())
    world.run_until(lambda: False, 20)
    world.machine.no_files = False
    assert world.run_until(lambda: world.assembly is not None and not live(world), 300)
    assert record(world, accepted.job_id)["state"] == "done"
    assert KILL not in [
        number for proc in world.machine.everybody for number in proc.signals if proc.kind == "delegate"
    ]


def test_who_asks_again_while_the_first_request_waits_gets_no_second_job(world: sim_world.World) -> None:
    """Jobs has no turn for so long that the caller's time is up; both requests bear the id that the caller chose."""
    world.start()
    (jobs,) = (actor for actor in world.actors if actor.name == "jobs")
    jobs.sim_turn_at = world.machine.mono + 40
    wanted = "20270115-080000-0123456789ab"
    asked = [world.submit({"mark": "DONE"}, {"end": "x"}, job_id=wanted) for _ in range(2)]
    assert [reply.code.value for reply in asked] == ["supervisor_busy"] * 2
    assert world.run_until(lambda: not live(world) and world.stage.delivered, 600)
    assert world.submit({"mark": "DONE"}, {"end": "x"}, job_id=wanted).job_id == wanted
    with Reader(world.home.database) as reader:
        assert [row["job_id"] for row in reader.jobs(None, 0)[0]] == [wanted]
    assert [heard.job_id for heard in world.stage.delivered] == [wanted]


def test_who_asks_again_after_a_kill_gets_the_very_job_whichever_call_was_the_last(world: sim_world.World) -> None:
    """Both requests bear the id that the caller chose: what was begun before the kill is neither doubled nor left."""
    world.start()
    world.submit({"mark": "DONE"}, {"end": "x"})
    before, asked = world.machine.calls, []
    world.submit({"mark": "DONE"}, {"end": "x"})
    calls = world.machine.calls - before
    assert calls > 4, "a folder, its files, the draft and the promise at the least"
    for last in range(1, calls + 1):
        wanted = f"20270115-080000-{last:012x}"
        world.start()
        world.machine.last_call = last
        reply = world.submit({"mark": "DONE"}, {"end": "x"}, job_id=wanted)
        if reply is None:
            reply = world.submit({"mark": "DONE"}, {"end": "x"}, job_id=wanted)
        world.machine.last_call = None
        asked.append(wanted)
        assert reply.job_id == wanted, f"killed in call {last} of {calls}"
    assert world.run_until(lambda: world.assembly is not None and not live(world), 600)
    with Reader(world.home.database) as reader:
        known = {row["job_id"] for row in reader.jobs(None, 0)[0]}
    assert known.issuperset(asked)
    assert (len(known), {path.name for path in world.home.jobs_dir.iterdir()}) == (len(asked) + 2, known)
    heard = [prompt.job_id for prompt in world.stage.delivered]
    assert sorted(heard) == sorted(known), "each was given its prompt once"


def test_a_loops_step_keeps_its_job_when_the_supervisor_is_killed_as_it_makes_that(world: sim_world.World) -> None:
    """What was begun of it makes room for it: no folder is left of a job that nobody was promised."""
    for last in range(20, 40, 2):
        world.start()
        path = world.work / f"lap{last}"
        task = steps({"work": str(path)}, {"mark": "DONE"}, {"end": "x"})
        terms = {"shape": "verify", "check": command(path, 1, 0.2)}
        world.loop(f"loop-20270115-080000-{last:012x}", terms, {"laps": 2}, verb="edit", task=task)
        world.machine.last_call = last
        world.run_until(lambda: world.assembly is None, 3)
        world.machine.last_call = None
        world.start()
        assert world.run_until(lambda: world.assembly is not None and not live(world), 600)
    with Reader(world.home.database) as reader:
        known = {row["job_id"] for row in reader.jobs(None, 0)[0]}
        ends = {loop(reader, f"loop-20270115-080000-{last:012x}")["end"] for last in range(20, 40, 2)}
    assert (ends, len(known)) == ({"success"}, 10)
    assert {place.name for place in world.home.jobs_dir.iterdir()} == known


def test_the_machine_fails_calls_as_a_real_one_does(world: sim_world.World) -> None:
    """The faults bite: what they do is what the system says."""
    with world._inside():
        world.machine.full = True
        with pytest.raises(OSError, match="No space") as said:
            os.open(world.home.root / "new", os.O_CREAT | os.O_WRONLY)
        assert said.value.errno == errno.ENOSPC
        world.machine.full, world.machine.no_files = False, True
        with pytest.raises(OSError, match="Too many open files"):
            os.open(world.home.root / "new", os.O_CREAT | os.O_WRONLY)
        world.machine.no_files = False
        world.machine.last_call = 1
        with pytest.raises(sim_world.Killed):
            os.open(world.home.root / "new", os.O_CREAT | os.O_WRONLY)
    assert not (world.home.root / "new").exists()
    world.kill()


def test_a_loop_and_a_crew_wait_out_a_moment_without_descriptors(world: sim_world.World) -> None:
    """Their actors can't read the store for minutes; they are started again once they can, and end as they would."""
    world.start()
    path = world.work / "lap"
    task = steps({"sleep": 5}, {"work": str(path)}, {"mark": "DONE"}, {"end": "x"})
    terms = {"shape": "verify", "check": command(path, 1, 0.2)}
    asked = world.loop("loop-20270115-080000-0123456789ab", terms, {"laps": 2}, verb="edit", task=task)
    common = {name: value for name, value in world.asking().items() if name != "task"}
    members = [
        {"label": f"m{number}", "task": steps({"sleep": 5}, {"mark": "DONE"}, {"end": "x"})} for number in range(2)
    ]
    crew = {"group_id": "fanout-20270115-080000-0123456789ab", "common": common, "members": members, "most": 1}
    assert world.request({"kind": "fanout.submit", "request": crew}).kind == "group_accepted"
    world.run_until(lambda: world.stage.delivered, 60)
    world.machine.no_files = True
    world.run_until(lambda: False, 120)
    world.machine.no_files = False
    assert world.run_until(lambda: world.assembly is not None and not live(world), 600)
    with Reader(world.home.database) as reader:
        assert loop(reader, asked.loop["loop_id"])["end"] == "success"
        assert group(reader, crew["group_id"])["ended"] is not None


def test_a_loop_that_was_given_up_stays_ended_when_its_store_is_lost(world: sim_world.World) -> None:
    """Nobody was there to keep it in its folder but those who gave it up."""
    world.start()
    path = world.work / "lap"
    task = steps({"sleep": 5}, {"work": str(path)}, {"mark": "DONE"}, {"end": "x"})
    terms = {"shape": "verify", "check": command(path, 1, 0.2)}
    loop_id = world.loop("loop-20270115-080000-0123456789ab", terms, {"laps": 2}, verb="edit", task=task).loop[
        "loop_id"
    ]

    def end() -> object:
        with Reader(world.home.database) as reader:
            return loop(reader, loop_id)["end"]

    def struck() -> bool:
        world.assembly.services.directory.tell(loop_actor(loop_id), object())
        return end() is not None

    world.run_until(lambda: world.stage.delivered, 60)
    assert world.run_until(struck, 60)
    assert world.run_until(lambda: not live(world), 600)
    world.kill()
    for part in world.home.root.glob("state.db*"):
        part.unlink()
    world.start()
    world.run_until(lambda: False, 60)
    with Reader(world.home.database) as reader:
        assert (loop(reader, loop_id)["end"], live_loops(reader)) == ("blocked", [])
    assert len(world.stage.delivered) == 1
