"""Whom the heartbeat wakes, and how: kept in one private file, so that the next supervisor wakes them too.

    arming = armed_by(settings, environment)      # what a launch brought with it; pure
    write_arming(home, arming)

The command is the person's own words for a shell; no text of ours or of a delegate's is ever put into it. The key that
signs webhooks is never written: whoever launches next brings it again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from .errors import StateError, printable
from .files import read_private, write_private
from .home import Home
from .settings import Settings

FILE = "heartbeat.json"
_LIMIT = 256 * 1024
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

KEPT = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM", "TMUX", "TMUX_PANE", "DISPLAY"}
    | {"WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}
    | {"SSH_AUTH_SOCK", "VIRTUAL_ENV", "PYTHONPATH", "STY", "ZELLIJ", "OSRC_CONTROLLER_ID"}
)
"""Variables of whoever armed it that its command is run with: how to find programs and screens, and no keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arming:
    """Every sink there is, and the heartbeat's own windows. Without a sink nobody is woken."""

    wake: str | None = None
    """A command for ``sh``."""
    sink: str | None = None
    """An existing file, FIFO or terminal that lines are appended to."""
    webhook: str | None = None
    webhook_secret: str | None = field(default=None, repr=False)
    webhook_signed: bool = False
    """Whether it is to be signed: without the key nothing is sent then."""
    desktop: bool = False
    cadence_s: float = 300.0
    wake_timeout_s: float = 20.0
    digest: bool = True
    environment: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def sinks(self) -> tuple[str, ...]:
        """Return the names of the sinks there are."""
        found = (("command", self.wake), ("file", self.sink), ("webhook", self.webhook), ("desktop", self.desktop))
        return tuple(name for name, given in found if given)


def armed_by(settings: Settings, environment: Mapping[str, str]) -> Arming:
    """Return what a caller's settings say. Raises StateError BAD_CONFIG for a sink that can't be one."""
    secret = settings.text("heartbeat_webhook_secret")
    found = Arming(
        wake=settings.text("heartbeat_wake"),
        sink=settings.text("heartbeat_sink"),
        webhook=settings.text("heartbeat_webhook"),
        webhook_secret=secret,
        webhook_signed=secret is not None,
        desktop=settings.flag("heartbeat_desktop"),
        cadence_s=max(1.0, settings.number("heartbeat_cadence") or 300.0),
        wake_timeout_s=max(1.0, settings.number("heartbeat_wake_timeout") or 20.0),
        digest=settings.flag("heartbeat_wake_digest"),
        environment={name: value for name, value in environment.items() if name in KEPT or name.startswith("LC_")},
    )
    check(found)
    return found


def check(arming: Arming) -> None:
    """Raise StateError BAD_CONFIG for a sink that can't be one."""
    if arming.wake is not None and not arming.wake.strip():
        raise StateError("bad_config", "the heartbeat's command is blank", "OSRC_HEARTBEAT_WAKE=CMD, or leave it out")
    if arming.sink is not None and not os.path.isabs(arming.sink):  # noqa: PTH117 - a string check
        raise StateError(
            "bad_config",
            f"the heartbeat's sink {printable(arming.sink)} is no absolute path",
            "give the whole path of an existing file, FIFO or terminal: OSRC_HEARTBEAT_SINK=/path",
        )
    if arming.webhook is not None:
        try:
            parts = urlsplit(arming.webhook)
            safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
        except ValueError:
            safe = False
        if not safe or not parts.hostname:
            raise StateError(
                "bad_config",
                "the heartbeat's webhook is no https address (http only on this machine)",
                "OSRC_HEARTBEAT_WEBHOOK=https://host/path",
            )


def target_mark(name: str, arming: Arming) -> str:
    """Return what tells where a sink leads from where it led before, and gives nothing of it away."""
    whole = {"command": arming.wake, "file": arming.sink, "webhook": arming.webhook}.get(name) or ""
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def joined(known: Arming, brought: Arming) -> Arming:
    """Return what holds once a launch came: each sink that it brought, and those that were known beside.

    >>> joined(Arming(wake="one", desktop=True), Arming(wake="two")).sinks
    ('command', 'desktop')
    """
    if not brought.sinks:
        secret = brought.webhook_secret if known.webhook_signed else None
        return replace(known, webhook_secret=secret) if secret else known
    whose = brought if brought.webhook else known
    return replace(
        brought,
        wake=brought.wake or known.wake,
        sink=brought.sink or known.sink,
        webhook=whose.webhook,
        webhook_secret=whose.webhook_secret,
        webhook_signed=whose.webhook_signed,
        desktop=brought.desktop or known.desktop,
        environment=brought.environment if brought.wake or not known.wake else known.environment,
    )


def replaced(known: Arming, brought: Arming) -> Arming:
    """Return what holds once somebody started it: the sinks that they named, else those that were known."""
    return brought if brought.sinks else joined(known, brought)


def read_arming(home: Home) -> Arming | None:
    """Return what was kept; None when there is nothing, or nothing that can be read."""
    try:
        data = read_private(home.root / FILE, _LIMIT)
        kept = json.loads(data) if data else None
    except (StateError, ValueError, RecursionError):
        return None
    return _parsed(kept) if isinstance(kept, dict) else None


def write_arming(home: Home, arming: Arming) -> None:
    """Keep it, without the key. Raises StateError when the disk says no."""
    kept = {name: value for name, value in asdict(arming).items() if name != "webhook_secret"}
    write_private(home.root / FILE, json.dumps({**kept, "sinks": arming.sinks}, ensure_ascii=False).encode())


def _parsed(kept: Mapping[str, Any]) -> Arming | None:
    texts: dict[str, Any] = {name: kept.get(name) for name in ("wake", "sink", "webhook")}
    numbers: dict[str, Any] = {name: kept.get(name) for name in ("cadence_s", "wake_timeout_s")}
    environment = kept.get("environment")
    if not all(value is None or isinstance(value, str) for value in texts.values()):
        return None
    if not all(isinstance(value, int | float) and 0 < value < 1e9 for value in numbers.values()):
        return None
    if not isinstance(environment, dict) or not all(isinstance(value, str) for value in environment.values()):
        return None
    flags: dict[str, Any] = {name: bool(kept.get(name)) for name in ("webhook_signed", "desktop", "digest")}
    return Arming(**texts, **numbers, **flags, environment=environment)
