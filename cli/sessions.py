"""Finding sessions: by name or id, or the one that this captain has in this folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .errors import CliError
from .place import current_folder
from .reach import Reach

Session = dict[str, Any]

_CONTROLLERS = ("OSRC_CONTROLLER_ID", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
_LIVE_ENDS = frozenset({"exited", "lost"})
_NAMES = 200
"""So many of the newest sessions are looked at for a name that was meant."""


def captain(environ: Mapping[str, str]) -> str:
    """Return who steers here: the session in charge, else the tmux pane, else the login session of this process.

    Two captains in one folder differ in it, so that neither finds the other's sessions without their names.
    """
    for name in _CONTROLLERS:
        if environ.get(name):
            return f"{name}:{environ[name]}"[:200]
    if environ.get("TMUX") and environ.get("TMUX_PANE"):
        return f"tmux:{environ['TMUX']}:{environ['TMUX_PANE']}"[:200]
    try:
        leader = os.getsid(0)
    except (AttributeError, OSError):
        return "user"
    return f"session:{leader}:{_started(leader)}"


def live(session: Mapping[str, Any]) -> bool:
    """Whether it has not ended."""
    return session.get("state") not in _LIVE_ENDS


def listed(reach: Reach, limit: int) -> tuple[list[Session], int]:
    """Return the newest sessions and how many were left out. ``limit`` 0 is no limit."""
    reply = reach.ask_running({"kind": "view.sessions", "limit": limit})
    if reply is not None:
        return list(reply.get("sessions", ())), int(reply.get("omitted", 0))
    reader = _reader(reach)
    if reader is None:
        return [], 0
    rows, omitted = reader.sessions(limit)
    return _views(reach, rows), omitted


def named(reach: Reach, token: str) -> Session:
    """Return the session that a name or an id means. Raises CliError for one that is unknown or ambiguous."""
    try:
        return _named(reach, token)
    except CliError as error:
        if error.code != "no_such_session":
            raise
        from .spelling import suggesting  # noqa: PLC0415 - only on the way to an error

        names = [str(one["name"]) for one in listed(reach, _NAMES)[0] if one.get("name")]
        raise suggesting(error, token, names) from None


def _named(reach: Reach, token: str) -> Session:
    reply = reach.ask_running({"kind": "view.sessions", "session": token})
    if reply is not None:
        return dict(reply["sessions"][0])
    reader = _reader(reach)
    rows = reader.resolve_session(token) if reader is not None else []
    if not rows:
        raise CliError("no_such_session", f"there is no session {token!r}", "osrc session list")
    if len(rows) > 1:
        some = ", ".join(str(row.get("session_id")) for row in rows[:5])
        raise CliError("ambiguous_session", f"{token!r} could be any of {len(rows)}: {some}", "give more of the id")
    return _views(reach, rows)[0]


def meant(reach: Reach, token: str | None, *, ended: bool = False) -> Session:
    """Return the session of that name; without one, the only one that this captain has in this folder.

    ``ended``: where none lives, the one that ended last. Raises CliError.
    """
    if token is not None:
        return named(reach, token)
    folder, mine = current_folder(), captain(os.environ)
    here = [row for row in listed(reach, 0)[0] if row.get("cwd") == folder]
    alive = [row for row in here if live(row)]
    own = [row for row in alive if row.get("captain") == mine]
    if len(own) == 1:
        return own[0]
    last = next((row for row in here if row.get("captain") == mine), None)
    if ended and not own and last is not None:
        return last
    names = ", ".join(str(row.get("name")) for row in own or alive)
    if own:
        raise CliError("ambiguous_session", f"there are {len(own)} sessions here: {names}", "name the one you mean")
    if alive:
        message = f"no session here was started by you; there are others: {names}"
        raise CliError("no_such_session", message, "name the one you mean")
    raise CliError("no_such_session", "no session runs in this folder", 'osrc session start "..."')


def is_named(reach: Reach, token: str, least: int = 1) -> bool:
    """Whether a word is the name of one session, or the beginning of its id with ``least`` characters."""
    try:
        found = named(reach, token)
    except CliError as error:
        if error.code in ("no_such_session", "ambiguous_session"):
            return False
        raise
    return found.get("name") == token or len(token) >= least


def _reader(reach: Reach) -> Any:  # noqa: ANN401 - typed where it is made; the import stays off the warm path
    database = f"{reach.root}/state.db"
    if not os.path.lexists(database):
        return None
    from ..state.reader import Reader  # noqa: PLC0415 - as above

    return Reader(database)


def _views(reach: Reach, rows: list[Session]) -> list[Session]:
    import time  # noqa: PLC0415 - beside its only use

    from ..state.identity import look  # noqa: PLC0415 - not on the warm path
    from ..state.session_views import derive, session_object  # noqa: PLC0415 - not on the warm path

    now = time.time()
    return [session_object(derive(row, look), reach.root, now) for row in rows]


def _started(pid: int) -> str:
    """Return the start time of a process in the kernel's own unit; pids are reused."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - no pathlib here
            return file.read().rpartition(b")")[2].split()[19].decode("ascii")
    except (OSError, IndexError, UnicodeDecodeError):
        return "0"
