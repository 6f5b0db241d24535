"""``osrc lanes``: who can run work here."""

from __future__ import annotations

import os
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import click

from ...lanes.contract import Lane, Readiness, Road, Wall
from ...messages.vocabulary import Verb
from .. import machine
from ..options import Command, Globals, Group
from ..output import answer, answer_json, output_width, say
from ..place import full_home
from ..render.plain import one_line
from ..render.table import columns


@click.group(cls=Group, invoke_without_command=True)
@click.pass_context
def lanes(context: click.Context) -> None:
    """Who can run work here, who pays, and the one command that fixes what is missing."""
    if context.invoked_subcommand is None:
        _table(context.ensure_object(Globals))


def _table(options: Globals) -> None:
    found, problems = machine.usable_lanes(machine.registry(full_home(os.environ, options.home)))
    ready = machine.probe_all(found, machine.settings())
    if options.json:
        rows = [_object(lane, state) for lane, state in zip(found, ready, strict=True)]
        answer_json({"lanes": rows, "problems": problems})
        return
    table: list[tuple[str, ...]] = []
    for lane, state in zip(found, ready, strict=True):
        verbs = " ".join(verb.value for verb in Verb if verb in lane.verbs)
        version = (state.version or "-") + ("" if state.tested in (None, True) else " (untested)")
        cost, fix = one_line(machine.billed(lane).words, 300), one_line(state.fix or "-", 500)
        table.append((lane.name, state.level.value, version, verbs, cost, fix))
    answer("\n".join(lane_lines(table, output_width())))
    for problem in problems:
        say(f"problem: {problem}")


def lane_lines(rows: Sequence[tuple[str, ...]], width: int | None) -> list[str]:
    """Return the table of lanes: name, readiness, version, verbs, cost, fix; a head first.

    On a terminal (``width`` columns) costs and fixes stand in lines of their own below, which wrap; in a pipe (None)
    a lane is one line.
    """
    head = ("LANE", "READY", "VERSION", "VERBS", "COST", "FIX")
    if width is None:
        return columns([head, *rows])
    room = max(width - 1, 20)
    short = columns([head[:4], *(row[:4] for row in rows)])
    lines = [short[0]]
    for line, row in zip(short[1:], rows, strict=True):
        lines.append(line)
        for name, words in (("cost", row[4]), ("fix", row[5])):
            if words != "-":
                lines += wrap(f"{name}: {words}", room, initial_indent=" " * 4, subsequent_indent=" " * 9)
    return lines


@lanes.command("show", cls=Command)
@click.argument("name", metavar="LANE")
@click.pass_obj
def show(options: Globals, name: str) -> None:
    """Print everything about one lane."""
    lane = machine.lane(machine.registry(full_home(os.environ, options.home)), name)
    known = machine.settings()
    state = machine.probe_all([lane], known)[0]
    left = machine.credits_left(lane, known)
    if options.json:
        answer_json(_object(lane, state) | {"credits_usd": left})
        return
    paid = machine.billed(lane)
    rows = [
        ("lane", lane.name),
        ("vehicle", lane.vehicle),
        ("what", lane.summary),
        ("ready", f"{state.level.value}: {state.detail}"),
        ("version", (state.version or "unknown") + _tested(lane, state)),
        ("fix", state.fix),
        ("install", lane.install),
        ("cost", f"{paid.words} (as of {paid.as_of})"),
        ("credits", _credits(lane, left)),
        ("where", "on this machine" if lane.locality.value == "local" else "in the cloud"),
        ("effort", lane.effort.value),
        ("tier", lane.default_tier.value),
        *(("verb " + verb.value, lane.verbs[verb].value) for verb in Verb if verb in lane.verbs),
        ("read-only by", _wall(lane)),
        ("skills", _skills(lane)),
        ("keys", "; ".join(lane.own.told()) or "none of your environment"),
        ("homepage", lane.homepage),
        ("declared", lane.source),
    ]
    answer("\n".join(f"{key + ':':<15} {one_line(value, 2000)}" for key, value in rows if value))


def _tested(lane: Lane, state: Readiness) -> str:
    if not lane.tested_versions:
        return ""
    word = {True: "tested", False: "not tested", None: "tested unknown"}[state.tested]
    return f" ({word}; tested: {', '.join(lane.tested_versions)})"


def _wall(lane: Lane) -> str | None:
    """Return what keeps a read-only verb read-only; None where the delegate has no tools that could write."""
    if not lane.agentic:
        return None
    if lane.wall is Wall.OWN:
        return f"{lane.vehicle}'s own wall" if lane.source == "built-in" else "what its declaration promises"
    return f"a wall of ours (bubblewrap) where it works, and by comparing the work tree: {lane.vehicle} has none"


def _credits(lane: Lane, left: float | None) -> str | None:
    if lane.receipts is None:
        return None
    if left is None:
        return "unknown: the account could not be asked"
    return f"${left:.2f} left" if left > 0 else "used up: add some at https://openrouter.ai/settings/credits"


def _skills(lane: Lane) -> str:
    """Return how ``--with skills=`` reaches the delegate."""
    if lane.skills is Road.BUNDLE:
        return "as files in the job's folder" + (f"; {lane.no_bundle}" if lane.road is not None else "")
    return f"as text in the prompt: {lane.no_bundle}" if lane.skills is Road.TEXT else "none"


def _object(lane: Lane, state: Readiness) -> dict[str, Any]:
    paid = machine.billed(lane)
    return {
        "lane": lane.name,
        "provider": lane.provider,
        "vehicle": lane.vehicle,
        "summary": lane.summary,
        "ready": state.level.value,
        "detail": state.detail,
        "version": state.version,
        "tested": state.tested,
        "tested_versions": list(lane.tested_versions),
        "fix": state.fix,
        "install": lane.install,
        "verbs": {verb.value: posture.value for verb, posture in lane.verbs.items()},
        "read_only_wall": lane.wall.value,
        "skills": lane.skills.value,
        "mcp": lane.mcp,
        "own_credentials": list(lane.own.told()),
        "effort": lane.effort.value,
        "tier": lane.default_tier.value,
        "billing": {"kind": paid.kind, "plan": paid.plan, "words": paid.words},
        "local": lane.locality.value == "local",
        "agentic": lane.agentic,
        "homepage": lane.homepage,
        "source": lane.source,
    }
