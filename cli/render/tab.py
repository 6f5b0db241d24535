"""The tab as JSON, CSV, text and a chart. What is an estimate has a ``~``; a part is never shown as a whole."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...state.ledger_reader import NANO, Sum, Tokens
from .plain import one_line
from .table import columns

if TYPE_CHECKING:
    from ...lanes.prices import Price

_NAMELESS = {"lane": "?", "model": "(default)", "group": "(no group)", "day": "?"}
_HEAD = ("RUNS", "OK", "CASH", "PLANS", "LOCAL", "TOKENS IN", "OUT")
_BAR = 30
FORMULAS = ("=", "+", "-", "@", "\t")
"""What a spreadsheet would run where a text begins with it."""


def sum_object(total: Sum) -> dict[str, Any]:
    """Return a sum as ``--json`` has it."""
    cash = total.cash_nano
    return {
        "runs": total.runs,
        "ok": total.ok,
        "cash": {
            "measured_usd": total.measured_nano / NANO,
            "measured_runs": total.measured_runs,
            "estimated_usd": total.estimated_nano / NANO,
            "estimated_runs": total.estimated_runs,
            "unknown_runs": total.unknown_runs,
            "total_usd": None if cash is None else cash / NANO,
            "exact": cash is not None and not total.estimated_runs,
        },
        "plans": dict(sorted(total.plans.items())),
        "local_runs": total.local_runs,
        "not_started": total.idle_runs,
        "tokens": {
            **_counts(total.tokens),
            "known_runs": total.known_runs,
            "unknown_runs": total.runs - total.known_runs - total.idle_runs,
        },
    }


def savings_object(total: Sum, price: Price | None) -> dict[str, Any] | None:
    """Return what the runs whose tokens and cash are both known would have cost elsewhere; None without any."""
    if price is None or not total.compared_runs:
        return None
    tokens = total.compared
    there = price.of(
        fresh=tokens.input + tokens.cache_write,
        cached=tokens.cached_input,
        output=tokens.output,
    )
    here = total.compared_nano / NANO
    return {
        "against": price.model,
        "price_as_of": price.as_of,
        "estimated": True,
        "runs": total.compared_runs,
        "left_out_runs": total.runs - total.compared_runs,
        "there_usd": there,
        "here_cash_usd": here,
        "saved_usd": there - here,
    }


def cash_words(total: Sum) -> str:
    """Return the cash in words: ``$1.20 + ~$0.30 + 2 unknown``."""
    parts = []
    if total.measured_runs:
        parts.append(f"${usd(total.measured_nano / NANO)}")
    if total.estimated_runs:
        parts.append(f"~${usd(total.estimated_nano / NANO)}")
    if total.unknown_runs:
        parts.append(f"{total.unknown_runs} unknown")
    return " + ".join(parts) or "$0"


def usd(amount: float) -> str:
    """Return an amount with as many digits as it needs: ``12.30``, ``0.0042``."""
    return f"{amount:.2f}" if abs(amount) >= 0.995 or amount == 0 else f"{amount:.4f}"


def text(by: str, rows: Mapping[str, Sum], total: Sum, savings: Mapping[str, Any] | None) -> str:
    """Return the whole tab for people."""
    table = [(by.upper(), *_HEAD), *((_name(by, key), *_cells(row)) for key, row in rows.items())]
    table.append(("all", *_cells(total)))
    lines = [*columns(table), "", f"cash: {cash_words(total)}"]
    if total.unknown_runs:
        lines.append(f"  the cash is not all known: {total.unknown_runs} of {total.runs} runs told no price")
    for pool, runs in sorted(total.plans.items()):
        lines.append(f"plan {one_line(pool, 40)}: {runs} run{_s(runs)} spent its limits ($0 cash)")
    if total.local_runs:
        lines.append(f"local: {total.local_runs} run{_s(total.local_runs)}")
    silent = total.runs - total.known_runs - total.idle_runs
    if silent:
        lines.append(f"tokens: {silent} run{_s(silent)} told none; the sums are of the others")
    if savings:
        lines.append(_saved(savings))
    return "\n".join(lines)


def chart(by: str, rows: Mapping[str, Sum], width: int) -> str:
    """Return a bar for each row: runs that came to something, and those that did not."""
    most = max((row.runs for row in rows.values()), default=0)
    room = max(min(_BAR * 2, width - 44), 10)
    lines = []
    for key, row in rows.items():
        full = round(room * row.runs / most)
        good = round(full * row.ok / row.runs) if row.runs else 0
        lines.append((_name(by, key), "█" * good + "░" * (full - good), f"{row.runs} run{_s(row.runs)}"))
    return "\n".join(columns(lines))


def csv_text(by: str, rows: Mapping[str, Sum]) -> str:
    """Return the rows as CSV, with a head."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    counts = tuple(_counts(Tokens()))
    writer.writerow(
        (
            *(by, "runs", "ok", "cash_measured_usd", "cash_estimated_usd", "cash_unknown_runs", "plan_runs", "plans"),
            *("local_runs", "not_started", "token_known_runs", *counts),
        )
    )
    for key, row in rows.items():
        plans = ";".join(f"{pool}={runs}" for pool, runs in sorted(row.plans.items()))
        money = (f"{row.measured_nano / NANO:.9f}", f"{row.estimated_nano / NANO:.9f}", row.unknown_runs)
        spent = (sum(row.plans.values()), _safe(plans), row.local_runs, row.idle_runs, row.known_runs)
        writer.writerow((_safe(key), row.runs, row.ok, *money, *spent, *_counts(row.tokens).values()))
    return out.getvalue().removesuffix("\n")


def _cells(row: Sum) -> Sequence[str]:
    part = "+" if row.known_runs < row.runs - row.idle_runs else ""
    given = row.tokens.input + row.tokens.cached_input + row.tokens.cache_write
    known = (f"{count(given)}{part}", f"{count(row.tokens.output)}{part}") if row.known_runs else ("?", "?")
    plans = str(sum(row.plans.values()) or "-")
    return (str(row.runs), str(row.ok), cash_words(row), plans, str(row.local_runs or "-"), *known)


def count(number: int) -> str:
    """Return a count for people.

    >>> count(950), count(12_300), count(4_500_000)
    ('950', '12.3k', '4.5M')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def _saved(savings: Mapping[str, Any]) -> str:
    out = f"; {savings['left_out_runs']} not compared" if savings["left_out_runs"] else ""
    word = "less" if savings["saved_usd"] >= 0 else "more"
    amount = usd(abs(savings["saved_usd"]))
    return (
        f"against {one_line(savings['against'], 60)} (list price, {savings['price_as_of']}): ~${amount} {word} cash"
        f" than ~${usd(savings['there_usd'])}, over {savings['runs']} run{_s(savings['runs'])} whose tokens are"
        f" known{out}"
    )


def _counts(tokens: Tokens) -> dict[str, int]:
    names = ("input", "cached_input", "cache_write", "output", "reasoning")
    return {name: getattr(tokens, name) for name in names}


def _name(by: str, key: str) -> str:
    return one_line(key, 48) or _NAMELESS[by]


def _safe(word: str) -> str:
    return f"'{word}" if word.startswith(FORMULAS) else word


def _s(number: int) -> str:
    return "" if number == 1 else "s"
