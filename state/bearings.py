"""All work in four sections, from records: what to decide, what landed, what is under way, what comes next.

Pure over plain dicts, so that a supervisor, and a command where none runs, draw the same picture. Everything in it is
safe to paste to a model: one line each, no control characters, bounded.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..messages.vocabulary import SCHEMA_VERSION
from . import session_views, views
from .alarm_machine import Condition
from .attention import Word, job_condition, job_name, mark_condition, plain, session_conditions, session_name
from .limits import Mark

SECTIONS = ("captains_call", "recently_landed", "underway", "charted_next")
MOST = 20
"""Most items of a section that are named; the rest is counted."""
LANDED_S = 24 * 3600.0
"""How long ended work is news."""
SUMMARY_CHARS = 80
REST_S = 2.0
"""How long nothing must have been at work before it counts as rest: the next of a row of jobs starts in between."""

_UNDER_WAY = frozenset({"launching", "running", "exploring?"})
_BUSY = frozenset({"starting", "working"})
_UNCALLED = ("limit",)

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What there is to draw: records as they are believed now, and the alarms that are open."""

    now: float
    jobs: Sequence[Record] = ()
    """Every live one, and those that ended lately."""
    sessions: Sequence[Record] = ()
    marks: Sequence[Mark] = ()
    alarms: Sequence[Record] = ()
    word: Word = field(default=lambda sentence: sentence)


def bearings(sight: Sight) -> dict[str, Any]:
    """Return the picture (keys in docs/orchestrators.md)."""
    known = {(str(one.get("entity")), str(one.get("state"))): one for one in sight.alarms}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in SECTIONS}
    for record in sight.jobs:
        section, item = _job(record, sight, known)
        if section is not None:
            found[section].append(item)
    for record in sight.sessions:
        for section, item in _session(record, sight, known):
            found[section].append(item)
    for mark in sight.marks:
        found["captains_call"].append(_called(mark_condition(mark, sight.word), sight, known))
    found["captains_call"].sort(key=lambda item: (item["acknowledged"], item["at"] or 0.0))
    found["recently_landed"].sort(key=lambda item: -(item["at"] or 0.0))
    shown = {name: items[:MOST] for name, items in found.items()}
    picture = {
        "schema_version": SCHEMA_VERSION,
        "captured_at": sight.now,
        "generation": _generation(found),
        "counts": {name: len(items) for name, items in found.items()},
        **shown,
    }
    picture["pulse"] = pulse(picture)
    return picture


def pulse(picture: Mapping[str, Any]) -> str:
    """Return the picture in one line of at most 160 characters."""
    counts, under, call = picture["counts"], picture["underway"], picture["captains_call"]
    if not any(counts.values()):
        return "all quiet"
    parts = [f"♥ {counts['underway']} running"]
    if under:
        first = under[0]
        model = f"{first['model']} on " if first["model"] else ""
        more = f", +{counts['underway'] - 1} more" if counts["underway"] > 1 else ""
        parts.append(f"{model}'{plain(first['name'], 30)}'{more}")
    asked = [item for item in call if not item["acknowledged"]]
    names = ", ".join(plain(item["name"], 24) for item in asked[:2])
    more = f" +{len(asked) - 2} more" if len(asked) > 2 else ""
    parts.append(f"⚠ needs you: {names}{more}" if asked else "nothing needs you")
    if counts["recently_landed"]:
        newest = picture["recently_landed"][0]
        parts.append(f"{counts['recently_landed']} landed, last '{plain(newest['name'], 24)}' {newest['state']}")
    if counts["charted_next"]:
        parts.append(f"{counts['charted_next']} next")
    return plain(" · ".join(parts), 160)


def digest_due(
    picture: Mapping[str, Any], last: tuple[str, float], rest_s: float, cadence_s: float, now: float
) -> bool:
    """Whether a digest of this picture is to be told. ``last``: the newest one's generation and time.

    Once for each picture: at the cadence, or soon when all work has come to rest and something came to its end, or its
    turn's end. ``rest_s`` is how long nothing has been at work.
    """
    generation, told_at = last
    if picture["generation"] == generation or not any(picture["counts"].values()):
        return False
    passed = now - told_at
    return not 0 <= passed < cadence_s or (rest_s >= REST_S and _came_to_rest(picture, told_at))


def at_work(picture: Mapping[str, Any]) -> bool:
    """Whether anything is under way, or about to be."""
    queued = (item for item in picture["charted_next"] if item["kind"] == "job" and item["state"] == "queued")
    return bool(picture["counts"]["underway"]) or any(queued)


def _came_to_rest(picture: Mapping[str, Any], since: float) -> bool:
    ended = (item for item in picture["recently_landed"] if item["state"] in ("done", "done?", "exited"))
    idle = (item for item in picture["charted_next"] if item["kind"] == "session")
    return any((item["at"] or 0.0) > since for item in (*ended, *idle))


