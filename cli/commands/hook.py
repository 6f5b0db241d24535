"""``osrc hook``: what the plugin's hooks run. Short, bounded, and never a reason for a session to stop."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

import click

from .. import exit_codes
from ..in_delegate import in_delegate
from ..options import Command, Globals
from ..output import answer, flush

BOUND_S = 10.0
"""After so long the process leaves, whatever it waits for. Claude Code gives a hook of the plugin 15 s."""

CHARS = 3000
"""A hook's words go into the session's context: few of them."""

INPUT_LIMIT = 1 << 20


@click.command(cls=Command)
@click.argument("event", type=click.Choice(["session-start", "stop"]))
@click.pass_obj
def hook(options: Globals, event: str) -> int:
    """What the Claude Code plugin's hooks run. Exits 0 within seconds whatever happens, and says nothing in a delegate.

    session-start prints what osrc brief does, shortly. stop names jobs that run and that nobody has looked at
    (OSRC_UNWATCHED_AFTER; OSRC_BLIND_TURN_GUARD=0: never).
    """
    options.quiet = True
    guard = threading.Timer(BOUND_S, os._exit, (exit_codes.DONE,))
    guard.daemon = True
    guard.start()
    try:
        if in_delegate() is None:
            words = _session_start(options) if event == "session-start" else _stop(options)
            if words:
                answer(words)
                flush()
    except Exception:  # noqa: BLE001 - a hook must not be what a session fails by; osrc doctor says what is wrong
        return exit_codes.DONE
    finally:
        guard.cancel()
    return exit_codes.DONE


def _session_start(options: Globals) -> str:
    from ..plugin_place import launcher  # noqa: PLC0415 - as below
    from .brief import overview, overview_lines  # noqa: PLC0415 - not for the other hook

    shown, _ = overview(options)
    lines = ["Outsourcerer is here (skill outsourcerer). A glance, before work is handed on:"]
    lines += [line[:300] for line in overview_lines(shown, time.time())]
    lines.append(f'osrc is: sh "{os.environ.get("OSRC_LAUNCHER") or launcher()}"')
    return "\n".join(lines)[:CHARS]


def _stop(options: Globals) -> str:
    from ...state.settings import Settings, config_file, read_config  # noqa: PLC0415 - not for the help
    from ..place import home_root  # noqa: PLC0415 - as above
    from ..unwatched import unseen  # noqa: PLC0415 - as above

    if _told().get("stop_hook_active"):  # it goes on because of a hook already: once is enough
        return ""
    place = config_file(os.environ)
    if not Settings.load(os.environ, read_config(place), source=place).flag("blind_turn_guard"):
        return ""
    found = unseen(home_root(os.environ, options.home))
    if not found:
        return ""
    words = f"{found}. Look now (osrc rundown), or say that this runs unwatched."
    return json.dumps({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": words[:CHARS]}})


def _told() -> dict[str, Any]:
    """Return what the host says on stdin; nothing for what is no object."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    try:
        value = json.loads(sys.stdin.buffer.read(INPUT_LIMIT))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
