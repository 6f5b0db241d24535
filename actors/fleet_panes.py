"""The panes of every tmux server of this user: which program lives in which. Asks tmux, types nothing."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..lanes.screens.classify import classify
from ..lanes.screens.model import State
from ..lanes.screens.rules import rules_for, version_of
from .tmux import Tmux, TmuxError

MOST_SERVERS = 16
_ASKS = frozenset({State.TRUST, State.LOGIN, State.MENU, State.WAITING_APPROVAL, State.LIMIT})
_FORMAT = "#{pane_pid}\x1f#{pane_id}\x1f#{session_name}:#{window_index}.#{pane_index}"


@dataclass(frozen=True, slots=True)
class Place:
    """A pane."""

    server: str
    """The server's socket."""
    pane_id: str
    target: str
    """As a person names it: session, window, pane."""


class Panes:
    """What was last heard of each server. One that gives no answer is slow, not gone."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[str, dict[int, Place]] = {}

    def look(self, environ: Mapping[str, str], lines: Iterable[Sequence[str]]) -> list[str]:
        """Ask every server there is; ``lines`` are the command lines of tmux itself. Returns what went wrong."""
        problems = []
        sockets = servers(environ, lines)
        for gone in set(self._known) - set(sockets):
            del self._known[gone]
        for socket in sockets:
            try:
                told = Tmux(socket, environ).run("list-panes", "-a", "-F", _FORMAT)
            except TmuxError as error:
                if any(word in str(error) for word in ("no server running", "error connecting", "not installed")):
                    self._known.pop(socket, None)
                else:
                    problems.append(f"the tmux server {socket} was not heard: {error}")
                continue
            self._known[socket] = _places(socket, told)
        return problems

    def of(self, pids: Iterable[int]) -> Place | None:
        """Return the pane that the first of these processes lives in."""
        for pid in pids:
            for places in self._known.values():
                if pid in places:
                    return places[pid]
        return None


def asked_on_screen(place: Place, tool: str, version: str | None, environ: Mapping[str, str]) -> str | None:
    """Return what a pane's program asks a person, by its screen; None where it asks nothing, or nothing is claimed.

    Screens are understood of the tools and versions that ``lanes/screens`` knows.
    """
    rules = rules_for(tool, version_of(version or ""))
    if rules is None:
        return None
    tmux = Tmux(place.server, environ)
    try:
        found = classify(tmux.screen(tmux.pane(place.pane_id)), rules)
    except TmuxError:
        return None
    if found.state not in _ASKS:
        return None
    return (found.menu.question if found.menu is not None else "") or found.evidence


def _places(socket: str, told: str) -> dict[int, Place]:
    found = {}
    for line in told.splitlines():
        parts = line.split("\x1f")
        if len(parts) == 3 and parts[0].isdecimal():
            found[int(parts[0])] = Place(socket, parts[1], parts[2])
    return found


def servers(environ: Mapping[str, str], lines: Iterable[Sequence[str]]) -> list[str]:
    """Return the sockets of tmux servers: those in tmux's own folder, and those its command lines name."""
    if not hasattr(os, "getuid"):
        return []
    folder = os.path.join(environ.get("TMUX_TMPDIR") or "/tmp", f"tmux-{os.getuid()}")  # noqa: PTH118, S108 - tmux's own place
    found = []
    with contextlib.suppress(OSError):
        found = sorted(f"{folder}/{name}" for name in os.listdir(folder))  # noqa: PTH208 - strings throughout
    if environ.get("TMUX"):
        found.append(environ["TMUX"].split(",")[0])
    for words in lines:
        for flag, word in itertools.pairwise(words):
            if flag == "-S" and word.startswith("/"):
                found.append(word)
    return [one for one in dict.fromkeys(found) if _is_ours(one)][:MOST_SERVERS]


def _is_ours(path: str) -> bool:
    try:
        seen = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(seen.st_mode) and seen.st_uid == os.geteuid()
