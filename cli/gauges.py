"""The plans' gauges for looking commands: from the store and from what others wrote down. Starts nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .preferences import number
from .render.lines import age
from .render.plain import one_line

if TYPE_CHECKING:
    from ..state.gauges import Gauge
    from ..state.reader import Reader

_WINDOWS = {"five_hour": "5h", "seven_day": "7d"}


def known(reader: Reader, home: str, now: float) -> list[Gauge]:
    """Return the newest reading of each window."""
    from ..actors.reported_gauges import told  # noqa: PLC0415 - where it is used
    from ..state.gauges import newest  # noqa: PLC0415 - as above
    from ..state.gauges_reader import stored  # noqa: PLC0415 - as above

    return newest([*stored(reader), *told(home, os.environ)], now)


def max_age_s() -> float:
    """Return how old a reading may be that decides anything."""
    from ..state.gauges import MAX_AGE_S  # noqa: PLC0415 - as above

    return number("limits_max_age", MAX_AGE_S)


def gauges(reader: Reader, home: str, now: float) -> list[dict[str, Any]]:
    """Return the newest reading of each window as an object."""
    from ..state.gauges import gauge_object  # noqa: PLC0415 - as above

    return [gauge_object(one, now, max_age_s()) for one in known(reader, home, now)]


def gauge_name(gauge: Mapping[str, Any]) -> str:
    """Return the pool and the window: ``claude 5h``."""
    return one_line(f"{gauge['key'].partition(':')[2]} {_WINDOWS.get(gauge['window'], gauge['window'])}", 60)


def gauge_words(gauge: Mapping[str, Any]) -> str:
    """Return how far it is used: ``42%``, ``at least 42%``, ``unknown``."""
    if gauge["utilization"] is None:
        return "unknown"
    share = f"{gauge['utilization'] * 100:.0f}%"
    return share if gauge["standing"] == "fresh" else f"at least {share}"


def gauge_source(gauge: Mapping[str, Any]) -> str:
    """Return who told it, and when."""
    began = "; the window has begun anew since" if gauge["standing"] == "over" else ""
    return f"told {age(gauge['age_s'])} ago ({one_line(str(gauge['source']), 20)}){began}"
