"""``osrc pause|resume``: hold back what waits in the queue."""

from __future__ import annotations

import click

from .. import exit_codes
from ..completing import complete_job
from ..options import Command, Globals
from ..output import answer, answer_json
from ..reach import Reach
from ..render.plain import one_line


@click.command(cls=Command)
@click.argument("words", metavar="[JOB|GROUP]...", nargs=-1, shell_complete=complete_job)
@click.option("--all", "everything", is_flag=True, help="The whole queue, also what comes later.")
@click.pass_obj
def pause(options: Globals, words: tuple[str, ...], everything: bool) -> int:
    """Hold jobs back that wait in the queue: none starts before osrc resume. What runs goes on.

    A pause of a group also holds members that come later. It outlives restarts.
    """
    return _change(options, "queue.pause", words, everything=everything)


@click.command(cls=Command)
@click.argument("words", metavar="[JOB|GROUP]...", nargs=-1, shell_complete=complete_job)
@click.option("--all", "everything", is_flag=True, help="Take back every pause.")
@click.pass_obj
def resume(options: Globals, words: tuple[str, ...], everything: bool) -> int:
    """Let paused jobs start again, in their order. Harmless for what is not paused."""
    return _change(options, "queue.resume", words, everything=everything)


def _change(options: Globals, kind: str, words: tuple[str, ...], *, everything: bool) -> int:
    if everything == bool(words):
        raise click.UsageError("Give jobs or groups, or --all.")
    reach = Reach(options)
    reply = reach.request({"kind": kind, "words": list(words)})
    reach.close()
    paused, waiting = [str(scope) for scope in reply.get("paused", ())], int(reply.get("waiting", 0))
    if options.json:
        answer_json({"paused": paused, "waiting": waiting})
        return exit_codes.DONE
    answer("paused: " + (", ".join(one_line(scope, 140) for scope in paused) or "nothing"))
    answer(f"{waiting} job{'s' * (waiting != 1)} waiting")
    return exit_codes.DONE
