"""What ``osrc import`` would take over from the predecessor's folder, and the taking over. Their files are only read.

Loads the lanes' tables: never on a hot path.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..actors.limit_commands import model_key
from ..lanes.catalog.own_rows import parse as parse_own
from ..lanes.catalog.predecessor import past_lane
from ..messages.history import PORTION
from ..messages.refusals import Refused
from ..state import consent, driving_mode, history_store, predecessor, trusted_lanes
from ..state.errors import StateError, printable
from ..state.files import read_private, write_private
from ..state.home import Home
from ..state.limits import ANY
from ..state.limits_reader import quotas as known_quotas
from ..state.predecessor import LINE_CAP, Outcome, Outcomes, Payer, Run
from ..state.reader import Reader
from . import machine
from .errors import CliError
from .place import open_regular

Request = Callable[[dict[str, Any]], dict[str, Any]]
"""Send one command to the supervisor; raises CliError where it is refused."""

LEDGER, QUOTA, OWN = "ledger.jsonl", "quota.json", "models.local"
_OUTCOMES = re.compile(r"outcomes-\d{6}\.jsonl", re.ASCII)
_MARKS = (LEDGER, QUOTA, OWN, driving_mode.FILE, consent.CONSENT)
_SMALL = 256 * 1024
SAME = "the same file: used as it is"


@dataclass(slots=True)
class Item:
    """One kind of thing. ``new`` is what would be, or was, taken over; ``skipped`` what could not be read."""

    what: str
    found: int = 0
    new: int = 0
    skipped: int = 0
    notes: list[str] = field(default_factory=list)
    apply: Callable[[Request], None] | None = None
    failed: bool = False
    """Whether it was to be taken over and could not be."""


def looks_like_one(folder: Path) -> bool:
    """Whether the predecessor has been at work in a folder."""
    return any(os.path.lexists(folder / name) for name in _MARKS) or bool(_outcome_files(folder))


def survey(folder: Path, home: Home, environ: Mapping[str, str]) -> list[Item]:
    """Return all there is, with what is new of it. Changes nothing. Raises StateError where our store is damaged."""
    same = _same(folder, home.root)
    own = [look(folder, home, same=same) for look in (_mode, _consent, _own_models)]
    return [*_history(folder, home), _quotas(folder, home), *own, _trusted(environ)]


def apply(items: list[Item], request: Request) -> None:
    """Take over what is new. What is refused becomes a note of its item, and hides no other."""
    for item in items:
        if item.apply is None or not item.new:
            continue
        try:
            item.apply(request)
        except (CliError, StateError, OSError) as error:
            item.failed = True
            item.notes.append(f"not all of it was taken over: {error}")


# --- ledger and outcomes


def _history(folder: Path, home: Home) -> list[Item]:
    ledger, results = Item("ledger"), Item("outcomes")
    told = Outcomes()
    for name in _outcome_files(folder):
        predecessor.outcomes(_lines(folder / name, results), _payer, told)
    rows, ledger.skipped = predecessor.runs(_lines(folder / LEDGER, ledger), _payer, told.done)
    ledger.found, results.found, results.skipped = len(rows), len(told.told), told.torn
    with Reader(home.database) as reader:
        runs, outcomes = history_store.known_runs(reader), history_store.known_outcomes(reader)
    new_rows = [row for row in rows if (row.run_id, row.attempt) not in runs]
    new_told = [one for one in told.told.values() if one.at > outcomes.get(one.run_id, 0.0)]
    ledger.new, results.new = len(new_rows), len(new_told)
    ledger.apply = partial(_send, str(folder), "runs", [_run_row(row) for row in new_rows])
    results.apply = partial(_send, str(folder), "outcomes", [_outcome_row(one) for one in new_told])
    return [ledger, results]


def _send(source: str, key: str, rows: list[dict[str, Any]], request: Request) -> None:
    for start in range(0, len(rows), PORTION):
        request({"kind": "history.import", "source": source, key: rows[start : start + PORTION]})


def _run_row(row: Run) -> dict[str, Any]:
    names = ("run_id", "attempt", "at", "lane", "model", "ok", "spent", "pool", "cash_nano")
    return {name: getattr(row, name) for name in names}


def _outcome_row(one: Outcome) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ("run_id", "at", "outcome", "lane", "model", "task_kind")}


def _payer(word: str) -> Payer:
    known = past_lane(word)
    return Payer(lane=known.lane, pool=known.pool, paid=known.paid, zero_is_unknown=known.zero_is_unknown)


def _outcome_files(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if _OUTCOMES.fullmatch(entry.name))
    except OSError:
        return []


def _lines(path: Path, item: Item) -> Iterator[bytes]:
    """Yield a file's lines; what is left of one that is too long is dropped, and its head is no row."""
    try:
        descriptor = open_regular(os.fspath(path))
    except FileNotFoundError:
        return
    except OSError as error:
        item.notes.append(f"{printable(path)} can't be read: {error.strerror}")
        return
    with os.fdopen(descriptor, "rb") as file:
        while line := file.readline(LINE_CAP + 1):
            yield line
            while len(line) > LINE_CAP and not line.endswith(b"\n"):
                line = file.readline(LINE_CAP + 1)
                if not line:
                    return


