"""The sessions of this machine: from the supervisor where one runs, else looked at in this process."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .errors import CliError
from .reach import Reach
from .render.plain import one_line

if TYPE_CHECKING:
    from ..actors.fleet_scan import Scanner

Row = dict[str, Any]
CANDIDATES = 20
"""How many of an ambiguous word's sessions are named."""
_ENDED = frozenset({"done", "stopped", "failed"})
_UP = 64


class Fleet:
    """One command's way of looking; what it understood is kept between its looks."""

    def __init__(self, reach: Reach) -> None:
        """Look at nothing yet."""
        self._reach = reach
        self._scanner: Scanner | None = None

    def look(self, max_age_s: float = 1.0) -> tuple[list[Row], list[str]]:
        """Return every session, with ``self`` marked, and what could not be looked at. Starts nothing."""
        told = self._ask(max_age_s)
        rows, notes = told if told is not None else self._here()
        mark_self(rows, ancestors(), _here())
        return rows, notes

    def _ask(self, max_age_s: float) -> tuple[list[Row], list[str]] | None:
        try:
            reply = self._reach.ask_running({"kind": "view.fleet", "max_age_s": max_age_s})
        except CliError as error:
            if error.code == "bad_request":
                return None  # an older supervisor, which does not know the question
            raise
        return None if reply is None else (list(reply.get("sessions", ())), list(reply.get("notes", ())))

    def _here(self) -> tuple[list[Row], list[str]]:
        from ..actors.fleet_scan import Scanner  # noqa: PLC0415 - only where no supervisor runs
        from .place import full_home  # noqa: PLC0415 - as above

        if self._scanner is None:
            self._scanner = Scanner(full_home(os.environ, self._reach.options.home), os.environ)
        snapshot = self._scanner.scan()
        self._scanner.remember()
        return list(snapshot.sessions), list(snapshot.notes)


def ended(row: Mapping[str, Any]) -> bool:
    """Whether a session is over."""
    return row.get("state") in _ENDED or row.get("alive") is False


def shown(rows: Sequence[Row], most_ended: int) -> tuple[list[Row], int]:
    """Return all that live and the newest ``most_ended`` others (0: all), and how many were left out."""
    over = [row for row in rows if ended(row)]
    if not most_ended or len(over) <= most_ended:
        return list(rows), 0
    kept = {id(row) for row in over[:most_ended]}
    return [row for row in rows if not ended(row) or id(row) in kept], len(over) - most_ended


def chosen(rows: Sequence[Row], word: str) -> Row:
    """Return the session that a word means: its pid, job or session id, a prefix of that, part of its name, its folder.

    A word may be what ``fleet ls`` shows of it, cut as it is there. Raises CliError where there is none, or more than
    one.
    """
    shown_word = word
    for mark in ("[self] ", "[self?] "):
        word = word.removeprefix(mark)
    word = word.strip().removesuffix("…")
    keys = ("session_id", "job_id", "id")
    ways = (
        [row for row in rows if word.startswith("…") and any(_ends(row.get(key), word[1:]) for key in (*keys, "cwd"))],
        [row for row in rows if word in {str(row.get("pid")), row.get("job_id"), row.get("session_id"), row.get("id")}],
        [row for row in rows if any(_begins(row.get(key), word) for key in keys)],
        [row for row in rows if word.lower() in one_line(str(row.get("name") or ""), 1000).lower()],
        [row for row in rows if _works_in(row, word)],
    )
    found = next((way for way in ways if way), [])
    if not word or not found:
        raise CliError("no_such_session", f"no session here is {shown_word[:80]!a}", "osrc fleet ls --all")
    if len(found) == 1:
        return found[0]
    named = [_called(row) for row in found[:CANDIDATES]]
    more = f" and {len(found) - CANDIDATES} more" if len(found) > CANDIDATES else ""
    message = f"{word[:80]!a} could be any of {len(found)} sessions: {', '.join(named)}{more}"
    raise CliError("ambiguous_session", message, "give more of its id")


def _works_in(row: Row, word: str) -> bool:
    """Whether a word is a session's folder, or the end of its path."""
    folder, end = str(row.get("cwd") or ""), word.rstrip("/").removeprefix("~/")
    return bool(end) and (folder == end or folder.endswith("/" + end.removeprefix("/")))


def _called(row: Row) -> str:
    """Return the word that names a session among others, and what else is known of it."""
    word = row.get("id") or row.get("pid") or row.get("cwd")
    name = row.get("name") or row.get("cwd") or "no name"
    return f"{word} ({one_line(str(name), 40)})"


def _begins(value: object, word: str) -> bool:
    return isinstance(value, str) and len(word) >= 4 and value.startswith(word)


def _ends(value: object, word: str) -> bool:
    return isinstance(value, str) and len(word) >= 4 and value.endswith(word)


def ancestors() -> list[tuple[int, float]]:
    """Return the processes that this one was started by, nearest first: pid and start."""
    from ..state.processes import read_process  # noqa: PLC0415 - beside its only use

    found: list[tuple[int, float]] = []
    pid = os.getppid()
    while pid > 1 and len(found) < _UP:
        row = read_process(pid)
        if row is None:
            break
        found.append((pid, row.started))
        pid = row.ppid
    return found


def mark_self(rows: Sequence[Row], above: Sequence[tuple[int, float]], folder: str | None) -> None:
    """Set ``self`` in each row: True for the session that we run in, null where it may be, False otherwise.

    It is the nearest session above us that works in our own folder; any other session above us may be.
    """
    known = {identity: distance for distance, identity in enumerate(above)}
    candidates = []
    for row in rows:
        distance = known.get((row.get("pid") or 0, row.get("pid_started") or -1.0))
        row["self"] = False if distance is None else None
        if distance is not None and folder is not None and row.get("cwd") == folder:
            candidates.append((distance, row))
    if candidates:
        min(candidates, key=lambda one: one[0])[1]["self"] = True


def _here() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - no pathlib in the front end
    except OSError:
        return None
