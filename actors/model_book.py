"""The models of one state home: the person's own rows, and OpenRouter's catalogue as it was last fetched.

Each file is read again when it has changed. What can't be read is as if it were not there, and is said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from ..lanes.catalog import Known
from ..lanes.catalog.benchmarks import Benchmarks
from ..lanes.catalog.benchmarks import parse as parse_benchmarks
from ..lanes.catalog.listing import BUDGET_USD_M, MID_USD_M, VENDOR_OF, Listed, by_vendor, parse, tier_by_price
from ..lanes.catalog.live import Live, parse_live
from ..lanes.catalog.own_rows import OwnModels
from ..lanes.catalog.own_rows import parse as parse_own
from ..messages.model_names import canonical
from ..messages.vocabulary import Tier
from ..state.errors import StateError, printable
from ..state.files import read_private
from ..state.home import Home
from ..state.settings import Settings

OWN = "models.local"
LISTING = "models.json"
LIVE = "models.live.json"
BENCHMARKS = "benchmarks.json"
OWN_LIMIT = 256 * 1024
LISTING_LIMIT = 32 * 1024 * 1024

Read = TypeVar("Read")


@dataclass(slots=True)
class _Kept(Generic[Read]):
    """What was made of a file, and of which version of it."""

    seen: tuple[int, int] | None
    value: Read


class ModelBook:
    """Reads the files when they have changed. May be used from any thread."""

    def __init__(self, home: Home) -> None:
        self.own_path = home.root / OWN
        self.listing_path = home.root / LISTING
        self.live_path = home.root / LIVE
        self.benchmarks_path = home.root / BENCHMARKS
        self._benchmarks: _Kept[Benchmarks] | None = None
        self._live: _Kept[Mapping[str, Live]] | None = None
        self._own: _Kept[tuple[frozenset[str], OwnModels]] | None = None
        self._listing: _Kept[Mapping[str, Listed]] | None = None
        self._vendors: tuple[Mapping[str, Listed], Mapping[tuple[str, str], Listed]] | None = None
        """The listing that it was made of, and its models by vendor and key."""

    def own(self, lanes: Iterable[str]) -> OwnModels:
        """Return the person's own rows, for the lanes that there are."""
        known = frozenset(lanes)
        seen = _version(self.own_path)
        if self._own is None or self._own.seen != seen or self._own.value[0] != known:
            self._own = _Kept(seen, (known, self._read_own(known) if seen else OwnModels()))
        return self._own.value[1]

    def listing(self) -> Mapping[str, Listed]:
        """Return the cached catalogue by id; empty without one."""
        seen = _version(self.listing_path)
        if self._listing is None or self._listing.seen != seen:
            content = _content(self.listing_path, LISTING_LIMIT) if seen else None
            found = parse(content) if isinstance(content, bytes) else None
            self._listing = _Kept(seen, found or {})
        return self._listing.value

    def priced(self, model: str | None, lane: str) -> Listed | None:
        """Return the catalogue's row of a model as a lane names it: by its id, or by its vendor's own name for it.

        The catalogue has vendors' models under their vendors' prices; of two rows that differ in price neither is it.
        """
        listing = self.listing()
        if model is None or model in listing:
            return listing.get(model or "")
        vendor = VENDOR_OF.get(lane)
        if vendor is None or "/" in model:
            return None
        kept = self._vendors
        if kept is None or kept[0] is not listing:
            self._vendors = kept = (listing, by_vendor(listing.values()))
        return kept[1].get((vendor, canonical(model)))

    def live_lists(self) -> Mapping[str, Live]:
        """Return what CLIs listed of their own models, by lane; empty without any."""
        seen = _version(self.live_path)
        if self._live is None or self._live.seen != seen:
            content = _content(self.live_path, LISTING_LIMIT) if seen else None
            self._live = _Kept(seen, parse_live(content) if isinstance(content, bytes) else {})
        return self._live.value

    def live(self, lane: str) -> tuple[str, ...]:
        """Return the ids that a lane's CLI listed when it was last asked."""
        found = self.live_lists().get(lane)
        return found.models if found else ()

    def benchmarks(self) -> Benchmarks:
        """Return the cached benchmark scores; empty without any."""
        seen = _version(self.benchmarks_path)
        if self._benchmarks is None or self._benchmarks.seen != seen:
            content = _content(self.benchmarks_path, LISTING_LIMIT) if seen else None
            found = parse_benchmarks(content) if isinstance(content, bytes) else None
            self._benchmarks = _Kept(seen, found or Benchmarks())
        return self._benchmarks.value

    def fetched_at(self) -> float | None:
        """Return when the catalogue was fetched, in epoch seconds; None without one."""
        seen = _version(self.listing_path)
        return seen[0] / 1e9 if seen else None

    def _read_own(self, lanes: frozenset[str]) -> OwnModels:
        content = _strangers(self.own_path) or _content(self.own_path, OWN_LIMIT)
        if isinstance(content, bytes):
            return parse_own(content.decode("utf-8-sig", "replace"), lanes, str(self.own_path))
        return OwnModels(problems=(content,) if content else ())


def _version(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _strangers(path: Path) -> str | None:
    """Return a sentence about a file that another user put there: its rows would decide where work goes."""
    try:
        owner = path.lstat().st_uid
    except OSError:
        return None
    if not hasattr(os, "geteuid") or owner in (os.geteuid(), 0):
        return None
    return f"{printable(path)} belongs to another user (uid {owner}): it is not used"


def _content(path: Path, limit: int) -> bytes | str | None:
    """Return the file's bytes, or a sentence about why not."""
    try:
        return read_private(path, limit)
    except StateError as error:
        return str(error)


def known_models(book: ModelBook, lanes: Iterable[str], settings: Settings) -> Known:
    """Return what this home's files and settings add to the catalog's tables."""
    listing = book.listing()
    budget, mid = settings.number("tier_budget_max_usd_m"), settings.number("tier_mid_max_usd_m")
    chain = settings.words("offload_chain")

    def price_tier(model: str) -> Tier | None:
        return tier_by_price(
            listing.get(model),
            BUDGET_USD_M if budget is None else budget,
            MID_USD_M if mid is None else mid,
        )

    return Known(
        own=book.own(lanes).rows,
        defaults=dict.fromkeys(("cc", "codexor"), chain[0]) if chain else {},
        listed=frozenset(listing),
        price_tier=price_tier,
    )
