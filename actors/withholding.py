"""What of its caller's environment a delegate is given: everything but the credentials of others.

``lanes/credentials.py`` decides by name and form; here the program's own configuration is read too, in which the
person may have named further keys as those of a provider of theirs.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping

from ..lanes.contract import Lane, PrivateFile
from ..lanes.credentials import Config, named_in, withheld
from ..lanes.grants import MCP_FILE
from ..messages.paths import home_of
from ..state import flags
from ..state.settings import Settings

CONFIG_LIMIT = 1 << 20
"""Bytes of a configuration that are looked at."""
SAID = 4
"""Names that a notice names; a dry run names all."""

_IN_SERVERS = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]{0,127})")


def withhold(
    environment: Mapping[str, str], lane: Lane, model: str | None, settings: Settings
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the environment that a lane's delegate is given, and the names that it is not given, sorted."""
    held = withheld(environment, lane.own, model, settings.words("pass_env"))
    if held and lane.own.configs:
        named = frozenset[str]().union(*(named_in(_text(one, environment), held) for one in lane.own.configs))
        held = tuple(name for name in held if name not in named)
    return {name: value for name, value in environment.items() if name not in held}, held


def asked_by_servers(files: Iterable[PrivateFile], held: tuple[str, ...]) -> frozenset[str]:
    """Return those of ``held`` that a granted MCP server's configuration refers to: they were granted with it."""
    text = "".join(file.content.decode("utf-8", "replace") for file in files if file.name == MCP_FILE)
    return frozenset(_IN_SERVERS.findall(text)) & frozenset(held)


def said_of(held: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a person is told of what was withheld: nothing, or one sentence."""
    if not held:
        return ()
    more = f" and {len(held) - SAID} more" if len(held) > SAID else ""
    return (f"not given to the delegate: {', '.join(held[:SAID])}{more} (OSRC_PASS_ENV=NAME passes one)",)


def _text(config: Config, environment: Mapping[str, str]) -> str:
    """Return a configuration's text; nothing where there is none. No pipe is waited for."""
    folder = environment.get(config.moved_by) if config.moved_by else None
    home = home_of(environment)
    path = f"{folder or config.folder.replace('~', home, 1)}/{config.file}"
    try:
        descriptor = os.open(path, flags.READ)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, CONFIG_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
