"""One seed's storm on the simulated machine: work is asked for while everything that can fail does.

    outcome = storm(seed, folder)
    outcome.violations, outcome.faults, outcome.log

The plan (who asks for what, which fault comes when) is drawn first and from its own chance, so that single
faults can be left out (``only``) and the rest stays what it was.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fakes.chaos_check import Asked, Process, Prompted, Seen, Told, Violation, check
from fakes.lanes import steps
from fakes.sim_machine import CONT, KILL, STOP, TERM, Proc
from fakes.sim_world import World
from outsourcerer.messages.refusals import Refused
from outsourcerer.state.ids import new_job_id
from outsourcerer.state.store import Reader

STEPS = 600
"""How long callers and faults come, in steps of the world."""
SETTLE_S = 6 * 3600.0
NOTHING_DONE = ("stopping", "state_full", "state_unwritable", "too_many_launches")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to the world at a step."""

    at: int
    name: str
    roll: float
    """Which one, how much: what a fault makes of it is its own business."""


@dataclass
class Outcome:
    """What came of it."""

    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    steps: int = 0
    jobs: int = 0
    crashes: list[str] = field(default_factory=list)


class Storm:
    """See the module."""

    def __init__(self, world: World, outcome: Outcome) -> None:
        self.world, self.machine, self.outcome = world, world.machine, outcome
        self.asked: list[Asked] = []
        self.canceled: set[str] = set()
        self.unreadable: set[str] = set()
        """Jobs whose second copy was damaged: they go with the database."""
        self.stranger_pids: set[int] = set()
        self.undo: list[tuple[int, Callable[[], None]]] = []
        self.step = 0

    # --- who asks

    def ask(self, number: int, chance: random.Random) -> None:
        """A job or a crew; who is left without an answer asks again, under the same id, and must get the same one."""
        if chance.random() < 0.2:
            self.ask_for_many(number, chance)
            return
        actions, done = script(chance)
        label = f"n{number}"
        more: dict[str, Any] = {}
        taken = [asked.job_id for asked in self.asked if asked.job_id]
        if taken and chance.random() < 0.15:
            more["after"] = [chance.choice(taken)]
        named = chance.random() < 0.5
        if named:
            more["job_id"] = new_job_id(self.machine.wall, chance.randbytes(6))
        reply = self.world.submit(*actions, label=label, **more)
        if named and (reply is None or answer_of(reply) == "unsure"):
            reply = self.world.submit(*actions, label=label, **more)
        self.asked.append(Asked(label, answer_of(reply), getattr(reply, "job_id", None), done))
        self._refused(label, reply)

    def ask_for_many(self, number: int, chance: random.Random) -> None:
        members = [
            {"label": f"g{number}-{place}", "task": steps(*script(chance)[0])}
            for place in range(chance.randrange(2, 5))
        ]
        common = self.world.asking()
        del common["task"]
        request = {
            "group_id": f"fanout-{new_job_id(self.machine.wall, chance.randbytes(6))}",
            "common": common,
            "members": members,
            "most": chance.choice((None, 1, 2)),
        }
        body = {"kind": "fanout.submit", "request": request}
        reply = self.world.request(body)
        if reply is None:
            reply = self.world.request(body)
        self.asked += [Asked(str(member["label"]), answer_of(reply)) for member in members]
        self._refused(f"g{number}", reply)

    def _refused(self, label: str, reply: Any) -> None:
        if isinstance(reply, Refused):
            self.outcome.log.append(f"{self.step}: {label} {reply.code.value}: {reply.message}")

    def cancel(self, roll: float) -> bool:
        taken = [asked.job_id for asked in self.asked if asked.job_id]
        if not taken:
            return False
        job_id = pick(taken, roll)
        self.canceled.add(job_id)
        self.world.cancel(job_id, at_once=roll < 0.3)
        return True

    # --- what fails

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


def answer_of(reply: Any) -> str:
    """``unsure`` for one that never came, and for a refusal that may have come too late."""
    if reply is None:
        return "unsure"
    if not isinstance(reply, Refused):
        return "accepted"
    return "refused" if reply.code.value in NOTHING_DONE else "unsure"


def pick(things: Any, roll: float) -> Any:
    return things[min(int(roll * len(things)), len(things) - 1)]


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


def script(chance: random.Random) -> tuple[list[dict[str, object]], bool]:
    """What a delegate does, and whether it is done if nobody disturbs it."""
    actions: list[dict[str, object]] = [{"say": f"piece {number}"} for number in range(chance.randrange(3))]
    if chance.random() < 0.15:
        actions.insert(0, {"ignore": ["TERM"]})
    if chance.random() < 0.25:
        actions.append({"grandchild": chance.choice((1, 30, 900)), "setsid": chance.random() < 0.4})
    if chance.random() < 0.5:
        actions.append({"sleep": chance.choice((0.2, 5, 40, 400))})
    kind = chance.random()
    if kind < 0.55:
        actions += [{"mark": "DONE"}, {"end": "the answer"}]
        if chance.random() < 0.3:
            actions.append({"sleep": chance.choice((1, 60))})
        if chance.random() < 0.2:
            actions.append({"exit": 7})
        return actions, True
    if kind < 0.7:
        actions.append({"end": "an answer, unsigned"})
    elif kind < 0.8:
        actions += [{"mark": "BLOCKED", "text": "no key"}, {"end": "blocked"}]
    elif kind < 0.9:
        actions.append({"exit": 3})
    else:
        actions.append({"kill": 11})
    return actions, False


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


