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

from fakes.chaos_asks import Asks, is_full
from fakes.chaos_check import Asked, Process, Prompted, Seen, Told, Violation, check
from fakes.chaos_faults import KINDS, MORE_KINDS, Event, Faults
from fakes.sim_machine import CONT, Proc
from fakes.sim_world import World
from outsourcerer.state.groups_reader import groups, live_groups
from outsourcerer.state.loops_reader import live_loops, loops
from outsourcerer.state.store import Reader

STEPS = 600
"""How long callers and faults come, in steps of the world."""
SETTLE_S = 6 * 3600.0


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


class Storm(Asks, Faults):
    """See the module."""

    def __init__(self, world: World, outcome: Outcome) -> None:
        self.world, self.machine, self.outcome = world, world.machine, outcome
        self.full = is_full(outcome.seed)
        self.asked: list[Asked] = []
        self.loops: list[Asked] = []
        self.groups: list[str] = []
        self.canceled: set[str] = set()
        self.unreadable: set[str] = set()
        """Jobs whose second copy was damaged: they go with the database."""
        self.undo: list[tuple[int, Callable[[], None]]] = []
        self.step = 0


def planned(seed: int) -> tuple[list[Event], list[tuple[int, int]]]:
    """Draw the faults, and when callers come (step, number)."""
    chance = random.Random(f"plan {seed}")
    count = chance.randrange(20, 60)
    kinds = {**KINDS, **(MORE_KINDS if is_full(seed) else {})}
    names = chance.choices(list(kinds), weights=list(kinds.values()), k=count)
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
            if made.full and step % 89 == 88 and asking.random() < 0.5:
                (made.change_a_loop if asking.random() < 0.7 else made.cancel_a_group)(asking.random())
            if world.assembly is None and asking.random() < 0.2:
                world.start()
            world.one()
        settle(world, made)
        outcome.violations = check(seen(world, made))
        outcome.steps, outcome.jobs = world.steps, len(made.asked) + len(made.loops)
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
        """Whether all has ended. Looked up again only once something was journalled."""
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
    """Return every job, loop and group that has not ended."""
    try:
        with Reader(world.home.database) as reader:
            jobs = [str(record["job_id"]) for record in reader.live()]
            return [*jobs, *live_loops(reader), *(str(record["group_id"]) for record in live_groups(reader))]
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
        looped = {record["loop_id"]: record for record in loops(reader, 0)}
        grouped = {record["group_id"]: record for record in groups(reader, 0)}
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
        loops=looped,
        asked_loops=made.loops,
        groups=grouped,
        checks={named(folder): times for folder, times in world.stage.checked.items()},
        green={named(folder) for folder in world.stage.green},
        prompts=prompts,
        processes=[process(proc) for proc in world.machine.everybody if proc.kind not in ("supervisor", "zygote")],
        spoiled=world.stage.spoiled,
        canceled=made.canceled,
        unreadable=made.unreadable,
        database=database,
        answers=answers,
    )


def named(folder: str) -> str:
    """Return what the check of a folder is called: whose it is, and which."""
    return "/".join(Path(folder).parts[-2:])


def process(proc: Proc) -> Process:
    return Process(proc.pid, proc.kind, proc.job_id or "", proc.there or proc.kind == "stranger", tuple(proc.signals))


__all__ = ["KINDS", "Outcome", "planned", "storm"]
