"""``osrc canary``: whether the installed CLIs are still those that the lanes were written for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from .. import machine
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home
from ..render.table import columns

if TYPE_CHECKING:
    from ...actors.canary import Sighting


@click.command(cls=Command)
@click.argument("names", metavar="[LANE]...", nargs=-1)
@click.option("--turn", is_flag=True, help="Also have each play one turn against a scripted model.")
@click.option("--errors", is_flag=True, help="With a turn for each of: a refused key, a spent plan, a cut connection.")
@click.pass_obj
def canary(options: Globals, names: tuple[str, ...], turn: bool, errors: bool) -> int:
    """Look whether the installed CLIs still are what their lanes were tested with.

    Asks each for its version and its help, and says which options that Outsourcerer uses are gone. With --turn,
    each that can be led to a server of ours plays one turn there, in an empty home that is removed afterwards:
    does its lane still understand what it prints? With --errors, also where the model refuses the key, the plan
    is spent, or the connection breaks: does the lane tell them apart? That may take some minutes. No real model is
    asked and no account is used, so whether you are signed in is not shown by this. (What a CLI sends to its maker
    by itself, it may send.)

    Without LANE, every lane whose program is here. Exit code 1 when an option is gone, a turn went wrong, or a
    LANE that was named is absent.
    """
    lanes = machine.registry(full_home(os.environ, options.home))
    named = [machine.lane(lanes, name) for name in names]
    found, problems = (named, []) if named else machine.usable_lanes(lanes)
    seen = machine.canaries(found, machine.settings(), turn=turn or errors, errors=errors)
    shown = seen if named else [one for one in seen if one.verdict != "absent" and _looked_at(one)]
    if options.json:
        answer_json({"lanes": [_object(one) for one in shown], "problems": problems})
    else:
        _print(shown)
        for problem in problems:
            say(f"problem: {problem}")
    bad = {"changed", "broken", "absent"}
    return 1 if any(one.verdict in bad for one in shown) else 0


def _looked_at(one: Sighting) -> bool:
    return one.version is not None or one.turn is not None


def _print(seen: list[Sighting]) -> None:
    if not seen:
        say("no lane here has a program to look at: osrc lanes says what is missing")
        return
    rows = [("LANE", "VERDICT", "VERSION", "OPTIONS", "TURN", "NOTES")]
    for one in seen:
        notes = [f"gone: {', '.join(one.gone)}"] if one.gone else []
        looked = f"{one.options - len(one.gone)} of {one.options} there" if one.options else "-"
        turn = {True: "well", False: "not well", None: "-"}[one.turn]
        if one.mishaps:
            turn = f"{turn}, {sum(told is True for told in one.mishaps.values())} of {len(one.mishaps)} errors told"
        rows.append((one.lane, one.verdict, one.version or "-", looked, turn, "; ".join([*notes, *one.notes]) or "-"))
    answer("\n".join(columns(rows)))


def _object(one: Sighting) -> dict[str, object]:
    return {
        "lane": one.lane,
        "verdict": one.verdict,
        "version": one.version,
        "tested_versions": list(one.tested),
        "options": one.options,
        "gone": list(one.gone),
        "turn": one.turn,
        "errors": dict(one.mishaps),
        "notes": list(one.notes),
    }
