"""The keeper of one check: a process of its own that runs the command, bounds it, and writes down how it ended.

Standalone, standard library and the shim beside it only: run as ``python -I -S check_keeper.py FOLDER``. It outlives
the supervisor, so a check that runs is bounded and its end is kept, whoever else dies.

In ``FOLDER``: ``claim.1`` is created exclusively (whoever has it runs the check, nobody else ever will; its second
line names the check's process); ``check.json`` (argv, environment, cwd, timeout_s, umask) is read and emptied; the
command runs in its own session, with ``/dev/null`` as stdin and without a terminal; ``output.log`` keeps the beginning
and the end of what it printed; ``exit.json`` says how it ended. A file ``stop`` asks for its early end. What the
command leaves running is ended: daemons that it forked, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from typing import Any

HEAD, TAIL = 256 * 1024, 768 * 1024
"""Bytes of the output that are kept, from its beginning and from its end."""
LOOK_S = 0.1
DRAIN_S = 1.0
"""How long what is left in the pipe is read for, once the command has gone."""
CHUNK = 1 << 16


def load_shim() -> Any:  # noqa: ANN401 - a module, loaded by its path: this folder must not be on the path of imports
    """Return the shim's functions."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "shim.py")
    spec = importlib.util.spec_from_file_location("shim", path)
    assert spec is not None  # noqa: S101 - it is a file beside us
    assert spec.loader is not None  # noqa: S101 - as above
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Output:
    """The beginning and the end of what was printed, and how much it was."""

    def __init__(self) -> None:
        self.size = 0
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def add(self, chunk: bytes) -> None:
        """Take what was printed next."""
        self.size += len(chunk)
        room = HEAD - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk)
            self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0] if self._tail else b"") >= TAIL:
            self._tail_size -= len(self._tail.popleft())

    def kept(self) -> bytes:
        """Return what is kept, with a line where something was left out."""
        tail = b"".join(self._tail)
        gone = self.size - len(self._head) - len(tail)
        gap = b"\n[... %d bytes left out ...]\n" % gone if gone else b""
        return bytes(self._head) + gap + tail


