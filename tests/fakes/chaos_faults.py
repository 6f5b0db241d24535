"""What fails in a storm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakes.chaos_asks import pick
from fakes.sim_machine import CONT, KILL, STOP, TERM
from fakes.sim_world import World


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to the world at a step."""

    at: int
    name: str
    roll: float
    """Which one, how much: what a fault makes of it is its own business."""


class Faults:
    """The storm's half that breaks things. The attributes are the storm's."""

    world: World
    machine: Any
    outcome: Any
    asked: Any
    unreadable: set[str]
    undo: list[tuple[int, Callable[[], None]]]
    step: int

    def fault(self, event: Event) -> None:
        happened = getattr(self, "do_" + event.name.replace(" ", "_"))(event.roll)
        if happened is not False:
            self.outcome.faults[event.name] += 1
            self.outcome.log.append(f"{self.step}: {event.name}{'' if happened is None else f': {happened}'}")

    def do_supervisor_killed(self, _roll: float) -> object:
        if self.world.supervisor is None:
            return False
        self.world.kill()
        return None

    def do_supervisor_killed_in_a_call(self, roll: float) -> object:
        if self.world.assembly is None:
            return False
        self.machine.last_call = 1 + int(roll * 25)
        return f"the {self.machine.last_call}th from now"

    def do_supervisor_stopped_in_order(self, roll: float) -> object:
        if self.world.assembly is None:
            return False
        reason = pick(("restart", "shutdown", "idle"), roll)
        self.world.stop(reason)
        return reason

    def do_actor_crashed(self, roll: float) -> object:
        if self.world.assembly is None:
            return False
        directory = self.world.assembly.services.directory
        names = [name for name in directory.waiting() if name != "root"]
        if not names:
            return False
        directory.tell(pick(names, roll), object())
        return pick(names, roll)

    def do_actor_slowed(self, roll: float) -> object:
        if not self.world.actors:
            return False
        actor = pick(self.world.actors, roll)
        actor.sim_turn_at = self.machine.mono + 0.1 + 100 * (roll * 7 % 1) ** 3
        return actor.name

    def do_clock_jumped(self, roll: float) -> object:
        by = (roll - 0.5) * pick((2.0, 600.0, 90_000.0, 3e7), roll * 13 % 1)
        self.machine.wall += by
        return f"{by:.0f} s"

    def do_machine_stood_still(self, roll: float) -> object:
        seconds = pick((5.0, 120.0, 4000.0), roll)
        self.machine.pass_time(seconds)
        return f"{seconds:.0f} s"

    def do_hints_lost(self, roll: float) -> object:
        self.world.lose_hints = True
        self._later(int(10 + roll * 60), lambda: setattr(self.world, "lose_hints", False))
        self.world.hints.clear()
        return None

    def do_disk_full(self, roll: float) -> object:
        self.machine.full = True
        self._later(int(5 + roll * 80), lambda: setattr(self.machine, "full", False))
        return None

    def do_one_write_failed(self, roll: float) -> object:
        if self.world.assembly is None:
            return False
        self.machine.failing_call = 1 + int(roll * 15)
        return None

    def do_no_files(self, roll: float) -> object:
        if self.world.assembly is None:
            return False
        self.machine.no_files = True
        self._later(int(2 + roll * 25), lambda: setattr(self.machine, "no_files", False))
        return None

    def do_forker_killed(self, _roll: float) -> object:
        zygote = self.world.zygote
        if zygote is None or not zygote.there:
            return False
        self.machine.signal(zygote, KILL)
        self.world.requests.clear()
        return None

    def do_forker_stopped(self, roll: float) -> object:
        zygote = self.world.zygote
        if zygote is None or not zygote.there:
            return False
        self.machine.signal(zygote, STOP)
        if roll < 0.7:
            self._later(int(roll * 80), lambda: self.machine.signal(zygote, CONT))
        return None

    def _signalled(self, kind: str, number: int, roll: float) -> object:
        there = [proc for proc in self.machine.table.values() if proc.kind == kind and proc.there]
        if not there:
            return False
        proc = pick(there, roll)
        # what we did to it is not what was done to a stranger
        self.machine.signal(proc, number)
        if number == STOP and roll * 10 % 1 < 0.5:
            self._later(int(roll * 100), lambda: self.machine.signal(proc, CONT))
        return f"{proc.pid} {proc.job_id or ''}"

    def do_shim_killed(self, roll: float) -> object:
        return self._signalled("shim", KILL, roll)

    def do_shim_stopped(self, roll: float) -> object:
        return self._signalled("shim", STOP, roll)

    def do_delegate_killed(self, roll: float) -> object:
        return self._signalled("delegate", KILL, roll)

    def do_delegate_terminated(self, roll: float) -> object:
        return self._signalled("delegate", TERM, roll)

    def do_delegate_stopped(self, roll: float) -> object:
        return self._signalled("delegate", STOP, roll)

    def do_child_killed(self, roll: float) -> object:
        return self._signalled("child", KILL, roll)

    def do_keeper_killed(self, roll: float) -> object:
        return self._signalled("keeper", KILL, roll)

    def do_keeper_stopped(self, roll: float) -> object:
        return self._signalled("keeper", STOP, roll)

    def do_check_killed(self, roll: float) -> object:
        return self._signalled("check", KILL, roll)

    def do_check_stopped(self, roll: float) -> object:
        return self._signalled("check", STOP, roll)

    def do_strangers_came(self, roll: float) -> object:
        for _ in range(1 + int(roll * 6)):
            self.machine.spawn("stranger")
        return None

    def do_strangers_left(self, roll: float) -> object:
        """Their pids are free again, and come around as somebody else's."""
        there = [proc for proc in self.machine.table.values() if proc.kind == "stranger"]
        for proc in there[: int(roll * len(there))]:
            self.machine.reap(proc)
        return None if there else False

    def do_file_damaged(self, roll: float) -> object:
        names = ("exit.json", "watch.json", "events.jsonl", "end.json", "last.txt", "meta.json", "supervisor.json")
        name = pick(names, roll)
        folders = sorted(self.world.home.jobs_dir.glob("*")) if self.world.home.jobs_dir.is_dir() else []
        folders = [folder for folder in folders if (folder / name).is_file()]
        if not folders:
            return False
        folder = pick(folders, roll * 11 % 1)
        damage(folder / name, roll * 17 % 1)
        if name == "meta.json":
            self.unreadable.add(folder.name)
        if name in ("exit.json", "meta.json", "end.json"):
            self.world.stage.spoiled.add(folder.name)
        return f"{name} of {folder.name}"

    def do_database_damaged(self, roll: float) -> object:
        database = self.world.home.database
        if self.world.supervisor is not None:
            self.world.kill()
        if not database.exists():
            return False
        damage(database, roll * 17 % 1)
        # Whatever was changed may have been a record, which nothing tells from what it was.
        self.world.stage.spoiled.update(asked.job_id for asked in self.asked if asked.job_id)
        self.world.generation += 1
        return None

    def _later(self, steps: int, what: Callable[[], None]) -> None:
        self.undo.append((self.step + steps, what))

    def undone(self) -> None:
        due = [what for at, what in self.undo if at <= self.step]
        self.undo = [(at, what) for at, what in self.undo if at > self.step]
        for what in due:
            what()


