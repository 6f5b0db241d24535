"""A session's holder, as the session's actor knows it: started, looked for, knocked at, and ended."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..messages.refusals import Refused
from ..messages.session import SessionRecord
from ..state.identity import look
from ..state.session_folder import HolderRecord, SessionFolder
from .base import Handle
from .holders import HolderError, end_session, knock, start_holder
from .recalling import recall
from .recheck import Asks, look_again
from .services import Services
from .session_closing import closed
from .session_joining import still_runs
from .tree import in_background

LAUNCH_S = 45.0
"""How long a holder may take to claim its attempt before it is claimed from it."""
BEGIN_S = 180.0
"""How long one whose claim names nobody may take to sign: it may have to wait for the next minute first."""
END_GRACE_S = 2.0
SUPERVISOR = {"by": "supervisor"}
"""The claim of an attempt that nobody else is to take any more."""


@dataclass(frozen=True, slots=True)
class Launched:
    """To the session: its holder was asked for; ``trouble`` is why there is none."""

    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class Gone:
    """To the session: what was left of its processes was ended, but for ``survivors``."""

    survivors: tuple[int, ...] = ()
    told: bool = True
    """Whether its log says by now what became of all that it was given: a full disk takes nothing."""


class Holding:
    """See the module. What takes time is done in the background, and told to ``handle``."""

    def __init__(self, session_id: str, services: Services, folder: SessionFolder, handle: Handle) -> None:
        self._session_id = session_id
        self._services = services
        self._folder = folder
        self._handle = handle
        self.known: HolderRecord | None = None
        self._mark: tuple[int, int] | None = None
        """Which ``holder.json`` that was read from."""
        self._asked_at = services.clock.now().mono

    def launch(self, record: SessionRecord) -> None:
        """Start a holder for the record's attempt; then ``Launched``."""
        lane, home, folder = self._services.lane(record.lane), self._services.home, self._folder
        road = self._services.road

        def work() -> Launched:
            if lane is None:
                return Launched(f"no lane is called {record.lane}")
            permit = look_again(folder, Asks.session(record, record.attempt), lane, home)
            if isinstance(permit, Refused):
                return Launched(f"gate: {permit.message}")
            try:
                start_holder(folder.path, record.attempt, permit, road)
            except HolderError as error:
                return Launched(str(error))
            return Launched()

        otherwise = Launched("its holder could not start")
        in_background(f"hold:{self._session_id}", self._handle, work, otherwise=otherwise)

    def forget(self) -> None:
        """Wait for another holder."""
        self.known, self._asked_at = None, self._services.clock.now().mono

    def find(self, record: SessionRecord, *, fresh: bool) -> HolderRecord | None:
        """Return the holder if it has signed since the last look. One of an earlier supervisor is not ``fresh``.

        It signs once more where it had to start its program again.
        """
        mark = self._folder.holder_mark()
        if self.known is not None and (mark is None or mark == self._mark):
            return None
        self._mark = mark
        if self.known is not None:
            self.known = self._folder.read_holder(record.attempt) or self.known
            return self.known
        self.known = self._folder.read_holder(record.attempt)
        lane = self._services.lane(record.lane)
        if self.known is not None and not fresh and lane is not None:
            # What that supervisor's delegate must not be quoted with has to be known again.
            delegate = self.known.delegate
            recall(self._folder, lane, delegate.pid if delegate is not None else None)
        return self.known

    def there(self, attempt: int) -> bool:
        """Whether somebody holds it, or is about to."""
        process = self.known.holder if self.known is not None else self._folder.read_claim(attempt)
        if process is not None:
            return look(process.pid, process.started, process.boot_id) in ("running", "stopped")
        waited_s = self._services.clock.now().mono - self._asked_at
        # Nobody claimed it: once its time is over nobody else may, so that a late one gives nothing.
        if waited_s < LAUNCH_S:
            return True
        if self._folder.claim(attempt, SUPERVISOR):
            return False
        # Our own claim names nobody, and one that was taken on a full disk never will: such a holder signs, or is gone.
        return waited_s < BEGIN_S and self._folder.read_json(f"claim.{attempt}") != SUPERVISOR

    def program_runs(self) -> bool:
        """Whether what it holds runs, with or without it."""
        return still_runs(self.known)

    def look(self) -> None:
        """Have it look at its inbox now."""
        knock(self.known, "look")

    def close(self, cause: str | None) -> bool:
        """Have it end its program; whether it heard."""
        return knock(self.known, "close", cause=cause)

    def end(self, attempt: int, reason: str | None) -> None:
        """End what is left of it and of its delegate, and close its log; then ``Gone``."""
        held = self.known
        holder = held.holder if held is not None else self._folder.read_claim(attempt)
        if holder is not None and holder.pid == os.getpid():
            holder = None  # it was claimed from whoever never came
        delegate = held.delegate if held is not None else None

        def work() -> Gone:
            survivors = end_session(self._session_id, delegate, holder, END_GRACE_S)
            return Gone(survivors, closed(self._folder, attempt, reason, survivors))

        in_background(f"end:{self._session_id}", self._handle, work, otherwise=Gone(told=False))
