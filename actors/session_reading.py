"""Reading a session's events as they come: what the supervisor makes of them. Pure but for ``Tail``."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..lanes.model_truth import same
from ..lanes.values import as_list, as_number, as_object, as_word
from ..messages.session import GaugeWindow, LimitsObserved, SessionFact, SessionObserved, SessionRecord
from ..messages.vocabulary import Effort, SessionMode, SessionState
from ..state.files import open_regular, read_at
from ..state.session_machine import Seen

CHUNK = 256 * 1024
LINE_LIMIT = 1 << 20


class Tail:
    """Whole lines of a growing file, from an offset on."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        self._path = path
        self.offset = offset

    def more(self) -> tuple[list[Mapping[str, Any]], bool]:
        """Return the next events and whether there may be more already. Reads a bounded piece."""
        try:
            descriptor = open_regular(self._path)
        except OSError:
            return [], False
        try:
            data = read_at(descriptor, CHUNK, self.offset)
            if data and b"\n" not in data:
                data = read_at(descriptor, LINE_LIMIT, self.offset)
        except OSError:
            return [], False
        finally:
            os.close(descriptor)
        whole = data.rfind(b"\n") + 1
        if not whole and len(data) >= LINE_LIMIT:
            whole = len(data)  # no line of ours is so long: skip what is none
        self.offset += whole
        return list(_objects(data[:whole].split(b"\n"))), whole > 0 and len(data) >= CHUNK


@dataclass(slots=True)
class News:
    """What a piece of events means."""

    seen: list[Seen] = field(default_factory=list)
    facts: list[SessionFact] = field(default_factory=list)
    turns: int = 0


def read_news(record: SessionRecord, events: Iterable[Mapping[str, Any]], turns: int) -> News:
    """Fold events into what changes the record. ``turns`` have ended before."""
    news = News(turns=turns)
    observed: dict[str, Any] = {}
    for event in events:
        match event.get("type"):
            case "state":
                with contextlib.suppress(ValueError):
                    state = SessionState(str(event.get("state")))
                    news.seen.append(Seen(state, as_word(event.get("evidence"))))
            case "start":
                observed |= _named(event)
                observed |= _pinned(record, observed, fresh_model=True)
            case "switched":
                observed |= _switched(event)
                observed |= _pinned(record, observed, fresh_model=False)
            case "end":
                news.turns += 1
                observed["turns"] = news.turns
            case "limits":
                news.facts.append(_limits(record, event))
            case _:
                pass
    known = {"model_observed": record.model_observed, "conversation": record.conversation, "turns": record.turns}
    known |= {"model": record.model, "model_pin": record.model_pin}
    fresh = {name: value for name, value in observed.items() if known.get(name) != value}
    if fresh:
        news.facts.append(SessionObserved(session_id=record.session_id, **{"turns": news.turns} | fresh))
    return news


def _named(event: Mapping[str, Any]) -> dict[str, Any]:
    found = {"model_observed": as_word(event.get("model")), "conversation": as_word(event.get("conversation"))}
    return {name: word for name, word in found.items() if word is not None}


def _pinned(record: SessionRecord, observed: Mapping[str, Any], *, fresh_model: bool) -> dict[str, Any]:
    """Whether the model that answers is the one asked for. After a switch what was seen before proves no drift."""
    asked = observed.get("model") or record.model
    seen = observed.get("model_observed") or record.model_observed
    if asked is None or seen is None:
        return {}
    if same(asked, seen):
        return {"model_pin": "kept"}
    return {"model_pin": "drifted" if fresh_model else "unknown"}


def _switched(event: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if (model := as_word(event.get("model"))) is not None:
        found["model"] = model
    with contextlib.suppress(ValueError):
        found["effort"] = Effort(str(event.get("effort")))
    with contextlib.suppress(ValueError):
        found["mode"] = SessionMode(str(event.get("mode")))
    return found


def _limits(record: SessionRecord, event: Mapping[str, Any]) -> LimitsObserved:
    windows = [
        GaugeWindow(
            name=as_word(row.get("name")) or "window",
            utilization=as_number(row.get("utilization")),
            resets_at=as_number(row.get("resets_at")),
        )
        for row in map(as_object, as_list(event.get("windows")))
    ]
    return LimitsObserved(
        session_id=record.session_id,
        lane=record.lane,
        pool=record.pool,
        rejected=event.get("rejected") is True,
        windows=tuple(windows[:16]),
    )


def _objects(lines: Iterable[bytes]) -> Iterable[Mapping[str, Any]]:
    for line in lines:
        if line:
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(line)
                if isinstance(value, dict):
                    yield value
