"""The real supervision tree on the simulated machine: one thread, one seed, and a SIGKILL wherever chance wants it.

    with World(seed, folder) as world:
        job_id = world.submit({"mark": "DONE"}, {"end": "x"}).job_id
        world.kill()                    # the supervisor is gone between two lines of its code
        world.run_until(world.quiet)    # the next one starts, adopts, judges

Real are: every actor, the store and all files, intake, gate, lanes, parsers, and the files that a shim writes.
Not real are: threads (one after the other, in drawn order), clocks, processes, signals, and the pipe of hints.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import random
import sqlite3
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, Self
from unittest import mock

import pykka
from fakes.lanes import install_fake_lanes, steps
from fakes.sim_machine import Killed, Machine, Proc, no_room
from fakes.sim_programs import Stage, shim_life
from outsourcerer.actors import assembly as assembly_module
from outsourcerer.actors import shim, signals, tree
from outsourcerer.actors.assembly import Assembly, assemble
from outsourcerer.actors.base import Actor, ReplyPort, Stop
from outsourcerer.actors.lock import HomeLock
from outsourcerer.actors.notices import pass_on
from outsourcerer.actors.pump import IN_FLIGHT, Pump
from outsourcerer.actors.supervisor import Supervisor
from outsourcerer.messages.facts import Entry
from outsourcerer.state import processes
from outsourcerer.state.errors import StateError, from_os_error
from outsourcerer.state.home import Home
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

OURS = "outsourcerer"
ENOUGH = 400_000
"""More steps than any history has: one that goes on for ever is a finding."""
MOST_KEPT = 40


class SimPump(Pump):
    """The pump without its thread: the world lets it read."""

    def __init__(self, world: World) -> None:
        self._condition = threading.Condition()
        self._tails = {}
        self._closed = False
        self._world = world

    def ready(self) -> list[str]:
        found = []
        for job_id, tail in self._tails.items():
            if tail.in_flight >= IN_FLIGHT:
                continue
            if tail.ends is not None:
                if tail.in_flight == 0 or self.unread(job_id):
                    found.append(job_id)
                continue
            for name, path in tail.paths.items():
                with contextlib.suppress(OSError):
                    if path.stat().st_size > tail.offsets[name]:
                        found.append(job_id)
                        break
        return found

    def turn(self, job_id: str) -> None:
        with self._condition:
            if (tail := self._tails.get(job_id)) is not None:
                self._serve(job_id, tail, self._world.machine.mono)

    def close(self) -> None:
        for job_id in list(self._tails):
            self._drop(job_id)


class SimSpawner:
    """The forking process and its pipe."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.zygote = None

    def spawn(self, folder: Path, attempt: int, permit: Any) -> None:
        permit.demand(folder.name, attempt)
        if self._world.zygote is None or not self._world.zygote.there:
            self._world.new_zygote()
        self._world.requests.append((folder, attempt))

    def suspect(self, asked_at: float) -> None:
        zygote = self._world.zygote
        if zygote is not None and self._world.zygote_since <= asked_at:
            self._world.machine.signal(zygote, 9)
            self._world.requests.clear()

    def close(self) -> None:
        """Its pipe ends; what waits in it is still read."""


class SimThread:
    """A thread that runs when chance lets it, whole."""

    def __init__(self, world: World, target: Callable[[], None], name: str) -> None:
        self._world, self.target, self.name = world, target, name

    def start(self) -> None:
        self._world.background.append(self)


