"""Sessions on the simulated machine: the real ``Holder`` in a process that is not there, and a delegate it talks with.

Real is all of ``actors/holder.py`` and ``holder_log.py``; not real are its loop (timers of the machine's clock), its
door (a list), and its engine (two queues for two pipes, which go when either end does). A delegate reads what it is
given, works, asks now and then, and leaves when its input ends, if it is not stubborn.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import json
import os
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self
from unittest import mock

from fakes.sim_machine import IDLE, KILL, TERM, Proc, Program
from fakes.sim_world import World
from outsourcerer.actors import assembly, holder, lane_book, session_holding
from outsourcerer.actors import transports as _transports
from outsourcerer.actors.holders import HolderError, HolderRoad
from outsourcerer.lanes.contract import SessionLaunch
from outsourcerer.state.session_folder import LAUNCH

LOOK_S = 4.0
"""How often a holder looks here: twice a second, all simulated time would be its looking."""
ENGINE = "sim"
Event = dict[str, Any]


class SimRoad(HolderRoad):
    """Its door is no file anywhere."""

    def door(self, _home: Any, session_id: str) -> str:
        return f"door:{session_id}"


class SimLoop:
    """The holder's loop: timers only. Its ``run`` is the world's business."""

    def __init__(self, machine: Any) -> None:
        self._machine, self._tokens = machine, itertools.count(1)
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self.stopped = False

    def now(self) -> float:
        return float(self._machine.mono)

    def later(self, seconds: float, work: Callable[[], None]) -> int:
        token = next(self._tokens)
        heapq.heappush(self._timers, (self.now() + seconds, token, work))
        return token

    def forget(self, token: int) -> None:
        self._timers = [timer for timer in self._timers if timer[1] != token]
        heapq.heapify(self._timers)

    def run(self) -> None:
        """Nothing: the process goes on step by step."""

    def fire(self) -> None:
        while self._timers and self._timers[0][0] <= self.now() and not self.stopped:
            heapq.heappop(self._timers)[2]()

    def wait_s(self) -> float:
        return max(0.001, self._timers[0][0] - self.now()) if self._timers else LOOK_S


class SimDoor:
    """Where others knock: what they say is kept with the process."""

    def __init__(self, _loop: Any, place: str, _token: str, _answer: Any) -> None:
        self._place = place

    def open(self) -> str:
        return self._place

    def close(self) -> None:
        """Nobody is there any more."""


class SimEngine:
    """The holder's side of the pipes."""

    def __init__(self, world: TalkWorld, stage: Any) -> None:
        self._world, self._stage = world, stage
        self.pid: int | None = None
        self.down: deque[tuple[Any, ...]] = deque()
        self.up: deque[Event] = deque()
        self.delegate: Proc | None = None
        self.mine = world.machine.current
        world.engines[self.mine.pid] = self

    def start(self) -> None:
        machine, session_id = self._world.machine, Path(self._stage.folder).name
        self.delegate = machine.spawn(
            "delegate", parent=self.mine, job_id=session_id, program=lambda me: delegate_life(self._world, me, self)
        )
        self.pid = self.delegate.pid

    # --- what it is told by the holder

    def send(self, number: int, text: str) -> None:
        self._put("send", number, text)

    def answer(self, number: int, choice: str, _request: str | None) -> None:
        self._put("answer", number, choice)

    def interrupt(self, number: int) -> None:
        self._put("interrupt", number)

    def set_model(self, number: int, _model: str) -> None:
        self._put("set", number)

    set_effort = set_mode = set_model

    def close(self) -> None:
        self._put("close", 0)

    def _put(self, *words: Any) -> None:
        self.down.append(words)
        assert self.delegate is not None
        self.delegate.idle, self.delegate.wakes_at = False, min(self.delegate.wakes_at, self._world.machine.mono)
        if words[0] != "close" and words[1]:
            self._stage.emit({"type": "delivery", "number": words[1], "state": "written"})

    # --- the delegate's side

    def say(self, **event: Any) -> None:
        self.up.append(event)
        self.mine.wakes_at = self._world.machine.mono

    @property
    def held(self) -> bool:
        """Whether somebody holds the other ends."""
        return self.mine.there


