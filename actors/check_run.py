"""Running a check: a command of the person's own, outside every model, whose exit status is the verdict.

    result = run_check(folder, Check(command="make test", cwd="/project", environment=env, timeout_s=300.0))
    if result.verdict is Verdict.PASSED: ...

Each run has a folder of its own and is made once: asked again for the same folder, by whoever, the same run is waited
for and the same result returned. A keeper process (``check_keeper.py``) bounds it and outlives us. Blocks: call it in
a thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, assert_never

from ..messages.job import Identity
from ..state.errors import StateError
from ..state.files import create_private, read_private, write_private
from ..state.identity import boot_id, look
from . import plain_process
from .check_shell import SHELL, check_words
from .tree import end_tree

KEEPER = Path(__file__).with_name("check_keeper.py")
PLAIN = not hasattr(os, "fork")
"""Whether keepers are those of ``plain_keeper.py``."""
STOP = "stop"
"""A file in the folder that asks for the check's early end."""
OUTPUT_LIMIT = 2 * 1024 * 1024
RECORD_LIMIT = 1 << 20
TAIL_BYTES = 64 * 1024
"""So much of the output's end is in a result; ``output_path`` has more."""
TIMEOUT_S = 300.0
"""How long a check may run where nobody said."""
NOT_FOUND = (126, 127, 9009)
"""What a shell says of a command that it can't start; the last is ``cmd.exe``'s, which may say 1 as well."""
POLL_S, LONGEST_POLL_S = 0.02, 0.25
CLAIM_S = 30.0
"""How long a keeper may take to begin."""
LEAVE_S = 60.0
"""How long past its time a keeper may take to end a check; then it is ended itself."""


class Verdict(StrEnum):
    """What a check came to."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    NOT_RUN = "not_run"
    """It could not be run, or nobody saw how it ended: it says nothing about the work."""
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class Check:
    """What is to be run. The environment is written to a private file and emptied as the check begins."""

    command: str
    """A line for the shell (``check_shell.py``)."""
    cwd: str
    environment: Mapping[str, str] = field(repr=False)
    timeout_s: float = TIMEOUT_S
    umask: int = 0o022


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a check ended. ``code`` and ``signal`` are None where it did not end by itself."""

    verdict: Verdict
    code: int | None = None
    signal: int | None = None
    error: str | None = None
    """Why it was not run, in a sentence."""
    seconds: float = 0.0
    tail: str = ""
    """The end of what it printed: untrusted, and as it was printed."""
    output_bytes: int = 0
    """How much it printed; no more than the beginning and the end of it is kept."""
    output_path: str | None = None
    survivors: tuple[int, ...] = ()
    """Processes of it that would not go."""

    def words(self) -> str:
        """Return how it ended, in words that are the same for the same end."""
        match self.verdict:
            case Verdict.PASSED:
                return "passed"
            case Verdict.TIMED_OUT:
                return "ran out of time and was ended"
            case Verdict.CANCELED:
                return "was canceled"
            case Verdict.NOT_RUN:
                return f"could not be run: {self.error}" if self.error else "could not be run"
            case Verdict.FAILED:
                return f"exit {self.code}" if self.code is not None else f"killed by signal {self.signal}"
            case _:
                assert_never(self.verdict)


def run_check(folder: Path, check: Check, stop: threading.Event | None = None) -> CheckResult:
    """Run the check of ``folder`` once, or wait for the run that there is; return how it ended. Never raises.

    ``folder`` is made if it is not there (its parent must be). With ``stop`` set the check's whole tree is ended
    and the result is CANCELED, unless it had ended.
    """
    try:
        known = result_of(folder)
        if known is not None:
            return known
        words = check_words(check.command, check.environment, sys.platform)
        if words[0] == SHELL and not os.access(SHELL, os.X_OK):
            return CheckResult(Verdict.NOT_RUN, error=f"checks are run by {SHELL}, which this system has not")
        keeper = None if (folder / "claim.1").exists() else _begin(folder, check, words)
        return _wait(folder, check, keeper, stop)
    except ValueError as error:
        return CheckResult(Verdict.NOT_RUN, error=str(error))
    except (StateError, OSError) as error:
        said = error.refusal.message if isinstance(error, StateError) else f"{error.strerror}: {folder}"
        return CheckResult(Verdict.NOT_RUN, error=said)


