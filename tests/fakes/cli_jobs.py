"""Jobs on the real CLIs: one world for many of them, what the model says, and what is asked of every lane alike.

A world is costly (a supervisor, a CLI's first start in a new home), so tests share it as long as nothing of
one can show in another: each gets an empty script, no requests yet and a repository of its own. A test that
leaves something in the home, or whose failure the supervisor remembers of the lane, takes a world of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fakes.model_dialects import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from fakes.real_clis import World, repository, still_running, world
from fakes.signed_in import MODELS, sign_in

Step = dict[str, Any]

ANSWER: Step = {"text": "The answer is forty-two, of course.", "mark": "DONE"}
BLOCKED: Step = {"text": "I was not allowed to write.", "mark": "BLOCKED"}
STALL: Step = {"text": "one two three four five six", "stall": 120, "repeat": 0}
CUT: Step = {"text": "one two three four", "drop": True}
TOO_MANY: Step = {"error": 429}
REFUSED_KEY: Step = {"error": 401, "repeat": 0}
SHORT_WINDOWS = {"OSRC_POLL": "0.5", "OSRC_STALL_WARN": "1", "OSRC_STALL_KILL": "3", "OSRC_NOINIT_SECS": "60"}
TASK = "Do what the script says."
STAYS = ("outsourcerer.actors.daemon", "actors/shim.py")
"""Of a world's processes those that live on between two jobs."""


def write_and_shell(repo: Path) -> list[Step]:
    """Write ``hello.txt``, then make ``ran.txt`` with a command."""
    return [
        {"text": "I will write.", "calls": [{"write": f"{repo}/hello.txt", "content": "hello\n"}]},
        {"calls": [{"shell": "echo ran > ran.txt"}]},
    ]


def long_task(folder: Path) -> Path:
    """A task of 240 kB with letters of more than one byte."""
    task = folder / "task.md"
    line = "- Dies ist Zeile {} mit Umlauten: äöü, und \u2014 Strichen.\n"
    task.write_text("".join(line.format(number) for number in range(4000)))
    return task


def tokens(requests: int, *, cached_apart: bool = True) -> dict[str, int]:
    """What a job must report after that many good answers: cached tokens are not part of ``input``."""
    fresh = INPUT_TOKENS - (CACHED_TOKENS if cached_apart else 0)
    counts = {"input": fresh, "cached_input": CACHED_TOKENS, "output": OUTPUT_TOKENS}
    return {name: count * requests for name, count in counts.items()}


def reported(job: dict[str, Any]) -> dict[str, int]:
    """The tokens that a job reports, without those it saw none of."""
    return {name: count for name, count in (job["cost"]["tokens"] or {}).items() if count}


@dataclass(frozen=True)
class Lane:
    """One lane's CLI in a world: ``run`` plays a script and returns the job object, the exit code and the world."""

    name: str
    world: World
    environ: dict[str, str]

    def run(self, steps: Any, verb: str = "run", *words: str, **more: str) -> tuple[dict[str, Any], int, World]:
        """Run one job whose model plays ``steps``: a list, or a function of the repository's path."""
        self.world.server.steps = steps(self.world.repo) if callable(steps) else steps
        words = words or (TASK,)
        lane = ("--lane", self.name, "-m", MODELS[self.name])
        job, done = self.world.job(verb, *lane, *words, **(self.environ | more))
        assert job["lane"] == self.name
        return job, done.returncode, self.world


class Worlds:
    """Worlds that live as long as this, one for each lane."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._root, self._stack = root, stack
        self._made: dict[str, Lane] = {}
        self._numbers = itertools.count(1)

    @contextmanager
    def lane(self, name: str, sign_in: Callable[[World, str], dict[str, str]] = sign_in) -> Iterator[Lane]:
        """A lane's world, as good as new; afterwards no process of its jobs is left."""
        if name not in self._made:
            new = self._stack.enter_context(world(self._root / name, []))
            self._made[name] = Lane(name, new, sign_in(new, name))
        kept = self._made[name]
        kept.world.server.forget()
        repo = repository(kept.world.root / f"a repo {next(self._numbers)}")
        yield replace(kept, world=replace(kept.world, repo=repo, environ=dict(kept.world.environ)))
        left = still_running(str(kept.world.root), but=STAYS)
        if left:
            kept.world.osrc("supervisor", "stop", "--cancel")  # it must not go on beside the next test
        assert left == [], f"processes left behind: {left}"