def _job(record: Record, sight: Sight, known: Mapping[tuple[str, str], Record]) -> tuple[str | None, dict[str, Any]]:
    state, since = str(record.get("state")), _number(record.get("state_since") or record.get("accepted_at"))
    ended = record.get("ended")
    if ended is not None and sight.now - _number(ended) > LANDED_S:
        return None, {}
    condition = job_condition(record, since, sight.word)
    if condition is not None and not condition.passing:
        item = _called(condition, sight, known) | _job_words(record)
        if not views.is_live(record) and item["acknowledged"]:
            return "recently_landed", item
        return "captains_call", item
    summary = condition.summary if condition is not None else sight.word(_job_summary(record))
    item = _item("job", str(record.get("job_id")), state, _number(ended) if ended is not None else since, sight.now)
    item |= {"name": job_name(record), "summary": plain(summary, SUMMARY_CHARS), **_job_words(record)}
    if ended is not None:
        return "recently_landed", item
    if views.is_live(record) and record.get("supervision") == views.UNSUPERVISED:
        return "captains_call", item | {"state": "verdict due"}
    return ("underway" if state in _UNDER_WAY else "charted_next"), item


def _session(
    record: Record, sight: Sight, known: Mapping[tuple[str, str], Record]
) -> Iterable[tuple[str, dict[str, Any]]]:
    state, since = str(record.get("state")), _number(record.get("state_since") or record.get("accepted_at"))
    ended = record.get("ended")
    live = session_views.is_live(record)
    if not live and sight.now - _number(ended) > LANDED_S:
        return
    model = {"model": _text(record.get("model_observed") or record.get("model")), "lane": _text(record.get("lane"))}
    conditions = session_conditions(record, since, since, sight.word)
    for condition in conditions:
        if not condition.passing:
            yield "captains_call", _called(condition, sight, known) | model
    if any(condition.state not in ("drift", *_UNCALLED) and not condition.passing for condition in conditions):
        return
    at = _number(ended) if not live and ended is not None else since
    item = _item("session", str(record.get("session_id")), state, at, sight.now) | model
    summary = conditions[0].summary if conditions and conditions[0].passing else sight.word(_session_summary(record))
    item |= {"name": session_name(record), "summary": plain(summary, SUMMARY_CHARS)}
    if not live:
        yield "recently_landed", item
    elif not any(condition.state == "limit" for condition in conditions):
        yield ("underway" if state in _BUSY else "charted_next"), item


def _called(condition: Condition, sight: Sight, known: Mapping[tuple[str, str], Record]) -> dict[str, Any]:
    kind, _, whose = condition.entity.partition(":")
    alarm = known.get(condition.key) or {}
    item = _item(kind, whose, condition.state, condition.since, sight.now)
    return item | {
        "name": condition.label,
        "summary": plain(condition.summary, SUMMARY_CHARS),
        "lane": condition.lane,
        "alarm_id": alarm.get("alarm_id"),
        "acknowledged": alarm.get("acknowledged_at") is not None,
    }


def _item(kind: str, whose: str, state: str, at: float, now: float) -> dict[str, Any]:
    return {
        "kind": kind,
        "id": plain(whose, 120),
        "name": "",
        "state": plain(state, 30),
        "at": at or None,
        "age_s": round(max(0.0, now - at), 1) if at else None,
        "summary": "",
        "model": None,
        "lane": None,
        "alarm_id": None,
        "acknowledged": False,
    }


def _job_words(record: Record) -> dict[str, Any]:
    return {"model": _text(record.get("model_observed") or record.get("model")), "lane": _text(record.get("lane"))}


def _job_summary(record: Record) -> str:
    progress = record.get("progress")
    marker = progress.get("last_marker") if isinstance(progress, Mapping) else None
    return plain(marker or record.get("reason") or record.get("note") or job_name(record), SUMMARY_CHARS)


def _session_summary(record: Record) -> str:
    turns = int(_number(record.get("turns")))
    words = f"{turns} turn{'' if turns == 1 else 's'}" if turns else "no turn yet"
    return plain(record.get("reason") or (f"waits for you, {words}" if record.get("state") == "idle" else words), 80)


def _generation(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return what names the picture: the same for the same work in the same states, whatever the time.

    A session that rests again, after another turn, is news: since when it does is part of the name.
    """
    lines = sorted(
        f"{name}\0{item['kind']}\0{item['id']}\0{item['state']}\0{item['acknowledged']}"
        f"\0{item['at'] if (name, item['kind']) == ('charted_next', 'session') else ''}"
        for name, items in found.items()
        for item in items
    )
    return f"{zlib.crc32(chr(1).join(lines).encode()):08x}-{len(lines)}"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _text(value: object) -> str | None:
    return plain(value, 60) or None