def damage(path: Path, roll: float) -> None:
    """Cut, zero, overwrite in the middle, or empty a file, as a lost disk cache or a stray program does."""
    data = path.read_bytes()
    if not data:
        return
    at = int(roll * len(data))
    kind = int(roll * 997) % 4
    made = (b"", data[:at], bytes(len(data)), data[:at] + b"\xff\x00garbage" + data[at + 9 :])[kind]
    descriptor = path.open("r+b")
    with descriptor:
        descriptor.truncate(0)
        descriptor.write(made)


KINDS: dict[str, float] = {
    "supervisor killed": 5,
    "supervisor killed in a call": 10,
    "supervisor stopped in order": 1.5,
    "actor crashed": 5,
    "actor slowed": 6,
    "clock jumped": 3,
    "machine stood still": 2,
    "hints lost": 3,
    "disk full": 2,
    "one write failed": 5,
    "no files": 2,
    "forker killed": 3,
    "forker stopped": 2,
    "shim killed": 5,
    "shim stopped": 4,
    "delegate killed": 3,
    "delegate terminated": 2,
    "delegate stopped": 4,
    "child killed": 1,
    "strangers came": 4,
    "strangers left": 2,
    "file damaged": 2,
    "database damaged": 0.5,
}
MORE_KINDS: dict[str, float] = {"keeper killed": 3, "keeper stopped": 1, "check killed": 2, "check stopped": 2}
"""Where there are checks."""