def holder_life(world: TalkWorld, me: Proc, folder: Path) -> Program:
    """Be the holder of one session: ``holder.hold`` step by step."""
    yield
    try:
        launch = json.loads(holder.read_all(os.open(folder / LAUNCH, os.O_RDONLY)))
    except (OSError, ValueError):
        return
    yield
    claimed = holder.claim(os.fsencode(folder), int(launch["attempt"]), me.identity())
    if claimed is None:
        return
    os.close(claimed)
    yield
    with contextlib.suppress(OSError):
        (folder / LAUNCH).unlink()
    me.ignores.add(TERM)  # it has a handler
    held = holder.Holder(os.fspath(folder), launch, me.identity())
    held.run()
    while not held.loop.stopped:
        yield held.loop.wait_s()
        yield from _turn(world, me, held)


def _turn(world: TalkWorld, me: Proc, held: Any) -> Iterator[None]:
    """What a round of its loop is: signals, its door, its delegate, timers. It may be killed between them."""
    if TERM in me.signals:
        held.close("its holder was told to end")
    for op, fields in world.knocks.pop(me.pid, []):
        held._asked(op, fields)
        yield
    engine = world.engines.get(me.pid)
    if engine is not None:
        while engine.up and not held.loop.stopped:
            held.emit(engine.up.popleft())
            if world.machine.chance.random() < 0.3:
                yield
        delegate = engine.delegate
        if delegate is not None and delegate.state == "Z" and not engine.up:
            kind, value = world.machine.reap(delegate)
            held.gone(value if kind == "code" else None, value if kind == "signal" else None)
    held.loop.fire()


def delegate_life(world: TalkWorld, me: Proc, engine: SimEngine) -> Program:
    """Be the program of a session."""
    chance = world.machine.chance
    stubborn = chance.random() < 0.15
    if stubborn:
        me.ignores.add(TERM)
    yield chance.choice((0.1, 2.0, 30.0))
    engine.say(type="start", model="m", conversation=f"c-{me.pid}")
    engine.say(type="state", state="idle", evidence="init")
    while engine.held or stubborn:
        if not engine.down:
            yield IDLE
            continue
        op, number, *words = engine.down.popleft()
        if op == "close":
            if not stubborn:
                return
        elif op == "send":
            world.heard[str(me.job_id), words[0]] += 1
            yield
            left = yield from _work(world, me, engine, number)
            if left and not stubborn:
                return
        elif number:
            engine.say(type="delivery", number=number, state="done" if op == "set" else "refused", reason="too late")


def _work(world: TalkWorld, me: Proc, engine: SimEngine, number: int) -> Iterator[Any]:
    """One turn; whether it leaves now."""
    chance = world.machine.chance
    engine.say(type="delivery", number=number, state="turn-started")
    engine.say(type="state", state="working", evidence="turn")
    ok, leaves = True, False
    asking = chance.random() < 0.35
    if asking:
        options = [{"id": "y", "kind": "allow_once", "label": "Yes"}, {"id": "n", "kind": "reject_once", "label": "No"}]
        engine.say(type="ask", request=f"r{number}", tool="shell", name="sh", target="x", title="x", options=options)
        engine.say(type="state", state="waiting-approval", evidence="ask")
    pauses = deque(chance.choice((0.2, 5.0, 40.0)) for _ in range(chance.randrange(1, 4)))
    while (asking or pauses) and ok and not leaves and engine.held:
        if not engine.down:
            yield IDLE if asking else pauses.popleft()
            continue
        op, other, *_ = engine.down.popleft()
        if op == "close":
            leaves = True
        elif op == "interrupt":
            ok = False
            if other:
                engine.say(type="delivery", number=other, state="done")
        elif op == "answer" and asking:
            asking = False
            engine.say(type="delivery", number=other, state="done")
            engine.say(type="answered", request=f"r{number}", choice="Yes")
            engine.say(type="state", state="working", evidence="answered")
        elif other:
            engine.say(type="delivery", number=other, state="refused", reason="it asks nothing")
    if chance.random() < 0.05:
        me.status, leaves = ("code", 3), True
    if not leaves:
        engine.say(type="text", text="an answer")
        engine.say(type="end", ok=ok, text="an answer")
        engine.say(type="state", state="idle", evidence="end")
    return leaves


