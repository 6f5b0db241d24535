"""Staying with a question until it is decided, and printing it: the answer on stdout, who agreed beside it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import exit_codes
from .errors import CliError
from .loop_wait import leave, to_its_end
from .loops import Loop
from .options import Globals
from .output import answer_json, answer_untrusted, say
from .place import open_regular
from .reach import Reach
from .render.loop import LoopDisplay
from .render.plain import one_line

_EXITS: Mapping[str, int] = {
    "consensus": exit_codes.DONE,
    "majority": exit_codes.DONE,
    "contract": exit_codes.DONE,
    "adjudicated": exit_codes.DONE,
    "only_answer": exit_codes.UNVERIFIED,
    "dissent": exit_codes.UNVERIFIED,
    "undecided": exit_codes.REFUSED,
    "none": exit_codes.REFUSED,
}
"""What a question came to → the exit code."""
_SHOWN = 400
_LIMIT = 64 * 1024 * 1024


def staying(options: Globals, reach: Reach, found: Loop, *, detached: bool) -> int:
    """Wait until a question is decided and print it, or print its id and leave; return the exit code.

    Ctrl-C cancels it. When the terminal is lost it goes on.
    """
    loop_id = str(found["loop_id"])
    if detached:
        return leave(options, reach, found, f"its answer: osrc second-opinion resume {loop_id}", "it is decided")
    display = LoopDisplay(quiet=options.quiet or options.json)
    found, code = to_its_end(reach, loop_id, display, goes_on=f"it goes on: osrc second-opinion resume {loop_id}")
    if found["state"] == "canceled":
        say(f"canceled: osrc second-opinion resume {loop_id} goes on")
        return code or exit_codes.INTERRUPTED
    return code or show(options, verdict_of(found))


def verdict_of(found: Loop) -> dict[str, Any]:
    """Return what a question came to, as it is kept (``actors/loop_opinion.py``). Raises CliError."""
    path = f"{found['folder']}/verdict.json"
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            verdict = json.loads(file.read(_LIMIT))
    except (OSError, ValueError):
        verdict = None
    if not isinstance(verdict, dict) or verdict.get("outcome") not in _EXITS:
        reason = found.get("reason") or "nothing is kept of what it came to"
        raise CliError("no_result", f"{found['loop_id']}: {reason}", f"osrc loop status {found['loop_id']}")
    return verdict


def facts(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a question came to, as ``--json`` has it."""
    return {key: value for key, value in verdict.items() if key != "hint"}


def show(options: Globals, verdict: Mapping[str, Any]) -> int:
    """Print what a question came to; return the exit code."""
    rows, code = list(verdict["members"]), _EXITS[str(verdict["outcome"])]
    if options.json:
        answer_json(facts(verdict))
        return code
    if verdict["answer"] is not None:
        answer_untrusted(str(verdict["answer"]).encode())
    else:
        for row in rows:
            text = row["answer"] or f"(no answer: {row['fault']})"
            answer_untrusted(f"--- {row['label']} ({row['who']})\n{text}\n".encode())
    _beside(options, verdict, rows)
    return code


def _beside(options: Globals, verdict: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    if not options.quiet:
        say(f"{str(verdict['outcome']).replace('_', ' ')}: {one_line(str(verdict['why']), 500)}")
        for row in rows:
            said = row["fault"] or ("agrees" if row["agrees"] else _dissent(verdict, row))
            say(f"  {one_line(str(row['who']), 100)}: {one_line(said, _SHOWN + 40)}")
        say(f"all answers: osrc loop status {verdict['opinion_id']} names their jobs (osrc result JOB)")
    if verdict["hint"]:
        say(f"  try: {one_line(str(verdict['hint']), 300)}")


def _dissent(verdict: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    if verdict["answer"] is None:
        return "says otherwise"
    return f"says otherwise: {one_line(str(row['answer']), _SHOWN)}"
