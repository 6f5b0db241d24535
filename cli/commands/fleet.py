"""``osrc fleet``: every AI coding session of this machine, whoever started it."""

from __future__ import annotations

import os
import sys
import time

import click

from ...messages.paths import home_of
from .. import exit_codes
from ..fleet import Fleet, Row, chosen, shown
from ..options import Command, Duration, Globals, Group, Whole
from ..output import answer, answer_json, flush, is_terminal, may_colour, say, terminal_height, terminal_width
from ..reach import Reach
from ..render.fleet import changes, fleet_table, session_page
from .heartbeat import start

STATES = ("working", "waiting", "maybe-stuck", "idle", "done", "stopped", "failed", "unknown")
MOST_ENDED = 40
MOST_NAMED = 60


@click.group("fleet", cls=Group, invoke_without_command=True)
@click.pass_context
def fleet(context: click.Context) -> None:
    """Every AI coding session of this machine: ours, and those that other tools started by themselves.

    Claude Code, Codex, Gemini, opencode, Qwen, Cline, Copilot, Droid, pi and aider are read from their processes and
    their own transcripts; of others a process is seen. What can't be told is unknown. Looking starts nothing.
    """
    if context.invoked_subcommand is None:
        _ls(context.ensure_object(Globals), everything=False, states=(), include_self=False)


@fleet.command("ls", cls=Command)
@click.option("--all", "everything", is_flag=True, help="Also every session that ended in the last 48 hours.")
@click.option("--state", "states", type=click.Choice(STATES), multiple=True, help="Only these states; repeatable.")
@click.option("--include-self", is_flag=True, help="Show the session that asks, too.")
@click.pass_obj
def ls(options: Globals, everything: bool, states: tuple[str, ...], include_self: bool) -> None:
    """List the sessions: what needs you first, then what works, what is idle, what has ended.

    Needs you: it waits for an answer or a permission, or may be stuck. With --json every row says whether it is the
    session that asks ("self": null where that can't be told).
    """
    _ls(options, everything=everything, states=states, include_self=include_self)


@fleet.command("show", cls=Command)
@click.argument("selector", metavar="SEL")
@click.pass_obj
def show(options: Globals, selector: str) -> None:
    """Show one session: SEL is its pid, the beginning of its job or session id, part of its name, or its folder.

    What osrc fleet ls shows as its name will do, also where that is cut.

    Its last words stand in a frame: they are what others wrote, and nobody's instructions.
    """
    from ...actors.fleet_lines import last_lines  # noqa: PLC0415 - beside its only use
    from ..place import full_home  # noqa: PLC0415 - as above

    rows, _ = Fleet(Reach(options)).look()
    row = chosen(rows, selector)
    lines = last_lines(row, full_home(os.environ, options.home), os.environ)
    if options.json:
        answer_json({**row, "last_words": {"untrusted": True, "lines": lines}})
        return
    answer("\n".join(session_page(row, lines, home_of(os.environ))))


@fleet.command("name", cls=Command)
@click.option("-m", "--model", metavar="MODEL", help="Ask this one (default: the first cheap one that is here).")
@click.option(
    "--most", type=Whole(), metavar="N", default=12, show_default=True, help="Sessions that are named at most."
)
@click.option("--again", is_flag=True, help="Also those that were given a name before.")
@click.pass_obj
def name(options: Globals, model: str | None, most: int, again: bool) -> int:
    """Give sessions of other tools a name, by a cheap lane.

    What it is told of each: the first 600 characters of its first request and 400 of its last answer, without what
    looks like a secret. It is an ordinary job (osrc status shows it) and passes the gate: without your consent nothing
    is asked. 12 sessions go into one question; names are kept in the state home.
    """
    from ..fleet_naming import name_them, unnamed  # noqa: PLC0415 - beside its only use

    reach = Reach(options)
    rows, _ = Fleet(reach).look()
    wanted = [row for row in unnamed(rows, again=again) if row.get("self") is False][: min(max(most, 1), MOST_NAMED)]
    try:
        named, jobs = name_them(reach, wanted, model) if wanted else ({}, [])
    finally:
        reach.close()
    without = [str(row["id"]) for row in wanted if row["id"] not in named]
    if options.json:
        answer_json(
            {"named": [{"id": key, "name": value} for key, value in named.items()], "without": without, "jobs": jobs}
        )
    else:
        for key, value in named.items():
            answer(f"{key}  {value}")
        if not options.quiet and not wanted:
            say("every session here has a name")
        if not options.quiet and without:
            say(f"{len(without)} got no name that can be used")
    return exit_codes.DONE if named or not wanted else exit_codes.REFUSED


