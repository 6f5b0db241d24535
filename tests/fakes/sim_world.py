"""The real supervision tree on the simulated machine: one thread, one seed, and a SIGKILL wherever chance wants it.

    with World(seed, folder) as world:
        job_id = world.submit({"mark": "DONE"}, {"end": "x"}).job_id
        world.kill()                    # the supervisor is gone between two lines of its code
        world.run_until(ended, 600)      # the next one starts, adopts, judges

Real are: every actor, the store and all files, intake, gate, lanes, parsers, and the files that a shim writes.
Not real are: threads (one after the other, in drawn order), clocks, processes, signals, and the pipe of hints.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pykka
from fakes.lanes import install_fake_lanes
from fakes.sim_callers import Callers
from fakes.sim_calls import Calls, which
from fakes.sim_machine import Killed, Machine, Proc
from fakes.sim_patches import replace_all
from fakes.sim_programs import Stage, shim_life
from fakes.sim_threads import SimThread
from outsourcerer.actors import assembly as assembly_module
from outsourcerer.actors import shim
from outsourcerer.actors.assembly import Assembly, assemble
from outsourcerer.actors.base import Actor, ReplyPort, Stop
from outsourcerer.actors.lock import HomeLock
from outsourcerer.actors.notices import pass_on
from outsourcerer.messages.facts import Entry
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

ENOUGH = 400_000
"""More steps than any history has: one that goes on for ever is a finding."""


class World(Calls, Callers):
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
        self.running: SimThread | None = None
        """The thread that has its turn, where it is none of the world's own."""
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
        self._descriptors: dict[int, tuple[object, bool, tuple[int, int] | None]] = {}
        self._real = SimpleNamespace(close=os.close, open=os.open)
        self._store: Store | None = None
        self._sources: dict[int, random.Random] = {}
        self._held: dict[int, Proc] = {}

    # --- entering and leaving

    def __enter__(self) -> Self:
        replace_all(self, self._stack)
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

    def _held_process(self, pid: int) -> int:
        """A descriptor that stands for a process of the machine."""
        self.machine.opening(self.machine.root)
        if pid not in self.machine.table:
            raise ProcessLookupError(pid)
        descriptor = os.open(os.devnull, os.O_RDONLY)
        self._held[descriptor] = self.machine.table[pid]
        return descriptor

    def _signal_held(self, descriptor: int, number: int) -> None:
        self.machine.signal(self._held[descriptor], number)

    def _random_bytes(self, size: int) -> bytes:
        """Of a source for each length: ids don't depend on who else (an import, say) draws in between."""
        source = self._sources.setdefault(size, random.Random(f"{self.seed} {size}"))
        return source.randbytes(size)

    def _enlist(self) -> Callable[[Actor], None]:
        world = self

        def begin(actor: Actor) -> None:
            actor.sim_begun, actor.sim_turn_at = False, 0.0
            world.actors.append(actor)

        return begin

    def _waiting(self, real: Callable[[ReplyPort, float], Any]) -> Callable[[ReplyPort, float], Any]:
        def wait(port: ReplyPort, timeout_s: float) -> Any:
            deadline = self.machine.mono + timeout_s
            if self.running is not None and timeout_s > 0 and not port.answered:
                self.running.wait(deadline, lambda: port.answered)
            while not port.answered and self.machine.mono < deadline:
                with self._outside():
                    self.step()
                if self.machine.dead or self.assembly is None:
                    raise Killed
            return real(port, 0.0)

        return wait

    def sleep(self, seconds: float) -> None:
        """Something blocks: time passes, and programs go on meanwhile."""
        if self.running is not None:
            self.running.wait(self.machine.mono + seconds)
            return
        self.machine.pass_time(seconds)
        with self._outside():
            for proc in self.machine.ready():
                if proc.there and proc.program is not None:
                    self.machine.run(proc)

    def _stands(self, services: Any) -> bool:
        for _ in range(ENOUGH):
            if services.ready.is_set() and all(services.directory.find(part) for part in assembly_module.ASKED):
                return True
            root = services.directory.find("root")
            if root is None or not root.alive or self.machine.mono > self._began + 60:
                return False
            with self._outside():
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

    @contextlib.contextmanager
    def _outside(self) -> Iterator[None]:
        """While the supervisor waits: what a program opens then is not the supervisor's."""
        before, self.machine.in_supervisor = self.machine.in_supervisor, False
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
        machine.dead = True
        with self._inside():
            for thread in self.background:
                thread.end()
        self.background.clear()
        self.hints.clear()
        machine.forget_all()
        self._leave_database()
        gc.collect()
        for descriptor, (_, ours, file) in list(self._descriptors.items()):
            if ours and file is not None and which(descriptor) == file:
                os.close(descriptor)
            elif ours:
                self._descriptors.pop(descriptor)  # closed by whatever object held it
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
            times = [thread.wakes_at for thread in self.background if thread.wakes_at is not None]
            at = min((at for at in (self.machine.next_event(), *times) if at is not None), default=None)
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
                if actor._down or not actor.sim_begun:
                    gone = True
                elif actor.sim_turn_at <= now:  # it was set aside, and wakes
                    choices.append(lambda actor=actor: self._last_turn(actor))
                continue
            if (not actor.sim_begun or not actor.actor_inbox.empty()) and actor.sim_turn_at <= now:
                choices.append(lambda actor=actor: self._turn(actor))
        if gone:
            self.actors = [
                actor
                for actor in self.actors
                if not actor.actor_stopped.is_set() or (actor.sim_begun and not actor._down)
            ]
        choices += [lambda task=task: self._work(task) for task in self.background if task.may_go(now)]
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

    def _last_turn(self, actor: Actor) -> None:
        with self._inside():
            actor._actor_loop_teardown()

    def _work(self, thread: SimThread) -> None:
        self.background.remove(thread)
        with self._inside():
            if not thread.go():
                self.background.append(thread)

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


__all__ = ["Killed", "World"]
