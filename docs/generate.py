"""Write the parts of docs/ that are made from the program itself, or check that they are true.

    python docs/generate.py            # rewrites what stands between the markers
    python docs/generate.py --check    # exit 1, naming the pages that are not up to date

A made part stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; ``PARTS`` says which there are.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import click
from outsourcerer.cli import exit_codes
from outsourcerer.cli.app import cli
from outsourcerer.cli.table import COMMANDS, FAMILIES
from outsourcerer.lanes.advice.classify import Kind, classify
from outsourcerer.lanes.contract import Lane, Wall
from outsourcerer.lanes.parity.hosts import HOST_TOOLS
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages import commands, facts, internal, lane_events, replies
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.messages.vocabulary import Verb
from outsourcerer.state import job_diagram
from outsourcerer.state.settings_table import SETTINGS, Setting
from pydantic import BaseModel

DOCS = Path(__file__).parent
WIDTH = 100
"""Columns that the help is written for, whatever the terminal is."""

UNIONS: tuple[tuple[str, str, Any], ...] = (
    ("Commands", "client → supervisor; the body of a request frame", commands.Command),
    ("Replies", "supervisor → client; the body of an answer frame", replies.Reply),
    ("Facts", "what has happened; the journal's only content", facts.Fact),
    ("Lane events", "what a lane's parser makes of a CLI's output", lane_events.LaneEvent),
    ("Internal", "what the actors of one process tell each other", internal.Internal),
)


def cell(text: str) -> str:
    """Return ``text`` as it may stand in a table's cell."""
    return " ".join(text.replace("``", "`").split()).replace("|", "\\|")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- commands


def command_pages() -> str:
    """Return every command's own help, by family, in the help's order."""
    root = click.Context(cli, info_name="osrc", terminal_width=WIDTH)
    parts = [help_block(root, None)]
    for family in FAMILIES:
        of_family = [name for name, row in COMMANDS.items() if row.family == family]
        parts += [f"## {family}"] if of_family else []
        for name in of_family:
            parts += command_page(root, name, "###")
    return "\n\n".join(parts)


def command_page(parent: click.Context, name: str, level: str) -> Iterator[str]:
    """Yield the heading and help of a command, then those of its own commands."""
    group = parent.command
    command = group.get_command(parent, name) if isinstance(group, click.Group) else None
    if command is None:
        raise LookupError(f"{parent.command_path} has no {name}")
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH)
    yield f"{level} {context.command_path}"
    yield help_block(context, "Global options")
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            yield from command_page(context, inner, f"{level}#")


def help_block(context: click.Context, without: str | None) -> str:
    """Return a help text as a block; the section whose title begins with ``without`` is left out."""
    lines = [line.rstrip() for line in context.get_help().splitlines()]
    if without is not None:
        begin = next((place for place, line in enumerate(lines) if line.startswith(without)), len(lines))
        lines = lines[:begin]
    return "\n".join(["```text", *"\n".join(lines).strip().splitlines(), "```"])


def exit_code_table() -> str:
    """Return the exit codes."""
    return table(("code", "meaning"), [(f"`{code}`", cell(meaning)) for code, meaning in exit_codes.MEANINGS.items()])


def refusal_table() -> str:
    """Return the refusal codes and the exit code each leads to."""
    return table(
        ("code", "exit"), [(f"`{code.value}`", f"`{exit_codes.REFUSALS[code.value]}`") for code in RefusalCode]
    )


# --- messages


def catalogue() -> str:
    """Return every message of every union: kind, who says it and when, fields."""
    parts = []
    for title, what, union in UNIONS:
        rows = []
        for model in get_args(get_args(union)[0]):
            kind = model.model_fields["kind"].default
            rows.append((f"`{kind}`", cell(model.__doc__ or ""), fields(model)))
        parts += [f"## {title}", f"{what[0].upper()}{what[1:]}.", table(("kind", "who and when", "fields"), rows)]
    return "\n\n".join(parts)


def fields(model: type[BaseModel]) -> str:
    """Return the fields of a message; ``?`` marks those that may be left out."""
    return ", ".join(
        f"`{name}{'' if field.is_required() else '?'}`" for name, field in model.model_fields.items() if name != "kind"
    )


# --- settings


def setting_table(*, effective: bool) -> str:
    """Return the settings that do something, or those that are only known and checked."""
    rows = [
        (" ".join(f"`{name}`" for name in setting.names), default_of(setting), cell(described(setting)))
        for setting in SETTINGS.values()
        if setting.effective is effective
    ]
    return table(("variable", "default", "meaning"), rows)


def default_of(setting: Setting) -> str:
    """Return a default as a person writes it."""
    if setting.default is None:
        return "-"
    if isinstance(setting.default, bool):
        return "on" if setting.default else "off"
    if isinstance(setting.default, float):
        return f"{setting.default:g}{' ' + setting.unit if setting.unit else ''}"
    return f"{setting.default}{' ' + setting.unit if setting.unit else ''}"


def described(setting: Setting) -> str:
    """Return the explanation, with the unit or choices where the default does not show them."""
    more = [f"one of {', '.join(setting.choices)}"] if setting.choices else []
    if setting.unit and setting.default is None:
        more.append(f"in {setting.unit}")
    return "; ".join([setting.doc, *more])


# --- lanes


