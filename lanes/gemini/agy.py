"""What ``agy -p`` prints: the answer as text. Public facts, not seen here."""

from __future__ import annotations

from ...messages.job import ExitStatus
from ...messages.lane_events import FailureKind, LaneEvent, TurnEnded
from .. import failures
from ..text import TextParser
from .phrases import PHRASES

TIMED_OUT = "timeout waiting for response"
NO_EFFORT = "not supported for model"
_SHORT = 2000
"""An answer longer than this is an answer, whatever words it holds."""


class AgyParser(TextParser):
    """Reads text; an exit code 0 is not believed when all that was printed is an error of ``agy``'s own."""

    def finish(self, exit_status: ExitStatus) -> list[LaneEvent]:
        """Return the last piece and the end of the turn."""
        return [_judged(event) if isinstance(event, TurnEnded) else event for event in super().finish(exit_status)]


def _judged(turn: TurnEnded) -> TurnEnded:
    said = (turn.text or "") if turn.ok else (turn.message or turn.text or "")
    words = failures.normal(said).strip()
    if len(words) > _SHORT:
        return turn
    if words.startswith(("error: " + TIMED_OUT, TIMED_OUT)) or (not turn.ok and TIMED_OUT in words):
        return _failed(turn, FailureKind.TASK, f"agy gave up waiting for the model: {said}")
    if "--effort" in words and NO_EFFORT in words:
        return _failed(turn, FailureKind.LAUNCH, said)
    if words.startswith(("error:", "invalid model")):
        return _failed(turn, failures.by_words(words, PHRASES) or FailureKind.TASK, said)
    return turn


def _failed(turn: TurnEnded, failure: FailureKind, message: str) -> TurnEnded:
    """Return the end as ``agy`` tells it: with exit code 0 its own words are the only final event there is."""
    changes = {"ok": False, "failure": failure, "message": message.strip()[:_SHORT]}
    return turn.model_copy(update=changes | {"synthetic": not turn.ok})
