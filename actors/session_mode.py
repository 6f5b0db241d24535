"""Who may let a session do more: unasked, or by an answer. A session starts in a mode that asks, whatever its lane."""

from __future__ import annotations

from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SetMode
from ..messages.vocabulary import SessionMode
from .caller import caller_of
from .depth import check_depth


def may_set(wanted: SetMode, caller: str) -> Refused | None:
    """Refuse a mode that may do more unasked than a session may, unless a person said so: no delegate does.

    ``caller`` is the caller's environment in its wire form.
    """
    if not wanted.mode.escalates:
        return None
    depth = _depth(caller)
    if isinstance(depth, Refused):
        return depth
    if depth:
        message = "a delegate can't let another one do more than its person allowed"
        return Refused(code=RefusalCode.DENIED, message=message, hint="ask the person to do it")
    if not wanted.yolo:
        does = "changes files" if wanted.mode is SessionMode.EDITS else "does everything"
        message = f"in mode {wanted.mode} it {does} without asking, which no session may as it is started"
        return Refused(
            code=RefusalCode.DENIED,
            message=message,
            hint=f"osrc session mode NAME {wanted.mode} --yolo  if you mean it",
        )
    return None


def may_answer(caller: str) -> Refused | None:
    """Refuse an answer of a delegate that may not delegate: it could say yes to what it asks itself.

    ``caller`` is the caller's environment in its wire form.
    """
    depth = _depth(caller)
    if not isinstance(depth, Refused) or depth.code is not RefusalCode.RECURSION:
        return depth if isinstance(depth, Refused) else None
    message = "a delegate runs this: it may not answer what a session asks its person"
    return Refused(code=RefusalCode.RECURSION, message=message, hint="ask the person to do it")


def _depth(caller: str) -> int | Refused:
    """Return how deep the caller is."""
    found = caller_of(caller)
    return found if isinstance(found, Refused) else check_depth(found.environment, found.settings)
