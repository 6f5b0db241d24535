"""From a session to a CLI's own interface in a terminal. Pure.

Each lane says its own words; what they share is here. Every one of them asks before it changes anything, or
says that it asks nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

from .contract import Billing, SessionLaunch
from .launching import NESTING


def in_terminal(  # noqa: PLR0913 - by name
    cli: str,
    argv: tuple[str, ...],
    *,
    env_set: Mapping[str, str] | None = None,
    env_strip: frozenset[str] = NESTING,
    notices: tuple[str, ...] = (),
    billing: Billing | None = None,
    conversation: str | None = None,
    model: str | None = None,
    effort: str | None = None,
) -> SessionLaunch:
    """Return the launch of a program whose screens ``lanes/screens`` knows as ``cli``'s.

    ``conversation`` is its id where that is known beforehand: the screen tells none. ``model`` and ``effort`` are
    what ``argv`` says of them, where that is not what was asked for.
    """
    return SessionLaunch(
        argv=argv,
        engine="pty",
        options={"cli": cli} | ({"conversation": conversation} if conversation is not None else {}),
        env_set=env_set or {},
        env_strip=env_strip,
        notices=notices,
        billing=billing,
        model=model,
        effort=effort,
    )
