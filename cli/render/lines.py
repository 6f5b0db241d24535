"""One-line human messages about a job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...messages.vocabulary import repeats
from .plain import one_line

_WORDS = {
    "queued": "waiting for a free place",
    "launching": "starting",
    "running": "at work",
    "stalled?": "silent for a while; it may be stuck",
    "exploring?": "reading so far, nothing written yet",
    "no-progress-writes": "alive, but has written nothing for a long time",
    "waiting-limit": "waiting for a limit to end",
    "needs-answer": "waiting for an answer",
    "done": "done",
    "done?": "ended well, but never said it was done: check the result",
    "blocked": "it needs something from you",
    "permission-blocked": "stopped by permissions",
    "interrupted": "interrupted",
    "timeout": "ran out of its time",
    "wedged": "ended by the watchdog: no sign of life",
    "failed": "failed",
    "canceled": "canceled",
}

_COLOURS = {
    "done": "32",
    "done?": "33",
    "running": "36",
    "launching": "36",
    "queued": "2",
    "canceled": "2",
    "failed": "31",
    "wedged": "31",
    "timeout": "31",
    "interrupted": "31",
}


def words_for(state: str) -> str:
    """Return what a state means; a state of a newer version is its own name."""
    return _WORDS.get(state, one_line(state, 40))


def beyond(state: object, words: object) -> str:
    """Return words about a state on one line; nothing where they only say its name again, or there are none.

    >>> beyond("failed", "Failed."), beyond("failed", "it ran out of room")
    ('', 'it ran out of room')
    """
    said = "" if words is None else one_line(str(words), 300)
    return "" if repeats(state, said) else said


def colour_of(state: str) -> str:
    """Return the SGR number of a state; states that want attention and have no entry are yellow."""
    return _COLOURS.get(state, "33")


def age(seconds: object) -> str:
    """Return an age in one unit; unknown is ``?``, never a number made up.

    >>> age(42), age(600), age(None)
    ('42s', '10m', '?')
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < 1e11:
        return "?"
    for unit, size in (("s", 60.0), ("m", 60.0), ("h", 24.0)):
        if seconds < size:
            return f"{int(seconds)}{unit}"
        seconds /= size
    return f"{int(seconds)}d"


def clock(seconds: float) -> str:
    """Return an elapsed time as ``m:ss`` or ``h:mm:ss``."""
    total = max(int(seconds), 0)
    hours, rest = divmod(total, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def acts(job: Mapping[str, Any]) -> str:
    """Return the tally of tool calls and whatever needs attention: ``R3 W1 B2 !exploring(0-writes)``."""
    progress = job.get("progress") or {}
    tally = " ".join(
        f"{letter}{_count(progress.get(key))}" for letter, key in (("R", "reads"), ("W", "writes"), ("B", "bash"))
    )
    state = job.get("state")
    if state == "exploring?":
        tally += " !exploring(0-writes)"
    elif state == "no-progress-writes":
        tally += " !no-writes(alive)"
    supervision = job.get("supervision")
    if supervision not in (None, "supervised") and job.get("ended") is None:
        tally += f" !SUPERVISION:{one_line(str(supervision), 20).upper()}"
    return tally


def _count(value: object) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else "?"


def cost_words(job: Mapping[str, Any]) -> str:
    """Return what a job cost, cash apart from plan use; unknown is said to be unknown."""
    cost = job.get("cost") or {}
    kind, cash = cost.get("kind"), cost.get("cash_usd")
    if kind == "free":
        return "$0"
    if kind == "plan":
        return f"$0 cash, spends your {one_line(str(cost.get('plan') or 'plan'), 40)} limits"
    if isinstance(cash, int | float) and not isinstance(cash, bool):
        return f"${cash:.4f} ({'measured' if cost.get('measured') else 'estimated'})"
    return "cost unknown"


def token_words(job: Mapping[str, Any]) -> str:
    """Return the tokens that were seen, or nothing when none were."""
    tokens = (job.get("cost") or {}).get("tokens") or {}
    parts = []
    for key, word in (("input", "in"), ("cached_input", "cached"), ("output", "out"), ("reasoning", "reasoning")):
        value = tokens.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            parts.append(f"{value:,} {word}")
    return "tokens " + ", ".join(parts) if parts else ""


def model_words(job: Mapping[str, Any]) -> str:
    """Return the model that was asked for and, where it was seen, the one that answered."""
    asked, seen = job.get("model"), job.get("model_observed")
    if seen and asked and seen != asked:
        return f"model {one_line(str(seen), 60)} (asked: {one_line(str(asked), 60)})"
    if seen or asked:
        return f"model {one_line(str(seen or asked), 60)}" + ("" if seen else " (not observed)")
    return "model unknown"


def change_line(job: Mapping[str, Any]) -> str:
    """Return one line for a job as it is now: state, elapsed, tally, what was last heard."""
    state = one_line(str(job.get("state")), 24)
    marker = (job.get("progress") or {}).get("last_marker")
    heard = job.get("reason") or marker  # a live job's reason is about now: what it waits for, why it may be stuck
    parts = [f"{job.get('job_id')} {state}", f"{age(job.get('age_s'))}, {acts(job)}"]
    meaning = words_for(str(job.get("state")))
    if job.get("supervision") == "none" and job.get("note"):  # its verdict is due
        heard = job["note"]
    parts.append(one_line(beyond(state, heard) or beyond(state, meaning), 160))
    return " | ".join(part for part in parts if part)


def receipt(job: Mapping[str, Any], cost: str | None = None) -> list[str]:
    """Return the last lines about a job that has ended: how, why, on what, for how much."""
    state = str(job.get("state"))
    first = f"[{one_line(state, 24)}]"
    started, ended = job.get("started"), job.get("ended")
    if isinstance(started, int | float) and isinstance(ended, int | float) and ended >= started:
        first += f" in {clock(ended - started)}"
    why = beyond(state, job.get("reason")) or beyond(state, words_for(state))
    first += f": {why}" if why else ""
    second = [model_words(job), token_words(job), cost or cost_words(job), acts(job)]
    lines = [first, " · ".join(part for part in second if part), *attempt_lines(job)]
    note = str(job.get("note") or "")
    lines += model_lines(note)
    rest = "; ".join(part for part in note.split("; ") if not part.startswith(_MODEL_TAGS))
    if rest:
        lines.append(f"note: {one_line(rest, 300)}")
    return lines


def attempt_lines(job: Mapping[str, Any]) -> list[str]:
    """Return a line for each earlier attempt: where it was, how it ended, what it cost."""
    return [
        one_line(
            f"attempt {over.get('attempt')}: {over.get('lane')} {over.get('model') or 'its own model'}, "
            f"{over.get('outcome')} ({cost_words(over) or 'cost unknown'})",
            300,
        )
        for over in job.get("hops") or ()
    ]


_MODEL_TAGS = ("[verified]", "[MODEL DRIFT]", "[WARNING]")


def model_lines(note: str) -> list[str]:
    """Return what a job's note says of the models that really ran, which deserves a line of its own."""
    return [one_line(part, 300) for part in note.split("; ") if part.startswith(_MODEL_TAGS)]
