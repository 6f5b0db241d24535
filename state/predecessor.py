"""The predecessor's own books, read and never written: ledger, outcomes, quotas. Pure: lines in, rows out.

Its files are appended to by a shell and may be torn: what is no row is counted, and what is one counts once. A
run's id here is made of its row there, and its attempt of the row's place among those of the same run: read
again, or from a copy, the same rows have the same names.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..messages.model_names import canonical
from .history_store import PREFIX
from .ledger import CASH_CAP_USD, NANO, Spent

LINE_CAP = 64 * 1024
"""Bytes; the predecessor wrote none that is longer than 8192."""
KINDS = frozenset({"code", "reasoning", "agentic", "creative", "simple"})
_TOLD = frozenset({"passed", "failed", "reverted"})
_DONE = _TOLD.intersection({"passed"}) | {"completed_unverified"}
_LATEST = 4e9


@dataclass(frozen=True, slots=True)
class Payer:
    """Who paid for a run of one of its lanes, in our words."""

    lane: str
    pool: str
    paid: Literal["plan", "cash", "local", "plan-or-cash"]
    zero_is_unknown: bool


Payers = Callable[[str], Payer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One row of the ledger, as ours would have it."""

    run_id: str
    attempt: int
    at: float
    lane: str
    model: str | None
    ok: bool
    spent: Spent
    pool: str
    cash_nano: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one run; the newest word."""

    run_id: str
    at: float
    outcome: str
    lane: str
    model: str
    task_kind: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """So many runs of a model a day. ``lane`` is None where all lanes share it."""

    lane: str | None
    model: str
    per_day: int
    zone: Literal["utc", "local"]


@dataclass(slots=True)
class Outcomes:
    """All that its outcome files tell."""

    told: dict[str, Outcome] = field(default_factory=dict)
    """By our run id: what moves advice."""
    done: set[str] = field(default_factory=set)
    """Runs that came to a result."""
    torn: int = 0


def runs(lines: Iterable[bytes], payers: Payers, done: frozenset[str] | set[str]) -> tuple[list[Run], int]:
    """Return the ledger's rows, and how many lines are none. ``done``: runs that came to a result."""
    found: list[Run] = []
    seen: Counter[str] = Counter()
    torn = 0
    for line in lines:
        if not line.strip():
            continue
        row = _object(line)
        made = None if row is None else _run(row, line, payers, seen, done)
        if made is None:
            torn += 1
        else:
            found.append(made)
    return found, torn


def outcomes(lines: Iterable[bytes], payers: Payers, into: Outcomes) -> None:
    """Take the lines of one outcome file in."""
    for line in lines:
        if not line.strip():
            continue
        row = _object(line)
        at = None if row is None else _time(row.get("epoch"), row.get("ts"))
        if row is None or at is None or not isinstance(row.get("outcome"), str) or not _word(row.get("run_id"), 200):
            into.torn += 1
            continue
        run_id = _name(str(row["run_id"]))
        if row["outcome"] in _DONE:
            into.done.add(run_id)
        if row["outcome"] in _TOLD:
            _tell(row, run_id, at, payers, into)


def quotas(data: bytes, payers: Payers) -> tuple[list[Quota], int]:
    """Return the daily caps of its ``quota.json``, and how many entries are none."""
    row = _object(data)
    entries = row.get("models") if row is not None else None
    if not isinstance(entries, dict):
        return [], int(bool(data.strip()) and row != {})
    found, bad = [], 0
    for name, value in entries.items():
        lane, colon, model = name.partition(":")
        per_day = _whole(value.get("per_day")) if isinstance(value, dict) else None
        model = model if colon else lane
        if per_day is None or not _word(model, 200):
            bad += 1
            continue
        zone: Literal["utc", "local"] = "local" if value.get("reset") == "local" else "utc"
        found.append(Quota(lane=payers(lane).lane if colon else None, model=model, per_day=per_day, zone=zone))
    return found, bad


def _run(
    row: Mapping[str, Any], line: bytes, payers: Payers, seen: Counter[str], done: frozenset[str] | set[str]
) -> Run | None:
    at = _time(row.get("epoch"), row.get("ts"))
    lane = row.get("lane") or row.get("provider")
    if at is None or not _word(lane, 40):
        return None
    own = row.get("run_id")
    name = _name(str(own)) if _word(own, 200) else _name(line.strip().hex())
    seen[name] += 1
    payer = payers(str(lane))
    spent, cash = _spent(row.get("cost_usd"), payer)
    return Run(
        run_id=name,
        attempt=seen[name],
        at=at,
        lane=payer.lane,
        model=_model(row.get("model")),
        ok=name in done,
        spent=spent,
        pool=payer.pool,
        cash_nano=cash,
    )


def _tell(row: Mapping[str, Any], run_id: str, at: float, payers: Payers, into: Outcomes) -> None:
    before = into.told.get(run_id)
    lane = row.get("lane")
    if before is not None and before.at > at:
        return
    kind = row.get("task_class")
    into.told[run_id] = Outcome(
        run_id=run_id,
        at=at,
        outcome=str(row["outcome"]),
        lane=payers(str(lane)).lane if _word(lane, 40) else "unknown",
        model=canonical(_model(row.get("model"))),
        task_kind=kind if isinstance(kind, str) and kind in KINDS else None,
    )


def _spent(cost: object, payer: Payer) -> tuple[Spent, int]:
    """Return what a run spent: of a plan's and a local run the figure is only what it might have cost."""
    if payer.paid == "local":
        return "local", 0
    text = cost.strip() if isinstance(cost, str) else str(cost) if isinstance(cost, int | float) else ""
    try:
        usd = float(text.removeprefix("~")) if text and not isinstance(cost, bool) else None
    except ValueError:
        usd = None
    if usd is not None and not (math.isfinite(usd) and 0 <= usd <= CASH_CAP_USD):
        usd = None
    if payer.paid == "plan" or (payer.paid == "plan-or-cash" and not usd):
        return "plan", 0
    if usd is None or (not usd and payer.zero_is_unknown):
        return "unknown", 0
    return ("estimated" if text.startswith("~") else "measured"), round(usd * NANO)


def _object(line: bytes) -> dict[str, Any] | None:
    if len(line) > LINE_CAP:
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _time(epoch: object, stamp: object) -> float | None:
    """Return epoch seconds. Without them the stamp's day would be another one elsewhere: it is read as UTC."""
    value = epoch if epoch is not None else _stamp(stamp)
    try:
        at = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else 0.0
    except (ValueError, OverflowError):
        return None
    return at if 0 < at < _LATEST else None


def _stamp(value: object) -> float | None:
    from datetime import UTC, datetime  # noqa: PLC0415 - only for rows without their own seconds

    if isinstance(value, int | float):
        return float(value)
    try:
        read = datetime.fromisoformat(str(value)[:40])
    except ValueError:
        return None
    try:
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _whole(value: object) -> int | None:
    try:
        number = math.floor(float(value)) if isinstance(value, str | int | float) else -1
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= 1_000_000 and not isinstance(value, bool) else None


def _model(value: object) -> str | None:
    """Return the model; an engine's own default has no name here."""
    if not _word(value, 200) or str(value).endswith("-default"):
        return None
    return str(value)


def _word(value: object, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()


def _name(text: str) -> str:
    return PREFIX + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
