"""``osrc advise``: which model and lane a task should go to, and why. Starts nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from ...messages.vocabulary import Effort
from ..errors import CliError
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import current_folder
from ..reach import Reach
from ..submit import environment
from ..task import INLINE_LIMIT, read_task

if TYPE_CHECKING:
    from ...state.home import Home

_HEAD = 8192
"""Characters at each end of a long task that are sent: advice reads no more of it."""


@click.command(cls=Command)
@click.argument("words", metavar="TASK", nargs=-1)
@click.option("--effort", type=click.Choice([word.value for word in Effort]), help="Reasoning effort that is wanted.")
@click.option("--refresh", is_flag=True, help="Fetch benchmark scores and OpenRouter's catalogue anew, first.")
@click.option("--task-file", metavar="F", help="Read the task from a file.")
@click.pass_obj
def advise(
    options: Globals, /, words: tuple[str, ...], effort: str | None, refresh: bool, task_file: str | None
) -> None:
    """Say which model and lane a task should go to, and why; nothing is started.

    What kind of task it is decides which benchmark counts; the best value that is good enough wins, as your own
    outcomes (osrc outcome), limits and lanes allow it. With osrc mode auto, run follows this where no model is named.
    """
    task = read_task(words, task_file)
    problems = _refresh(options) if refresh else []
    view = advice(options, task, current_folder(), effort)
    if options.json:
        answer_json({**view, "problems": problems})
        return
    from ...lanes.advice.telling import advice_lines  # noqa: PLC0415 - not for JSON

    answer("\n".join(advice_lines(view)))
    for problem in problems:
        say(f"problem: {problem}")


def advice(options: Globals, task: str, folder: str, effort: str | None) -> dict[str, Any]:
    """Return the advice of the supervisor that runs, whose tables are warm; without one, work it out here."""
    if len(task) > INLINE_LIMIT // 8:
        task = task[:_HEAD] + "\n" + task[-_HEAD:]
    running = Reach(options).running()
    if running is not None:
        body = {"kind": "view.advice", "task": task, "cwd": folder, "environment": environment()}
        try:
            for reply in running.exchange(body | ({"effort": effort} if effort else {})):
                if reply.get("kind") == "advice":
                    return dict(reply["advice"])
                break
        except CliError:
            pass  # it left, or knows no advice yet: what it would say can be worked out here
        finally:
            running.close()
    from .. import machine  # noqa: PLC0415 - it loads the whole product

    return machine.advice(_home(options), task, folder, effort)


def _refresh(options: Globals) -> list[str]:
    """Fetch anew; return a sentence for each thing that could not be had. What was there before is kept."""
    from .. import machine  # noqa: PLC0415 - as above

    home, known = _home(options), machine.settings()
    book = machine.model_book(home)
    found = (machine.refresh_catalogue(home, book, known), machine.refresh_benchmarks(home, book, known))
    return [f"{one.message} {one.hint or ''}".strip() for one in found if one is not None]


def _home(options: Globals) -> Home:
    from ..place import full_home  # noqa: PLC0415 - as above

    return full_home(os.environ, options.home)
