"""Days of ordinary work on the simulated machine, in seconds: what is kept, what goes, and what must not grow."""

from __future__ import annotations

import gc
from pathlib import Path
from unittest import mock

from fakes.growth import Bound
from fakes.sim_world import World
from outsourcerer.actors.supervisor import Supervisor

DAY_S = 86_400.0
PROBES_S = 1800.0
"""Probes every half hour instead of every 30 s: thirty days of them are a minute of nothing."""
BOUNDS = (
    Bound("actors", 1),
    Bound("timers", 3),
    Bound("descriptors", 2),
    Bound("threads", 0),
    Bound("objects", 500),
    Bound("folders", 6),
)
"""From the second week on, over the rest of the month. The journal keeps every fact: see ``bytes_per_job``."""


def days(folder: Path, *, count: int = 30, jobs_a_day: int = 4, **environ: str) -> list[tuple[float, dict[str, float]]]:
    """Live through so many days with one supervisor; return (day, figures) at each day's end."""
    samples, ended = [], 0
    defaults = {**Supervisor.__init__.__kwdefaults__, "probe_every_s": PROBES_S}
    with mock.patch.object(Supervisor.__init__, "__kwdefaults__", defaults), World(7, folder, **environ) as world:
        world.start()
        for day in range(1, count + 1):
            for number in range(jobs_a_day):
                world.submit({"sleep": 30}, {"mark": "DONE"}, {"end": f"answer {day} {number}"})
                world.run_until(lambda: False, DAY_S / jobs_a_day)
            ended += sum(entry.fact.kind == "job.ended" for _, entry in world.committed)
            for ours in (world.committed, world.stage.delivered, world.machine.everybody):
                ours.clear()  # what the test itself remembers
            samples.append((float(day), {**look(world), "jobs": ended}))
    return samples


def look(world: World) -> dict[str, float]:
    """What there is now."""
    gc.collect()
    assert world.assembly is not None, "one supervisor lives through all of it"
    return {
        "actors": len(world.actors),
        "timers": len(world.machine._due),
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").is_dir() else 0,
        "threads": len(world.background),
        "objects": len(gc.get_objects()),
        "folders": len(list(world.home.jobs_dir.iterdir())),
        "database": sum(path.stat().st_size for path in world.home.root.glob("state.db*")),
    }


def bytes_per_job(samples: list[tuple[float, dict[str, float]]]) -> float:
    """What a job leaves in the database for good."""
    (_, first), (_, last) = samples[len(samples) // 3], samples[-1]
    return (last["database"] - first["database"]) / max(1.0, last["jobs"] - first["jobs"])
