"""What Codex's own log tells on stderr before it sleeps. Pure. Seen on 0.171.0.

It sleeps for as long as a provider's ``Retry-After`` says, hours where a plan is spent, and its stream only says
``Reconnecting... 1/5``. With its log switched on for that one place, the pause is told, with the time::

    2026-11-30T14:36:19.938482Z  WARN ...: codex_core::responses_retry: stream disconnected - retrying sampling
    request (1/5 in 3599.9s)... retries=1 max_retries=5 sampling_error=exceeded retry limit, last status: 429 ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ....messages.vocabulary import FailureKind
from ... import failures

NEEDLE = b"codex_core::responses_retry: "
LONGEST_S = 300
"""A longer pause is no retry: the turn ends. Codex's own pauses are seconds."""

_LOGGED = "codex_core::responses_retry=warn"
_PAUSE = re.compile(r"retrying sampling request \(\d{1,4}/\d{1,4} in (\d{1,9})(?:\.\d{1,12})?s\)")
_WORDS = "sampling_error="
_NAMED = ("reset", "try again")
_SPENT = frozenset({402, 429})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asleep:
    """A pause that is no retry any more."""

    failure: FailureKind
    message: str
    until: float | None
    """Epoch seconds of its end; None where the line has no time, or the message names an end of its own."""


def log_words(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that has the pauses told, beside what it is told anyway: errors, or what the caller chose."""
    return {"RUST_LOG": f"{environment.get('RUST_LOG') or 'error'},{_LOGGED}"}


def asleep(line: str) -> Asleep | None:
    """Return what a line of the log means, None where Codex soon tries again."""
    pause = _PAUSE.search(line)
    if pause is None or int(pause[1]) < LONGEST_S:
        return None
    said = line.partition(_WORDS)[2] or line
    status = failures.status_in(said)
    failure = FailureKind.PLAN_LIMIT if status in _SPENT else failures.by_status(status)
    if failure is None:
        return None
    named = any(words in said for words in _NAMED)
    return Asleep(failure=failure, message=said, until=None if named else _after(line, int(pause[1])))


def _after(line: str, pause_s: int) -> float | None:
    try:
        return datetime.fromisoformat(line.partition(" ")[0]).timestamp() + pause_s if "Z " in line[:40] else None
    except (ValueError, OverflowError):
        return None
