"""The lanes as they are on this machine, asked in parallel. Loads the whole product: never on a hot path."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ..actors.canary import Sighting, look
from ..actors.host import billed as who_pays
from ..actors.host import probe
from ..actors.lane_book import LaneBook
from ..actors.model_book import ModelBook
from ..actors.rehearsal import Rehearsal, ping
from ..lanes.contract import Billing, Lane, Readiness
from ..lanes.registry import Registry
from ..messages.refusals import Refused
from ..state.home import Home
from ..state.settings import Settings, config_file, read_config
from .errors import CliError

if TYPE_CHECKING:
    from ..actors.advising import Place
    from ..actors.imaging import Studio
    from ..actors.panelling import Bench


def settings() -> Settings:
    """Return the settings of this environment. Raises StateError for one that makes no sense."""
    place = config_file(os.environ)
    return Settings.load(os.environ, read_config(place), source=place)


def registry(home: Home) -> Registry:
    """Return the built-in and declared lanes."""
    return LaneBook(home).registry()


def lane(lanes: Registry, name: str) -> Lane:
    """Return one lane by its name or a synonym of it. Raises CliError where there is none, or its file is faulty."""
    from ..lanes.catalog.providers import SYNONYMS  # noqa: PLC0415 - beside its only use

    found = lanes.get(name)
    if isinstance(found, Refused):
        known = SYNONYMS.get(name.lower())
        again = lanes.get(known) if known else found
        if isinstance(again, Refused):
            bad = next((one for one in lanes.problems if f"/{name}.toml:" in one.message), found)
            raise CliError(str(bad.code), bad.message, bad.hint)
        return again
    return found


def probe_all(lanes: Sequence[Lane], known: Settings) -> list[Readiness]:
    """Return how ready each lane is, in order. A CLI may take seconds to say its version."""
    if not lanes:
        return []
    with ThreadPoolExecutor(max_workers=min(len(lanes), 8)) as pool:
        return list(pool.map(lambda one: probe(one, os.environ, known), lanes))


def canaries(lanes: Sequence[Lane], known: Settings, *, turn: bool, errors: bool) -> list[Sighting]:
    """Return what the lanes' programs say of themselves, in order; ``turn``: and how one turn of each went.

    ``errors``: and how each took the failures of its model.
    """
    if not lanes:
        return []
    with ThreadPoolExecutor(max_workers=min(len(lanes), 4)) as pool:
        return list(pool.map(lambda one: look(one, os.environ, known, turn=turn, errors=errors), lanes))


def pings(
    lanes: Sequence[Lane],
    known: Settings,
    home: Home,
    *,
    cloud_ack: bool,
    tell: Callable[[Sequence[str]], None],
) -> list[Rehearsal]:
    """Return how each lane answered one short question to its real model, in order.

    ``tell`` gets what a person is told before work leaves, from threads of its own.
    """
    if not lanes:
        return []

    def asked(one: Lane) -> Rehearsal:
        return ping(one, os.environ, known, home, cloud_ack=cloud_ack, tell=tell)

    with ThreadPoolExecutor(max_workers=min(len(lanes), 4)) as pool:
        return list(pool.map(asked, lanes))


def usable_lanes(lanes: Registry) -> tuple[list[Lane], list[str]]:
    """Return every lane that loads, and a sentence for each that does not."""
    loaded, problems = [], [problem.message for problem in lanes.problems]
    for name in lanes.names():
        found = lanes.get(name)
        if isinstance(found, Refused):
            problems.append(found.message)
        else:
            loaded.append(found)
    return loaded, problems


def billed(one: Lane) -> Billing:
    """Return who pays for a plain run on a lane, in this environment."""
    return who_pays(one, os.environ, settings())


def model_book(home: Home) -> ModelBook:
    """Return the person's own models and the cached catalogue."""
    return ModelBook(home)


def refresh_live(home: Home, book: ModelBook, known: Sequence[Lane]) -> list[str]:
    """Ask the CLIs that are here for their own models; return what is to be said of those that gave none."""
    from ..actors.live_models import refresh_live as ask  # noqa: PLC0415 - beside its only use

    home.preflight()
    return ask(book, known, os.environ)


def credits_left(one: Lane, known: Settings) -> float | None:
    """Return what is left on the account that pays for a lane, in USD; None where nobody tells."""
    from ..actors.accounts import account_in  # noqa: PLC0415 - beside its only use
    from ..actors.balance import credits_left as ask  # noqa: PLC0415 - it loads an HTTP client

    account = account_in(os.environ, known.text("openrouter_url")) if one.receipts is not None else None
    return None if account is None else ask(account)


def refresh_catalogue(home: Home, book: ModelBook, known: Settings) -> Refused | None:
    """Fetch OpenRouter's catalogue anew, or say why not. No key is sent: the list is public."""
    from ..actors.catalogue import refresh  # noqa: PLC0415 - it loads an HTTP client
    from ..lanes.openrouter import base_url  # noqa: PLC0415 - beside its only use

    base = base_url(known.text("openrouter_url"))
    if isinstance(base, Refused):
        return base
    home.preflight()
    return refresh(book, base, None)


def refresh_benchmarks(home: Home, book: ModelBook, known: Settings) -> Refused | None:
    """Fetch benchmark scores anew, or say why not. They are had with any key of OpenRouter's."""
    from ..actors.accounts import account_in  # noqa: PLC0415 - beside its only use
    from ..actors.catalogue import refresh_benchmarks as fetch  # noqa: PLC0415 - it loads an HTTP client
    from ..lanes.openrouter import base_url  # noqa: PLC0415 - beside its only use

    base = base_url(known.text("openrouter_url"))
    if isinstance(base, Refused):
        return base
    account = account_in(os.environ, known.text("openrouter_url"))
    home.preflight()
    return fetch(book, base, None if account is None else account.key)


def advice(home: Home, task: str, folder: str, effort: str | None) -> dict[str, Any]:
    """Return what ``osrc advise`` prints, worked out here: no supervisor is asked, none is started."""
    from ..actors.advising import Question, give  # noqa: PLC0415 - beside its only use
    from ..messages.vocabulary import Effort  # noqa: PLC0415 - as above

    question = Question(task=task, cwd=folder, effort=Effort(effort) if effort else None)
    return give(question, _place(home)).view(task)


def studio(home: Home) -> Studio:
    """Return what makes images here."""
    from ..actors.imaging import Studio as Made  # noqa: PLC0415 - it loads an HTTP client

    return Made(home, registry(home), os.environ, settings())


def bench(home: Home, task: str, folder: str, effort: str | None) -> Bench:
    """Return who could give an opinion on a task here, and who could decide. Cash is spent only where that is set."""
    from ..actors.advising import Question  # noqa: PLC0415 - beside its only use
    from ..actors.panelling import Bench as Made  # noqa: PLC0415 - as above
    from ..messages.vocabulary import Effort  # noqa: PLC0415 - as above

    place = _place(home)
    cash = place.settings.flag("failover_cash_ok")
    return Made(Question(task=task, cwd=folder, effort=Effort(effort) if effort else None, cash=cash), place)


def _place(home: Home) -> Place:
    from ..actors.advising import Place as Made  # noqa: PLC0415 - beside its only use
    from ..actors.limit_book import LimitBook  # noqa: PLC0415 - as above

    return Made(
        home=home,
        registry=registry(home),
        models=model_book(home),
        environment=os.environ,
        settings=settings(),
        limits=LimitBook(home, time.time),
    )
