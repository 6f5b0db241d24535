"""``osrc estimate``: what a task would cost, before anything is started. Every figure is an estimate, and says so."""

from __future__ import annotations

import os
from typing import Any

import click

from ...lanes.catalog.aliases import DEFAULT_MODELS
from ...lanes.catalog.listing import MILLION, Listed
from ...lanes.catalog.quoting import OUTPUT_TOKENS, prompt_tokens, quote
from ...lanes.prices import FRONTIER, price_of
from .. import machine
from ..options import Command, Globals
from ..output import answer, answer_json
from ..place import full_home
from ..render.plain import one_line
from ..render.table import columns
from ..task import read_task


@click.command(cls=Command)
@click.argument("task", metavar="[TASK]", nargs=-1)
@click.option("--task-file", metavar="F", help="Read the task from a file.")
@click.option("-m", "--model", metavar="MODEL", help="Quote this model of the catalogue too.")
@click.pass_obj
def estimate(options: Globals, task: tuple[str, ...], task_file: str | None, model: str | None) -> None:
    """Print what one plain answer to TASK would cost: each model of the chain, the words of each plan, a frontier.

    The tokens are reckoned from the task's length and a usual answer; a delegate that reads files and uses tools
    takes many times as much. A model without a price in the catalogue has none here.
    """
    home = full_home(os.environ, options.home)
    settings, book = machine.settings(), machine.model_book(home)
    listing = book.listing()
    given = prompt_tokens(read_task(task, task_file))
    chain = [*([model] if model else []), *(settings.words("offload_chain") or (DEFAULT_MODELS["cc"],))]
    quotes = [_quoted(name, listing.get(name), given) for name in dict.fromkeys(chain)]
    lanes = [
        {"lane": one.name, "kind": paid.kind, "plan": paid.plan, "words": paid.words}
        for one in machine.usable_lanes(machine.registry(home))[0]
        if (paid := machine.billed(one)).kind in ("plan", "free")
    ]
    frontier = _frontier(listing.get(FRONTIER.model), given)
    if options.json:
        tokens = {"input": given, "output": OUTPUT_TOKENS, "estimated": True}
        answer_json({"tokens": tokens, "models": quotes, "lanes": lanes, "frontier": frontier})
        return
    rows = [("MODEL", "COST", "LIST PRICE")]
    rows += [(one_line(one["model"], 60), _usd(one["usd"]), _prices(one)) for one in quotes]
    rows.append((f"{frontier['model']} (to compare)", _usd(frontier["usd"]), _prices(frontier)))
    answer(f"~{given} tokens in, {OUTPUT_TOKENS} out, in one turn without tools\n")
    answer("\n".join(columns(rows)) + "\n")
    spends = [("LANE", "WHAT IT SPENDS"), *((str(one["lane"]), str(one["words"])) for one in lanes)]
    answer("\n".join(columns(spends)))


def _quoted(name: str, listed: Listed | None, given: int) -> dict[str, Any]:
    return {
        "model": name,
        "usd": quote(listed, given),
        "prompt_usd_m": _million(listed.prompt if listed else None),
        "completion_usd_m": _million(listed.completion if listed else None),
    }


def _frontier(listed: Listed | None, given: int) -> dict[str, Any]:
    found = _quoted(FRONTIER.model, listed, given)
    if found["usd"] is not None:
        return {**found, "price_as_of": "the catalogue"}
    price = price_of(None, None) or FRONTIER
    return {
        "model": price.model,
        "usd": price.of(fresh=given, cached=0, output=OUTPUT_TOKENS),
        "prompt_usd_m": round(price.prompt * MILLION, 6),
        "completion_usd_m": round(price.completion * MILLION, 6),
        "price_as_of": price.as_of,
    }


def _million(price: float | None) -> float | None:
    return None if price is None else round(price * MILLION, 6)


def _usd(amount: float | None) -> str:
    return "no cached pricing" if amount is None else f"~${amount:.5f}"


def _prices(row: dict[str, Any]) -> str:
    if row["prompt_usd_m"] is None or row["completion_usd_m"] is None:
        return "osrc models --refresh" if row["usd"] is None else ""
    return f"${row['prompt_usd_m']:g} in, ${row['completion_usd_m']:g} out per million"
