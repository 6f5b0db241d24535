"""What the rest of the tree shares with the heartbeat: who looked at what, what a launch brought, whether it waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..state.errors import StateError
from ..state.heartbeat_file import Arming, armed_by
from ..state.home import Home
from ..state.settings import Settings
from .base import Directory, log
from .seen_book import SeenBook


@dataclass(frozen=True, slots=True)
class Launched:
    """Whoever took a job or a session → Heartbeat: what its caller's settings say of being woken."""

    brought: Arming


class HeartbeatWatch:
    """See the module. May be used from any thread."""

    def __init__(self, home: Home, directory: Directory) -> None:
        self.seen = SeenBook(home.root)
        self.waiting = False
        """Whether somebody is to be woken again later: the supervisor then stays. Set by the heartbeat alone."""
        self.heard: Arming | None = None
        """What the last launch brought, while nothing has changed since whom it wakes. Set by the heartbeat alone."""
        self.arming: Arming | None = None
        """Whom to wake, with the key that is never written: outlives a crash of the heartbeat's. Set by it alone."""
        self._directory = directory

    def launched(self, settings: Settings, environment: Mapping[str, str]) -> None:
        """A job or session is about to be taken: arm the heartbeat with what its caller says, unless they said not to.

        A sink that can't be one is logged: what was asked for goes on.
        """
        if not watches(settings):
            return
        try:
            brought = armed_by(settings, environment)
        except StateError as error:
            log.warning("the heartbeat was not armed: %s", error.refusal.message)
            return
        if brought != self.heard:  # a thousand jobs of one caller say the same
            self._directory.tell("heartbeat", Launched(brought))


def watches(settings: Settings) -> bool:
    """Whether settings let the heartbeat watch."""
    return settings.flag("fleet_supervision") and not settings.flag("heartbeat_disabled")
