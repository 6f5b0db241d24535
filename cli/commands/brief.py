"""``osrc brief``: what a session should know before it hands work on, at a glance. Reads only, starts nothing."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from ..gauges import gauge_name, gauge_source, gauge_words, known, max_age_s
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home, readable_root
from ..preferences import number
from ..render.lines import age
from ..render.plain import one_line


@click.command(cls=Command)
@click.pass_obj
def brief(options: Globals) -> None:
    """Print which lanes are here, what limits say, what to spare, and the driving mode.

    A lane that is here need not answer: osrc lanes asks its program, osrc doctor --ping its model.
    """
    shown, notes = overview(options)
    if options.json:
        answer_json(shown)
        return
    for note in notes:
        say(f"note: {note}")
    answer("\n".join(overview_lines(shown, time.time())))


def overview(options: Globals) -> tuple[dict[str, Any], list[str]]:
    """Return what ``brief --json`` prints, and what is to be said of the store."""
    from ...actors.lane_discovery import keyless_gemini, lanes_beside, lanes_here  # noqa: PLC0415 - not for the help
    from ...lanes.conserve import advise  # noqa: PLC0415 - as above
    from ...state.gauges import (  # noqa: PLC0415 - as above
        CHATGPT,
        CLAUDE,
        CONSERVE_PERCENT,
        gauge_object,
        headroom,
        pressure,
    )

    now, root = time.time(), readable_root(os.environ, options.home)
    told, marks, notes = _store(root, now)
    mode, unread = _mode(options)
    notes += [unread] if unread else []
    line, oldest = min(number("conserve_threshold", CONSERVE_PERCENT) / 100, 1.0), max_age_s()
    here = lanes_here(os.environ)
    given = number("cc_pressure", -1.0)
    advice = advise(
        given / 100 if 0 <= given <= 100 else pressure(told, CLAUDE, now, oldest),
        line,
        here.keys(),
        keyless_gemini=keyless_gemini(os.environ),
        codex_headroom=headroom(told, CHATGPT, now, line, oldest),
    )
    return {
        "lanes": here | {name: word for name, word in lanes_beside(root).items() if name not in here},
        "down": marks,
        "gauges": [gauge_object(one, now, oldest) for one in told],
        "conserve": {
            "verdict": advice.verdict,
            "utilization": advice.used,
            "threshold": line,
            "lane": advice.lane,
            "why": advice.why,
        },
        "mode": mode,
        "work": _work(root),
        "notes": notes,
    }, notes


def _store(root: str, now: float) -> tuple[list[Any], list[dict[str, Any]], list[str]]:
    """Return the gauges, the marks that hold, and what is to be said of the store. A damaged one is said, no more."""
    from ...state.errors import StateError  # noqa: PLC0415 - not for the help
    from ...state.limits_reader import marks  # noqa: PLC0415 - as above
    from ...state.limits_view import mark_object  # noqa: PLC0415 - as above
    from ...state.reader import Reader  # noqa: PLC0415 - as above

    try:
        with Reader(f"{root}/state.db") as reader:
            return known(reader, root, now), [mark_object(one) for one in marks(reader, now)], list(reader.notes)
    except StateError as error:
        return [], [], [f"{error.message}; {error.hint}" if error.hint else error.message]


def _work(root: str) -> dict[str, Any] | None:
    """Return how all work stood when a supervisor last drew it, in a line; None where none ever did."""
    from ...state.bearings_reader import last_picture  # noqa: PLC0415 - not for the help

    picture = last_picture(root)
    return {key: picture.get(key) for key in ("pulse", "captured_at")} if picture is not None else None


def _mode(options: Globals) -> tuple[str | None, str | None]:
    """Return the driving mode, and what is to be said of the file that should hold one and does not."""
    from ...state.driving_mode import seen_mode  # noqa: PLC0415 - not for the help

    return seen_mode(full_home(os.environ, options.home))


def overview_lines(shown: dict[str, Any], now: float) -> list[str]:
    """Return an overview in words, one thing a line."""
    lanes = "  ".join(f"{lane}={word}" for lane, word in shown["lanes"].items())
    lines = [f"lanes here : {lanes or 'no CLI, key or local server seen'}"]
    lines.append("             being here is not answering: osrc lanes, osrc doctor --ping")
    for mark in shown["down"]:
        what, left = one_line(mark["key"].partition(":")[2], 40), age(max(0.0, mark["until"] - now))
        lines.append(f"down       : {what} for {left}: {one_line(mark['reason'], 120)}")
    lines += [f"limits     : {gauge_name(one)} {gauge_words(one)}, {gauge_source(one)}" for one in shown["gauges"]]
    if not shown["gauges"]:
        lines.append("limits     : no gauge is known; osrc tap install reads Claude's off your own status line")
    conserve = shown["conserve"]
    instead = f"; hand work to {conserve['lane']}" if conserve["lane"] else ""
    if conserve["verdict"] == "conserve" and not conserve["lane"]:
        instead = "; no lane that spends less is here"
    lines.append(f"advice     : {conserve['verdict'].upper()}: {conserve['why']}{instead}")
    lines.append(f"mode       : {shown['mode'] or 'not chosen: osrc mode auto|manual|hybrid'}")
    work = shown.get("work")
    if work is not None and work["pulse"]:
        old = age(max(0.0, now - work["captured_at"]))
        lines.append(f"work       : {one_line(str(work['pulse']), 160)} (as of {old} ago: osrc rundown)")
    return lines