# --- quotas


def _quotas(folder: Path, home: Home) -> Item:
    item = Item("quotas")
    data = _content(folder / QUOTA, item)
    if data is None:
        return item
    read, item.skipped = predecessor.quotas(data, _payer)
    item.found = len(read)
    registry, models = machine.registry(home), machine.model_book(home)
    with Reader(home.database) as reader:
        there = {(quota.lane, quota.model) for quota in known_quotas(reader)}
    wanted: list[dict[str, Any]] = []
    for quota in read:
        lane = quota.lane or ANY
        key = model_key(quota.model, lane, models, registry)
        if isinstance(key, Refused):
            item.skipped += 1
            item.notes.append(f"{quota.model} on {lane}: {key.message}")
        elif (lane, key) not in there:
            there.add((lane, key))
            body = {"lane": lane, "model": quota.model, "per_day": quota.per_day, "zone": quota.zone}
            wanted.append({"kind": "limits.set", **body})
    item.new = len(wanted)
    item.apply = partial(_each, wanted)
    return item


def _each(bodies: list[dict[str, Any]], request: Request) -> None:
    for body in bodies:
        request(body)


# --- what is a file of its own


def _mode(folder: Path, home: Home, *, same: bool) -> Item:
    item = Item("mode")
    theirs = driving_mode.read_mode(Home(folder))
    item.found = int(theirs is not None)
    if same and theirs is not None:
        item.notes.append(SAME)
    elif theirs is not None and (ours := driving_mode.read_mode(home)) is not None:
        item.notes.append(f"{ours} is set here, and stays")
    elif theirs is not None:
        item.new, item.apply = 1, lambda _request: driving_mode.write_mode(home, theirs)
    return item


def _consent(folder: Path, home: Home, *, same: bool) -> Item:
    item = Item("consent")
    try:
        theirs = consent.read_consent(Home(folder))
    except StateError as error:
        item.found, item.skipped = 1, 1
        item.notes.append(error.message)
        return item
    item.found = int(theirs is not None)
    if theirs is None:
        return item
    if same:
        item.notes.append(SAME)
        return item
    try:
        stands = consent.read_consent(home) is not None
    except StateError as error:
        item.notes.append(error.message)
        return item
    if stands:
        item.notes.append("consent stands here already")
        return item
    how = f"osrc import; first granted {theirs.at}"

    def take(_request: Request) -> None:
        import time  # noqa: PLC0415 - only when consent is given

        consent.grant(home, how=how, now=time.time())

    item.new, item.apply = 1, take
    return item


def _own_models(folder: Path, home: Home, *, same: bool) -> Item:
    item = Item(OWN)
    data = _content(folder / OWN, item)
    if data is None:
        return item
    known = machine.registry(home).names()
    text = data.decode("utf-8-sig", "replace")
    read = parse_own(text, known, OWN)
    item.found, item.skipped = len(read.rows), len(read.problems)
    item.notes += read.problems[:5]
    if same:
        item.notes.append(SAME)
        return item
    ours = read_private(home.root / OWN, _SMALL) or b""
    there = parse_own(ours.decode("utf-8-sig", "replace"), known, OWN).rows
    taken: dict[str, str] = {}
    for line in text.splitlines():
        for word in parse_own(line, known, OWN).rows:
            if word not in there:
                taken.setdefault(word, line.strip())
    item.new = len(taken)
    joint = b"" if not ours or ours.endswith(b"\n") else b"\n"
    whole = ours + joint + "".join(f"{line}\n" for line in taken.values()).encode()

    def write(_request: Request) -> None:
        home.preflight()
        write_private(home.root / OWN, whole, fsync=True)

    item.apply = write
    return item


def _trusted(environ: Mapping[str, str]) -> Item:
    item = Item("trusted lanes")
    base = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
    theirs, ours = Path(base) / "outsourcerer" / trusted_lanes.NAME, trusted_lanes.trusted_file(environ)
    read = trusted_lanes.read_trusted(theirs)
    item.found = len(read.lanes)
    if read.problem is not None:
        item.skipped = 1
        item.notes.append(read.problem)
    if not read.lanes:
        return item
    if _same(theirs, ours):
        item.notes.append(SAME)
        return item
    there = trusted_lanes.read_trusted(ours)
    if there.problem is not None:
        item.notes.append(there.problem)
        return item
    merged = {word: list(folders) for word, folders in there.lanes.items()}
    for word, folders in read.lanes.items():
        more = [folder for folder in folders if folder not in merged.get(word, [])]
        if more:
            item.new += 1
            merged[word] = [*merged.get(word, []), *more]

    def write(_request: Request) -> None:
        ours.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(ours, (json.dumps(merged, indent=2) + "\n").encode(), fsync=True)

    item.apply = write
    return item


def _content(path: Path, item: Item) -> bytes | None:
    try:
        return read_private(path, _SMALL)
    except StateError as error:
        item.skipped += 1
        item.notes.append(error.message)
        return None


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return os.path.normpath(one) == os.path.normpath(other)