@fleet.command("supervise", cls=Command)
@click.pass_obj
def supervise(options: Globals) -> None:
    """Watch our own jobs and sessions from here on, and wake you when something needs you: osrc heartbeat start."""
    from .heartbeat import watch  # noqa: PLC0415 - beside its only use

    watch(options, {})


@fleet.command("top", cls=Command)
@click.option("--every", type=Duration(), metavar="S", default=2.0, show_default=True, help="Seconds between looks.")
@click.option("--for", "bound", metavar="S", type=Duration(zero=True), help="Look no longer than this.")
@click.pass_obj
def top(options: Globals, every: float, bound: float | None) -> int:
    """Show the sessions live. On a terminal the table is drawn anew; elsewhere a line tells each change.

    With --json one object a line, at each look. Ctrl-C ends it; with --for it ends by itself.
    """
    fleet_view = Fleet(Reach(options))
    deadline = None if bound is None else time.monotonic() + bound
    told: dict[str, str] = {}
    while True:
        rows, _ = fleet_view.look(max_age_s=min(every, 1.0))
        _frame(options, rows, told)
        told = {str(row.get("id")): str(row.get("state_label")) for row in rows}
        wait = every if deadline is None else min(every, deadline - time.monotonic())
        if wait <= 0:
            return exit_codes.DONE
        time.sleep(wait)


fleet.add_command(start, "supervise")


def _frame(options: Globals, rows: list[Row], told: dict[str, str]) -> None:
    if options.json:
        answer_json({"sessions": rows})
    elif is_terminal(sys.stdout):
        width, height = terminal_width(1), terminal_height()
        lines = fleet_table(rows, home=home_of(os.environ), width=width, colour=may_colour(sys.stdout))
        waiting = sum(bool(row.get("needs_you")) for row in rows)
        title = f"{time.strftime('%H:%M:%S')}  {len(rows)} sessions, {waiting} need you"
        answer("\x1b[H\x1b[2J" + "\n".join([title, *lines[: max(2, height - 2)]]), styled=True)
    else:
        for line in changes(told, rows):
            answer(f"{time.strftime('%H:%M:%S')} {line}")
    flush()


def _ls(options: Globals, *, everything: bool, states: tuple[str, ...], include_self: bool) -> None:
    rows, notes = Fleet(Reach(options)).look()
    if states:
        rows = [row for row in rows if row.get("state") in states]
    rows, omitted = shown(rows, 0 if everything else MOST_ENDED)
    if options.json:
        answer_json({"sessions": rows, "omitted": omitted, "notes": notes})
        return
    visible = [row for row in rows if include_self or row.get("self") is not True]
    if visible:
        width = terminal_width(1) if is_terminal(sys.stdout) else None
        home = home_of(os.environ)
        answer("\n".join(fleet_table(visible, home=home, width=width, colour=may_colour(sys.stdout))), styled=True)
    if not options.quiet:
        _said(rows, visible, omitted, notes)


def _said(rows: list[Row], visible: list[Row], omitted: int, notes: list[str]) -> None:
    if not visible:
        say("no other AI coding session is here" if rows else "no AI coding session is here")
    if len(visible) < len(rows):
        say("the session that asks is left out; --include-self shows it")
    if omitted:
        say(f"{omitted} more have ended; osrc fleet ls --all shows them")
    for note in notes:
        say(note)
