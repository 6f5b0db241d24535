"""One job's private folder, ``jobs/<id>/``: what was asked, what came out, and how it ended.

    meta.json      the record as it was promised, and the plan              (supervisor)
    end.json       the record with its verdict                              (supervisor)
    prompt.md      the text the delegate is given                           (supervisor)
    launch.json    how it is started; read once, and emptied, by the shim   (supervisor)
    claim.<n>      whoever creates it owns attempt n: nobody else starts it (shim or supervisor)
                   its second line names the processes of attempt n         (shim)
    out.log err.log raw output                                              (delegate)
    events.jsonl   what the lane's parser made of it                        (supervisor)
    last.txt       the final message alone                                  (supervisor)
    worktree.json  the work tree of its own that it has, once that is made  (supervisor)
    watch.json     where the watchdog stands                                (supervisor)
    exit.json      how the delegate ended                                   (shim, by rename)

Beside these, where there is a reason: ``gate.json`` (``recheck.py``), ``check*`` (``job_check.py``), ``guard.json``,
``tree.before`` and ``changes.txt`` (``job_guard.py``), ``attempts/``, ``next.<n>/`` and ``ready.<n>/``
(``attempts.py``), and what the lane's plan gives the delegate.

Order that loses nothing: folder, prompt and ``draft.json``, then the journal's commit, then ``draft.json``
becomes ``meta.json``. A folder without ``meta.json``, and without a claim, was never promised to anyone, so
that a rebuild neither runs nor removes it. ``meta.json`` and ``end.json`` together are the second copy of the record.

A job makes as few files as it can and removes none: on a busy file system that is what it costs most.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..messages.job import ExitStatus, Identity, JobRecord
from ..messages.kept import kept
from .errors import StateError, from_os_error, printable
from .files import FILES, Files, create_private, holds_none_of, place_private, read_private, set_aside, write_private
from .home import Home

META = "meta.json"
DRAFT = "draft.json"
END = "end.json"
PROMPT = "prompt.md"
LAUNCH = "launch.json"
OUT = "out.log"
ERR = "err.log"
EVENTS = "events.jsonl"
LAST = "last.txt"
EXIT = "exit.json"
FIRST_CLAIM = "claim.1"
WATCH = "watch.json"
TREE = "worktree.json"

JSON_LIMIT = 1 << 20
"""Longest JSON file that is read here; ours are a few KiB."""

META_LIMIT = 64 * 1024 * 1024
"""The same of one that holds a plan: a plan shows the command, and that may hold the task."""

_AFTER_THE_PROMISE = (META, END, EXIT, "claim.")
"""How the names of files begin that are only written then; what is set aside of them keeps its name in front."""

_LOST = ExitStatus(lost=True)

_ATTEMPT_FILE = re.compile(r"claim\.(\d{1,9})\Z")


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """What ``exit.json`` says. ``damaged``: there was one, it could not be read, and it was set aside."""

    attempt: int | None = None
    status: ExitStatus = _LOST
    at: float | None = None
    """Epoch seconds when the shim saw the end."""
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class SpawnRecord:
    """The processes of an attempt."""

    attempt: int
    shim: Identity | None
    delegate: Identity | None
    at: float | None
    """Epoch seconds when the delegate's process was seen."""


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """Who owns an attempt. ``process`` is None when the claim was made but not legibly signed."""

    by: str
    process: Identity | None
    spawn: SpawnRecord | None = None
    """None: the gate never opened, as far as anybody can tell."""