class World:
    """See the module."""

    def __init__(self, seed: int, scratch: Path, *, max_jobs: int = 4, **environ: str) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.home = Home(scratch / "osrc")
        self.work = scratch / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        install_fake_lanes(self.home.root)
        self.machine = Machine(self.chance, self.home.root)
        self.stage = Stage(self.machine, self._notified)
        self.settings = {
            "OSRC_MAX_JOBS": str(max_jobs),
            "OSRC_MIN_FREE_MEMORY": "0",
            "OSRC_MIN_FREE_DISK": "0",
            "OSRC_LAUNCHES_PER_HOUR": "0",
            **environ,
        }
        self.assembly: Assembly | None = None
        self.supervisor: Proc | None = None
        self.actors: list[Actor] = []
        self.background: list[SimThread] = []
        self.hints: list[bytes] = []
        self.requests: list[tuple[Path, int]] = []
        self.zygote: Proc | None = None
        self.zygote_since = 0.0
        self.lose_hints = False
        self.steps = 0
        self.starts = 0
        self.generation = 0
        """How many times the store was made anew: each is a journal of its own."""
        self.committed: list[tuple[int, Entry]] = []
        """Generation and fact, of everything that was told as being on disk."""
        self.crashes: list[str] = []
        self._stack = contextlib.ExitStack()
        self._descriptors: dict[int, tuple[object, bool]] = {}
        self._real = SimpleNamespace(close=os.close, open=os.open)
        self._store: Store | None = None
        self._sources: dict[int, random.Random] = {}

    # --- entering and leaving

    def __enter__(self) -> Self:
        enter = self._stack.enter_context
        put = lambda *given, **named: enter(mock.patch.object(*given, **named))  # noqa: E731
        self._patch_calls(put)
        machine = self.machine
        ours: dict[Any, Any] = {
            time.time: lambda: machine.wall,
            time.monotonic: lambda: machine.mono,
            time.sleep: self._sleep,
            os.urandom: self._random_bytes,
        }
        for real, fake in ours.items():
            put(os if real is os.urandom else time, real.__name__, fake)
        for function in _functions():
            named = {
                name: ours.get(value, value) for name, value in (function.__kwdefaults__ or {}).items() if _plain(value)
            }
            if any(function.__kwdefaults__[name] is not value for name, value in named.items()):
                put(function, "__kwdefaults__", {**function.__kwdefaults__, **named})
            placed = tuple(ours.get(value, value) if _plain(value) else value for value in function.__defaults__ or ())
            if any(one is not other for one, other in zip(placed, function.__defaults__ or (), strict=True)):
                put(function, "__defaults__", placed)
        put(os, "getpid", lambda: self.supervisor.pid if self.supervisor is not None else 4_999_999)
        put(processes, "_read_linux", machine.read_process)
        put(processes, "_pids", machine.pids)
        put(tree, "_bears", machine.bears)
        lock = threading.Lock
        thread = lambda target, name, daemon=True: SimThread(self, target, name)  # noqa: E731
        put(tree, "threading", SimpleNamespace(Thread=thread, Lock=lock))
        for module in [module for name, module in sys.modules.items() if name.startswith(f"{OURS}.actors")]:
            if getattr(module, "send", None) is signals.send and module is not signals:
                put(module, "send", machine.send)
        put(signals, "send", machine.send)
        put(assembly_module, "SystemClock", lambda: _Clock(machine))
        put(assembly_module, "Pump", lambda: SimPump(self))
        put(assembly_module, "spawner_for", lambda *_: SimSpawner(self))
        put(assembly_module, "Notices", lambda *_: _NoNotices())
        put(assembly_module, "_stands", self._stands)
        put(Actor, "_start_actor_loop", self._enlist())
        put(Actor, "_guarded", _lets_kill(Actor._guarded))
        put(Supervisor, "_guarded", _lets_kill(Supervisor._guarded))
        put(ReplyPort, "wait", self._waiting(ReplyPort.wait))
        self._patch_store(put)
        logger = logging.getLogger("outsourcerer.actors")
        handler = _Crashes(self.crashes)
        before = logger.level, logger.propagate, list(logger.handlers)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.ERROR)

        def restored() -> None:
            logger.setLevel(before[0])
            logger.propagate, logger.handlers = before[1], before[2]

        self._stack.callback(restored)
        self._name = threading.current_thread().name
        gc.collect()
        gc.freeze()
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.kill()
        finally:
            self._stack.close()
            threading.current_thread().name = self._name
            gc.unfreeze()

    def _random_bytes(self, size: int) -> bytes:
        """Of a source for each length: ids don't depend on who else (an import, say) draws in between."""
        source = self._sources.setdefault(size, random.Random(f"{self.seed} {size}"))
        return source.randbytes(size)

    def _patch_calls(self, put: Callable[..., Any]) -> None:
        machine, descriptors, real = self.machine, self._descriptors, os.open

        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            inside = isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(machine.root)
            if not inside:
                return real(path, flags, mode, dir_fd=dir_fd)
            machine.opening(path)
            if flags & os.O_CREAT and not os.path.lexists(path):
                machine.change(path)
            descriptor = real(path, flags, mode, dir_fd=dir_fd)
            descriptors[descriptor] = (path, machine.in_supervisor)
            return descriptor

        put(os, "open", opened)
        close = os.close

        def closed(descriptor: int) -> None:
            descriptors.pop(descriptor, None)
            close(descriptor)

        put(os, "close", closed)
        write = os.write

        def written(descriptor: int, data: Any) -> int:
            if descriptor in descriptors:
                machine.change(descriptors[descriptor][0])
            return write(descriptor, data)

        put(os, "write", written)
        for name, makes in (
            ("replace", False),
            ("rename", False),
            ("mkdir", True),
            ("unlink", False),
            ("rmdir", False),
        ):
            put(os, name, self._changing(getattr(os, name), makes=makes))

    def _changing(self, real: Callable[..., Any], *, makes: bool) -> Callable[..., Any]:
        def call(path: Any, *given: Any, **named: Any) -> Any:
            self.machine.change(path, makes=makes)
            return real(path, *given, **named)

        return call

    def _patch_store(self, put: Callable[..., Any]) -> None:
        machine, real_open, real_append, real_commit = self.machine, Store.open.__func__, Store.append, Store.commit
        pending: list[Entry] = []

        def opened(cls: type[Store], path: Path, **named: Any) -> Store:
            machine.opening(os.fspath(path))
            fresh = not path.exists()
            store = real_open(cls, path, **named)
            if fresh:
                self.generation += 1
            self._store = store
            pending.clear()
            return store

        def append(store: Store, facts: Any, at: float) -> list[Entry]:
            entries = real_append(store, facts, at)
            pending.extend(entries)
            return entries

        def commit(store: Store) -> None:
            try:
                machine.change(machine.root)
            except OSError as error:
                store.rollback()
                pending.clear()
                raise from_os_error(error, store._path) from error
            try:
                real_commit(store)
            except BaseException:
                pending.clear()
                raise
            self.committed.extend((self.generation, entry) for entry in pending)
            pending.clear()
            machine.change(machine.root, makes=False)

        put(Store, "open", classmethod(opened))
        put(Store, "append", append)
        put(Store, "commit", commit)
        connect = sqlite3.connect

        def connected(*given: Any, **named: Any) -> sqlite3.Connection:
            if machine.no_files and machine.in_supervisor:
                error = sqlite3.OperationalError("unable to open database file")
                error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
                raise error
            return connect(*given, **named)

        put(sqlite3, "connect", connected)

    def _enlist(self) -> Callable[[Actor], None]:
        world = self

        def begin(actor: Actor) -> None:
            actor.sim_begun, actor.sim_turn_at = False, 0.0
            world.actors.append(actor)

        return begin

    def _waiting(self, real: Callable[[ReplyPort, float], Any]) -> Callable[[ReplyPort, float], Any]:
        def wait(port: ReplyPort, timeout_s: float) -> Any:
            deadline = self.machine.mono + timeout_s
            while not port.answered and self.machine.mono < deadline:
                self.step()
                if self.machine.dead or self.assembly is None:
                    raise Killed
            return real(port, 0.0)

        return wait

    def _sleep(self, seconds: float) -> None:
        """Something blocks: time passes, and programs go on meanwhile."""
        self.machine.pass_time(seconds)
        inside, self.machine.in_supervisor = self.machine.in_supervisor, False
        try:
            for proc in self.machine.ready():
                if proc.there and proc.program is not None:
                    self.machine.run(proc)
        finally:
            self.machine.in_supervisor = inside

    def _stands(self, services: Any) -> bool:
        for _ in range(ENOUGH):
            if services.ready.is_set() and all(services.directory.find(part) for part in assembly_module.ASKED):
                return True
            root = services.directory.find("root")
            if root is None or not root.alive or self.machine.mono > self._began + 60:
                return False
            self.step()
        return False

    # --- the supervisor

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        before, self.machine.in_supervisor = self.machine.in_supervisor, True
        try:
            yield
        finally:
            self.machine.in_supervisor = before

    def start(self) -> bool:
        """Start a supervisor; whether it stands. It may refuse (a full disk), or be killed on the way."""
        if self.assembly is not None:
            return True
        self.starts += 1
        self.machine.dead = False
        self.supervisor = self.machine.spawn("supervisor")
        self._began = self.machine.mono
        self._lock = HomeLock(self.home)
        try:
            with self._inside():
                self.home.preflight()
                if not self._lock.take():
                    raise AssertionError("the lock of a dead supervisor is held")
                settings = Settings.load(self.settings, None)
                self._half: Assembly | None = None
                self.assembly = assemble(self.home, settings, listener=None, attached=False, lock=self._lock)
        except Killed:
            self._died()
            return False
        except (StateError, OSError) as error:
            self.machine.happened.append(f"a supervisor did not start: {error}")
            self._died()
            return False
        return True

    def kill(self) -> None:
        """SIGKILL between two steps."""
        if self.supervisor is not None:
            self._died()

    def stop(self, reason: str) -> None:
        """Stop in order."""
        if self.assembly is None:
            return
        with self._inside():
            self.assembly.services.stopping.set()
            self.assembly.root.tell(Stop(reason))
        root = self.assembly.root
        for _ in range(ENOUGH):
            if self.assembly is None or not root.alive:
                break
            try:
                self.step()
            except Killed:
                break
        self._died()

    def _died(self) -> None:
        """The kernel's part of a SIGKILL: descriptors closed, locks freed, nothing written."""
        machine = self.machine
        self.assembly = None
        for actor in self.actors:
            actor.actor_stopped.set()
            pykka.ActorRegistry.unregister(actor.actor_ref)
        self.actors.clear()
        self.background.clear()
        self.hints.clear()
        machine.forget_all()
        self._leave_database()
        gc.collect()
        for descriptor, (_, ours) in list(self._descriptors.items()):
            if ours:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        if self.supervisor is not None:
            machine.exit(self.supervisor, signal=9)
        self.supervisor = None
        machine.dead = False
        machine.last_call = machine.failing_call = None
        machine.no_files = False

    def _leave_database(self) -> None:
        """Close the connection as a kill does: the write-ahead log stays as it is."""
        store, self._store = self._store, None
        if store is None:
            return
        kept = {}
        for suffix in ("", "-wal"):
            with contextlib.suppress(OSError):
                kept[suffix] = Path(f"{self.home.database}{suffix}").read_bytes()
        store.rollback()
        store._db.close()
        gc.collect()
        for suffix, data in kept.items():
            Path(f"{self.home.database}{suffix}").write_bytes(data)
            Path(f"{self.home.database}{suffix}").chmod(0o600)
        with contextlib.suppress(OSError):
            Path(f"{self.home.database}-shm").unlink()

    def new_zygote(self) -> None:
        self.zygote = self.machine.spawn("zygote")
        self.zygote_since = self.machine.mono
        self.requests.clear()

    def _notified(self, job_id: str, attempt: int, what: str, survivors: list[int]) -> None:
        if self.assembly is not None and not self.lose_hints:
            self.hints.append(shim.hint(job_id, attempt, what, survivors).rstrip(b"\n"))

    # --- going on

    def step(self) -> bool:
        """Let one thing happen that can; else let time pass to the next. False when nothing ever will."""
        self.steps += 1
        choices = self._choices()
        if not choices:
            at = self.machine.next_event()
            if at is None:
                self.machine.pass_time(1.0)
                return False
            self.machine.pass_time(max(at - self.machine.mono, 0.001))
            return True
        self.machine.pass_time(0.0005)
        self.chance.choice(choices)()
        return True

    def _choices(self) -> list[Callable[[], None]]:
        choices: list[Callable[[], None]] = []
        now = self.machine.mono
        gone = False
        for actor in self.actors:
            if actor.actor_stopped.is_set():
                gone = True
                continue
            if (not actor.sim_begun or not actor.actor_inbox.empty()) and actor.sim_turn_at <= now:
                choices.append(lambda actor=actor: self._turn(actor))
        if gone:
            self.actors = [actor for actor in self.actors if not actor.actor_stopped.is_set()]
        choices += [lambda task=task: self._work(task) for task in self.background]
        if self.hints:
            choices.append(self._hint)
        if self.requests and self.zygote is not None and self.zygote.there and self.zygote.state == "S":
            choices.append(self._fork)
        if self.assembly is not None:
            pump = self.assembly.services.pump
            choices += [lambda job_id=job_id: self._pump(job_id) for job_id in pump.ready()]
        choices += [lambda proc=proc: self.machine.run(proc) for proc in self.machine.ready()]
        return choices

    def _turn(self, actor: Actor) -> None:
        with self._inside():
            if not actor.sim_begun:
                actor.sim_begun = True
                actor._actor_loop_setup()
            else:
                actor._handle_receive(actor.actor_inbox.get_nowait().message)

    def _work(self, task: SimThread) -> None:
        self.background.remove(task)
        with self._inside():
            task.target()

    def _pump(self, job_id: str) -> None:
        with self._inside():
            self.assembly.services.pump.turn(job_id)

    def _hint(self) -> None:
        line = self.hints.pop(0)
        if self.assembly is not None:
            with self._inside():
                pass_on(self.assembly.services.directory, line)

    def _fork(self) -> None:
        folder, attempt = self.requests.pop(0)
        self.machine.spawn("shim", program=lambda proc: shim_life(self.stage, proc, folder, attempt))

    def go_on(self, steps_: int) -> None:
        """Some steps; a kill on the way is one, and so is a tree that gave up."""
        for _ in range(steps_):
            self.one()

    def one(self) -> None:
        """One step; the supervisor may die of it."""
        try:
            self.step()
        except Killed:
            self._died()
        if self.assembly is not None and not self.assembly.root.alive:
            self.machine.happened.append("the tree gave up")
            self._died()

    def run_until(self, what: Callable[[], object], seconds: float, enough: int = ENOUGH) -> bool:
        """Go on until something is true, or so much time has passed here."""
        until = self.machine.mono + seconds
        for _ in range(enough):
            if what():
                return True
            if self.machine.mono > until:
                return False
            if self.assembly is None:
                self.start()
            self.one()
        return False

    # --- callers

    def request(self, body: dict[str, Any]) -> Any:
        """One command's last reply; None where its supervisor died before it answered."""
        if self.assembly is None and not self.start():
            return None
        try:
            with self._inside():
                reply = None
                for reply in self.assembly.dispatcher.exchange(body):  # noqa: B007
                    pass
                return reply
        except Killed:
            self._died()
            return None

    def asking(self, *actions: dict[str, object], **more: Any) -> dict[str, Any]:
        """What a caller asks for."""
        environ = {"HOME": str(self.home.root.parent), "PATH": os.defpath, "OSRC_CLOUD_ACK": "1", **self.settings}
        joined = b"\0".join(f"{name}={value}".encode() for name, value in environ.items())
        return {
            "verb": "run",
            "lane": "fake",
            "task": steps(*actions),
            "cwd": str(self.work),
            "environment": b64encode(joined).decode(),
            **more,
        }

    def submit(self, *actions: dict[str, object], **more: Any) -> Any:
        return self.request({"kind": "job.submit", "request": self.asking(*actions, **more)})

    def cancel(self, job_id: str, *, at_once: bool = False) -> Any:
        selection = {"select": "ids", "ids": [job_id]}
        return self.request({"kind": "job.cancel", "selection": selection, "at_once": at_once})


