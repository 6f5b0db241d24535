"""One lap of a loop as a turn of a session: what its events say became of what was sent. Pure.

A turn is over once it has ended and nothing that came after it is under way: a person may have sent more meanwhile,
and then what that came to is the lap's, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..lanes.values import as_word
from ..messages.vocabulary import FailureKind, JobState
from .holder_log import LEFT_US, OVER

TEXT_CHARS = 8 * 1024 * 1024
UNSEEN_S = 60.0
"""So long a turn may take to be seen to begin, after it was typed and that was not seen."""
_BUSY = frozenset({"working", "waiting-approval", "starting"})
_REFUSED = frozenset({"refused", "failed"})
_REACHED = LEFT_US | {"turn-started", "done", "unverified"}

_STATES: Mapping[str, JobState] = {
    FailureKind.INTERRUPTED.value: JobState.INTERRUPTED,
    FailureKind.PERMISSION.value: JobState.PERMISSION_BLOCKED,
}
"""Why a turn failed, where that says more than that it did."""


@dataclass(slots=True)
class Turn:
    """What is known of one entry, told by its id, and of the turns since it was taken."""

    send_id: str
    delivery: str | None = None
    """The last word about it; None: its holder has not looked at it yet."""
    reason: str | None = None
    told_at: float = 0.0
    """When that was said, epoch seconds."""
    end: Mapping[str, Any] | None = None
    """How the last turn since has ended."""
    exited: bool = False
    """Whether its program has ended since."""
    state: str = "starting"
    ends: int = 0
    """Turns of the session that have ended, in all."""
    open: dict[int, str] = field(default_factory=dict)
    """Later entries that are under way, and their last word."""
    got: bool = False
    """Whether it may have reached the program, whatever was said later."""
    _number: int = 0
    _texts: list[str] = field(default_factory=list)

    def read(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Take events into account, in their order from the session's first on."""
        for event in events:
            self._note(event)

    def _note(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "delivery":
                self._delivered(event)
            case "state":
                self.state = str(event.get("state"))
            case "text" if self.taken and self.end is None and isinstance(event.get("text"), str):
                self._texts.append(str(event["text"])[:TEXT_CHARS])
            case "end":
                self.ends += 1
                if self.taken:
                    self.end = event
            case "exited":
                self.exited = self._number > 0

    def _delivered(self, event: Mapping[str, Any]) -> None:
        number, state = event.get("number"), str(event.get("state"))
        if not isinstance(number, int):
            return
        if event.get("id") == self.send_id:
            self._number, self.delivery, self.reason = number, state, as_word(event.get("reason"), 300)
            self.got = self.got or self.taken
            at = event.get("at")
            self.told_at = float(at) if isinstance(at, int | float) else self.told_at
        elif self._number and number > self._number:
            self.open[number] = state
            if state in OVER:
                del self.open[number]

    @property
    def taken(self) -> bool:
        """Whether it may have reached the program."""
        return self.delivery in _REACHED

    def over(self, now: float) -> bool:
        """Whether there is nothing more to wait for. ``now`` is epoch seconds."""
        if self.exited or self.delivery in _REFUSED:
            return True
        if self.end is None:
            return self.delivery == "unverified" and self.state not in _BUSY and now - self.told_at > UNSEEN_S
        return self.state not in _BUSY and not self.open

    @property
    def text(self) -> str:
        """What it answered."""
        said = self.end.get("text") if self.end is not None else None
        return said if isinstance(said, str) and said.strip() else "".join(self._texts)

    def verdict(self) -> tuple[JobState, str | None]:
        """Return what it came to, as a job's state would say it, and why. A turn has no signed word: never ``done``.

        ``interrupted``: it was cut off, and may be gone on with; nothing shows that it was right or wrong.
        """
        if self.end is None:
            return self._never_ended()
        if self.end.get("ok") is True:
            return JobState.DONE_UNVERIFIED, None
        said = as_word(self.end.get("message"), 300) or "the turn failed"
        return _STATES.get(str(self.end.get("failure")), JobState.FAILED), said

    def _never_ended(self) -> tuple[JobState, str]:
        if self.exited:
            return JobState.INTERRUPTED, self.reason or "the session ended first"
        if self.delivery == "unverified":
            return JobState.FAILED, self.reason or "it was typed, but no turn was seen to begin"
        return JobState.FAILED, self.reason or "the session did not take it"
