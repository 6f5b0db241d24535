"""``osrc suggest`` (``deals``): free and cheap models of the cached catalogue."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from ...lanes.catalog.dealing import cheap, free
from ...lanes.catalog.listing import MILLION, Listed
from .. import machine
from ..errors import CliError
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home
from ..render.lines import age
from ..render.plain import one_line
from ..render.table import columns

_LIVE_SHOWN = 20


@click.command(cls=Command)
@click.pass_obj
def suggest(options: Globals) -> None:
    """Print the newest free models and the cheapest others on OpenRouter, and what your CLIs listed of their own.

    By the catalogue as it was last fetched (osrc models --refresh); models that are not for text are left out.
    """
    book = machine.model_book(full_home(os.environ, options.home))
    listing = list(book.listing().values())
    if not listing:
        raise CliError("lane_not_ready", "OpenRouter's catalogue was never fetched", "osrc models --refresh")
    at, live = book.fetched_at(), book.live_lists()
    groups = {"free": free(listing), "cheap": cheap(listing)}
    if options.json:
        rows = {name: [_object(one) for one in found] for name, found in groups.items()}
        own = {lane: list(one.models[:_LIVE_SHOWN]) for lane, one in live.items()}
        answer_json({**rows, "own_lists": own, "fetched_at": at})
        return
    table = [("MODEL", "$/M IN", "$/M OUT", "CONTEXT")]
    table += [_row(one) for found in groups.values() for one in found]
    answer("\n".join(columns(table)))
    for one in live.values():
        answer(f"{one.program} lists: {one_line(', '.join(one.models[:_LIVE_SHOWN]), 600)}")
    say(f"by the catalogue fetched {age(max(0.0, time.time() - (at or 0.0)))} ago; run one with: osrc run -m MODEL ...")


def _object(model: Listed) -> dict[str, Any]:
    return {
        "model": model.id,
        "prompt_usd_m": _million(model.prompt),
        "completion_usd_m": _million(model.completion),
        "context": model.context,
    }


def _row(model: Listed) -> tuple[str, str, str, str]:
    prices = (_million(model.prompt), _million(model.completion))
    given, out = ("free", "free") if model.free else ("-" if one is None else f"{one:g}" for one in prices)
    return (model.id, given, out, "-" if model.context is None else f"{model.context // 1000}k")


def _million(price: float | None) -> float | None:
    return None if price is None else round(price * MILLION, 6)
