"""One session's private folder, ``sessions/<id>/``: what it is given, what was seen of it, how it ended.

    meta.json        the record, as a second copy to rebuild the store from   (supervisor)
    launch.json      how it is started; read once by the holder               (supervisor)
    claim.<n>        whoever creates it owns attempt n                        (holder or supervisor)
    holder.json      who holds it, at which socket, with which token          (holder)
    inbox/<n>.json   what the delegate is given, in order                     (supervisor)
    events.jsonl     all that was seen and done                               (holder)
    screen           what its terminal showed last                            (holder)
    err.log          the program's stderr                                     (delegate)
    join.json        what another holder has to know, without secrets (tmux)  (supervisor)
    plan.json        the plan that it was started by                          (supervisor)
    exit.json        how it ended                                             (holder)
    holder.log       what a holder complained of that was not forked          (holder)
    read.json        how far the supervisor has read the events               (supervisor)

An inbox entry is written under a name that the holder does not look for, journalled, and only then
renamed: what was not journalled is never given, what was is given whoever dies in between.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..messages.job import Identity
from ..messages.kept import kept
from ..messages.session import SessionRecord
from .errors import StateError, from_os_error
from .files import FILES, create_private, holds_none_of, place_private, read_private, write_private
from .home import Home

META = "meta.json"
LAUNCH = "launch.json"
HOLDER = "holder.json"
EXIT = "exit.json"
EVENTS = "events.jsonl"
READ = "read.json"
INBOX = "inbox"

JSON_LIMIT = 1 << 20
ENTRY_LIMIT = 32 << 20
MOST_ENTRIES = 100_000

_AFTER_THE_PROMISE = (META, EXIT, HOLDER, EVENTS, "claim.")
"""How the names of files begin that are only written then."""


@dataclass(frozen=True, slots=True)
class HolderRecord:
    """Who holds an attempt."""

    attempt: int
    holder: Identity
    delegate: Identity | None
    socket: str
    token: str


@dataclass(frozen=True, slots=True)
class SessionExit:
    """How an attempt ended."""

    attempt: int
    code: int | None
    signal: int | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """Making one touches nothing. Writers raise StateError; readers return None for what makes no sense."""

    path: Path

    @classmethod
    def create(cls, home: Home, session_id: str) -> SessionFolder:
        """Make the folder, 0700. Raises FileExistsError when the id is taken; else StateError."""
        path = home.session_dir(session_id)
        try:
            FILES.mkdir(path)
            FILES.mkdir(path / INBOX)
        except FileExistsError:
            raise
        except OSError as error:
            with contextlib.suppress(OSError):
                path.rmdir()
            raise from_os_error(error, path, "create") from error
        return cls(path)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)

    def place(self, name: str, data: bytes, *, executable: bool = False) -> None:
        """Write a file that the delegate is given, in folders of its own (0700). Raises StateError."""
        place_private(self.path / name, data, executable=executable)

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Replace one JSON file whole."""
        write_private(self.path / name, json.dumps(value).encode())

    def read_json(self, name: str, limit: int = JSON_LIMIT) -> dict[str, Any] | None:
        """Return the object in one file."""
        try:
            data = read_private(self.path / name, limit)
            value = None if data is None else json.loads(data)
        except (StateError, ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    # --- the record

    def write_meta(self, record: SessionRecord) -> None:
        """Keep the record beside what it is about."""
        write_private(self.path / META, record.model_dump_json().encode())

    def read_meta(self) -> SessionRecord | None:
        """Return the record as last kept."""
        try:
            data = read_private(self.path / META, JSON_LIMIT)
        except StateError:
            return None
        return None if data is None else kept(SessionRecord, data)

    def is_unpromised(self) -> bool:
        """Whether it is a folder that only was begun: nothing in it is written once the session is promised."""
        return holds_none_of(self.path, _AFTER_THE_PROMISE)

    # --- what it is given

    def prepare(self, number: int, entry: Mapping[str, Any]) -> None:
        """Write an entry that is not promised yet."""
        write_private(self.path / INBOX / f"{number:08}.ready", json.dumps({"number": number, **entry}).encode())

    def promise(self, number: int) -> bool:
        """Give a prepared entry to the holder: it is journalled. Whether it is there now."""
        ready, given = (self.path / INBOX / f"{number:08}.{word}" for word in ("ready", "json"))
        with contextlib.suppress(OSError):
            ready.rename(given)
        return given.exists()

    def withdraw(self, number: int) -> None:
        """Forget a prepared entry that could not be journalled."""
        with contextlib.suppress(OSError):
            (self.path / INBOX / f"{number:08}.ready").unlink(missing_ok=True)

    def numbers(self) -> list[int]:
        """Return the numbers of the entries that the holder may take, in order."""
        names = (place.stem for place in (self.path / INBOX).glob("*.json"))
        return sorted(int(name) for name in names if name.isdecimal())[:MOST_ENTRIES]

    def entry_id(self, number: int) -> str:
        """Return the id of such an entry; empty where it is not legible."""
        return self._entry_word(number, "id")

    def entry_op(self, number: int) -> str:
        """Return what such an entry asks for (``send``, ``interrupt``, ...); empty where it is not legible."""
        return self._entry_word(number, "op")

    def _entry_word(self, number: int, name: str) -> str:
        entry = self.read_json(f"{INBOX}/{number:08}.json", ENTRY_LIMIT)
        return str((entry or {}).get(name) or "")

    def settle(self, promised: int) -> dict[str, int]:
        """After a crash: give what was journalled (up to ``promised``), forget the rest; return the ids given."""
        given: dict[str, int] = {}
        for place in sorted((self.path / INBOX).glob("*.ready"))[:MOST_ENTRIES]:
            number = int(place.stem) if place.stem.isdigit() else promised + 1
            if number <= promised:
                self.promise(number)
            else:
                self.withdraw(number)
        for place in sorted((self.path / INBOX).glob("*.json"))[:MOST_ENTRIES]:
            entry = self.read_json(f"{INBOX}/{place.name}", ENTRY_LIMIT)
            if entry is not None and isinstance(entry.get("id"), str) and isinstance(entry.get("number"), int):
                given[entry["id"]] = entry["number"]
        return given

    # --- who holds it

    def claim(self, attempt: int, owner: Mapping[str, Any]) -> bool:
        """Take an attempt; False when somebody has it."""
        return create_private(self.path / f"claim.{attempt}", json.dumps(dict(owner)).encode())

    def read_claim(self, attempt: int) -> Identity | None:
        """Return who took an attempt, if that is legible."""
        return _identity(self.read_json(f"claim.{attempt}"))

    def holder_mark(self) -> tuple[int, int] | None:
        """Return what another ``holder.json`` has otherwise; None while there is none."""
        try:
            found = (self.path / HOLDER).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def read_holder(self, attempt: int) -> HolderRecord | None:
        """Return who holds this attempt."""
        value = self.read_json(HOLDER)
        holder = _identity(value.get("holder")) if value is not None else None
        if value is None or holder is None or value.get("attempt") != attempt:
            return None
        socket, token = str(value.get("socket") or ""), str(value.get("token") or "")
        return HolderRecord(attempt, holder, _identity(value.get("delegate")), socket, token)

    def read_exit(self, attempt: int) -> SessionExit | None:
        """Return how this attempt ended."""
        value = self.read_json(EXIT)
        if value is None or value.get("attempt") != attempt:
            return None
        code, signal = value.get("code"), value.get("signal")
        reason = value.get("reason")
        return SessionExit(
            attempt,
            code if isinstance(code, int) else None,
            signal if isinstance(signal, int) else None,
            str(reason) if reason else None,
        )


def _identity(value: object) -> Identity | None:
    try:
        return None if not isinstance(value, dict) else Identity.model_validate(value)
    except ValidationError:
        return None