class TalkWorld(World):
    """A world whose lane ``fake`` has sessions."""

    def __init__(self, seed: int, scratch: Path, **more: Any) -> None:
        super().__init__(seed, scratch, **more)
        self.heard: Counter[tuple[str, str]] = Counter()
        """Session and text, of everything that a delegate read."""
        self.engines: dict[int, SimEngine] = {}
        self.knocks: dict[int, list[tuple[str, dict[str, Any]]]] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        self._patch_sessions(self._put)
        return self

    def _put(self, *given: Any, **named: Any) -> Any:
        return self._stack.enter_context(mock.patch.object(*given, **named))

    def _patch_sessions(self, put: Callable[..., Any]) -> None:
        put(assembly, "road_for", lambda *_: SimRoad(plain=False, port=False))
        put(session_holding, "start_holder", self._start_holder)
        put(session_holding, "knock", self._knock)
        real = lane_book.all_lanes

        def with_sessions(*given: Any) -> Any:
            registry = real(*given)
            sessions = {"native": lambda _task, _host: SessionLaunch(argv=("sim",), engine=ENGINE)}
            talks = {name: replace(lane, sessions=sessions) for name, lane in registry.custom.items() if name == "fake"}
            return replace(registry, custom={**registry.custom, **talks})

        put(lane_book, "all_lanes", with_sessions)
        put(holder, "LOOK_S", LOOK_S)
        put(holder, "SelectLoop", lambda: SimLoop(self.machine))
        put(holder, "Door", SimDoor)
        put(holder, "ender", self._ender)
        put(holder, "hint", self._hinted)
        quiet = SimpleNamespace(signal=lambda *_: None, SIGKILL=KILL)
        put(holder, "signal", quiet)
        place = f"{_transports.__name__}.sim"
        module = SimpleNamespace(SimEngine=lambda stage: SimEngine(self, stage))
        self._stack.enter_context(mock.patch.dict(sys.modules, {place: module}))
        self._stack.enter_context(mock.patch.dict(holder.ENGINES, {ENGINE: "sim:SimEngine"}))

    def _start_holder(self, folder: Path, attempt: int, permit: Any, _road: Any) -> None:
        permit.demand(folder.name, attempt)
        if self.machine.no_files:
            raise HolderError("no process can be started for the session")
        self.machine.spawn("holder", job_id=folder.name, program=lambda me: holder_life(self, me, folder))

    def _knock(self, known: Any, op: str, **fields: Any) -> bool:
        proc = self.machine.table.get(known.holder.pid) if known is not None and known.socket else None
        if proc is None or not proc.there or proc.started != known.holder.started or self.lose_hints:
            return False
        self.knocks.setdefault(proc.pid, []).append((op, fields))
        proc.wakes_at = self.machine.mono
        return True

    def _ender(self, session_id: str) -> Callable[[int], list[int]]:
        def end(_pid: int) -> list[int]:
            for proc in list(self.machine.table.values()):
                if proc.job_id == session_id and proc.kind == "delegate":
                    self.machine.exit(proc, signal=KILL)
            return []

        return end

    def _hinted(self, _fifo: str, session_id: str, what: str) -> None:
        if self.assembly is not None and not self.lose_hints:
            self.hints.append(json.dumps({"session": session_id, "what": what}).encode())
