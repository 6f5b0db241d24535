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
from ..options import Command, Globals
from ..output import answer, flush
from ..render.plain import one_line

BOUND_S = 10.0
"""After so long the process leaves, whatever it waits for. Claude Code gives a hook of the plugin 15 s."""

CHARS = 3000
"""A hook's words go into the session's context: few of them."""

INPUT_LIMIT = 1 << 20
NAMED = 5
_DEPTHS = ("OUTSOURCERER_DEPTH", "OSRC_DEPTH")


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
        if not any(os.environ.get(name, "0").strip() not in ("", "0") for name in _DEPTHS):
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
    from .brief import glance, glance_lines  # noqa: PLC0415 - not for the other hook

    shown, _ = glance(options)
    lines = ["Outsourcerer is here (skill outsourcerer). A glance, before work is handed on:"]
    lines += [line[:300] for line in glance_lines(shown, time.time())]
    lines.append(f'osrc is: sh "{os.environ.get("OSRC_LAUNCHER") or launcher()}"')
    return "\n".join(lines)[:CHARS]


def _stop(options: Globals) -> str:
    from ...state.settings import Settings, config_file, read_config  # noqa: PLC0415 - not for the help
    from ..place import home_root  # noqa: PLC0415 - as above

    if _told().get("stop_hook_active"):  # it goes on because of a hook already: once is enough
        return ""
    place = config_file(os.environ)
    settings = Settings.load(os.environ, read_config(place), source=place)
    after = settings.number("unwatched_after") or 0.0
    if after <= 0 or not settings.flag("blind_turn_guard"):
        return ""
    found = unwatched(read_hint(home_root(os.environ, options.home)), time.time(), after)
    if not found:
        return ""
    told = {"hookEventName": "Stop", "additionalContext": stop_words(found)[:CHARS]}
    return json.dumps({"hookSpecificOutput": told})


def read_hint(root: str) -> object:
    """Return what the supervisor last said of running jobs and when each was looked at; None: nothing can be read."""
    from ..place import open_regular  # noqa: PLC0415 - beside its only use

    try:
        with os.fdopen(open_regular(f"{root}/unwatched.json"), "rb") as file:
            hint = json.loads(file.read(INPUT_LIMIT))
        os.kill(int(hint["pid"]), 0)  # a supervisor that was killed says nothing of now
    except (OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None
    return hint


def unwatched(hint: object, now: float, after: float) -> list[tuple[str, float]]:
    """Return what those jobs are called that nobody has looked at for ``after`` seconds, and for how long. Pure.

    >>> unwatched({"jobs": [{"job_id": "1", "label": "docs", "since": 100.0}, {"job_id": "2", "since": 390}]}, 400, 120)
    [('docs', 300.0)]
    """
    rows = hint.get("jobs") if isinstance(hint, dict) else None
    found = []
    for row in rows if isinstance(rows, list) else ():
        since = row.get("since") if isinstance(row, dict) else None
        if isinstance(since, int | float) and not isinstance(since, bool) and now - since >= after:
            name = one_line(str(row.get("label") or row.get("job_id") or "a job"), 60)
            found.append((name, now - since))
    return found


def stop_words(found: list[tuple[str, float]]) -> str:
    """Return the sentence about jobs that nobody watches: what each is called, and for how many seconds.

    >>> stop_words([("docs", 300.0)])
    '1 job runs that nobody has looked at: docs (5 min). Look now (osrc status), or say that it runs unwatched.'
    """
    names = [f"{name} ({int(seconds // 60)} min)" for name, seconds in found[:NAMED]]
    more = f", and {len(found) - NAMED} more" if len(found) > NAMED else ""
    head = f"{len(found)} job runs" if len(found) == 1 else f"{len(found)} jobs run"
    verb = "it runs" if len(found) == 1 else "they run"
    listed = ", ".join(names) + more
    return f"{head} that nobody has looked at: {listed}. Look now (osrc status), or say that {verb} unwatched."


def _told() -> dict[str, Any]:
    """Return what the host says on stdin; nothing for what is no object."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    try:
        value = json.loads(sys.stdin.buffer.read(INPUT_LIMIT))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
