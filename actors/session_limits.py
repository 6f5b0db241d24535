"""What a session's events say of its plan's limit: for Limits, which marks the lane for everybody else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..lanes.values import MESSAGE_CHARS, as_list, as_number, as_object, as_word
from ..messages.lane_events import TurnEnded
from ..messages.model_names import canonical
from ..messages.session import SessionRecord
from ..messages.vocabulary import FailureKind, SessionState
from ..state.limits import key_of
from ..state.settings import Settings
from .base import Handle
from .job_end import limit_end
from .limits import LimitMet

USED_UP = "the plan's limit is used up"


@dataclass(frozen=True, slots=True)
class Met:
    """A limit that was met."""

    reason: str
    until: float | None = None
    """Epoch seconds of its reset, where that was named as an instant."""
    own_word: bool = False
    """Whether the program's protocol said so, and not only its screen."""
    gauge: float | None = None
    """How far the fullest window was used (1.0 is all)."""


@dataclass(slots=True)
class LimitWatch:
    """Follows one session: a limit is told once for each turn that meets it, or each time a screen comes to show it."""

    rejected: bool = False
    gauge: float | None = None
    shown: bool = False

    def read(self, events: Iterable[Mapping[str, Any]]) -> Met | None:
        """Return the limit that these events tell, the last of several."""
        met: Met | None = None
        for event in events:
            match event.get("type"):
                case "limits":
                    rows = map(as_object, as_list(event.get("windows")))
                    used = [share for row in rows if (share := as_number(row.get("utilization"))) is not None]
                    self.rejected, self.gauge = event.get("rejected") is True, max(used, default=None)
                case "end" if event.get("failure") == FailureKind.PLAN_LIMIT.value:
                    said = as_word(event.get("message"), MESSAGE_CHARS) or USED_UP
                    met = Met(said, as_number(event.get("until")), own_word=True, gauge=self.gauge)
                case "state":
                    limit = event.get("state") == SessionState.LIMIT.value
                    if limit and not self.shown:
                        said = f"its terminal says so ({as_word(event.get('evidence')) or 'limit'})"
                        met = Met(said, own_word=self.rejected, gauge=self.gauge)
                    self.shown = limit
                case _:
                    pass
        return met


def limit_met(met: Met, record: SessionRecord, to: Handle, now: float, settings: Settings) -> LimitMet:
    """Return what Limits is told. ``to`` hears what became of it."""
    turn = TurnEnded(ok=False, failure=FailureKind.PLAN_LIMIT, message=met.reason, until=met.until)
    return LimitMet(
        to=to,
        key=key_of(record.lane, record.pool),
        lane=record.lane,
        model=canonical(record.model),
        reason=met.reason.rstrip(".")[:200],
        until=limit_end(turn, now),
        own_word=met.own_word,
        gauge=met.gauge,
        short_s=settings.number("lane_down_ttl") or 300.0,
        estimate_s=settings.number("lane_plan_down_ttl") or 3600.0,
    )
