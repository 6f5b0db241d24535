"""Ids of loops and of groups, where a command takes those of jobs: what is asked of one its own command does.

Click and the standard library only: this is on the way of every look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ..messages.entity_ids import kind_of

if TYPE_CHECKING:
    import click


def is_other(ids: tuple[str, ...]) -> bool:
    """Whether these are no jobs. Raises click.UsageError where one that is none does not stand alone."""
    others = [word for word in ids if kind_of(word) != "job"]
    if others and len(ids) > 1:
        import click as front  # noqa: PLC0415 - beside its only use

        raise front.UsageError(f"{others[0][:60]} is a {kind_of(others[0])}: give it alone.")
    return bool(others)


def ask_its_own(context: click.Context, name: str, word: str, **flags: object) -> int:
    """Have the command of that name in ``osrc loop``, or ``osrc fanout``, do it; return its exit code."""
    if kind_of(word) == "loop":
        from .commands.loop import loop as group  # noqa: PLC0415 - off the hot paths

        found = context.invoke(group.commands[name], loop_id=word, **flags)
    else:
        from .commands.fanout import fanout as group  # noqa: PLC0415 - off the hot paths

        found = context.invoke(group.commands[name], group_id=word, **flags)
    return cast("int | None", found) or 0
