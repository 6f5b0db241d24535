"""Errands: what a command does in several steps, done in a thread here, so that its tool returns an id at once.

An errand lives as long as this server. Its jobs are ordinary ones and go on without it; so does a crew or a best-of
that is taken up again by its group's id. Thread-safe.
"""

from __future__ import annotations

import contextlib
import copy
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from ..client import Body
from ..errors import CliError
from ..following import cancel
from ..options import Globals
from ..output import hear
from ..reach import Reach
from ..render.plain import one_line
from .asking import sentence

HEAD = "errand-"
KEPT = 100
"""So many errands are remembered; the oldest that have ended go first."""

NOTES, NOTE = 20, 300
_STARTS = ("fanout.submit", "job.submit", "loop.start")


def is_errand(token: str) -> bool:
    """Whether a word is the id of an errand."""
    return token.startswith(HEAD)


class Errand:
    """One of them: how far it is, and what came of it."""

    def __init__(self, kind: str) -> None:
        """``kind``: the tool's name."""
        self.kind = kind
        self.identifier = HEAD + time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(4).hex()
        self.group_id: str | None = None
        self.loop_id: str | None = None
        self.jobs: list[str] = []
        self.answer: dict[str, Any] | None = None
        self.trouble: str | None = None
        self.canceled = False
        self.notes: deque[str] = deque(maxlen=NOTES)
        self.begun = threading.Event()
        """Set once it has jobs, or has ended."""
        self.over = threading.Event()

    @property
    def state(self) -> str:
        """running, done, or failed."""
        if not self.over.is_set():
            return "running"
        return "done" if self.trouble is None else "failed"

    def row(self) -> dict[str, Any]:
        """Return it as the tools show it."""
        row = {"errand_id": self.identifier, "kind": self.kind, "state": self.state, "group_id": self.group_id}
        return row | {
            "loop_id": self.loop_id,
            "job_ids": self.jobs[-20:],
            "trouble": self.trouble,
            "notes": list(self.notes),
        }

    def hear(self, text: str) -> None:
        """Keep what the command's work says on its way."""
        for line in text.splitlines():
            if line.strip():
                self.notes.append(one_line(line, NOTE))


class Errands:
    """All of them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._all: dict[str, Errand] = {}
        self._lock = threading.Lock()

    def begin(self, kind: str, reach: Callable[[Errand], Reach], work: Callable[[Reach], dict[str, Any]]) -> Errand:
        """Begin one: ``work`` is called in a thread of its own, with the way to the tree that ``reach`` makes."""
        made = Errand(kind)
        with self._lock:
            over = [one.identifier for one in self._all.values() if one.over.is_set()]
            for identifier in over[: max(0, len(self._all) + 1 - KEPT)]:
                del self._all[identifier]
            self._all[made.identifier] = made
        threading.Thread(target=_run, args=(made, reach, work), name=made.identifier, daemon=True).start()
        return made

    def find(self, token: str) -> Errand | None:
        """Return the errand that its own id or its group's names. Raises CliError for one that is not known here."""
        with self._lock:
            found = self._all.get(token) or next(
                (one for one in self._all.values() if token in (one.group_id, one.loop_id)), None
            )
        if found is None and is_errand(token):
            why = f"this server has no {token[:80]!a}: it was started anew since, or that is long ago"
            raise CliError("no_such_job", why, "status, without ids, shows the newest jobs")
        return found

    def running(self) -> list[Errand]:
        """Return those that run, oldest first."""
        with self._lock:
            return [one for one in self._all.values() if not one.over.is_set()]


class ErrandReach(Reach):
    """The way to the tree for one errand: notes the ids of what it starts, and starts nothing once it was canceled."""

    def __init__(self, options: Globals, errand: Errand, lent: Reach | None) -> None:
        """``lent``: a way whose tree is in this process, which stays open."""
        super().__init__(options)
        self._errand, self._lent = errand, lent
        if lent is not None:
            self._held, self.in_process = lent.channel(), True

    def request(self, body: Body) -> Body:
        """Ask, as ``Reach`` does."""
        starts = body.get("kind") in _STARTS and not body.get("dry_run")
        if starts and self._errand.canceled:
            raise CliError("not_finished", "it was canceled, so that nothing more is started for it")
        reply = super().request(body)
        if starts:
            self._note(body["kind"], reply)
        return reply

    def close(self) -> None:
        """Close it; a tree that was lent stays."""
        if self._lent is None:
            super().close()

    def _note(self, kind: str, reply: Body) -> None:
        errand = self._errand
        if kind == "job.submit":
            errand.jobs.append(str(reply.get("job_id")))
        elif kind == "loop.start":
            errand.loop_id = str(reply["loop"]["loop_id"])
        else:
            errand.group_id = errand.group_id or str(reply["group"]["group_id"])
            errand.jobs += [str(job["job_id"]) for job in reply["group"].get("jobs") or ()]
        errand.begun.set()
        if errand.canceled:  # meanwhile
            stop(self, errand)


def stop(reach: Reach, errand: Errand, *, now: bool = False) -> None:
    """Ask for the end of an errand: of its jobs that live, and it starts no other. Harmless when it has ended."""
    errand.canceled = True
    if errand.over.is_set():
        return
    if errand.group_id is not None:
        with contextlib.suppress(CliError):
            reach.request({"kind": "fanout.cancel", "group_id": errand.group_id, "at_once": now})
    if errand.loop_id is not None:
        with contextlib.suppress(CliError):
            reach.request({"kind": "loop.cancel", "loop_id": errand.loop_id})
    for job_id in errand.jobs:
        with contextlib.suppress(CliError):
            cancel(reach, [job_id], at_once=now)


def told(options: Globals) -> Globals:
    """Return options for an errand: nobody is asked anything, and what is said is kept as its notes."""
    given = copy.copy(options)
    given.json, given.quiet = True, False
    return given


def _run(errand: Errand, reach: Callable[[Errand], Reach], work: Callable[[Reach], dict[str, Any]]) -> None:
    hear(errand.hear)
    way: Reach | None = None
    try:
        way = reach(errand)
        errand.answer = work(way)
    except BaseException as error:  # noqa: BLE001 - whatever it is, whoever waits is told
        errand.trouble = sentence(error if isinstance(error, Exception) else RuntimeError(type(error).__name__))
    finally:
        errand.over.set()
        errand.begun.set()
        if way is not None:
            way.close()
        hear(None)
