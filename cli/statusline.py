"""What Claude Code runs for its status line once the tap is installed. A program of its own: nothing of ours is loaded.

    python -I -S statusline.py STATE_HOME [COMMAND]     # the status as JSON on stdin

Keeps the plan's gauges that the JSON has in ``STATE_HOME/rate-limits.json`` and then becomes the person's own COMMAND,
with the very same input. Without one it prints the gauges. Whatever goes wrong with the keeping, the line is what it
was. Few modules are loaded: Claude Code runs this at each of its turns.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time

TYPE_CHECKING = False  # ``typing`` takes longer to load than all of this takes to run
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeGuard

LIMIT = 8 * 1024 * 1024
"""Bytes that are looked at for gauges; what is longer has none of ours, and passes whole all the same."""
AT_ONCE = 32 * 1024
"""Bytes that fit into any pipe without a reader."""
FILE = "rate-limits.json"
SHORT = {"five_hour": "5h", "seven_day": "7d"}


def windows_in(data: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - whatever the JSON was
    """Return what a status tells of the plan's windows (public facts: ``rate_limits`` with ``used_percentage``)."""
    limits = data.get("rate_limits") if isinstance(data, dict) else None
    found: list[dict[str, Any]] = []
    for name in SHORT:
        row = limits.get(name) if isinstance(limits, dict) else None
        used = row.get("used_percentage") if isinstance(row, dict) else None
        if isinstance(row, dict) and _is_number(used, 1e6):
            resets = row.get("resets_at")
            end = resets if _is_number(resets, 1e11) else None
            found.append({"name": name, "utilization": abs(used) / 100, "resets_at": end})  # there is a -0.0
    return found


def keep(home: str, windows: list[dict[str, Any]], now: float) -> None:
    """Write them down whole or not at all; a home that is not there is not made. Raises OSError."""
    temporary = f"{home}/.{FILE}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    body = json.dumps({"schema_version": "1", "measured_at": now, "windows": windows}).encode()
    try:
        descriptor = os.open(temporary, flags, 0o600)
        try:
            os.write(descriptor, body)
        finally:
            os.close(descriptor)
        os.replace(temporary, f"{home}/{FILE}")  # noqa: PTH105 - no pathlib here
    except OSError:
        if os.path.lexists(temporary):
            os.unlink(temporary)  # noqa: PTH108 - as above
        raise


def line(windows: list[dict[str, Any]]) -> str:
    """Return the gauges in a few characters: ``5h 42% · 7d 17%``."""
    return " · ".join(f"{SHORT[one['name']]} {int(one['utilization'] * 100)}%" for one in windows)


def main(words: Sequence[str]) -> int:
    """Do all of it; return the exit code, where the process does not become the person's own command."""
    data, more = (b"", False) if sys.stdin is None else _read()  # None: it was closed
    windows: list[dict[str, Any]] = []
    try:
        windows = [] if more else windows_in(json.loads(data))
        if windows and words:
            keep(words[0], windows, time.time())
    except (ValueError, RecursionError, OSError):
        pass  # the line matters more than what is kept
    if len(words) > 1:
        return _own(words[1], data, more=more)
    try:
        os.write(1, line(windows).encode() + b"\n")
    except OSError:
        return 1  # nobody reads it, or there is no room
    return 0


def _read() -> tuple[bytes, bool]:
    """Return the beginning of stdin, and whether it is only that."""
    parts, left = [], LIMIT + 1
    try:
        while left > 0 and (part := os.read(0, left)):
            parts.append(part)
            left -= len(part)
    except OSError:
        pass  # what came is passed on
    return b"".join(parts), left <= 0


def _own(command: str, data: bytes, *, more: bool) -> int:  # noqa: RET503 - it becomes another program
    if os.name != "posix":
        import subprocess  # noqa: PLC0415 - it takes longer to load than all the rest

        rest = sys.stdin.buffer.read() if more else b""
        return subprocess.run(command, shell=True, input=data + rest, check=False).returncode  # noqa: S602 - the person's own
    read, write = os.pipe()
    if len(data) <= AT_ONCE:
        os.write(write, data)
    elif os.fork() == 0:
        os.close(read)
        _feed(write, data, more=more)
        os._exit(0)
    os.close(write)
    if read != 0:  # it is, where stdin was closed
        os.dup2(read, 0)
        os.close(read)
    os.set_inheritable(0, True)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and a program that is started here would too
    os.execv("/bin/sh", ["/bin/sh", "-c", command])  # noqa: S606 - the person's own command, as Claude Code runs it


def _feed(descriptor: int, data: bytes, *, more: bool) -> None:
    try:
        while data:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            data = os.read(0, AT_ONCE) if more else b""
    except OSError:
        return  # it reads no more


def _is_number(value: Any, most: float) -> TypeGuard[float]:  # noqa: ANN401 - whatever the JSON was
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < most


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
