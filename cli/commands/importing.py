"""``osrc import``: take over what the predecessor kept."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from ..errors import CliError
from ..in_delegate import refuse_delegate
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home
from ..reach import Reach


@click.command("import", cls=Command)
@click.argument("folder", metavar="[DIR]", required=False)
@click.option("--apply", "really", is_flag=True, help="Take it over. Without it, only say what there is.")
@click.pass_obj
def import_(options: Globals, folder: str | None, really: bool) -> int:
    """Take over the predecessor's ledger, outcomes, quotas, mode, consent, models.local and trusted lanes.

    DIR is its state home (default: the state home in use, which it shared). Nothing of its files is changed; rows
    that are torn are counted and left out; what was taken over before is known, so repeating it is harmless.
    What you set here stays. Exit code 1 where something could not be taken over; running it again goes on.
    """
    from .. import importing  # noqa: PLC0415 - loads the lanes' tables

    if really:
        refuse_delegate("take it over")
    home = full_home(os.environ, options.home)
    place = home.root if folder is None else Path(os.path.abspath(os.path.expanduser(folder)))  # noqa: PTH100,PTH111 - words of a shell
    if not place.is_dir():
        raise CliError("not_found", f"there is no folder {place}", "osrc import DIR, its state home")
    if not importing.looks_like_one(place):
        raise CliError("not_found", f"nothing of the predecessor is in {place}", "osrc import DIR, its state home")
    items = importing.survey(place, home, os.environ)
    if really:
        reach = Reach(options)
        try:
            importing.apply(items, reach.request)
        finally:
            reach.close()
    exit_code = int(any(item.failed for item in items))
    if options.json:
        answer_json({"source": str(place), "applied": really, "items": [_row(item) for item in items]})
        return exit_code
    verb = "taken over" if really else "new"
    for item in items:
        torn = f", {item.skipped} skipped" if item.skipped else ""
        answer(f"{item.what:<14} {item.found} found, {item.new} {verb}{torn}")
        for note in item.notes[:20]:
            say(f"note: {item.what}: {note}")
    if not really and any(item.new for item in items):
        say("nothing was changed; osrc import --apply takes it over")
    return exit_code


def _row(item: Any) -> dict[str, Any]:  # noqa: ANN401 - its module is loaded only by the command
    return {name: getattr(item, name) for name in ("what", "found", "new", "failed", "skipped", "notes")}
