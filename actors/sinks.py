"""The ways to wake somebody: a command, a file or FIFO, a webhook, a notice on the desktop. Each may block, bounded.

Every one is a function from a push to what became of it; none raises. They run in the notifier's threads, never in an
actor. A command is run by a process of its own (``wake_child.py``), which goes on when the supervisor is killed.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import hmac
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..lanes.launching import NESTING
from ..messages.alarm import AlarmRecord, SinkTold
from ..state.errors import StateError
from ..state.files import read_private, write_private
from ..state.heartbeat_file import Arming
from ..state.processes import read_process
from ..state.wake_event import event_id, line
from .check_shell import SHELL, check_words

CHILD = Path(__file__).with_name("wake_child.py")
SPARE_S = 10.0
"""How much longer than the command's own bound its process is waited for."""
DESKTOP_S = 5.0
WEBHOOK_S = 10.0
WEBHOOK_TRIES = (1.0, 4.0)
"""Seconds before each further try."""
FILE_TRIES = (0.2, 1.0)
_CLAIM_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """One push of one alarm, and everything that a sink needs to know."""

    record: AlarmRecord
    arming: Arming
    wakes: Path
    """Private folder of orders and claims."""
    home: Path

    @property
    def place(self) -> Path:
        """Where its order and claim stand, without their endings."""
        return self.wakes / self.record.push_id


def command(push: Push) -> SinkTold:
    """Have the person's command run once for this push, now or before."""
    bound_s = push.arming.wake_timeout_s + SPARE_S
    environ = environment(push)
    try:
        words = wake_words(push.arming.wake or "", push.record.summary, environ)
        order = {"argv": words, "event": line(push.record), "timeout_s": push.arming.wake_timeout_s}
        seen = _claimed(push.place)
        if seen is None or (not seen.started and not _alive(seen.pid)):
            Path(f"{push.place}.claim").unlink(missing_ok=True)
            write_private(f"{push.place}.json", json.dumps(order).encode())
            isolation = ("-I", "-S") if sys.platform == "linux" else ("-I",)
            _run([sys.executable, *isolation, os.fspath(CHILD), os.fspath(push.place)], bound_s, environ)
            seen = _claimed(push.place)
        if seen is not None and not seen.told:  # an earlier supervisor's process was faster, or is at it still
            _wait_for(seen.pid, bound_s)
            seen = _claimed(push.place)
    except (OSError, StateError, ValueError) as error:
        return SinkTold(sink="command", result="failed", why=str(error)[:200])
    if seen is None:
        return SinkTold(sink="command", result="failed", why="its process did not begin")
    return SinkTold(sink="command", result=seen.result, why=seen.why)


def wake_words(command: str, summary: str, env: Mapping[str, str], platform: str = sys.platform) -> list[str] | str:
    """Return how the person's shell runs their wake command. Raises ValueError for one that can't be given whole.

    A POSIX shell is given the summary as ``$1`` too; everywhere it is in ``OSRC_WAKE_EVENT`` and on stdin.
    """
    words = check_words(command, env, platform)
    return [*words, "osrc-wake", summary] if words[0] == SHELL else words


def environment(push: Push) -> dict[str, str]:
    """Return what the command sees: the supervisor's own, with what whoever armed it finds programs and screens by."""
    given = {name: value for name, value in os.environ.items() if name not in NESTING}
    given |= push.arming.environment
    given.pop("OSRC_HEARTBEAT_WEBHOOK_SECRET", None)
    return given | {"OSRC_WAKE_EVENT": line(push.record), "OSRC_HOME": os.fspath(push.home)}


def file(push: Push) -> SinkTold:
    """Append one line to a file, FIFO or terminal that exists. Nobody is waited for."""
    told = "nobody reads it"
    for pause in (0.0, *FILE_TRIES):
        time.sleep(pause)
        try:
            _append(push)
        except OSError as error:
            told = "nobody reads it" if error.errno == errno.ENXIO else str(error.strerror or error)[:200]
            if error.errno not in (errno.ENXIO, errno.EAGAIN):
                break
        else:
            return SinkTold(sink="file", result="given")
    return SinkTold(sink="file", result="failed", why=told)


def webhook(push: Push) -> SinkTold:
    """Post the event, signed as https://www.standardwebhooks.com says. The same push always bears the same id."""
    import httpx  # noqa: PLC0415  costs 15 MB, and most people have no webhook

    arming = push.arming
    if arming.webhook_signed and not arming.webhook_secret:
        why = "its key is not known since the supervisor was started anew: osrc heartbeat start"
        return SinkTold(sink="webhook", result="failed", why=why)
    body = line(push.record).encode()
    why = ""
    for pause in (0.0, *WEBHOOK_TRIES):
        time.sleep(pause)
        try:
            with httpx.Client(timeout=WEBHOOK_S, follow_redirects=False) as client:
                answer = client.post(arming.webhook or "", content=body, headers=signed(push, body, time.time()))
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            why = type(error).__name__
            continue
        if answer.is_success:
            return SinkTold(sink="webhook", result="given")
        why = f"HTTP {answer.status_code}"
        if answer.status_code not in (408, 425, 429) and answer.status_code < 500:
            break
    return SinkTold(sink="webhook", result="failed", why=why)


