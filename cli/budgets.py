"""Money budgets as commands show them: what is set, and how much of a day's is spent. Read without a supervisor."""

from __future__ import annotations

import os
from typing import Any

from ..state.budgets import spent_since
from ..state.ledger_reader import NANO
from ..state.limits import day_of
from ..state.local_zone import local_zone
from ..state.reader import Reader
from ..state.settings import Settings, config_file, read_config


def budgets(reader: Reader, now: float) -> list[dict[str, Any]]:
    """Return an object for each budget that is set; amounts are USD. What runs now is not in ``spent_usd`` yet."""
    place = config_file(os.environ)
    settings = Settings.load(os.environ, read_config(place), source=place)
    found: list[dict[str, Any]] = []
    if (usd := settings.number("budget_day")) is not None:
        begins, ends = day_of(now, local_zone(os.environ))
        spent = spent_since(reader, begins)
        found.append(
            {
                "per": "day",
                "usd": usd,
                "spent_usd": spent.nano / NANO,
                "unknown_runs": spent.unknown_runs,
                "resets_at": ends,
                "origin": settings.origin("budget_day"),
            }
        )
    if (usd := settings.number("budget_job")) is not None:
        found.append({"per": "job", "usd": usd, "origin": settings.origin("budget_job")})
    return found
