"""Checks on the simulated machine: a keeper that does what ``actors/check_keeper.py`` does, step by step.

A check's command is ``simcheck FILE NEED SECONDS``: green once FILE has so many lines, after so long.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fakes.sim_machine import KILL, Proc, Program
from fakes.sim_programs import Stage, written
from outsourcerer.actors import shim
from outsourcerer.actors.check_keeper import Keeper

LOOK_S = 2.0


def command(path: Path, need: int, seconds: float) -> str:
    """Return the line of a check."""
    return f"simcheck {path} {need} {seconds:g}"


class SimKeeper:
    """What ``subprocess.Popen`` is to whoever began a check."""

    def __init__(self, world: Any, folder: str) -> None:
        self._world = world
        self._proc: Proc = world.machine.spawn("keeper", program=lambda me: keeper_life(world.stage, me, folder))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if not self._proc.there:
            self.returncode = 0
        return self.returncode

    def wait(self) -> None:
        while self.poll() is None:
            self._world.sleep(0.05)


def keeper_life(stage: Stage, me: Proc, folder: str) -> Program:
    """Be the keeper of one check."""
    machine, place = stage.machine, os.fsencode(folder)
    records: list[dict[str, object]] = []
    own = SimpleNamespace(**{**vars(shim), "write_exit": lambda _folder, record: records.append(record)})
    keeper = Keeper(folder, own)
    yield
    claimed = shim.claim(place, 1, me.identity())
    if claimed is None:
        return
    me.descriptors.append(claimed)
    yield
    began = machine.mono
    try:
        spec = keeper._spec()
        path, need, seconds = spec["argv"][-1].split()[1:]
    except (OSError, ValueError, KeyError, TypeError) as error:
        keeper._write(error=shim.describe(error), seconds=0.0)
        yield from written(stage, Path(folder), records[0])
        return
    yield
    stage.checked[folder] += 1
    check = machine.spawn("check", parent=me, program=lambda proc: _check_life(proc, path, int(need), float(seconds)))
    with contextlib.suppress(OSError):
        os.write(claimed, json.dumps({"check": check.identity(), "at": machine.wall}).encode() + b"\n")
    yield
    while check.there and not keeper.over(began + float(spec["timeout_s"])):
        yield min(LOOK_S, float(seconds) or LOOK_S)
    if check.there:
        machine.signal(check, KILL)
    kind, value = machine.reap(check)
    keeper.ended = (None, value) if kind == "signal" else (value, None)
    keeper.output.add(f"{_lines(path)} of {need}\n".encode())
    yield
    keeper._write(seconds=machine.mono - began)
    if keeper.why is None and keeper.ended == (0, None):
        stage.green.add(folder)
    yield from written(stage, Path(folder), records[0])


def _lines(path: str) -> int:
    try:
        return len(Path(path).read_bytes().splitlines())
    except OSError:
        return 0


def _check_life(me: Proc, path: str, need: int, seconds: float) -> Program:
    yield seconds
    me.status = ("code", 0 if _lines(path) >= need else 1)
