"""What a session's actor is asked for, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SessionRecord


@dataclass(frozen=True, slots=True)
class Give:
    """Gateway → Session: put this into the inbox. Answered with ``Given``, or a refusal."""

    send_id: str
    op: str
    entry: Mapping[str, Any] = field(repr=False)
    shown: str | None = None
    """What the journal may keep of it."""
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Given:
    """The answer: journalled, and in the inbox."""

    number: int
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class StopSession:
    """Gateway → Session: end it. Answered with True once that is journalled, or a refusal where it can't be."""

    cause: str


def ended(record: SessionRecord) -> Refused:
    """Return the refusal of what an ended session is asked for."""
    state = record.state.value if record.state.ended else "being ended"
    return Refused(
        code=RefusalCode.SESSION_ENDED,
        message=f"the session {record.name} is {state}" + (f" ({record.reason})" if record.reason else ""),
        hint=f"osrc session relaunch {record.session_id}",
    )
