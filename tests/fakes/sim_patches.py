"""What a simulated supervisor finds in the place of the system: put there once, and taken back at the end."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from types import SimpleNamespace
from typing import Any
from unittest import mock

from fakes.sim_checks import SimKeeper
from fakes.sim_parts import Crashes, NoNotices, SimClock, SimPump, SimSpawner, functions_of_ours, is_callable, lets_kill
from fakes.sim_threads import SimThread
from outsourcerer.actors import assembly as assembly_module
from outsourcerer.actors import check_run, loop_desk, tree
from outsourcerer.actors.base import Actor, ReplyPort
from outsourcerer.actors.supervisor import Supervisor
from outsourcerer.state import processes, store


def replace_all(world: Any, stack: contextlib.ExitStack) -> None:
    """Put the simulated parts in their places, until the stack is closed."""
    enter = stack.enter_context
    put = lambda *given, **named: enter(mock.patch.object(*given, **named))  # noqa: E731  one row of many
    world._patch_calls(put)
    machine = world.machine
    ours: dict[Any, Any] = {
        time.time: lambda: machine.wall,
        time.monotonic: lambda: machine.mono,
        time.sleep: world.sleep,
        os.urandom: world._random_bytes,
    }
    for real, fake in ours.items():
        put(os if real is os.urandom else time, real.__name__, fake)
    for function in functions_of_ours():
        named = {
            name: ours.get(value, value)
            for name, value in (function.__kwdefaults__ or {}).items()
            if is_callable(value)
        }
        if any(function.__kwdefaults__[name] is not value for name, value in named.items()):
            put(function, "__kwdefaults__", {**function.__kwdefaults__, **named})
        placed = tuple(ours.get(value, value) if is_callable(value) else value for value in function.__defaults__ or ())
        if any(one is not other for one, other in zip(placed, function.__defaults__ or (), strict=True)):
            put(function, "__defaults__", placed)
    put(os, "getpid", lambda: world.supervisor.pid if world.supervisor is not None else 4_999_999)
    put(processes, "_read_linux", machine.read_process)
    put(processes, "_pids", machine.pids)
    put(tree, "_bears", machine.bears)
    lock = threading.Lock
    thread = lambda target, name, daemon=True: SimThread(world, target, name)  # noqa: E731  one row of many
    put(tree, "threading", SimpleNamespace(Thread=thread, Lock=lock))
    put(os, "pidfd_open", world._held_process, create=True)
    put(signal, "pidfd_send_signal", world._signal_held, create=True)
    put(assembly_module, "SystemClock", lambda: SimClock(machine))
    put(assembly_module, "Pump", lambda: SimPump(world))
    put(assembly_module, "spawner_for", lambda *_: SimSpawner(world))
    put(assembly_module, "Notices", lambda *_: NoNotices())
    put(assembly_module, "_stands", world._stands)
    popen = lambda words, **_: SimKeeper(world, words[-1])  # noqa: E731  one row of many
    put(check_run, "subprocess", SimpleNamespace(Popen=popen, DEVNULL=None))
    put(check_run, "LONGEST_POLL_S", 5.0)
    put(loop_desk, "_head", lambda _cwd: None)
    put(store, "BUSY_S", 0.0)
    put(Actor, "_start_actor_loop", world._enlist())
    put(Actor, "_guarded", lets_kill(Actor._guarded))
    put(Supervisor, "_guarded", lets_kill(Supervisor._guarded))
    put(ReplyPort, "wait", world._waiting(ReplyPort.wait))
    world._patch_store(put)
    logger = logging.getLogger("outsourcerer.actors")
    handler = Crashes(world.crashes)
    before = logger.level, logger.propagate, list(logger.handlers)
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.ERROR)

    def restored() -> None:
        logger.setLevel(before[0])
        logger.propagate, logger.handlers = before[1], before[2]

    stack.callback(restored)
