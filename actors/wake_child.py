"""Runs one wake command once, bounded, whatever becomes of the supervisor. A program of its own, standard library only.

    python -I -S wake_child.py PUSH

``PUSH.json`` says what is to be run. ``PUSH.claim`` belongs to whoever makes it, so that two supervisors can't both
wake for one push. Its lines: who took it; that the command was started; how that ended (``given``, ``late``,
``failed WHY``). A claim without its second line, whose maker is gone, was never started.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

GRACE_S = 2.0
"""Between TERM and KILL for a command that takes too long."""


def main(push: str) -> int:
    """Take the claim, run the command, write how it went. 0 also where another has the claim."""
    with open(f"{push}.json", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs a third of this program
        order = json.load(file)
    try:
        claim = os.open(f"{push}.claim", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    except FileExistsError:
        return 0
    _write(claim, f"taken {os.getpid()}")
    try:
        child = subprocess.Popen(
            order["argv"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        _write(claim, "started")
        _write(claim, f"failed {error.strerror or error}")
        return 1
    _write(claim, "started")
    _write(claim, _wait(child, order["event"].encode() + b"\n", float(order["timeout_s"])))
    return 0


def _wait(child: subprocess.Popen[bytes], event: bytes, timeout_s: float) -> str:
    """Give the command its event and wait for it. What it left running in order is left alone."""
    until = time.monotonic() + timeout_s
    try:
        child.communicate(event, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        pass
    except (OSError, ValueError):  # it did not read its event: that is its own business
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=max(0.0, until - time.monotonic()))
    if child.poll() is not None:
        return "given"
    _end(child)
    return "late"


def _end(child: subprocess.Popen[bytes]) -> None:
    """End it with all that it started: its group, or where there are none its descendants."""
    if not hasattr(os, "killpg"):
        import psutil  # noqa: PLC0415 - there we are started so that it is found

        for one in psutil.Process(child.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                one.kill()
        child.kill()
    else:
        _signal(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=GRACE_S)
        _signal(child.pid, signal.SIGKILL)
    child.wait()


def _signal(group: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(group, number)


def _write(claim: int, line: str) -> None:
    with contextlib.suppress(OSError):
        os.write(claim, line.encode("utf-8", "replace") + b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
