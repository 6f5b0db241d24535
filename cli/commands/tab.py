"""``osrc tab``: what all runs have spent, from the ledger in the store. Nothing is started for it."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from ..errors import CliError
from ..options import Command, Globals
from ..output import answer, answer_json, is_terminal, say, terminal_width
from ..place import home_root, readable_root

_CATALOGUE_LIMIT = 32 * 1024 * 1024


@click.command(cls=Command)
@click.option("--since", metavar="D", help="From then on: 24h, 7d, today, 2026-11-30. Else from the beginning.")
@click.option("--by", type=click.Choice(["lane", "model", "day", "group"]), default="lane", help="What the rows are.")
@click.option("--against", metavar="MODEL", help="The model whose list price the savings are reckoned by.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows as CSV.")
@click.pass_obj
def tab(options: Globals, since: str | None, by: Any, against: str | None, as_csv: bool) -> None:  # noqa: ANN401 - one of the choices
    """Print what every attempt of every job has spent, also those that failed or were moved elsewhere.

    Cash by receipts stands as it is, an estimate has a ~, and what is not known is counted and never guessed.
    Runs that spent a plan's limits are counted for each plan. Turns of sessions and images of a service
    are in it; what still runs is not.
    """
    from ..render import tab as render  # noqa: PLC0415 - not for the help

    if options.json and as_csv:
        raise CliError("usage", "--json and --csv are two answers", "give one of them")
    begin, rows, total, notes = _spent(options, since, by)
    savings = _savings(options, total, against)
    if as_csv:
        answer(render.csv_text(by, rows))
        return
    if options.json:
        answer_json(_object(begin, by, rows, total, savings))
        return
    for note in notes:
        say(f"note: {note}")
    if not total.runs:
        answer("nothing was spent" + (f" since {since}" if since else " yet"))
        return
    if is_terminal(sys.stdout):
        answer(render.chart(by, rows, terminal_width(1)) + "\n")
    answer(render.text(by, rows, total, savings))


def tab_object(options: Globals, since: str | None, by: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    """Return what ``tab --json`` prints."""
    begin, rows, total, _ = _spent(options, since, by)
    return _object(begin, by, rows, total, _savings(options, total, None))


def _spent(options: Globals, since: str | None, by: Any) -> tuple[float | None, Any, Any, list[str]]:  # noqa: ANN401 - as above
    """Return from when on, the rows by their key, the whole, and what is to be said of the store."""
    from ...state.ledger_reader import sums, whole  # noqa: PLC0415 - not for the help
    from ...state.local_zone import local_zone  # noqa: PLC0415 - as above
    from ...state.reader import Reader  # noqa: PLC0415 - as above

    zone = local_zone(os.environ)
    begin = _begin(since, zone)
    with Reader(f"{readable_root(os.environ, options.home)}/state.db") as reader:
        rows = sums(reader, by, zone, begin)
        return begin, rows, whole(rows.values()), list(reader.notes)


def _savings(options: Globals, total: Any, against: str | None) -> Any:  # noqa: ANN401 - types of modules that are loaded late
    from ..render import tab as render  # noqa: PLC0415 - as above

    if against is None and not total.compared_runs:
        return None
    return render.savings_object(total, _price(against, home_root(os.environ, options.home)))


def _object(begin: float | None, by: Any, rows: Any, total: Any, savings: Any) -> dict[str, Any]:  # noqa: ANN401 - as above
    from ..render import tab as render  # noqa: PLC0415 - as above

    shown = [{by: key or None, **render.sum_object(row)} for key, row in rows.items()]
    return {"by": by, "since": begin, "rows": shown, "total": render.sum_object(total), "savings": savings}


def _begin(since: str | None, zone: Any) -> float | None:  # noqa: ANN401 - tzinfo, which is not imported for the help
    if since is None:
        return None
    from ..since import instant_of  # noqa: PLC0415 - only for who asks

    return instant_of(since, time.time(), zone)


def _price(model: str | None, root: str) -> Any:  # noqa: ANN401 - a Price, imported where it is needed
    """Return the price to compare with. Raises CliError for a model that was named and has none."""
    from ...lanes.prices import price_of  # noqa: PLC0415 - as above

    found = price_of(model, _content(f"{root}/models.json"))
    if found is None and model is not None:
        raise CliError("usage", f"no price of {model[:100]!r} is known here", "osrc models --refresh, then osrc models")
    return found


def _content(path: str) -> bytes | None:
    from pathlib import Path  # noqa: PLC0415 - as above

    from ...state.errors import StateError  # noqa: PLC0415 - as above
    from ...state.files import read_private  # noqa: PLC0415 - as above

    try:
        return read_private(Path(path), _CATALOGUE_LIMIT)
    except StateError:
        return None