def lane_table() -> str:
    """Return the built-in lanes: what they run, what they take, who pays."""
    return table(
        ("lane", "runs", "program", "tested with", "effort", "default tier", "who pays"),
        [
            (
                f"`{lane.name}`",
                cell(lane.summary),
                f"`{lane.binary}`" if lane.binary else "-",
                ", ".join(lane.tested_versions) or "-",
                lane.effort.value,
                lane.default_tier.value,
                cell(lane.billing.words),
            )
            for lane in map(builtin, names())
        ],
    )


def session_table() -> str:
    """Return which lanes have sessions, over what."""
    rows = [
        (f"`{lane.name}`", ", ".join(f"`{word}`" for word in lane.sessions))
        for lane in map(builtin, names())
        if lane.sessions
    ]
    return table(("lane", "transports, its default first"), rows)


def posture_table() -> str:
    """Return what each verb really is on each built-in lane, and what keeps the read-only ones."""

    def words(lane: Lane, verb: Verb) -> str:
        return lane.verbs[verb].value if verb in lane.verbs else "refused"

    keeps = {Wall.OWN: "the lane's own wall", Wall.OURS: "our wall"}
    rows = [
        (f"`{lane.name}`", *(words(lane, verb) for verb in Verb), keeps[lane.wall]) for lane in map(builtin, names())
    ]
    return table(("lane", *(f"`{verb.value}`" for verb in Verb), "kept read-only by"), rows)


# --- parity


def parity_table() -> str:
    """Return the tools of parity: where each keeps what it is given, and how it refers to a variable."""
    rows = []
    for tool in HOST_TOOLS.values():
        place = f"~/{tool.folder}" + (f" (`{tool.variable}`)" if tool.variable else "")
        skills = ", ".join(f"`{name}`" for name in tool.skills) or "-"
        servers = tool.servers
        held = f"`{servers.path}` ({servers.key})" if servers else "-"
        refers = f"`{servers.reference}`" if servers and servers.reference else "not known"
        told = f"`{tool.instructions}`" if tool.instructions else "-"
        rows.append((f"`{tool.name}`", place, skills, held, told, refers))
    return table(("tool", "folder", "skills", "MCP servers", "instructions", "a variable"), rows)


# --- advice


def advice_accuracy() -> str:
    """Return how often the kind of a task is told rightly, on what was learned from and what was held out."""
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from fakes.advice_tasks import BLIND, BOUNDARIES, read_tasks  # noqa: PLC0415 - tests are on nobody's path

    tasks_ = read_tasks()
    out = [one for one in tasks_ if one.held_out]
    shares = {
        "learned from": [one for one in tasks_ if not one.held_out],
        "held out": [one for one in out if one.writer not in (BLIND, BOUNDARIES)],
        "a writer who was never learned from": [one for one in out if one.writer == BLIND],
        "held out, of those meant to be hard to tell apart": [one for one in out if one.writer == BOUNDARIES],
        "all that were held out": out,
    }
    rows = []
    for name, tasks in shares.items():
        right = sum(classify(one.text).kind.value == one.kind for one in tasks)
        rows.append((name, str(len(tasks)), str(right), f"{100 * right / len(tasks):.1f} %"))
    kinds = [kind.value for kind in Kind]
    told = Counter((one.kind, classify(one.text).kind.value) for one in out)
    confused = [(f"`{is_}`", *(str(told[is_, said]) for said in kinds)) for is_ in kinds]
    return "\n\n".join(
        [
            table(("tasks", "count", "right", "share"), rows),
            "Confusion on all that were held out; a row is what a task is, a column what was said:",
            table(("", *(f"`{kind}`" for kind in kinds)), confused),
        ]
    )


PARTS: Mapping[str, Callable[[], str]] = {
    "job-machine": job_diagram.markdown,
    "advice-accuracy": advice_accuracy,
    "commands": command_pages,
    "exit-codes": exit_code_table,
    "refusals": refusal_table,
    "messages": catalogue,
    "session-transports": session_table,
    "settings": lambda: setting_table(effective=True),
    "settings-later": lambda: setting_table(effective=False),
    "lanes": lane_table,
    "postures": posture_table,
    "parity-hosts": parity_table,
}
"""Name of a made part → what makes it."""

_MARKED = re.compile(r"<!-- begin ([a-z-]+) -->\n(.*?)<!-- end \1 -->", re.DOTALL)


def made(page: str) -> str:
    """Return ``page`` with its made parts new. Raises KeyError for a part that nothing makes."""
    return _MARKED.sub(
        lambda found: f"<!-- begin {found[1]} -->\n{PARTS[found[1]]().strip()}\n<!-- end {found[1]} -->", page
    )


def pages() -> list[Path]:
    """Return the pages that may hold made parts."""
    return [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]


def stale() -> dict[Path, str]:
    """Return the pages that are not up to date, and what they should hold.

    Only words count: another version of click may break a help text's lines elsewhere.
    """
    found = {}
    for path in pages():
        page = path.read_text(encoding="utf-8")
        if (new := made(page)).split() != page.split():
            found[path] = new
    return found


def main() -> int:
    """Write, or check; return the exit code."""
    parser = argparse.ArgumentParser(description="Write or check the made parts of docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page is not up to date")
    check = parser.parse_args().check
    for path, page in stale().items():
        name = path.relative_to(DOCS.parent)
        if check:
            print(f"{name} is not up to date: run make docs", file=sys.stderr)
        else:
            path.write_text(page, encoding="utf-8")
            print(f"wrote {name}")
    return int(check and bool(stale()))


if __name__ == "__main__":
    sys.exit(main())
