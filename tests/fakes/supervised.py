"""A scratch state home with a real supervisor in it, and a hand that kills things.

    def test_something(home: Supervised) -> None:
        job_id = home.bg({"say": "hi"}, {"end": "hi"})
        assert home.ended(job_id)["state"] == "done?"

Whoever makes one must end it, with ``with`` or ``close``: whatever is still running by then is killed, and
said. Only processes whose environment or command line names this very home are ever touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, TypeVar

from fakes import osrc_process
from fakes.lanes import install_fake_lanes, steps
from fakes.osrc_process import shown
from outsourcerer.state.reader import Reader

T = TypeVar("T")
DAEMON = b"outsourcerer.actors.daemon"
SHIM = b"shim.py"
PATIENCE_S = 120.0
"""How long anything is waited for that takes a moment on a machine that is not busy."""


def until(look: Callable[[], T], what: str, seconds: float = PATIENCE_S, pause: float = 0.01) -> T:
    """Return the first true value of ``look``; fails, naming ``what``, when none comes in time.

    Whoever waits leaves the machine to what is waited for: a look that costs much is made less often.
    """
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if found := look():
            return found
        now = time.monotonic()
        assert now < deadline, f"not within {seconds:.0f} s: {what}"
        time.sleep(max(pause, min(4 * (now - began), 0.2)))


class Supervised:
    """One scratch ``HOME`` and ``OSRC_HOME``, and all processes that belong to it."""

    def __init__(self, root: Path, **environ: str) -> None:
        self.scratch = root
        self.root = root / "osrc"
        self.work = root / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.environ = {"OSRC_IDLE_EXIT": "0", "OSRC_POLL": "0.2", "OSRC_CLOUD_ACK": "1", **environ}
        install_fake_lanes(self.root)

    def __enter__(self) -> Self:
        """End everything afterwards: in order, or at once where something failed."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.kill_all()

    # --- commands

    def osrc(
        self,
        *words: str | bytes,
        stdin: bytes | None = None,
        cwd: Path | str | None = None,
        timeout: float = 240,
        **more: str,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one command to its end."""
        given = {**self.environ, **more}
        return osrc_process.osrc(self.root, *words, stdin=stdin, cwd=cwd or self.work, timeout=timeout, **given)

    def start(self, *words: str, **more: str) -> subprocess.Popen[bytes]:
        """Start one command in a session of its own. ``close`` ends it if the test does not."""
        return osrc_process.start(self.root, *words, **{**self.environ, **more})

    def start_changed(self, change: str) -> int:
        """Start a supervisor in which ``change``, some statements, was done first; wait until it listens; return its pid."""
        program = (
            f"{change}\nimport sys\nfrom outsourcerer.actors.daemon import main\nsys.argv[1:] = sys.argv[2:]\nmain()\n"
        )
        words = [sys.executable, "-c", program, DAEMON.decode(), "--home", str(self.root)]
        with (self.root / "supervisor.log").open("ab") as log:
            made = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(), start_new_session=True
            )
        threading.Thread(target=made.wait, daemon=True).start()
        until(lambda: (self.supervisor() or {}).get("pid") == made.pid, "the changed supervisor listens")
        return made.pid

    def environment(self) -> dict[str, str]:
        """What commands of this home see."""
        return osrc_process.environment(self.root, **self.environ)

    def ok(self, *words: str, **more: Any) -> str:
        """Run one command that must exit 0; return its stdout."""
        done = self.osrc(*words, **more)
        assert done.returncode == 0, shown(done)
        return done.stdout.decode()

    def bg(
        self,
        *actions: dict[str, object],
        verb: str = "run",
        lane: str = "fake",
        words: tuple[str, ...] = (),
        **more: Any,
    ) -> str:
        """Submit a job for the fake in the background; return its id."""
        task = steps(*actions)
        return self.ok("bg", verb, "--lane", lane, *words, "--", task, **more).strip()

    def run(
        self,
        *actions: dict[str, object],
        verb: str = "run",
        lane: str = "fake",
        words: tuple[str, ...] = (),
        **more: Any,
    ) -> tuple[dict[str, Any], subprocess.CompletedProcess[bytes]]:
        """Run a job to its end; return its record and the finished command."""
        done = self.osrc(verb, "--lane", lane, *words, "--", steps(*actions), **more)
        assert b"Traceback" not in done.stderr, shown(done)
        return self.newest(), done

    # --- what is kept

    def record(self, job_id: str) -> dict[str, Any]:
        """The job's record as the store has it; empty when it has none."""
        with Reader(self.root / "state.db") as reader:
            return reader.record(job_id) or {}

    def records(self) -> list[dict[str, Any]]:
        """All records, newest first."""
        with Reader(self.root / "state.db") as reader:
            return reader.jobs(None, 0)[0] or []

    def newest(self) -> dict[str, Any]:
        """The record of the newest job."""
        return self.records()[0]

    def facts(self, kind: str | None = None, job: str | None = None) -> list[dict[str, Any]]:
        """Every journalled fact, in order."""
        with Reader(self.root / "state.db") as reader:
            return [json.loads(body) for _, _, _, body in reader.entries(0, 100_000, job=job, type=kind)]

    def state(self, job_id: str) -> str:
        """The job's state in the store."""
        return str(self.record(job_id).get("state"))

    def ended(self, job_id: str, seconds: float = PATIENCE_S) -> dict[str, Any]:
        """Wait for the end of a job, without any command's help; return its record."""
        until(lambda: self.record(job_id).get("ended"), f"{job_id} ended (it is {self.record(job_id)})", seconds)
        return self.record(job_id)

    def running(self, job_id: str, seconds: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until the delegate's process is known; return the record."""
        until(lambda: self.record(job_id).get("delegate"), f"{job_id} runs", seconds)
        return self.record(job_id)

    def folder(self, job_id: str) -> Path:
        """The job's folder."""
        return self.root / "jobs" / job_id

    def result(self, job_id: str) -> str:
        """The job's final message."""
        return (self.folder(job_id) / "last.txt").read_text(encoding="utf-8")

    def log(self) -> str:
        """The supervisor's log so far."""
        with contextlib.suppress(FileNotFoundError):
            return (self.root / "supervisor.log").read_text(encoding="utf-8", errors="replace")
        return ""

    # --- processes

    def supervisor(self) -> dict[str, Any] | None:
        """What ``supervisor.json`` says, whether true or stale."""
        try:
            return json.loads((self.root / "supervisor.json").read_bytes())
        except (OSError, ValueError):
            return None

    def daemons(self) -> list[int]:
        """Pids of the supervisors of this home, listening or not."""
        found = [pid for pid, command, _ in self._processes() if DAEMON in command]
        return [pid for pid in found if (parent := _parent(pid)) is not None and parent not in found]
        # A fork of one, that has not yet become another program or is gone already, is none.

    def daemon(self) -> int:
        """Pid of the one supervisor of this home; one that is about to leave is waited for."""
        until(lambda: len(self.daemons()) == 1, "there is one supervisor")
        return self.daemons()[0]

    def zygotes(self) -> list[int]:
        """Pids of the processes that fork shims: children of a supervisor."""
        daemons = self.daemons()
        return [pid for pid, command, _ in self._processes() if SHIM in command and _parent(pid) in daemons]

    def delegates(self) -> list[int]:
        """Pids of everything that bears the id of a job of this home."""
        return [pid for pid, _, environ in self._processes() if b"OSRC_JOB_ID=" in environ]

    def processes(self) -> list[str]:
        """Everything of this home, as ``pid command``."""
        return [f"{pid} {command.decode(errors='replace')}" for pid, command, _ in self._processes()]

    def kill_supervisor(self) -> int:
        """SIGKILL the one supervisor of this home and wait until it is gone; return its pid, 0 if there was none."""
        daemons = self.daemons()
        for pid in daemons:
            kill(pid)
        until(lambda: not set(daemons) & set(self.daemons()), "the killed supervisor is gone")
        return daemons[0] if daemons else 0

    def nothing_left(self, seconds: float = PATIENCE_S) -> None:
        """Assert that no delegate, nor anything one started, is left."""
        deadline = time.monotonic() + seconds
        while left := self.delegates():
            assert time.monotonic() < deadline, f"left running: {[_command(pid) for pid in left]}"
            time.sleep(0.02)

    def close(self) -> None:
        """End everything, in order if possible; fails when an orderly stop left something behind."""
        try:
            if self.daemons():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.osrc("supervisor", "stop", "--cancel", timeout=240)
            deadline = time.monotonic() + PATIENCE_S
            while self.processes() and time.monotonic() < deadline:
                time.sleep(0.02)
            left = self.processes()
        finally:
            self.kill_all()
        assert left == [], f"left behind after an orderly stop: {left}"

    def kill_all(self) -> None:
        """SIGKILL everything of this home."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := list(self._processes())) and time.monotonic() < deadline:
            for pid, _, _ in found:
                kill(pid)
            time.sleep(0.02)

    def _processes(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Living processes (no zombies) whose environment or command line names this home."""
        name = os.fsencode(self.root)
        for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
            if pid == os.getpid():
                continue
            command = _command(pid)
            try:
                environ = Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if name in command or name in environ:
                yield pid, command, environ


def _command(pid: int) -> bytes:
    """A process's command line, words apart by a space; empty for a zombie and for one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return b""


def _parent(pid: int) -> int | None:
    """A process's parent, None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    return int(stat[stat.rfind(b")") + 2 :].split()[1])


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal; one that is gone is none of our business."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def alive(pid: int) -> bool:
    """Whether there is such a process, and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat[stat.rfind(b")") + 2 : stat.rfind(b")") + 3] not in (b"Z", b"X")


def pid_in(path: Path) -> int:
    """Wait for a pid file of the fake; return what it holds."""
    until(path.exists, f"{path.name} was written")
    return int(path.read_text())