class Keeper:
    """One check, from its claim to its exit record."""

    def __init__(self, folder: str, shim: Any = None) -> None:  # noqa: ANN401 - as above
        self.shim = shim or load_shim()
        self.folder = folder
        self.output = Output()
        self.ended: tuple[int | None, int | None] | None = None
        """Exit code and signal of the command, once it has ended by itself."""
        self.why: str | None = None
        """``timed_out`` or ``canceled``, where we end it."""
        self._looked = 0.0

    def run(self) -> None:
        """Take the check, unless somebody has; run it to its end."""
        claimed = self.shim.claim(os.fsencode(self.folder), 1, self.identity(os.getpid()))
        if claimed is None:
            return
        self.prepare()
        began = time.monotonic()
        try:
            spec = self._spec()
            deadline = began + float(spec["timeout_s"])
            process = self.start(spec)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._write(error=self.shim.describe(error), seconds=0.0)
            return
        record = {"check": self.identity(process.pid), "at": time.time()}
        with contextlib.suppress(OSError):
            os.write(claimed, json.dumps(record).encode() + b"\n")
        assert process.stdout is not None  # noqa: S101 - it was started with a pipe
        self.watch(process, process.stdout.fileno(), deadline)
        seconds = time.monotonic() - began
        left = self.end_left(process.pid)
        self.drain(process.stdout.fileno())
        self._write(seconds=seconds, survivors=left[:64])

    def identity(self, pid: int) -> dict[str, object]:
        """Name a process for good."""
        named: dict[str, object] = self.shim.identity(pid, self.shim.boot_id())
        return named

    def prepare(self) -> None:
        """Be told of orphans, where the system can."""
        if self.shim.LINUX:
            with contextlib.suppress(OSError):
                ctypes.CDLL(None, use_errno=True).prctl(self.shim.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def end_left(self, pid: int) -> list[int]:
        """End the command and what it left; return who would not go."""
        left: list[int] = self.shim.end_leftovers(pid)
        return left

    def _spec(self) -> dict[str, Any]:
        path = os.path.join(self.folder, "check.json")
        descriptor = os.open(path, os.O_RDWR | self.shim.NOFOLLOW | self.shim.BINARY)
        try:
            spec: dict[str, Any] = json.loads(self.shim.read_all(descriptor, close=False))
            os.ftruncate(descriptor, 0)  # it holds an environment
        finally:
            os.close(descriptor)
        return spec

    def start(self, spec: dict[str, Any]) -> subprocess.Popen[bytes]:
        """Start the command in a session of its own. Raises OSError, ValueError."""
        return subprocess.Popen(
            [os.fsencode(word) for word in spec["argv"]],
            cwd=os.fsencode(spec["cwd"]),
            env={os.fsencode(name): os.fsencode(value) for name, value in spec["env"].items()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=int(spec["umask"]),
            bufsize=0,
        )

    def watch(self, process: subprocess.Popen[bytes], pipe: int, deadline: float) -> None:
        """Read until the command has ended, its time is up, or somebody asks for its end."""
        open_ = True
        while True:
            if open_:
                if select.select([pipe], [], [], LOOK_S)[0]:
                    chunk = os.read(pipe, CHUNK)
                    self.output.add(chunk)
                    open_ = bool(chunk)
            else:
                time.sleep(0.01)
            self._reap(process.pid)
            if self.over(deadline):
                return

    def over(self, deadline: float) -> bool:
        """Whether it has ended, or is to be ended, and why."""
        now = time.monotonic()
        if self.ended is not None:
            return True
        if now >= deadline:
            self.why = "timed_out"
        elif now - self._looked >= LOOK_S:
            self._looked = now
            if os.path.lexists(os.path.join(self.folder, "stop")):
                self.why = "canceled"
        return self.why is not None

    def _reap(self, wanted: int) -> None:
        """Reap whatever has ended; keep the command's own status."""
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == wanted:
                    killed = os.WIFSIGNALED(status)
                    self.ended = (None, os.WTERMSIG(status)) if killed else (os.WEXITSTATUS(status), None)

    def drain(self, pipe: int) -> None:
        """Read what is left, but not for ever: a process that would not go may still write."""
        os.set_blocking(pipe, False)
        deadline = time.monotonic() + DRAIN_S
        with contextlib.suppress(OSError):
            while (chunk := os.read(pipe, CHUNK)) and time.monotonic() < deadline:
                self.output.add(chunk)

    def _write(self, *, seconds: float, error: str | None = None, survivors: list[int] | None = None) -> None:
        """Write the output, then how it ended: whoever sees the second finds the first."""
        kept = self.output.kept()
        with contextlib.suppress(OSError):
            path = os.path.join(self.folder, "output.log")
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | self.shim.NOFOLLOW | self.shim.BINARY
            descriptor = os.open(path, flags, 0o600)
            try:
                self.shim.write_all(descriptor, kept)
            finally:
                os.close(descriptor)
        code, number = self.ended if self.ended is not None and self.why is None else (None, None)
        record = {
            "code": code,
            "signal": number,
            "why": self.why,
            "error": error,
            "seconds": seconds,
            "bytes": self.output.size,
            "survivors": survivors or [],
            "at": time.time(),
        }
        self.shim.write_exit(os.fsencode(self.folder), record)


def keep(keeper: Keeper) -> None:
    """Keep a check, as the whole of this process."""
    os.umask(0o077)
    keeper.shim.set_signals()
    for number in keeper.shim.IGNORED:  # heard and forgotten: what is ignored, the check would inherit as ignored
        signal.signal(number, lambda *_: None)
    if hasattr(signal, "SIGCHLD"):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    keeper.run()


if __name__ == "__main__":
    keep(Keeper(sys.argv[1]))