class _Clock:
    def __init__(self, machine: Machine) -> None:
        self.now, self.later, self.forget = machine.now, machine.later, machine.forget

    def close(self) -> None:
        pass


class _NoNotices:
    def close(self, *, remove: bool = False) -> None:
        pass


class _Crashes(logging.Handler):
    """Keeps what crashed, for whoever looks for the reason of a finding."""

    def __init__(self, kept: list[str]) -> None:
        super().__init__()
        self._kept = kept
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append(self.format(record))
        del self._kept[:-MOST_KEPT]


def _functions() -> Iterator[Any]:
    """Every function and method of ours: what is a default argument was bound before anything could be replaced."""
    for name, module in list(sys.modules.items()):
        if not name.startswith((f"{OURS}.actors", f"{OURS}.state")):
            continue
        for held in list(vars(module).values()):
            inner = vars(held).values() if isinstance(held, type) else (held,)
            yield from (found for found in inner if isinstance(found, FunctionType))


def _plain(value: object) -> bool:
    return callable(value)


def _lets_kill(real: Callable[..., None]) -> Callable[..., None]:
    """The crash rule, which catches all, but not the end of the whole process."""

    def guarded(actor: Actor, work: Callable[[], None]) -> None:
        killed: list[Killed] = []

        def watched() -> None:
            try:
                work()
            except Killed as end:
                killed.append(end)

        real(actor, watched)
        if killed:
            raise killed[0]

    return guarded


__all__ = ["Killed", "World", "no_room"]
