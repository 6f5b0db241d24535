"""The few settings that the front end itself obeys, read cheaply.

Precedence is the product's (environment > config.toml > default). The whole settings module is loaded
only for people who have a config file: it costs a third of a warm command.
"""

from __future__ import annotations

import os
import sys


def number(key: str, default: float) -> float:
    """Return a numeric setting; ``default`` for a value that is no number (the supervisor complains about it)."""
    given = os.environ.get(f"OSRC_{key.upper()}")
    if given is None and _has_config():
        from ..state.settings import Settings, config_file  # noqa: PLC0415 - see above

        data = config_file(os.environ).read_bytes()
        kept = Settings.load(os.environ, data).number(key)
        return default if kept is None else kept
    try:
        value = float(given) if given else default
    except ValueError:
        return default
    return value if value == value and abs(value) < 1e12 else default  # noqa: PLR0124 - NaN differs from itself


def _has_config() -> bool:
    """Whether a config file may exist. Only Linux has a place that is known without platformdirs."""
    if not sys.platform.startswith("linux"):
        from ..state.settings import config_file  # noqa: PLC0415 - see above

        return config_file(os.environ).is_file()
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - no pathlib here
    return os.path.isfile(f"{folder}/outsourcerer/config.toml")  # noqa: PTH113 - as above
