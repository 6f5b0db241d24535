"""``osrc run|explore|research|edit|yolo``: have a task done and follow it to its end."""

from __future__ import annotations

from typing import Any

import click

from ..options import Command, Globals, check_options, task_options
from ..reach import Reach
from ..submit import job_request
from ..task import read_task
from .bg import detach, follow_request

_HELP = {
    "run": """Have a task done without changing anything, and follow it to its end.

    The final message is on stdout; everything about it is on stderr. Ctrl-C cancels the job (twice: at
    once); a lost terminal does not.""",
    "explore": "Have a question answered by looking around; nothing is changed.",
    "research": "Have a task done that may execute tools in a sandbox.",
    "edit": "Have a task done that may change files in the folder.",
    "yolo": "Have a task done with every tool and no sandbox.",
}

_TASK_HELP = """

    TASK is one argument in quotes, - for stdin, or --task-file F. Text after -- is never an option.

    Next: osrc explain ID tells why it ended so, osrc continue ID goes on with the conversation, osrc retry ID -m MODEL
    has it done anew by another.
"""


def __getattr__(verb: str) -> click.Command:
    """Return the command of one verb (``work.run``), made when it is asked for: five would cost 3 ms."""
    if verb not in _HELP:
        raise AttributeError(verb)

    @click.command(verb, cls=Command, help=_HELP[verb] + _TASK_HELP)
    @click.argument("words", metavar="TASK", nargs=-1)
    @click.option("--bg", "background", is_flag=True, help="Detach: print the job's id and return.")
    @check_options
    @task_options
    @click.pass_obj
    def command(options: Globals, /, words: tuple[str, ...], background: bool, **flags: Any) -> int:  # noqa: ANN401 - click's values
        if background:
            return detach(options, verb, words, flags)
        request = job_request(options, verb, read_task(words, flags["task_file"]), flags)
        return follow_request(options, Reach(options), request, dry_run=flags["dry_run"])

    return command
