"""What of a job, a session or a lane needs whoever is in charge: from a record to conditions. Pure, no pydantic.

    told    job                               session                              lane
    ------  --------------------------------  -----------------------------------  --------
    again   needs-answer, blocked,            needs-answer (approval, trust,
            permission-blocked                login, menu)
    again*  maybe-stuck (stalled?,            unknown
            no-progress-writes)
    once    dead (failed, timeout, wedged,    dead (lost, or left by itself with   limit
            interrupted)                      a failure), limit, drift

    * soft: comes and goes by itself

Words of a delegate are data: one line, no control characters, bounded, and in neutral words where ``Word`` says so.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from .alarm_machine import Condition
from .limits import Mark

SUMMARY_CHARS = 160
EVIDENCE_CHARS = 300

Word = Callable[[str], str]
"""Puts a sentence of ours into neutral words (``lanes/secrets/wording.py``), or leaves it."""

DEAD_JOBS = frozenset({"failed", "timeout", "wedged", "interrupted"})
STUCK_JOBS = frozenset({"stalled?", "no-progress-writes"})
ASKING_SESSIONS = frozenset({"waiting-approval", "trust", "login", "menu"})

_OSC = re.compile(r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?")
_CSI = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?")
_ASKED = {
    "waiting-approval": "asks for approval",
    "trust": "asks whether the folder is trusted",
    "login": "wants a sign-in",
    "menu": "shows a menu",
}


def plain(text: object, most: int) -> str:
    r"""Return words that are not ours as one line of at most ``most`` characters, control sequences out. Linear.

    >>> plain("\x1b[31mred\x1b[0m\n and\u202e more", 12)
    'red and more'
    """
    raw = text if isinstance(text, str) else "" if text is None else str(text)
    raw = raw[: 8 * most + 256]
    flat = " ".join((raw if raw.isprintable() else _bare(raw)).split())
    return flat if len(flat) <= most else flat[: most - 1].rstrip() + "…"


def _bare(raw: str) -> str:
    bare = _CSI.sub("", _OSC.sub("", raw))
    return "".join(c if c.isprintable() else " " if c.isspace() else "" for c in bare)


def job_name(record: Mapping[str, Any]) -> str:
    """Return what a person calls a job: its label, else what it is."""
    label = plain(record.get("label"), 60)
    return label or f"{plain(record.get('verb'), 12)} on {plain(record.get('lane'), 40)}"


def session_name(record: Mapping[str, Any]) -> str:
    """Return what a person calls a session."""
    return plain(record.get("name"), 64) or plain(record.get("session_id"), 40)


def job_condition(record: Mapping[str, Any], since: float, word: Word) -> Condition | None:
    """Return what a job needs; None: nothing. ``since`` is when it came into its state, used while it lives."""
    state = record.get("state")
    job_id, name = str(record.get("job_id")), job_name(record)
    reason = plain(record.get("reason") or record.get("note"), EVIDENCE_CHARS)
    ended = record.get("ended")
    common: dict[str, Any] = {
        "entity": f"job:{job_id}",
        "job_id": job_id,
        "lane": record.get("lane"),
        "label": name,
        "since": float(ended) if isinstance(ended, int | float) else since,
        "evidence": f"{state}: {reason}" if reason else str(state),
    }
    because = f": {reason}" if reason else ""
    if state == "needs-answer":
        return Condition(state="needs-answer", summary=_said(word, f"job {name} asks{because}"), **common)
    if state in STUCK_JOBS:
        summary = _said(word, f"job {name} may be stuck{because}")
        return Condition(state="maybe-stuck", soft=True, summary=summary, **common)
    if state in ("blocked", "permission-blocked"):
        what = "is blocked" if state == "blocked" else "was denied a permission"
        return Condition(state=state, summary=_said(word, f"job {name} {what}{because}"), **common)
    if state in DEAD_JOBS:
        how = {"timeout": "ran out of time", "wedged": "hung"}.get(str(state), str(state))
        summary = _said(word, f"job {name} {how}{because}")
        return Condition(state="dead", once=True, passing=True, summary=summary, **common)
    return None


def session_conditions(record: Mapping[str, Any], since: float, drifted: float, word: Word) -> list[Condition]:
    """Return what a session needs. ``since`` is when it came into its state, ``drifted`` when its model did."""
    state, session_id, name = record.get("state"), str(record.get("session_id")), session_name(record)
    evidence = plain(record.get("evidence"), EVIDENCE_CHARS)
    common: dict[str, Any] = {
        "entity": f"session:{session_id}",
        "session_id": session_id,
        "lane": record.get("lane"),
        "label": name,
    }
    because = f": {evidence}" if evidence else ""
    told = f"{state}: {evidence}" if evidence else str(state)
    found: list[Condition] = []
    if state in ASKING_SESSIONS:
        summary = _said(word, f"session {name} {_ASKED[str(state)]}{because}")
        found.append(Condition(state="needs-answer", since=since, summary=summary, evidence=told, **common))
    elif state == "limit":
        summary = _said(word, f"session {name} says that a limit is used up{because}")
        limit = Condition(state="limit", kind="limit", once=True, since=since, summary=summary, evidence=told, **common)
        found.append(limit)
    elif state == "unknown":
        summary = _said(word, f"session {name} shows what is not understood{because}")
        found.append(Condition(state="unknown", soft=True, since=since, summary=summary, evidence=told, **common))
    elif state in ("lost", "exited"):
        return _ended(record, name, common, word)
    if record.get("model_pin") == "drifted":
        asked, seen = plain(record.get("model"), 60), plain(record.get("model_observed"), 60)
        summary = _said(word, f"session {name}: {asked} was asked for, {seen or 'another model'} answers")
        drift: dict[str, Any] = {"kind": "model-drift", "once": True, "since": drifted, "evidence": f"observed {seen}"}
        found.append(Condition(state="drift", summary=summary, **drift, **common))
    return found


def loop_condition(record: Mapping[str, Any], word: Word) -> Condition | None:
    """Return that a loop ended without success; None: it did not, or somebody wanted its end."""
    end = record.get("end")
    if end in (None, "success", "canceled"):
        return None
    loop_id, reason = str(record.get("loop_id")), plain(record.get("reason"), EVIDENCE_CHARS)
    name = plain(record.get("label"), 60) or loop_id
    ended = record.get("ended")
    return Condition(
        entity=f"loop:{loop_id}",
        state="blocked" if end == "blocked" else "dead",
        once=True,
        passing=True,
        since=float(ended) if isinstance(ended, int | float) else 0.0,
        label=name,
        summary=_said(word, f"loop {name} ended, {plain(end, 20)}: {reason}"),
        evidence=f"{plain(end, 20)}: {reason}",
    )


def mark_condition(mark: Mark, word: Word) -> Condition:
    """Return that a lane's limit is used up, until then."""
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(mark.until)) if 0 < mark.until < 4e9 else "later"
    unsure = "" if mark.evidence == "confirmed" else " (unverified)"
    return Condition(
        entity=f"lane:{mark.key}",
        state="limit",
        kind="limit",
        once=True,
        since=mark.measured_at,
        lane=mark.lane,
        label=plain(mark.key.partition(":")[2], 60),
        summary=_said(word, f"lane {mark.lane} is down until {until}{unsure}: {plain(mark.reason, 100)}"),
        evidence=mark.evidence,
    )


def _ended(record: Mapping[str, Any], name: str, common: dict[str, Any], word: Word) -> list[Condition]:
    """Return that a session died, unless somebody wanted its end or it left in order."""
    wanted = record.get("ending") is not None
    in_order = record.get("state") == "exited" and record.get("exit_code") == 0
    if wanted or in_order:
        return []
    reason, ended = plain(record.get("reason") or record.get("note"), EVIDENCE_CHARS), record.get("ended")
    summary = _said(word, f"session {name} has ended{': ' + reason if reason else ''}")
    since = float(ended) if isinstance(ended, int | float) else float(record.get("accepted_at") or 0.0)
    return [Condition(state="dead", once=True, passing=True, since=since, summary=summary, evidence=reason, **common)]


def _said(word: Word, sentence: str) -> str:
    return plain(word(sentence), SUMMARY_CHARS)
