"""The few settings that the front end itself obeys, read cheaply.

Precedence is the product's (environment > config.toml > default). The whole settings module is loaded
only for people who have a config file: it costs a third of a warm command.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..state.settings import Settings

_YES = frozenset({"1", "true", "yes", "on", "y"})


def number(key: str, default: float) -> float:
    """Return a numeric setting; ``default`` for a value that is no number (the supervisor complains about it)."""
    given = os.environ.get(f"OSRC_{key.upper()}")
    if not given and _has_config():
        kept = _load().number(key)
        return default if kept is None else kept
    try:
        value = float(given) if given else default
    except ValueError:
        return default
    return value if value == value and abs(value) < 1e12 else default  # noqa: PLR0124 - NaN differs from itself


def flag(key: str) -> bool:
    """Return whether a setting is on. A word that is none of the known ones is off."""
    given = os.environ.get(f"OSRC_{key.upper()}")
    if not given and _has_config():
        return _load().flag(key)
    return (given or "").strip().lower() in _YES


def configured(key: str) -> bool:
    """Whether config.toml sets this."""
    return _has_config() and _load().is_set(key)


def _load() -> Settings:
    from ..state.settings import Settings, config_file, read_config  # noqa: PLC0415 - see above

    place = config_file(os.environ)
    return Settings.load(os.environ, read_config(place), source=place)


def _has_config() -> bool:
    """Whether a config file may exist. Only Linux has a place that is known without platformdirs."""
    if not sys.platform.startswith("linux"):
        from ..state.settings import config_file  # noqa: PLC0415 - see above

        return config_file(os.environ).is_file()
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - no pathlib here
    return os.path.isfile(f"{folder}/outsourcerer/config.toml")  # noqa: PTH113 - as above