@dataclass(frozen=True, slots=True)
class JobFolder:
    """One job's folder. Making one touches nothing; every write is whole or not at all.

    Writers raise StateError. Readers return None for what is not there or makes no sense.
    """

    path: Path
    files: Files = FILES

    @classmethod
    def create(cls, home: Home, job_id: str, files: Files = FILES) -> JobFolder:
        """Make the folder, 0700. Raises FileExistsError when the id is taken: mint another; else StateError."""
        path = home.job_dir(job_id)
        try:
            files.mkdir(path)
        except FileExistsError:
            raise
        except OSError as error:
            raise from_os_error(error, path, "create") from error
        return cls(path, files)

    @property
    def job_id(self) -> str:
        """The folder's name."""
        return self.path.name

    def file(self, name: str) -> Path:
        """Return the path of one of the names above."""
        return self.path / name

    def write(self, name: str, data: bytes, *, fsync: bool = False) -> None:
        """Replace one file whole, 0600."""
        write_private(self._at(name), data, fsync=fsync, files=self.files)

    def begin(self, name: str, data: bytes) -> None:
        """Write one file of a folder that nobody knows yet. Raises StateError; the folder is then to be removed."""
        if not create_private(self._at(name), data, files=self.files):
            raise StateError("state_damaged", f"{printable(self.path / name)} was there already")

    def place(self, name: str, data: bytes, *, executable: bool = False) -> None:
        """Write a file that the delegate is given, in folders of its own (0700). Raises StateError."""
        place_private(self.path / name, data, executable=executable, files=self.files)

    def empty(self, name: str) -> None:
        """Leave nothing in a file, if there is one; that it can't be done is no trouble of the job's."""
        with contextlib.suppress(OSError):
            self.files.close(self.files.open(self._at(name), os.O_WRONLY | os.O_TRUNC))

    def discard(self, name: str) -> None:
        """Remove a file that is not wanted any longer; that it can't be removed is no trouble of the job's."""
        with contextlib.suppress(OSError):
            os.unlink(self._at(name))  # noqa: PTH108 - hot path

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Replace one JSON file whole."""
        self.write(name, json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return a JSON object; None when it is missing, too large or no object."""
        try:
            data = read_private(self._at(name), JSON_LIMIT)
        except StateError:
            return None
        return None if data is None else _object(data)

    def begin_meta(self, record: JobRecord, plan: Mapping[str, Any], request: Mapping[str, Any] | None = None) -> None:
        """Keep what is to be promised, and what was asked for. ``promise`` makes it count."""
        value = {**record.model_dump(mode="json"), "plan": plan, "request": request}
        self.begin(DRAFT, json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def promise(self) -> None:
        """Let ``meta.json`` be there, once the job is in the journal; repeating it is harmless. Raises StateError."""
        try:
            self.files.replace(self._at(DRAFT), self._at(META))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise from_os_error(error, self.path / META) from error

    def write_meta(self, record: JobRecord, plan: Mapping[str, Any] | None = None) -> None:
        """Keep the record's second copy: as it was promised, or with its verdict.

        A live one keeps what was asked for, and its plan, unless there is a new one.
        """
        if record.state.terminal:
            self.write(END, record.model_dump_json().encode() + b"\n")
            return
        kept = self._meta()
        value = {**record.model_dump(mode="json"), "plan": plan or kept.get("plan"), "request": kept.get("request")}
        self.write(META, json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def read_meta(self) -> JobRecord | None:
        """Return the record's second copy; None when there is none of this job that can be read."""
        return self._record(END) or self._record(META) or self._launched_draft()

    def _launched_draft(self) -> JobRecord | None:
        """Return the draft of a job that was launched, and so was journalled: whoever was to promise it was killed."""
        return self._record(DRAFT) if os.path.lexists(self._at(FIRST_CLAIM)) else None

    def read_draft(self) -> JobRecord | None:
        """Return what is not promised yet; None when there is nothing of this job that can be read."""
        return self._record(DRAFT)

    def is_unpromised(self) -> bool:
        """Whether it is a folder that only was begun: nothing in it is written once the job is promised."""
        return holds_none_of(self.path, _AFTER_THE_PROMISE)

    def read_plan(self) -> object:
        """Return the plan that the job was taken with, as ``begin_meta`` got it; None when it can't be read."""
        return self._meta().get("plan")

    def read_request(self) -> object:
        """Return what was asked for, as ``begin_meta`` got it; None when it can't be read."""
        return self._meta().get("request")

    def _meta(self) -> dict[str, Any]:
        for name in (META, DRAFT):
            with contextlib.suppress(StateError):
                if (data := read_private(self._at(name), META_LIMIT)) is not None:
                    return _object(data) or {}
        return {}

    def _record(self, name: str) -> JobRecord | None:
        try:
            data = read_private(self._at(name), META_LIMIT)
        except StateError:
            return None
        record = None if data is None else kept(JobRecord, data)
        return record if record is not None and record.job_id == self.job_id else None

    def read_exit(self) -> ExitRecord | None:
        """Return how the delegate ended; None while there is no ``exit.json``.

        The shim renames it into place, so that one of zero bytes or of garbage is damage (a lost
        disk cache): it is set aside as ``exit.json.bad`` and said so.
        """
        try:
            data = read_private(self._at(EXIT), JSON_LIMIT)
        except StateError as error:
            if error.code == "state_unwritable":
                raise
            data = b""
        if data is None:
            return None
        found = _exit_record(_object(data))
        if found is None:
            set_aside(self.path / EXIT, ".bad")
            return ExitRecord(damaged=True)
        return found

    def claim(self, attempt: int, owner: Mapping[str, Any]) -> bool:
        """Take an attempt: True for exactly one caller ever, whatever is killed meanwhile."""
        return create_private(self._claim(attempt), json.dumps(owner).encode() + b"\n", files=self.files)

    def read_claim(self, attempt: int) -> ClaimRecord | None:
        """Return who owns an attempt, and which processes it became; None when nobody owns it."""
        try:
            data = read_private(self._claim(attempt), JSON_LIMIT)
        except StateError:
            data = b""
        if data is None:
            return None
        claim, _, spawn = data.partition(b"\n")
        value = _object(claim) or {}
        return ClaimRecord(
            by=str(value.get("by", "unknown")), process=_identity(value), spawn=_spawn_record(attempt, spawn)
        )

    def read_spawn(self, attempt: int) -> SpawnRecord | None:
        """Return an attempt's processes; None when the shim has not written them."""
        claim = self.read_claim(attempt)
        return None if claim is None else claim.spawn

    def last_attempt(self) -> int:
        """Return the highest attempt that was claimed or spawned, 0 when none was."""
        try:
            names = [entry.name for entry in self.path.iterdir()]
        except OSError:
            return 0
        return max((int(found[1]) for found in map(_ATTEMPT_FILE.match, names) if found), default=0)

    def remove(self) -> None:
        """Remove the folder and all that is in it; symbolic links are removed, never followed."""
        try:
            shutil.rmtree(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise from_os_error(error, self.path, "remove") from error

    def _claim(self, attempt: int) -> str:
        return self._at(f"claim.{attempt}")

    def _at(self, name: str) -> str:
        """Return the path of a file as a string: a path object costs more than opening what it names."""
        return f"{self.path}{os.sep}{name}"


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _identity(value: object) -> Identity | None:
    try:
        return Identity.model_validate(value)
    except ValidationError:
        return None


def _spawn_record(attempt: int, line: bytes) -> SpawnRecord | None:
    value = _object(line) if line.endswith(b"\n") else None  # half a line: the gate was never opened
    if value is None:
        return None
    return SpawnRecord(
        attempt=attempt,
        shim=_identity(value.get("shim")),
        delegate=_identity(value.get("delegate")),
        at=_number(value.get("at")),
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _exit_record(value: dict[str, Any] | None) -> ExitRecord | None:
    """Return the record of ``{"attempt", "code", "signal", "error", "at"}``, or None when it says nothing of use."""
    if value is None:
        return None
    try:
        status = ExitStatus.model_validate(value)
    except ValidationError:
        return None
    if status.code is None and status.signal is None and status.error is None and not status.lost:
        return None
    attempt = value.get("attempt")
    return ExitRecord(
        attempt=attempt if isinstance(attempt, int) and not isinstance(attempt, bool) else None,
        status=status,
        at=_number(value.get("at")),
    )
