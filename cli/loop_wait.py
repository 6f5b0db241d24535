"""Staying with a loop to its end, or leaving it to come there by itself, for whatever kind of loop it is."""

from __future__ import annotations

from . import exit_codes, loops
from .interrupts import LostTerminalError, code_of
from .loops import Loop
from .options import Globals
from .output import answer, answer_json, flush, say
from .reach import Reach
from .render.loop import LoopDisplay


def leave(options: Globals, reach: Reach, found: Loop, hint: str, alone: str) -> int:
    """Print the id of a loop that was begun, and leave; return the exit code.

    ``alone`` is said where there is no supervisor: then it is waited for all the same.
    """
    loop_id = str(found["loop_id"])
    if options.json:
        answer_json(found)
    else:
        answer(loop_id)
        flush()
    if not options.quiet:
        say(hint)
    if reach.in_process:
        say(f"without a supervisor {alone} by this command: leave it running")
        loops.wait_for(reach, loop_id, None, lambda _loop: None)
    reach.close()
    return exit_codes.DONE


def to_its_end(  # noqa: PLR0913 - what waiting depends on, by name
    reach: Reach,
    loop_id: str,
    display: LoopDisplay,
    *,
    goes_on: str,
    deadline: float | None = None,
    cancels: bool = True,
) -> tuple[Loop, int]:
    """Wait for a loop's end, showing each step; return it, and the exit code of who was stopped, else 0.

    ``cancels``: whether Ctrl-C cancels it. ``goes_on`` is said where it is left, and names the command that waits on.
    """
    code = 0
    try:
        found = loops.wait_for(reach, loop_id, deadline, display.show)
    except LostTerminalError:
        say(f"terminal lost: {goes_on}")
        raise
    except KeyboardInterrupt as stopped:
        if not cancels:
            say(goes_on)
            raise
        code = code_of(stopped)
        say("cancelling... (Ctrl-C again: leave it to end by itself)")
        loops.cancel(reach, loop_id)
        found = loops.wait_for(reach, loop_id, None, display.show)
    finally:
        reach.close()
    return found, code
