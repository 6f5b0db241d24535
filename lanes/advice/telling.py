"""Advice in the words of people and as JSON. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .classify import Classified
from .score import Advice, Scored

_WORDS = {"free": "free", "plan": "plan", "metered": "price unknown", "unknown": "bill unknown"}
SHORTLIST = 12
"""Candidates that are shown; the rest is counted."""


def advice_object(task: str, kind: Classified, advice: Advice, notes: Sequence[str]) -> dict[str, Any]:
    """Return the object of ``osrc advise --json`` (keys in docs/orchestrators.md)."""
    pick, (measured, every) = advice.pick, advice.coverage
    return {
        "task": task[:200],
        "category": kind.kind.value,
        "difficulty": kind.difficulty,
        "confidence": kind.confidence,
        "evidence": list(kind.evidence),
        "effort": advice.effort.value,
        "frontier_needed": advice.frontier,
        "score_field": advice.field,
        "threshold": advice.threshold,
        "recommendation": None if pick is None else {**_row(pick), "reason": advice.reason, "from": advice.moved_from},
        "reason": advice.reason,
        "shortlist": [_row(one) for one in advice.ranked[:SHORTLIST]],
        "candidates": every,
        "benchmark_data_available": every > 0 and 2 * measured >= every,
        "benchmark_coverage": f"{measured}/{every}",
        "history": None if pick is None else _history(pick),
        "degraded": list(notes),
    }


def _row(one: Scored) -> dict[str, Any]:
    candidate = one.candidate
    return {
        "alias": candidate.word,
        "model": candidate.model,
        "lane": candidate.lane,
        "tier": candidate.tier.value,
        "cost_kind": candidate.purse.kind,
        "cost_basis": candidate.purse.words,
        "usd_per_million": candidate.usd_m,
        "score": round(one.score, 1),
        "measured": one.measured,
        "meets": one.meets,
        "value_ratio": None if one.value is None else round(one.value, 1),
        "conservation": round(one.haircut, 3),
        "lighter_sibling_preferred": one.lighter_preferred,
        "why_not": one.why_not,
    }


def _history(pick: Scored) -> dict[str, Any]:
    past = pick.past
    return {
        "multiplier": round(past.multiplier, 3),
        "effective_samples": round(past.samples, 2),
        "expected_pass_rate": None if past.rate is None else round(past.rate, 3),
        "scope": past.scope,
    }


def advice_lines(view: dict[str, Any]) -> list[str]:
    """Return the same for a person, a line each."""
    said = f" ({', '.join(view['evidence'])})" if view["evidence"] else ""
    lines = [
        f"task: {view['category']}, {view['difficulty']}{said}",
        f"wanted: {view['score_field']} of {view['threshold']:g} or more, effort {view['effort']}",
    ]
    pick = view["recommendation"]
    if pick is None:
        lines.append(f"no recommendation: {view['reason']}")
    else:
        history = view["history"]
        basis = f"tier {pick['tier']}; {pick['cost_basis']}"
        lines.append(f">> {pick['model'] or pick['alias']} on {pick['lane']} ({basis})")
        lines.append(f"   why: {pick['reason']}")
        if history["scope"] != "none":
            rate = f"{100 * history['expected_pass_rate']:.0f}% of such work is expected to pass"
            lines.append(f"   own history: {rate} ({history['effective_samples']:g} outcomes, {history['scope']})")
    lines += [_line(one, pick) for one in view["shortlist"]]
    more = view["candidates"] - len(view["shortlist"])
    if more > 0:
        lines.append(f"   and {more} more")
    lines += [f"note: {note}" for note in view["degraded"]]
    if pick is not None:
        word = f"-m {pick['alias']} " if pick["model"] else ""
        lines.append(f'run with: osrc run --lane {pick["lane"]} {word}--effort {view["effort"]} "..."')
    return lines


def _line(one: dict[str, Any], pick: dict[str, Any] | None) -> str:
    chosen = pick is not None and (one["lane"], one["model"]) == (pick["lane"], pick["model"])
    price = f"${one['usd_per_million']:g}/M" if one["usd_per_million"] else _WORDS[one["cost_kind"]]
    score = f"{'' if one['measured'] else '~'}{one['score']:.0f}"
    words = ["" if one["meets"] else "below the threshold", one["why_not"] or ""]
    if one["lighter_sibling_preferred"]:
        words.append("a lighter sibling does")
    tail = "; ".join(word for word in words if word)
    mark = ">>" if chosen else "  "
    return f"{mark} {score:>4}  {one['alias']} on {one['lane']}, {price}{': ' + tail if tail else ''}"
