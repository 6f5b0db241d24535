"""What CLIs said of their own models, as it is kept: ``{LANE: {"program", "models": [...], "fetched_at"}}``. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..values import as_list, as_number, as_object, as_word

LANES_CAP = 100
MODELS_CAP = 500


@dataclass(frozen=True, slots=True)
class Live:
    """One CLI's list."""

    program: str
    models: tuple[str, ...]
    fetched_at: float
    """Epoch seconds."""


def parse_live(content: bytes) -> Mapping[str, Live]:
    """Return the lists by lane; what is none is left out."""
    try:
        rows = as_object(json.loads(content))
    except (ValueError, RecursionError):
        return {}
    found = {}
    for lane, value in list(rows.items())[:LANES_CAP]:
        row = as_object(value)
        at, program = as_number(row.get("fetched_at")), as_word(row.get("program"))
        models = tuple(name for item in as_list(row.get("models"))[:MODELS_CAP] if (name := as_word(item)))
        if at is not None and program and models:
            found[lane] = Live(program, models, at)
    return found


def dump_live(lists: Mapping[str, Live]) -> bytes:
    """Return what ``parse_live`` reads."""
    rows = {
        lane: {"program": one.program, "models": list(one.models), "fetched_at": one.fetched_at}
        for lane, one in sorted(lists.items())
    }
    return json.dumps(rows, indent=1).encode()
