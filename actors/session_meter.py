"""What each turn of a session used, from the counts that its delegate tells. Pure; kept beside the reader's cursor.

A count is of one ``turn``, of the ``process`` since it was started, or of the whole ``conversation``. Of the last
two the turn's part is a difference; where what was counted before is not known, neither is the part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..lanes.values import as_count, as_number, as_object
from ..messages.job import TokenUsage
from ..messages.session import SessionRecord, SessionSpent

COUNTS = ("input", "cached_input", "cache_write", "output", "reasoning")
Counts = dict[str, int]


@dataclass(slots=True)
class Meter:
    """See the module."""

    attempt: int = 0
    """The launch whose process counts."""
    base: Counts | None = None
    """What was counted when the last turn ended; None is unknown."""
    base_usd: float | None = None
    seen: Counts | None = None
    """The newest count of a process or conversation."""
    seen_usd: float | None = None
    turn: Counts = field(default_factory=dict)
    """Counts that were of this turn alone."""

    def read(self, record: SessionRecord, events: Iterable[Mapping[str, Any]], turns: int) -> list[SessionSpent]:
        """Return what the turns that end in ``events`` used. ``turns`` have ended before."""
        told = []
        model = record.model_observed
        for event in events:
            match event.get("type"):
                case "start" if isinstance(event.get("model"), str):
                    model = str(event["model"])[:200]
                case "usage":
                    self._use(record, event, turns)
                case "end":
                    turns += 1
                    told.append(self._ended(record, turns, model, ok=event.get("ok") is True))
                case _:
                    pass
        return told

    def to_json(self) -> dict[str, Any]:
        """Return it as values for a file."""
        names = ("attempt", "base", "base_usd", "seen", "seen_usd", "turn")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_json(cls, value: object) -> Meter:
        """Return what ``to_json`` gave; what is malformed in it is unknown."""
        kept = as_object(value)
        return cls(
            attempt=as_count(kept.get("attempt")) or 0,
            base=_counts(kept["base"]) if isinstance(kept.get("base"), dict) else None,
            base_usd=as_number(kept.get("base_usd")),
            seen=_counts(kept["seen"]) if isinstance(kept.get("seen"), dict) else None,
            seen_usd=as_number(kept.get("seen_usd")),
            turn=_counts(kept.get("turn")),
        )

    def _use(self, record: SessionRecord, event: Mapping[str, Any], turns: int) -> None:
        counts, of = _counts(event), event.get("of")
        if (cash := as_number(event.get("cash_usd"))) is not None:
            self.seen_usd = cash
        if of not in ("process", "conversation"):
            self.turn = {name: self.turn.get(name, 0) + count for name, count in counts.items()} | {
                name: count for name, count in self.turn.items() if name not in counts
            }
            return
        began = self.attempt != record.attempt
        self.attempt = record.attempt
        fresh = turns == 0 and record.continues is None and record.attempt == 1
        if (of == "process" and began) or (self.base is None and fresh):
            self.base = {}
        self.seen = counts

    def _ended(self, record: SessionRecord, turn: int, model: str | None, *, ok: bool) -> SessionSpent:
        used: Counts | None = self.turn or None
        if self.seen is not None:
            used = _less(self.seen, self.base)
            self.base = self.seen
        cash = None
        if self.seen_usd is not None:
            first = turn == 1 and record.continues is None
            before = 0.0 if self.base_usd is None and first else self.base_usd
            cash = None if before is None or self.seen_usd < before else self.seen_usd - before
            self.base_usd = self.seen_usd
        self.seen, self.seen_usd, self.turn = None, None, {}
        return SessionSpent(
            session_id=record.session_id,
            turn=turn,
            ok=ok,
            model=model or record.model,
            tokens=TokenUsage(**used) if used else None,
            cash_usd=cash,
        )


def _counts(value: object) -> Counts:
    told = as_object(value)
    return {name: count for name in COUNTS if (count := as_count(told.get(name))) is not None}


def _less(seen: Counts, base: Counts | None) -> Counts | None:
    if base is None:
        return None
    left = {name: count - base.get(name, 0) for name, count in seen.items()}
    return left if left and min(left.values()) >= 0 else None
