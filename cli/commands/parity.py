"""``osrc parity``: the person's skills and local MCP servers for their other AI tools, and back to us."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ..in_delegate import refuse_delegate
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home
from ..spelling import meant

if TYPE_CHECKING:
    from ...actors.parity import Found
    from ...state.home import Home

_NOTES = 30
_EVERY = "all"


@click.command(cls=Command)
@click.argument("hosts", metavar="[HOST]...", nargs=-1)
@click.option("--host", "named", metavar="HOST", multiple=True, help="The same as the argument.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; change nothing.")
@click.option("--undo", is_flag=True, help="Take back what earlier runs did, to the byte.")
@click.option("--status", is_flag=True, help="What earlier runs did, and what is out of date.")
@click.pass_context
def parity(context: click.Context, /, hosts: tuple[str, ...], named: tuple[str, ...], **flags: bool) -> int:
    """Give your other AI tools the skills and local MCP servers that Claude Code has here.

    HOST is devin, antigravity, hermes, codex, gemini, qwen, opencode, cursor, droid, copilot or cline; without
    one, all that are here. Skills are linked (of a plugin the newest version that has them), servers are added by
    the tool's own convention, and each tool learns how to hand work to osrc. What is yours stays: a folder, a
    link or a server of the same name is never replaced; a dead link is. No secret is copied: where a tool can
    take it from its environment it is told the variable, else the server is left out. Remote servers and
    connectors that only Claude Code can reach are left out, too. Running it again changes nothing.
    """
    if sum(map(bool, flags.values())) > 1:
        raise click.UsageError("--dry-run, --undo and --status are three different things.")
    if not (flags["dry_run"] or flags["status"]):
        refuse_delegate("change your other tools")
    options = context.ensure_object(Globals)
    home = full_home(os.environ, options.home)
    words = _words(context.info_name or "", (*hosts, *named))
    if flags["undo"]:
        return _undo(options, home, words)
    return _apply(options, home, words, dry=flags["dry_run"] or flags["status"], status=flags["status"])


def _words(command: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tools that were named; none means all that are here."""
    from ...lanes.parity.hosts import HOST_TOOLS  # noqa: PLC0415 - not for the help

    named = [
        *(word.lower() for word in given),
        *([command.removeprefix("parity-")] if command.startswith("parity-") else []),
    ]
    unknown = next((word for word in named if word not in HOST_TOOLS and word != _EVERY), None)
    if unknown is not None:
        near = meant(unknown, (*HOST_TOOLS, _EVERY))
        raise click.UsageError(f"There is no host {unknown[:40]!r}; there are {', '.join(HOST_TOOLS)}.{near}")
    return () if _EVERY in named else tuple(dict.fromkeys(named))


def _undo(options: Globals, home: Home, words: tuple[str, ...]) -> int:
    from ...actors.parity_apply import undo  # noqa: PLC0415 - as above
    from ...state.parity_receipt import alone, read_receipt, save_receipt  # noqa: PLC0415 - as above

    with alone(home):
        receipt = read_receipt(home)
        restored, failed = undo(receipt, words or tuple(receipt.hosts), partial(save_receipt, home))
    if options.json:
        answer_json({"undone": restored, "failed": failed})
    else:
        answer(f"{len(restored)} taken back" if restored else "there was nothing to take back")
        for line in failed:
            say(f"left: {line}")
    return 1 if failed else 0


def _apply(options: Globals, home: Home, words: tuple[str, ...], *, dry: bool, status: bool) -> int:
    from ...actors.parity_apply import carry_out  # noqa: PLC0415 - as above
    from ...state.parity_receipt import alone, read_receipt, save_receipt  # noqa: PLC0415 - as above
    from ..parity_view import survey_here  # noqa: PLC0415 - as above

    if dry:
        found, problems = survey_here(words, os.environ, read_receipt(home))
        failed: list[str] = []
    else:
        with alone(home):
            receipt = read_receipt(home)
            found, problems = survey_here(words, os.environ, receipt)
            failed = carry_out(found, receipt, partial(save_receipt, home))
    if options.json:
        done = read_receipt(home).hosts if status else {}
        rows = [_row(one, done) if status else _row(one) for one in found]
        answer_json({"applied": not dry, "hosts": rows, "problems": problems, "failed": failed})
    else:
        _print(found, problems, failed, dry=dry)
    return 1 if failed or problems else 0


def _row(one: Found, done: Any = None) -> dict[str, Any]:  # noqa: ANN401 - the receipt's hosts
    from ...lanes.parity.plan import rows_of  # noqa: PLC0415 - as above

    plan = one.plan
    row: dict[str, Any] = {"host": one.tool.name, "title": one.tool.title, "folder": one.folder}
    row |= {"here": plan is not None, "actions": rows_of(plan.actions) if plan else []}
    row["notes"] = list(plan.notes) if plan else []
    if done is not None:
        host = done.get(one.tool.name)
        row["links"] = [link.path for link in host.links] if host else []
        row["files"] = [file.path for file in host.files] if host else []
    return row


def _print(found: list[Found], problems: list[str], failed: list[str], *, dry: bool) -> None:
    for one in found:
        if one.plan is None:
            continue
        count = len(one.plan.actions)
        words = "nothing to do" if not count else f"{count} to do" if dry else f"{count} done"
        answer(f"{one.tool.name:<12} {words}")
        for row in _row(one)["actions"]:
            answer(f"{'':<12} {row['do']:<7} {row['path']}")
        for note in one.plan.notes[:_NOTES]:
            say(f"note: {one.tool.name}: {note}")
    if not any(one.plan for one in found):
        answer("none of the tools that parity knows is here")
    for line in (*problems, *failed):
        say(f"problem: {line}")
    if not dry and any(one.plan and one.plan.actions for one in found):
        say("osrc parity --undo takes it back")