def result_of(folder: Path) -> CheckResult | None:
    """Return how the check of ``folder`` ended; None while it has not, or never began."""
    record = _json(folder / "exit.json")
    if record is None:
        return None
    code, signal, why, error = (record.get(name) for name in ("code", "signal", "why", "error"))
    seconds, size, left = record.get("seconds"), record.get("bytes"), record.get("survivors")
    verdict = (
        Verdict.TIMED_OUT
        if why == "timed_out"
        else Verdict.CANCELED
        if why == "canceled"
        else Verdict.PASSED
        if code == 0
        else Verdict.NOT_RUN
        if error is not None or code in NOT_FOUND or (code is None and signal is None)
        else Verdict.FAILED
    )
    if code in NOT_FOUND and error is None:
        error = "the shell could not start it" + (": command not found" if code != NOT_FOUND[0] else "")
    output = folder / "output.log"
    return CheckResult(
        verdict=verdict,
        code=code if isinstance(code, int) else None,
        signal=signal if isinstance(signal, int) else None,
        error=str(error)[:500] if error is not None else None,
        seconds=float(seconds) if isinstance(seconds, int | float) else 0.0,
        tail=_tail(output),
        output_bytes=size if isinstance(size, int) else 0,
        output_path=os.fspath(output) if output.exists() else None,
        survivors=tuple(pid for pid in left if isinstance(pid, int)) if isinstance(left, list) else (),
    )


def _begin(folder: Path, check: Check, words: list[str] | str) -> subprocess.Popen[bytes]:
    folder.mkdir(mode=0o700, exist_ok=True)
    spec = {
        "argv": words,
        "env": dict(check.environment),
        "cwd": check.cwd,
        "timeout_s": check.timeout_s,
        "umask": check.umask,
    }
    write_private(folder / "check.json", json.dumps(spec).encode())
    if PLAIN:
        return plain_process.begin("keeper", os.fspath(folder))
    isolation = ("-I", "-S") if sys.platform == "linux" else ("-I",)
    return subprocess.Popen(
        (sys.executable, *isolation, os.fspath(KEEPER), os.fspath(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": os.defpath},
        start_new_session=True,
    )


def _wait(
    folder: Path, check: Check, keeper: subprocess.Popen[bytes] | None, stop: threading.Event | None
) -> CheckResult:
    pause, began, asked_at = POLL_S, time.monotonic(), None
    patience_s = check.timeout_s + LEAVE_S
    while True:
        if keeper is not None:
            keeper.poll()  # it is reaped
        gone = _gone(folder, keeper, time.monotonic() - began)
        known = result_of(folder)  # after the look: a keeper writes its record before it goes
        if known is not None:
            if keeper is not None:
                keeper.wait()  # it goes at once
            return known
        now = time.monotonic()
        if gone:
            return _lost(folder, "nobody saw how it ended: its keeper was killed")
        if stop is not None and stop.is_set() and asked_at is None:
            asked_at = now
            create_private(folder / STOP, b"")
        if now - began > patience_s or (asked_at is not None and now - asked_at > LEAVE_S):
            return _lost(folder, "its keeper did not end it in time")
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_POLL_S)


def _gone(folder: Path, keeper: subprocess.Popen[bytes] | None, waited_s: float) -> bool:
    """Whether whoever took the check, or was to take it, is no more."""
    owner = _processes(folder)[:1]
    if owner:
        return look(owner[0].pid, owner[0].started, owner[0].boot_id) in {"gone", "zombie"}
    if keeper is not None and keeper.returncode is None:
        return False
    return waited_s > CLAIM_S or (keeper is not None and not (folder / "claim.1").exists())


def _lost(folder: Path, why: str) -> CheckResult:
    """End what is left of a check that nobody keeps, and say that nothing is known of it."""
    for process in _processes(folder):
        if process.boot_id == boot_id():
            end_tree(f"check:{folder.name}", process, None, 0.0)
    return result_of(folder) or CheckResult(Verdict.NOT_RUN, error=why)


def _processes(folder: Path) -> list[Identity]:
    """Return the keeper and the check's own process, as far as the claim names them."""
    try:
        data = read_private(folder / "claim.1", RECORD_LIMIT) or b""
        lines = [json.loads(line) for line in data.splitlines()[:2]]
        found = [lines[0], *(line["check"] for line in lines[1:])] if lines else []
        return [Identity.model_validate(one) for one in found]
    except (StateError, ValueError, KeyError, TypeError):
        return []  # half written, or not yet


def _json(path: Path) -> dict[str, Any] | None:
    try:
        data = read_private(path, RECORD_LIMIT)
        value = None if data is None else json.loads(data)
    except (StateError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _tail(path: Path) -> str:
    try:
        data = read_private(path, OUTPUT_LIMIT) or b""
    except StateError:
        return ""
    return data[-TAIL_BYTES:].decode("utf-8", "replace")
