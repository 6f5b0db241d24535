"""Starting holders, knocking at their doors, and ending them: what the supervisor does about them.

Everything here may block for a moment except ``knock``; actors call the rest in the background.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ..messages.job import Identity
from ..state.home import Home
from ..state.identity import look
from ..state.session_folder import HolderRecord
from .gate import Passed
from .tree import end_tree

MAIN = Path(__file__).with_name("holder_main.py")
START_S = 60.0
SOCKET_LIMIT = 103
"""Longest socket path that every platform takes (macOS: 104 with its end)."""
LEAVE_S = 3.0


class HolderError(Exception):
    """No holder can be started. ``str()`` is the sentence."""


def start_holder(folder: Path, attempt: int, permit: Passed) -> None:
    """Start the holder of a folder whose ``launch.json`` is written, by the gate's permit for that attempt.

    It signs ``holder.json``. Raises HolderError, and PermissionError for a permit that is another's.
    """
    permit.demand(folder.name, attempt)
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


def runtime_place(home: Home, name: str) -> Path:
    """Return a short place for a socket: in the runtime folder, else in the temporary one, under a hashed name.

    The state home may lie too deep for a socket. Raises OSError when there is no private folder for it.
    """
    hashed = hashlib.sha256(os.fsencode(home.root) + name.encode()).hexdigest()[:16] + ".sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [Path(runtime) / "outsourcerer"] if os.path.isabs(runtime) else []
    candidates += [
        Path("/tmp") / f"outsourcerer-{os.getuid()}",  # noqa: S108  checked to be ours and private
        Path(tempfile.gettempdir()) / f"osrc-{os.getuid()}",
        home.root,
    ]
    trouble: OSError | None = None
    for folder in candidates:
        if len(os.fsencode(folder / hashed)) > SOCKET_LIMIT:
            continue
        try:
            folder.mkdir(mode=0o700, parents=False, exist_ok=True)
            seen = folder.lstat()
            if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
                continue
            if stat.S_IMODE(seen.st_mode) & 0o077:
                folder.chmod(0o700)
            probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            probe.close()
        except OSError as error:
            trouble = error
            continue
        return folder / hashed
    raise trouble or OSError("no private folder with a path short enough for a socket")


def knock(holder: HolderRecord | None, op: str, **fields: object) -> bool:
    """Say something to a holder without waiting; whether it was taken. It looks by itself soon in any case."""
    if holder is None or not holder.socket:
        return False
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.connect(holder.socket)
        made.send(json.dumps({"token": holder.token, "op": op, **fields}).encode() + b"\n")
    except OSError:
        return False
    finally:
        made.close()
    return True


def end_session(session_id: str, delegate: Identity | None, holder: Identity | None, grace_s: float) -> tuple[int, ...]:
    """End what is left of a session: the delegate's tree, then its holder. Blocks. Returns the pids that stayed."""
    survivors = end_tree(session_id, delegate, holder, grace_s)
    if holder is None:
        return survivors
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + LEAVE_S
        while _alive(holder) and time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                os.kill(holder.pid, number)
            time.sleep(0.05)
    return (*survivors, holder.pid) if _alive(holder) else survivors


def _alive(process: Identity) -> bool:
    return look(process.pid, process.started, process.boot_id) in ("running", "stopped")
