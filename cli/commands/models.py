"""``osrc models``: the words that name models, and what the cached catalogue knows of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

import click

from ...lanes.catalog.aliases import ALIASES, DUAL, Alias
from ...lanes.catalog.asking import Known
from ...lanes.catalog.denying import denied, mistyped
from ...lanes.catalog.listing import MILLION, Listed
from ...lanes.catalog.live import Live
from ...lanes.catalog.own_rows import OwnModels
from ...messages.refusals import Refused
from ...messages.vocabulary import Tier
from .. import machine
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home
from ..render.lines import age
from ..render.table import columns
from ..spelling import meant

LISTED = 40
"""Rows of the catalogue that are shown of those that match."""

TABLE, OWN, LISTING = "table", "models.local", "OpenRouter"


@click.command(cls=Command)
@click.argument("word", metavar="[WORD]", required=False)
@click.option("--refresh", is_flag=True, help="Fetch OpenRouter's catalogue anew, and ask agy and devin for theirs.")
@click.pass_obj
def models(options: Globals, word: str | None, refresh: bool) -> int:
    """Print the words that name models: what is sent, on which lane, in which tier.

    With WORD, only those that hold it, and those of OpenRouter's catalogue that do.
    """
    home = full_home(os.environ, options.home)
    book = machine.model_book(home)
    problems: list[str] = []
    failed = machine.refresh_catalogue(home, book, machine.settings()) if refresh else None
    if isinstance(failed, Refused):
        problems.append(f"{failed.message} {_kept(book.fetched_at())}")
    if refresh:
        problems += machine.refresh_live(home, book, machine.usable_lanes(machine.registry(home))[0])
    own = book.own(machine.registry(home).names())
    problems += own.problems
    listing = book.listing()
    lists = book.live_lists()
    rows = [*_rows(own, listing), *_live_rows(lists, listing, word), *_matching(listing, word)]
    shown = [
        row for row in rows if word is None or any(word.lower() in str(row[key]).lower() for key in ("word", "model"))
    ]
    rules, known = machine.settings().words("model_denylist"), Known(own=own.rows)
    problems += [f"model_denylist: {slip}" for slip in mistyped(rules, known)]
    for row in shown:
        found = denied(rules, row["lane"], row["model"], known) if rules else None
        row["denied"] = found.rule if found is not None else None
    if options.json:
        catalogue = {"models": len(listing), "fetched_at": book.fetched_at(), "path": str(book.listing_path)}
        live = {
            lane: {"program": one.program, "models": list(one.models), "fetched_at": one.fetched_at}
            for lane, one in lists.items()
        }
        answer_json({"models": shown, "catalogue": catalogue, "live": live, "problems": problems})
    else:
        _print(shown, len(listing), book.fetched_at())
        if word is not None and not shown:
            say(f"no word that is known here holds {word[:40]!r}.{meant(word, [row['word'] for row in rows])}")
        for one in lists.values():
            since = age(max(0.0, time.time() - one.fetched_at))
            say(f"{one.program}'s own list: {len(one.models)} models, asked {since} ago")
        for problem in problems:
            say(f"problem: {problem}")
    return 1 if failed is not None else 0


def _rows(own: OwnModels, listing: Mapping[str, Listed]) -> Iterable[dict[str, Any]]:
    for word, alias in own.rows.items():
        yield _row(word, alias.model, alias.lane, alias.tier, OWN, alias.use, listing)
    for word, alias in sorted(ALIASES.items(), key=_order):
        if word in own.rows:
            continue
        if (dual := DUAL.get(word)) is not None:
            yield _row(word, dual.devin, "devin", alias.tier, TABLE, alias.use, listing)
            yield _row(word, dual.openrouter, "cc", alias.tier, TABLE, alias.use, listing)
        else:
            yield _row(word, alias.model, alias.lane, alias.tier, TABLE, alias.use, listing)


def _order(item: tuple[str, Alias]) -> tuple[str, int, str]:
    return item[1].lane, list(Tier).index(item[1].tier), item[0]


def _row(  # noqa: PLR0913, PLR0917  the columns
    word: str, model: str, lane: str, tier: Tier | None, source: str, use: str, listing: Mapping[str, Listed]
) -> dict[str, Any]:
    listed = listing.get(model)
    return {
        "word": word,
        "model": model,
        "lane": lane,
        "tier": tier.value if tier else None,
        "use": use,
        "from": source,
        "prompt_usd_m": _per_million(listed.prompt if listed else None),
        "completion_usd_m": _per_million(listed.completion if listed else None),
        "context": listed.context if listed else None,
    }


def _matching(listing: Mapping[str, Listed], word: str | None) -> Iterable[dict[str, Any]]:
    """Yield the catalogue's own rows that hold ``word``; without one there would be hundreds."""
    if word is None:
        return
    found = [model for model in listing if word.lower() in model.lower() and model not in ALIASES]
    for model in sorted(found)[:LISTED]:
        yield _row(model, model, "cc", None, LISTING, "text", listing)


def _live_rows(lists: Mapping[str, Live], listing: Mapping[str, Listed], word: str | None) -> Iterable[dict[str, Any]]:
    """Yield what CLIs listed themselves and holds ``word``."""
    for lane, one in lists.items():
        for model in one.models:
            if word is not None and word.lower() in model.lower():
                yield _row(model, model, lane, None, one.program, "text", listing)


def _per_million(price: float | None) -> float | None:
    return None if price is None else round(price * MILLION, 6)


def _print(rows: list[dict[str, Any]], listed: int, fetched_at: float | None) -> None:
    table = [("WORD", "MODEL", "LANE", "TIER", "$/M IN", "$/M OUT", "FROM")]
    for row in rows:
        use = "" if row["use"] == "text" else f" ({row['use']})"
        prices = (_price(row["prompt_usd_m"]), _price(row["completion_usd_m"]))
        source = row["from"] if row["denied"] is None else f"{row['from']}; denied by {row['denied']}"
        table.append((row["word"], row["model"], row["lane"], (row["tier"] or "-") + use, *prices, source))
    answer("\n".join(columns(table)))
    if fetched_at is None:
        say("OpenRouter's catalogue was never fetched: osrc models --refresh")
    else:
        say(f"OpenRouter's catalogue: {listed} models, fetched {age(max(0.0, time.time() - fetched_at))} ago")


def _kept(fetched_at: float | None) -> str:
    if fetched_at is None:
        return "There is none from before."
    return f"The one fetched {age(max(0.0, time.time() - fetched_at))} ago is kept."


def _price(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"
