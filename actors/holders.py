"""Starting holders, knocking at their doors, and ending them: what the supervisor does about them.

Everything here may block for a moment except ``knock`` and ``road_for``; actors call the rest in the background.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..messages import loopback
from ..messages.job import Identity
from ..state.files import open_regular, read_private
from ..state.home import Home
from ..state.identity import look
from ..state.session_folder import HolderRecord
from ..state.settings import Settings
from . import plain_process
from .gate import Passed
from .signals import KILL, TERM, send
from .socket_place import socket_place
from .tree import end_tree

MAIN = Path(__file__).with_name("holder_main.py")
START_S, START_LOOK_S = 60.0, 0.02
HOLDER_LOG = "holder.log"
"""What a holder's process complained of, where it could not start; in the session's folder."""
LOG_LIMIT = 1 << 20
LEAVE_S = 3.0


class HolderError(Exception):
    """No holder can be started. ``str()`` is the sentence."""


def nobody(_line: bytes) -> None:
    """Hear nothing."""


@dataclass(frozen=True, slots=True)
class HolderRoad:
    """How holders are started and reached here."""

    plain: bool = not hasattr(os, "fork")
    """A process for each, not forked, that moves pipes by threads."""
    port: bool = not hasattr(socket, "AF_UNIX")
    """Its door is a port of this machine, not a local socket."""
    heard: Callable[[bytes], None] = nobody
    """Takes the hints of plain ones."""

    def door(self, home: Home, session_id: str) -> str:
        """Return where a session's holder is to listen. Raises OSError when there is no private place for a socket."""
        return loopback.door(0) if self.port else os.fspath(socket_place(home, session_id))


def road_for(settings: Settings, heard: Callable[[bytes], None] = nobody) -> HolderRoad:
    """Return how holders are started and reached where these settings hold."""
    usual = HolderRoad()
    return HolderRoad(
        plain=usual.plain or settings.text("spawn") == "plain",
        port=usual.port or settings.flag("loopback"),
        heard=heard,
    )


def start_holder(folder: Path, attempt: int, permit: Passed, road: HolderRoad) -> None:
    """Start the holder of a folder whose ``launch.json`` is written, by the gate's permit for that attempt.

    It signs ``holder.json``. Raises HolderError, and PermissionError for a permit that is another's.
    """
    permit.demand(folder.name, attempt)
    if road.plain:
        _start_plainly(folder, attempt, road)
        return
    isolation = ("-I", "-S") if sys.platform == "linux" else ("-I",)
    try:
        done = subprocess.run(
            (sys.executable, *isolation, os.fspath(MAIN), os.fspath(folder)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"PATH": os.defpath},
            timeout=START_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HolderError(f"no process can be started for the session: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[-200:]
        raise HolderError(f"the session's process could not start: {said or done.returncode}")


def _start_plainly(folder: Path, attempt: int, road: HolderRoad) -> None:
    """Start a holder by itself and wait until it has taken its attempt; what it complains of is in ``HOLDER_LOG``."""
    try:
        errors = open_regular(folder / HOLDER_LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            process = plain_process.begin("holder", os.fspath(folder), stdout=subprocess.PIPE, stderr=errors)
        finally:
            os.close(errors)
    except OSError as error:
        raise HolderError(f"no process can be started for the session: {error}") from None
    last = json.dumps({"session": folder.name, "what": "gone"}).encode()
    plain_process.listen(process, road.heard, last)
    claim, deadline = folder / f"claim.{attempt}", time.monotonic() + START_S
    while not claim.exists():
        code = process.poll()
        if code is not None and not claim.exists():
            said = (read_private(folder / HOLDER_LOG, LOG_LIMIT) or b"").decode("utf-8", "replace").strip()[-200:]
            raise HolderError(f"the session's process could not start: {said or code}")
        if time.monotonic() > deadline:
            raise HolderError(f"the session's process did not begin within {START_S:.0f} s")
        time.sleep(START_LOOK_S)


def knock(holder: HolderRecord | None, op: str, **fields: object) -> bool:
    """Say something to a holder without waiting; whether it was taken. It looks by itself soon in any case."""
    if holder is None or not holder.socket:
        return False
    if (port := loopback.door_port(holder.socket)) is not None:
        said = {"op": op, **fields}
        # Each side has to prove itself first, which takes a moment: it is not for the caller to wait.
        threading.Thread(
            target=_say_at_port, args=(port, holder.token, said), name=f"knock:{port}", daemon=True
        ).start()
        return True
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.connect(holder.socket)
        made.send(_line({"token": holder.token, "op": op, **fields}))
    except OSError:
        return False
    finally:
        made.close()
    return True


def _say_at_port(port: int, token: str, said: Mapping[str, object]) -> None:
    with contextlib.suppress(OSError), _connect(port, token) as made:
        made.sendall(_line(said))
        made.recv(1)  # closed at once, what was said might be lost with the connection


def _line(said: Mapping[str, object]) -> bytes:
    return json.dumps(said).encode() + b"\n"


def _proof(token: bytes, nonce: bytes, line: bytes) -> bytes:
    said = loopback.proven(token, nonce, line)
    if said is None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "somebody else listens there")
    return said


def _connect(port: int, token: str) -> socket.socket:
    """Return a connection to whoever proved to hold this token. Raises OSError."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.settimeout(loopback.HANDSHAKE_S)
        made.connect((loopback.HOST, port))
        nonce = os.urandom(loopback.NONCE)
        made.sendall(loopback.hello(nonce))
        line = b""
        while not line.endswith(b"\n") and len(line) < loopback.LINE and (data := made.recv(1)):
            line += data
        made.sendall(_proof(token.encode(), nonce, line))
    except BaseException:
        made.close()
        raise
    return made


def end_session(session_id: str, delegate: Identity | None, holder: Identity | None, grace_s: float) -> tuple[int, ...]:
    """End what is left of a session: the delegate's tree, then its holder. Blocks. Returns the pids that stayed."""
    survivors = end_tree(session_id, delegate, holder, grace_s)
    if holder is None:
        return survivors
    for number in (TERM, KILL):
        deadline = time.monotonic() + LEAVE_S
        while _alive(holder) and time.monotonic() < deadline:
            send(holder, number)
            time.sleep(0.05)
    return (*survivors, holder.pid) if _alive(holder) else survivors


def _alive(process: Identity) -> bool:
    return look(process.pid, process.started, process.boot_id) in ("running", "stopped")