def signed(push: Push, body: bytes, now: float) -> dict[str, str]:
    """Return the headers of a post. ``whsec_`` and base64 is a key's usual form; any other text is taken as it is."""
    headers = {
        "content-type": "application/json",
        "user-agent": "outsourcerer",
        "webhook-id": push.record.push_id,
        "webhook-timestamp": str(int(now)),
        "outsourcerer-event": event_id(push.record),
    }
    secret = push.arming.webhook_secret
    if secret:
        content = f"{push.record.push_id}.{int(now)}.".encode() + body
        digest = hmac.new(_key(secret), content, hashlib.sha256).digest()
        headers["webhook-signature"] = "v1," + base64.b64encode(digest).decode()
    return headers


def desktop(push: Push) -> SinkTold:
    """Show a notice, where this machine has a way to. Its words are arguments, never a script."""
    argv = notice_argv(push.record.summary, sys.platform)
    if argv is None:
        return SinkTold(sink="desktop", result="failed", why="neither notify-send nor osascript is here")
    try:
        code = _run(argv, DESKTOP_S, environment(push))
    except OSError as error:
        return SinkTold(sink="desktop", result="failed", why=str(error.strerror or error))
    if code is None:
        return SinkTold(sink="desktop", result="late")
    return SinkTold(
        sink="desktop", result="given" if code == 0 else "failed", why=None if code == 0 else f"exit code {code}"
    )


def notice_argv(summary: str, platform: str, which: Callable[[str], str | None] = shutil.which) -> list[str] | None:
    """Return the command that shows a notice; None where there is none."""
    if platform == "darwin" and (program := which("osascript")):
        script = "on run argv\ndisplay notification (item 1 of argv) with title (item 2 of argv)\nend run"
        return [program, "-e", script, summary, "outsourcerer"]
    if program := which("notify-send"):
        return [program, "--app-name=outsourcerer", "--", "outsourcerer", summary]
    return None


SINKS: Mapping[str, Callable[[Push], SinkTold]] = {
    "command": command,
    "file": file,
    "webhook": webhook,
    "desktop": desktop,
}


def forget(wakes: Path, push_id: str) -> None:
    """Remove a push's order and claim: what became of it is journalled."""
    for ending in ("json", "claim", "file"):
        with contextlib.suppress(OSError):
            (wakes / f"{push_id}.{ending}").unlink()


@dataclass(frozen=True, slots=True)
class _Claim:
    pid: int
    started: bool
    told: str

    @property
    def result(self) -> Literal["given", "late", "failed", "unknown"]:
        words: dict[str, Literal["given", "late", "failed"]] = {"given": "given", "late": "late", "failed": "failed"}
        return words.get(self.told.partition(" ")[0], "unknown")

    @property
    def why(self) -> str | None:
        return self.told.partition(" ")[2][:200] or None


def _claimed(place: Path) -> _Claim | None:
    """Return what a claim says; None where nobody has taken it."""
    data = read_private(f"{place}.claim", _CLAIM_LIMIT)
    if data is None:
        return None
    lines = data.decode("utf-8", "replace").splitlines()
    pid = lines[0].partition(" ")[2] if lines else ""
    number = int(pid) if pid.isdecimal() and len(pid) < 12 else 0
    return _Claim(number, started=len(lines) > 1, told=lines[2] if len(lines) > 2 else "")


def _alive(pid: int) -> bool:
    """Whether a wake's process is there. A pid that is somebody else's by now costs a wait, never more."""
    if pid <= 0:
        return False
    row = read_process(pid)
    return row is not None and row.state != "Z"


def _wait_for(pid: int, bound_s: float) -> None:
    until = time.monotonic() + bound_s
    while _alive(pid) and time.monotonic() < until:
        time.sleep(0.05)


def _run(argv: list[str], bound_s: float, environ: dict[str, str]) -> int | None:
    """Run a program to its end, in a session of its own; None where it had to be ended. Raises OSError."""
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=environ,
        start_new_session=True,
    )
    try:
        return child.wait(timeout=bound_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return None


def _append(push: Push) -> None:
    """Write the line, once for each push: a claim is taken first. Raises OSError."""
    path = push.arming.sink or ""
    flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    descriptor = os.open(path, flags)
    try:
        terminal = stat.S_ISCHR(os.fstat(descriptor).st_mode)
        words = f"♥ {push.record.summary}" if terminal else line(push.record)
        claim = f"{push.place}.file"
        try:
            os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return
        try:
            os.write(descriptor, words.encode("utf-8", "replace") + b"\n")
        except OSError:
            os.unlink(claim)  # noqa: PTH108 - nothing was written: it may be tried again
            raise
    finally:
        os.close(descriptor)


def _key(secret: str) -> bytes:
    if secret.startswith("whsec_"):
        with contextlib.suppress(ValueError):
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    return secret.encode()
