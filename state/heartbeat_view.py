"""The heartbeat as ``osrc heartbeat status`` shows it: read from the state home, with or without a supervisor."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from .alarms_reader import Beat, beat, open_alarms
from .attention import plain
from .heartbeat_file import Arming, read_arming, target_mark
from .home import Home
from .reader import Reader

_TOLD = "SELECT at, body FROM facts WHERE kind = 'alarm.told' ORDER BY seq DESC LIMIT 50"


def heartbeat_object(reader: Reader, home: Home, now: float, *, running: bool) -> dict[str, Any]:
    """Return the object (keys in docs/orchestrators.md). ``running``: whether a supervisor is there to watch."""
    known, arming = beat(reader), read_arming(home) or Arming()
    told = _last_told(reader, arming)
    return {
        "state": _state(known, running=running),
        "since": known.at if known is not None else None,
        "sinks": [
            {"sink": name, "target": _target(name, arming), **told.get(name, {"result": None, "why": None, "at": None})}
            for name in arming.sinks
        ],
        "cadence_s": arming.cadence_s,
        "digest": arming.digest,
        "alarms": [_alarm(one, now) for one in open_alarms(reader)],
    }


def _state(known: Beat | None, *, running: bool) -> str:
    if known is None:
        return "not armed"
    if not known.armed:
        return "stopped"
    return "watching" if running else "no supervisor"


def _alarm(record: dict[str, Any], now: float) -> dict[str, Any]:
    copied = ("alarm_id", "entity", "state", "kind", "job_id", "session_id", "lane", "since", "pushes", "told")
    since = record.get("since")
    return {
        **{name: record.get(name) for name in copied},
        "label": plain(record.get("label"), 80),
        "summary": plain(record.get("summary"), 160),
        "acknowledged_at": record.get("acknowledged_at"),
        "age_s": round(max(0.0, now - since), 1) if isinstance(since, int | float) else None,
    }


def _target(name: str, arming: Arming) -> str:
    """Return where a sink leads, without what may be secret: a command's first word, an address's host."""
    if name == "command":
        return plain((arming.wake or "").strip().partition(" ")[0], 80)
    if name == "file":
        return plain(arming.sink, 200)
    if name == "webhook":
        from urllib.parse import urlsplit  # noqa: PLC0415 - most people have no webhook

        with contextlib.suppress(ValueError):
            parts = urlsplit(arming.webhook or "")
            return plain(f"{parts.scheme}://{parts.hostname}" + (", signed" if arming.webhook_signed else ""), 120)
    return ""


def _last_told(reader: Reader, arming: Arming) -> dict[str, dict[str, Any]]:
    """Return what became of the newest push at each sink, as it is set now: not at what it led to before."""
    found: dict[str, dict[str, Any]] = {}
    for at, body in reader.select(_TOLD):
        with contextlib.suppress(ValueError, TypeError, KeyError):
            for one in json.loads(body).get("sinks") or ():
                name = str(one["sink"])
                if one.get("target") != target_mark(name, arming):
                    continue
                found.setdefault(name, {"result": one["result"], "why": one.get("why"), "at": float(at)})
    return found
