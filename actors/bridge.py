"""Finding the proxy of the claudex lane. It is only looked for: never installed, never started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..lanes.loopback import is_loopback, normal_base
from ..messages.paths import home_of
from .local_servers import list_models

PROBE_S = 4.0
FILE = "~/.cli-proxy-api/config.yaml"
FILE_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True)
class FoundBridge:
    """The proxy as it is set: whether or not it answers."""

    base_url: str | None
    """Without ``/v1``; None when the setting is no address that a token may be sent to."""
    models: tuple[str, ...] = ()
    """What it lists to the token; empty when it does not answer."""
    token: str | None = field(default=None, repr=False)


def find_bridge(
    environment: Mapping[str, str], *, url: str | None, token: str | None, config: str | None
) -> FoundBridge:
    """Ask the proxy for its models. Its token is the one set, else the first key of its own file."""
    base = normal_base(url or "")
    if base is None or not (is_loopback(base) or base.startswith("https://")):
        return FoundBridge(None)
    found = token or first_key(_read(config or FILE, home_of(environment)))
    models = list_models(base, timeout_s=PROBE_S, key=found) if found else None
    return FoundBridge(base.removesuffix("/v1"), models or (), found)


def first_key(content: str) -> str | None:
    """Return the first item of the top-level list ``api-keys`` in a YAML file, None where there is none."""
    inside = False
    for raw in content.splitlines():
        line = raw.partition(" #")[0].rstrip()
        if not line or line.lstrip().startswith("#"):
            continue
        if line.startswith("api-keys:"):
            inline = line.removeprefix("api-keys:").strip()
            if inline.startswith("["):
                return _plain(inline.strip("[]").partition(",")[0])
            inside = not inline
        elif inside and line.lstrip().startswith("- "):
            return _plain(line.lstrip()[2:])
        elif not line[0].isspace():
            inside = False
    return None


def _plain(word: str) -> str | None:
    value = word.strip().strip("\"'").strip()
    return value if value and value.isascii() and value.isprintable() and " " not in value else None


def _read(path: str, home: str) -> str:
    place = Path(home + path[1:] if path.startswith("~") else path)
    try:
        if not place.is_file() or place.stat().st_size > FILE_LIMIT:
            return ""
        return place.read_text("utf-8", "replace")
    except (OSError, ValueError):
        return ""
