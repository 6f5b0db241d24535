"""What runs on the simulated machine: shims that do what ``actors/shim.py`` does, step by step, and delegates.

The shim's files are written by its own functions; only forking and waiting are the machine's.
A delegate plays the steps of ``fake_cli.py`` that its prompt holds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fakes.fake_cli import marker_line, read_marker_id, steps_in
from fakes.sim_machine import IDLE, KILL, TERM, Machine, Proc, Program
from outsourcerer.actors import shim

LEFTOVER_S = 0.3
GRACE_S = 2.0
RETRY_S = 5.0


@dataclass
class Delivered:
    """A prompt that reached a delegate."""

    job_id: str
    digest: str
    pid: int
    said: set[str] = field(default_factory=set)
    """Which markers it has said, and ``end``, in full."""


@dataclass
class Stage:
    """Where programs leave what they did."""

    machine: Machine
    notify: Callable[[str, int, str, list[int]], None]
    delivered: list[Delivered] = field(default_factory=list)
    spoiled: set[str] = field(default_factory=set)
    """Jobs whose files were damaged: what can be known of them is less than what happened."""
    checked: Counter[str] = field(default_factory=Counter)
    """How often the command of a check's folder was started."""
    green: set[str] = field(default_factory=set)
    """Folders of checks whose command ended with 0."""


def shim_life(stage: Stage, me: Proc, folder: Path, attempt: int) -> Program:
    """Be the shim of one attempt."""
    machine, place, job_id = stage.machine, os.fsencode(folder), folder.name
    ident = me.identity()
    yield
    claimed = shim.claim(place, attempt, ident)
    if claimed is None:
        return
    me.descriptors.append(claimed)
    yield
    try:
        descriptor = os.open(folder / "launch.json", os.O_RDWR)
        me.descriptors.append(descriptor)
        launch = json.loads(shim.read_all(descriptor, close=False))
        prompt = (folder / launch["stdin"]).read_text() if launch["stdin"] else ""
        for name in ("out.log", "err.log"):
            os.close(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except (OSError, ValueError, KeyError, TypeError) as error:
        shim.empty(os.fsencode(folder / "launch.json"))
        yield from written(stage, folder, shim.exit_record(attempt, error=shim.describe(error)))
        stage.notify(job_id, attempt, "exited", [])
        stage.notify(job_id, attempt, "gone", [])
        return
    delegate = machine.spawn(
        "delegate", parent=me, job_id=job_id, program=lambda proc: delegate_life(stage, proc, me, folder, prompt)
    )
    yield
    record = {"attempt": attempt, "shim": ident, "delegate": delegate.identity(), "at": machine.wall}
    try:
        line = json.dumps(record).encode() + b"\n"
        half = machine.chance.randrange(len(line)) if machine.chance.random() < 0.2 else 0
        for part in (line[:half], line[half:]):
            if part:
                shim.write_all(claimed, part)
                yield
        os.ftruncate(descriptor, 0)
    except OSError as error:
        machine.exit(delegate, code=126)
        if delegate.pid in machine.table:
            machine.reap(delegate)
        yield from written(stage, folder, shim.exit_record(attempt, error=shim.describe(error)))
        stage.notify(job_id, attempt, "exited", [])
        stage.notify(job_id, attempt, "gone", [])
        return
    for kept in me.descriptors:
        os.close(kept)
    me.descriptors.clear()
    yield
    delegate.open_gate = True
    delegate.idle = False
    stage.notify(job_id, attempt, "spawned", [])
    yield
    while delegate.there:
        yield IDLE
    kind, value = machine.reap(delegate)
    yield
    record = shim.exit_record(attempt, **{kind: value})
    record["at"] = machine.wall
    left = _left(machine, me, delegate)
    yield from written(stage, folder, record)
    if left:
        stage.notify(job_id, attempt, "exited", [])
        yield LEFTOVER_S
        for number in (TERM, KILL):
            for proc in _left(machine, me, delegate):
                machine.signal(proc, number)
            yield GRACE_S
    stage.notify(job_id, attempt, "gone", [proc.pid for proc in _left(machine, me, delegate)])


def _left(machine: Machine, me: Proc, delegate: Proc) -> list[Proc]:
    """Its living descendants, and the members of its delegate's session."""
    found: list[Proc] = []
    level = [me]
    while level:
        level = [p for p in machine.table.values() if p.ppid in {q.pid for q in level} and p not in found]
        found += level
    if machine.table.get(delegate.pid) in (None, delegate):  # else its pid is a stranger's, and that session too
        found += [p for p in machine.table.values() if p.sid == delegate.pid and p not in found]
    for proc in [p for p in found if not p.there]:
        machine.reap(proc)
    return [proc for proc in found if proc.there]


def written(stage: Stage, folder: Path, record: dict[str, object]) -> Program:
    """Write an exit record, however long there is no room."""
    while not shim.try_exit(os.fsencode(folder), record):
        if not folder.is_dir():
            return
        yield RETRY_S


def delegate_life(stage: Stage, me: Proc, parent: Proc, folder: Path, prompt: str) -> Program:
    """Wait at the gate, become the delegate, play the script."""
    machine = stage.machine
    while not me.open_gate:
        if not parent.there:  # the gate was closed: it never was a delegate
            me.status = ("code", 126)
            return
        yield IDLE
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogateescape")).hexdigest()
    seen = Delivered(folder.name, digest, me.pid)
    stage.delivered.append(seen)
    marker = read_marker_id(prompt)

    def write(means: str | None = None, **event: object) -> Program:
        data = json.dumps(event, ensure_ascii=False).encode() + b"\n"
        cut = machine.chance.randrange(1, len(data) - 1) if machine.chance.random() < 0.3 else len(data)
        for part in (data[:cut], data[cut:]):
            while part:
                with contextlib.suppress(OSError):  # a full disk: a real program would die of it, this one waits
                    descriptor = os.open(folder / "out.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                    try:
                        os.write(descriptor, part)
                    finally:
                        os.close(descriptor)
                    if part.endswith(b"\n") and means is not None:
                        seen.said.add(means)
                    break
                yield 1.0
            yield

    yield from write(type="start", model="fake-model", conversation=f"fake-{me.pid}")
    waiting = list(steps_in(prompt) or [])
    while waiting:
        step = waiting.pop(0)
        match step:
            case {"draw": ways}:
                waiting[:0] = machine.chance.choice(ways)
            case {"work": path}:
                with Path(path).open("a") as file:
                    file.write(f"{folder.name}\n")
            case {"say": text}:
                yield from write(type="text", text=text)
            case {"mark": kind}:
                yield from write(kind, type="text", text=marker_line(kind, step.get("text", ""), marker))
            case {"end": text}:
                yield from write("end", type="end", ok=step.get("ok", True), text=text)
            case {"sleep": seconds}:
                yield float(seconds)
            case {"ignore": _}:
                me.ignores.add(TERM)
            case {"grandchild": seconds}:
                machine.spawn(
                    "child",
                    parent=me,
                    job_id=me.job_id,
                    program=lambda _proc, s=float(seconds): (wait for wait in (s,)),
                    own_session=bool(step.get("setsid")),
                )
            case {"exit": code}:
                me.status = ("code", code)
                break
            case {"kill": number}:
                machine.exit(me, signal=number)
                return
            case _:
                raise AssertionError(f"no such step in the simulation: {step}")
        yield
