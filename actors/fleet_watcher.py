"""Every AI coding session of this machine, kept fresh for as long as somebody looks.

A look is a thread's work, one at a time, and comes back as a message. Nobody has asked for a while: nothing is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..messages.fleet import FleetView, ViewFleet
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Reply
from .base import Actor, Query, ReplyPort, ask
from .fleet_scan import Scanner, Snapshot
from .services import Services
from .tree import in_background

ASK_S = 30.0
EVERY_S = 15.0
"""How often it looks by itself."""
WATCHED_S = 300.0
"""How long after a question it goes on looking."""
REMEMBER_S = 60.0
SLOW_S = 10.0
"""A look that takes longer is not waited for where there is an earlier one."""

Looker = Callable[[], Snapshot]


@dataclass(frozen=True, slots=True)
class LookAtFleet:
    """Gateway → fleet: what there is. Answered by a ``Snapshot`` that is at most so old, or refused."""

    max_age_s: float


@dataclass(frozen=True, slots=True)
class _Looked:
    snapshot: Snapshot | None


@dataclass(frozen=True, slots=True)
class _Due:
    pass


class FleetWatcher(Actor):
    """See the module."""

    def __init__(
        self,
        *,
        services: Services,
        environ: Mapping[str, str] = os.environ,
        look: Looker | None = None,
        **common: Any,  # noqa: ANN401  the base class's
    ) -> None:
        super().__init__(**common)
        self.services = services
        self._look = look or _Watch(services, environ).look
        self._snapshot: Snapshot | None = None
        self._looked_at = self._asked_at = self._began_at = float("-inf")
        self._looking = self._due = False
        self._ports: list[ReplyPort] = []

    def receive(self, message: object) -> None:
        """One flat match over what it can be told."""
        match message:
            case LookAtFleet(max_age_s=max_age_s):
                self._asked(max_age_s)
            case _Looked(snapshot=snapshot):
                self._looked(snapshot)
            case _Due():
                self._due = False
                if self._mono() - self._asked_at < WATCHED_S:
                    self._begin()
            case _:
                super().receive(message)

    def _asked(self, max_age_s: float) -> None:
        now = self._mono()
        self._asked_at = now
        if self._snapshot is not None and now - self._looked_at <= max_age_s:
            self.reply(self._snapshot)
            return
        if self._snapshot is not None and self._looking and now - self._began_at > SLOW_S:
            note = f"as it was {now - self._looked_at:.0f} s ago: looking takes long (a folder that does not answer?)"
            self.reply(replace(self._snapshot, notes=(*self._snapshot.notes, note)))
            return
        if isinstance(self.query, Query):
            self._ports.append(self.query.port)
        self._begin()

    def _begin(self) -> None:
        if not self._looking and not self.services.stopping.is_set():
            self._looking = True
            self._began_at = self._mono()
            in_background("fleet look", self.handle, lambda: _Looked(self._look()), otherwise=_Looked(None))

    def _looked(self, snapshot: Snapshot | None) -> None:
        self._looking = False
        self._looked_at = self._mono()
        self._snapshot = snapshot or self._snapshot
        failed = Refused(code=RefusalCode.INTERNAL, message="the look at the sessions here failed", hint=_LOGS)
        if not self._due:
            self._due = True
            self.services.clock.later(EVERY_S, self.handle, _Due())
        ports, self._ports = self._ports, []
        for port in ports:
            port.set(snapshot or failed)

    def _mono(self) -> float:
        return self.services.clock.now().mono


_LOGS = "osrc supervisor logs shows it"


class _Watch:
    """The scanner of one watcher: made in the thread that first looks, used by one at a time."""

    def __init__(self, services: Services, environ: Mapping[str, str]) -> None:
        self._services, self._environ = services, environ
        self._scanner: Scanner | None = None
        self._remembered_at = float("-inf")

    def look(self) -> Snapshot:
        """Look once, and keep now and then how far transcripts were read."""
        if self._scanner is None:
            self._scanner = Scanner(self._services.home, self._environ)
        snapshot = self._scanner.scan()
        now = self._services.clock.now().mono
        if now - self._remembered_at >= REMEMBER_S:
            self._remembered_at = now
            self._scanner.remember()
        return snapshot


def answer(command: ViewFleet, services: Services) -> Reply:
    """Return every session of this machine, for whoever asked over the socket."""
    told = ask(services.directory.find("fleet"), LookAtFleet(command.max_age_s), ASK_S)
    if isinstance(told, Refused):
        return told
    return FleetView.model_construct(seen_at=told.seen_at, sessions=told.sessions, notes=told.notes)
