"""From the words of ``osrc loop`` to one loop, and staying with it to its end."""

from __future__ import annotations

import os
from typing import Any

import click

from . import exit_codes, loops
from .errors import CliError
from .interrupts import heard
from .loop_wait import leave, to_its_end
from .loops import Loop
from .options import Globals
from .output import answer, answer_json, say
from .place import open_regular
from .reach import Reach
from .render.loop import LoopDisplay, conclusion, head, loop_lines
from .render.plain import one_line
from .render.plan import banner, disclosure
from .submit import job_request
from .task import read_task

_FILE_LIMIT = 1024 * 1024


@heard()
def start(  # noqa: PLR0913, PLR0917 - the parts of a request
    options: Globals, shape: str, verb: str, words: tuple[str, ...], flags: dict[str, Any], given: dict[str, Any]
) -> int:
    """Ask for a loop of one shape (``given`` are its own terms) and stay with it; return the exit code."""
    common = job_request(options, verb, read_task(words, flags["task_file"]), flags)
    terms = {
        "shape": shape,
        "check": flags.get("check") or None,
        "check_timeout_s": flags.get("check_timeout"),
        "guard": list(flags.get("guards") or ()) or None,
        "stall": flags.get("stall"),
        "allow_green": flags.get("allow_green"),
        "allow_check_edits": flags.get("allow_check_edits"),
        **given,
    }
    for one in terms.get("guard") or ():
        if not os.path.exists(os.path.join(str(common["cwd"]), one)):  # noqa: PTH110, PTH118 - no pathlib here
            raise click.UsageError(f"--guard {one!a} is not there: it would guard nothing.")
    minutes = flags["max_minutes"]
    limits = {
        "laps": flags["laps"],
        "seconds": None if minutes is None else minutes * 60.0,
        "usd": flags["max_usd"],
        "plan_percent": flags["max_plan"],
    }
    request: dict[str, Any] = {
        "terms": {key: value for key, value in terms.items() if value is not None},
        "limits": {key: value for key, value in limits.items() if value is not None},
        "common": common,
        "launch": bool(flags.get("launch")),
    }
    reach = Reach(options)
    reply = loops.start(reach, request, dry_run=flags["dry_run"])
    if reply.get("kind") == "loop_planned":
        return show_planned(options, reply)
    told(options, reply)
    return followed(options, reach, dict(reply["loop"]), detached=flags["detached"])


def told(options: Globals, reply: dict[str, Any]) -> None:
    """Say what leaves this machine, for each lane that may be used, and how the first one works."""
    plan = reply.get("plan")
    for one in reply.get("plans") or ([plan] if plan else []):
        if leaves := disclosure(one, short=options.quiet):
            say(leaves)
    if plan and not options.quiet:
        say(banner(plan))


def show_planned(options: Globals, reply: dict[str, Any], *notes: str) -> int:
    """Print what a loop's steps would be, and say what would leave this machine; return the exit code."""
    steps = list(reply.get("steps") or ())
    for leaves in dict.fromkeys(disclosure(one["plan"], short=options.quiet) for one in steps):
        if leaves:
            say(leaves)
    if not options.quiet:
        noticed = (str(text) for one in steps for text in one["plan"].get("notices") or ())
        for note in dict.fromkeys((*noticed, *notes)):
            say(f"note: {one_line(note, 400)}")
    if options.json:
        answer_json({"steps": steps})
    else:
        for one in steps:
            plan = one["plan"]
            said = f"{plan['lane']} {plan['model'] or 'default'} ({plan['posture']}; {plan['cost']})"
            answer(f"{one_line(str(one['step']), 100)}: {said}")
    return exit_codes.DONE


@heard()
def followed(options: Globals, reach: Reach, found: Loop, *, detached: bool) -> int:
    """Stay with a loop that was just begun to its end, or print its id and leave; return the exit code."""
    loop_id = str(found["loop_id"])
    if not detached:
        if not options.quiet:
            say(f"{loop_id}: Ctrl-C cancels it (osrc loop status {loop_id} from elsewhere)")
        return wait(options, reach, loop_id, None, cancels=True, resumed=found)
    hint = f"wait: osrc loop wait {loop_id}   look: osrc loop status {loop_id}"
    return leave(options, reach, found, hint, "the loop is supervised")


@heard()
def wait(  # noqa: PLR0913 - what waiting depends on, by name
    options: Globals,
    reach: Reach,
    loop_id: str,
    deadline: float | None,
    *,
    cancels: bool,
    resumed: Loop | None = None,
) -> int:
    """Wait for a loop's end, saying each step, and print how it ended; return the exit code.

    ``cancels``: whether Ctrl-C cancels it. What is in ``resumed`` was said before.
    """
    display = LoopDisplay(quiet=options.quiet or options.json)
    if resumed is not None:
        display.begin(resumed)
    goes_on = f"the loop goes on: osrc loop wait {loop_id}"
    found, code = to_its_end(reach, loop_id, display, goes_on=goes_on, deadline=deadline, cancels=cancels)
    if options.json:
        answer_json(found)
    else:
        answer(str(found["state"]))
        if not options.quiet:
            for line in (head(found), *conclusion(found)):
                say(line)
    return code or loops.exit_code(found)


def show(options: Globals, reach: Reach, found: Loop) -> None:
    """Print a loop in full; where nobody looks after a live one, say what brings it on."""
    if options.json:
        answer_json(found)
    else:
        answer("\n".join(loop_lines(found)))
    if not loops.ended(found) and reach.running() is None and not options.quiet:
        say(f"no supervisor runs: osrc loop wait {found['loop_id']} starts one, which goes on with it")


def names(text: str, option: str) -> list[str]:
    """Return the models of a list. Raises click.UsageError where it names none."""
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise click.UsageError(f"{option} names no model: {option} a,b")
    return found


def text_of(path: str, option: str) -> str:
    """Return a small text file of the person's own. Raises CliError."""
    try:
        descriptor = open_regular(path)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(_FILE_LIMIT + 1)
        text = data.decode("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise CliError("bad_task", f"{option} {path!a} can't be used: {why}", "give a readable text file") from None
    if len(data) > _FILE_LIMIT or not text.strip():
        raise CliError("bad_task", f"{option} {path!a} is empty, or longer than 1 MiB", "give a short text file")
    return text