def planned(seed: int) -> tuple[list[Event], list[tuple[int, int]]]:
    """Draw the faults, and when callers come (step, number)."""
    chance = random.Random(f"plan {seed}")
    count = chance.randrange(20, 60)
    names = chance.choices(list(KINDS), weights=list(KINDS.values()), k=count)
    faults = sorted((Event(chance.randrange(STEPS), name, chance.random()) for name in names), key=lambda e: e.at)
    callers = sorted((int(STEPS * 0.8 * chance.random()), number) for number in range(chance.randrange(3, 9)))
    return faults, callers


def storm(seed: int, folder: Path, only: Collection[int] | None = None) -> Outcome:
    """Play one seed's storm in an empty folder; ``only`` these faults of its plan (places from 0)."""
    outcome = Outcome(seed)
    faults, callers = planned(seed)
    chosen = [(place, fault) for place, fault in enumerate(faults) if only is None or place in only]
    with World(seed, folder, max_jobs=3) as world:
        made = Storm(world, outcome)
        asking = random.Random(f"ask {seed}")
        for step in range(STEPS):
            made.step = step
            made.undone()
            while callers and callers[0][0] <= step:
                made.ask(callers.pop(0)[1], asking)
            while chosen and chosen[0][1].at <= step:
                made.fault(chosen.pop(0)[1])
            if step % 97 == 96 and asking.random() < 0.3:
                made.cancel(asking.random())
            if world.assembly is None and asking.random() < 0.2:
                world.start()
            world.one()
        settle(world, made)
        outcome.violations = check(seen(world, made))
        outcome.steps, outcome.jobs = world.steps, len(made.asked)
        outcome.crashes = list(world.crashes)
        outcome.log += world.machine.happened
    return outcome


def settle(world: World, made: Storm) -> None:
    """All is well again: what is left must come to its end by itself, and a new supervisor must see that."""
    world.machine.full = world.machine.no_files = world.lose_hints = False
    world.machine.last_call = world.machine.failing_call = None
    for _, what in made.undo:
        what()
    made.undo.clear()

    looked: list[int] = []

    def judged() -> bool:
        """Whether every job has ended. Looked up again only once something was journalled."""
        if world.assembly is None or looked == [len(world.committed)]:
            return False
        looked[:] = [len(world.committed)]
        return not live(world)

    world.run_until(judged, SETTLE_S)
    for proc in list(world.machine.table.values()):
        if proc.state == "T":
            world.machine.signal(proc, CONT)  # of a shim that never got to its claim nobody can know
    world.run_until(lambda: not world.machine.of_ours(), SETTLE_S)
    world.kill()


def live(world: World) -> list[str]:
    try:
        with Reader(world.home.database) as reader:
            return [str(record["job_id"]) for record in reader.live()]
    except Exception:
        return ["the database can't be read"]


def seen(world: World, made: Storm) -> Seen:
    """All that can be known of it, for the check."""
    answers = world.start()
    if answers:
        reply = world.request({"kind": "view.jobs", "selection": {"select": "all", "limit": 0}})
        answers = reply is not None and reply.kind == "job_views"
    world.kill()
    with contextlib.closing(sqlite3.connect(world.home.database)) as db:
        database = str(db.execute("PRAGMA integrity_check").fetchone()[0])
        kept = dict(db.execute("SELECT seq, kind FROM facts").fetchall())
    with Reader(world.home.database) as reader:
        records = {record["job_id"]: record for record in reader.jobs(None, 0)[0]}
    prompts = [
        Prompted(heard.job_id, {"DONE", "end"} <= heard.said, "end" in heard.said) for heard in world.stage.delivered
    ]
    return Seen(
        journal=[
            Told(generation, e.seq, e.fact.kind, e.fact.model_dump(mode="json")) for generation, e in world.committed
        ],
        kept=kept,
        generation=world.generation,
        records=records,
        asked=made.asked,
        prompts=prompts,
        processes=[process(proc) for proc in world.machine.everybody if proc.kind not in ("supervisor", "zygote")],
        spoiled=world.stage.spoiled,
        canceled=made.canceled,
        unreadable=made.unreadable,
        database=database,
        answers=answers,
    )


def process(proc: Proc) -> Process:
    return Process(proc.pid, proc.kind, proc.job_id or "", proc.there or proc.kind == "stranger", tuple(proc.signals))


__all__ = ["KINDS", "Outcome", "planned", "storm"]
