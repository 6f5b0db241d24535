"""The supervisor's process: one per user and state home, single by a lock, gone by itself when idle.

    python -m outsourcerer.actors.daemon --home DIR

Started by the first command that needs it. Whoever gets the lock is the supervisor; everybody else
leaves at once, quietly. ``supervisor.json`` says where it listens. SIGTERM stops it and leaves
delegates running; SIGUSR1 writes every thread's stack to the log. The only place that exits.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import faulthandler
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from .. import __version__
from ..messages.loopback import TOKEN_FILE
from ..messages.vocabulary import PROTOCOL
from ..state.errors import StateError
from ..state.files import open_regular, write_private
from ..state.home import Home
from ..state.identity import identify
from ..state.settings import Settings, config_file, read_config
from . import loopback
from .assembly import Assembly, assemble
from .base import Stop, log
from .gateway import BACKLOG, Listener, listen
from .lock import HomeLock
from .redaction import CleanFormatter
from .socket_place import socket_place
from .tree import JOB_VARIABLE

LOG_LIMIT = 8 * 1024 * 1024
M_ARENA_MAX = -8
"""From glibc's ``malloc.h``."""
LAST_WORDS_S = 2.0
"""How long a supervisor that leaves waits for its last answers to be taken."""
ALREADY = 0
"""Exit code of one that found another: its client only has to connect."""
FAILED = 1


def main() -> None:
    """Be the supervisor, or leave."""
    parser = argparse.ArgumentParser(prog="outsourcerer-supervisor")
    parser.add_argument("--home", required=True)
    home = Home.resolve(os.environ, parser.parse_args().home)
    os.environ.pop(JOB_VARIABLE, None)
    _allocator("mallopt", M_ARENA_MAX, 2)  # an arena for each thread would be a megabyte for none of ours
    try:
        home.preflight()
        _begin_log(home)
        lock = HomeLock(home)
        if not lock.take():
            sys.exit(ALREADY)
        code = _run(home, lock)
    except StateError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(FAILED)
    except OSError as error:
        sys.stderr.write(f"the supervisor can't start: {error}\n")
        sys.exit(FAILED)
    os._exit(code)  # threads that are stuck must not hold the process up


def _allocator(function: str, *numbers: int) -> None:
    """Tell glibc's allocator something; another C library is left as it is."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        getattr(ctypes.CDLL(None), function)(*numbers)


def _run(home: Home, lock: HomeLock) -> int:
    path = config_file(os.environ)
    settings = Settings.load(os.environ, read_config(path), source=path)
    listener = open_listener(home, settings)
    try:
        assembly = assemble(home, settings, listener=listener, attached=False, lock=lock)
        _announce(home, listener.address, lock)
        _handle_signals(assembly)
        # What is imported from now on may be met by a full disk, and Python (3.11) keeps half a .pyc without a word.
        sys.dont_write_bytecode = True
        gc.collect()
        gc.freeze()
        _allocator("malloc_trim", 0)  # what the imports left free is another
        assembly.root.wait_down()
        assembly.close()
        assembly.dispatcher.activity.wait_over(LAST_WORDS_S)
    finally:
        if not lock.displaced:  # else they are another supervisor's by now
            with contextlib.suppress(OSError):
                Path(listener.address if listener.token is None else home.root / TOKEN_FILE).unlink()
            lock.sign(b"")
            with contextlib.suppress(OSError):
                home.supervisor_file.unlink()
    stopped_in_order = assembly.services.stopping.is_set()
    log.info("supervisor %d leaves%s", os.getpid(), "" if stopped_in_order else ": its tree gave up")
    return 0 if stopped_in_order else FAILED


def open_listener(home: Home, settings: Settings) -> Listener:
    """Listen at a local socket; at a port of this machine where there are none, or where that is wished for.

    Raises OSError, StateError.
    """
    if settings.flag("loopback") or not hasattr(socket, "AF_UNIX"):
        made, address, token = loopback.open_port(home, BACKLOG)
        return Listener(made, address, token)
    place = socket_place(home)
    return Listener(listen(place), os.fspath(place))


def _announce(home: Home, place: str, lock: HomeLock) -> None:
    """Say who listens where; then in the lock too, which nobody who tidies up takes away unnoticed.

    In this order: who connected by what the lock says finds the file.
    """
    me = identify(os.getpid()) or {"pid": os.getpid(), "started": 0, "boot_id": ""}
    said = {**me, "socket": place, "version": __version__, "protocol": PROTOCOL}
    data = json.dumps(said).encode()
    write_private(home.supervisor_file, data)
    lock.sign(data)


def _handle_signals(assembly: Assembly) -> None:
    def stop(*_: object) -> None:
        assembly.services.stopping.set()
        threading.Thread(target=lambda: assembly.root.tell(Stop("shutdown")), daemon=True).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=sys.stderr, all_threads=True)


def _begin_log(home: Home) -> None:
    """Log to stderr, which the starter pointed at the log file; a long one is kept once as ``.1``."""
    with contextlib.suppress(OSError):
        if home.log_file.lstat().st_size > LOG_LIMIT:
            home.log_file.replace(home.log_file.with_suffix(".log.1"))
            descriptor = open_regular(home.log_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.dup2(descriptor, 2)
            os.close(descriptor)
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(CleanFormatter("%(asctime)s %(levelname)s %(threadName)s %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    log.info("supervisor %d, version %s, home %s", os.getpid(), __version__, home.root)


if __name__ == "__main__":
    main()
