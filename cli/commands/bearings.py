"""``osrc bearings``, ``osrc rundown`` and ``osrc dash``: all work in four sections, as last drawn, afresh, or live."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from .. import exit_codes
from ..options import Command, Duration, Globals
from ..output import answer, answer_json, flush, is_terminal, terminal_height, terminal_width
from ..reach import Reach
from ..render.bearings import bearings_lines


@click.command(cls=Command)
@click.pass_obj
def bearings(options: Globals) -> None:
    """Print what needs you, what landed, what is under way and what comes next, as a supervisor last drew it.

    Answers at once and starts nothing; its first line says how old it is. osrc rundown draws it afresh. The text is
    safe to paste to a model: neutral words, no control characters, bounded.
    """
    from ...state.bearings_reader import last_picture  # noqa: PLC0415 - not for the help

    reach = Reach(options)
    _print(options, last_picture(reach.root) or _fresh(reach))


@click.command(cls=Command)
@click.pass_obj
def rundown(options: Globals) -> None:
    """Print the same as osrc bearings, drawn afresh. What runs counts as looked at.

    Without a supervisor it is read from the state home; a job whose verdict is due is then your call.
    """
    reach = Reach(options)
    try:
        _print(options, drawn(reach))
    finally:
        reach.close()


def drawn(reach: Reach) -> dict[str, Any]:
    """Return the picture, drawn now: by the supervisor where one runs. Starts nothing."""
    return _asked(reach) or _fresh(reach)


@click.command(cls=Command)
@click.option("--every", type=Duration(), metavar="S", default=2.0, show_default=True, help="Seconds between looks.")
@click.option("--for", "bound", metavar="S", type=Duration(zero=True), help="Look no longer than this.")
@click.pass_obj
def dash(options: Globals, every: float, bound: float | None) -> int:
    """Show all work live, in the sections of osrc rundown. On a terminal it is drawn anew; elsewhere at each change.

    With --json one object a line, at each look. Starts nothing. Ctrl-C ends it; with --for it ends by itself.
    """
    reach = Reach(options)
    deadline = None if bound is None else time.monotonic() + bound
    told: list[str] = []
    try:
        while True:
            told = _frame(options, drawn(reach), told)
            wait = every if deadline is None else min(every, deadline - time.monotonic())
            if wait <= 0:
                return exit_codes.DONE
            time.sleep(wait)
    finally:
        reach.close()


def _frame(options: Globals, picture: dict[str, Any], told: list[str]) -> list[str]:
    """Show one look; return its lines without ages, by which a change is known."""
    if options.json:
        _print(options, picture)
        flush()
        return told
    now = time.time()
    if is_terminal(sys.stdout):
        width, height = terminal_width(1), terminal_height()
        lines = [line[:width] for line in bearings_lines(picture, now)]
        if len(lines) >= height:
            lines = [*lines[: max(1, height - 2)], "..."]
        answer("\x1b[H\x1b[2J" + "\n".join(lines), styled=True)
        flush()
        return told
    stands = bearings_lines({**picture, "captured_at": now}, now, ages=False)
    if stands != told:
        answer("\n".join(bearings_lines(picture, now)) + "\n")
        flush()
    return stands


def _asked(reach: Reach) -> dict[str, Any] | None:
    """Return the picture that the supervisor draws; None when none runs."""
    reply = reach.ask_running({"kind": "view.bearings"})
    return None if reply is None else dict(reply["bearings"])


def _fresh(reach: Reach) -> dict[str, Any]:
    """Return the picture as the state home tells it, with processes looked at."""
    from ...lanes.secrets.wording import guarded  # noqa: PLC0415 - only without a supervisor
    from ...state.bearings import bearings as draw  # noqa: PLC0415 - as above
    from ...state.bearings_reader import sight  # noqa: PLC0415 - as above
    from ...state.identity import look  # noqa: PLC0415 - as above
    from ...state.reader import Reader  # noqa: PLC0415 - as above
    from ...state.settings import Settings, config_file, read_config  # noqa: PLC0415 - as above

    path = config_file(os.environ)
    settings = Settings.load(os.environ, read_config(path), source=path)
    guard, aggressive = settings.flag("vocab_guard"), settings.flag("vocab_guard_aggressive")
    with Reader(f"{reach.root}/state.db") as reader:
        return draw(sight(reader, time.time(), lambda said: guarded(said, guard=guard, aggressive=aggressive), look))


def _print(options: Globals, picture: dict[str, Any]) -> None:
    if options.json:
        answer_json({name: value for name, value in picture.items() if name != "schema_version"})
    else:
        answer("\n".join(bearings_lines(picture, time.time())))
