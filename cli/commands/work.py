"""``osrc run|explore|research|edit|yolo`` and ``osrc bg``: have a task done."""

from __future__ import annotations

from typing import Any

import click

from ...messages.vocabulary import Verb
from ..options import Command, Globals, task_options
from ..output import answer, answer_json, flush, say
from ..reach import Reach
from ..render.plan import banner, plan_lines
from ..submit import Reply, job_request, submit
from ..task import read_task

_VERBS = {verb.value for verb in Verb}

_TASK_HELP = """

    TASK is one argument in quotes, - for stdin, or --task-file F. Text after -- is never an option.
"""


def _work(verb: str, help_text: str) -> click.Command:
    """Return the command of one verb."""

    @click.command(verb, cls=Command, help=help_text + _TASK_HELP)
    @click.argument("words", metavar="TASK", nargs=-1)
    @click.option("--bg", "background", is_flag=True, help="Detach: print the job's id and return.")
    @task_options
    @click.pass_obj
    def command(options: Globals, words: tuple[str, ...], background: bool, **flags: Any) -> int:  # noqa: ANN401 - click's values
        if background:
            return _detach(options, verb, words, flags)
        return _follow(options, verb, words, flags)

    return command


run = _work(
    "run",
    """Have a task done without changing anything, and follow it to its end.

    The final message is on stdout; everything about it is on stderr. Ctrl-C cancels the job (twice: at
    once); a lost terminal does not.""",
)
explore = _work("explore", "Have a question answered by looking around; nothing is changed.")
research = _work("research", "Have a task done that may execute tools in a sandbox.")
edit = _work("edit", "Have a task done that may change files in the folder.")
yolo = _work("yolo", "Have a task done with every tool and no sandbox.")


@click.command(cls=Command)
@click.argument("words", metavar="[VERB] TASK", nargs=-1)
@task_options
@click.pass_obj
def bg(options: Globals, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Have a task done in the background: the job's id on stdout, how to watch it on stderr.

    VERB is run (the default), explore, research, edit or yolo.

    TASK is one argument in quotes, - for stdin, or --task-file F. Text after -- is never an option.
    """
    verb = "run"
    if words and words[0] in _VERBS:
        verb, words = words[0], words[1:]
    return _detach(options, verb, words, flags)


def _detach(options: Globals, verb: str, words: tuple[str, ...], flags: dict[str, Any]) -> int:
    request = job_request(options, verb, read_task(words, flags["task_file"]), flags)
    reach = Reach(options)
    reply = submit(reach, request, dry_run=flags["dry_run"])
    if reply.get("kind") == "planned":
        return _show_plan(options, reply)
    job_id = str(reply["job_id"])
    if options.json:
        answer_json({"job_id": job_id, "plan": reply.get("plan")})
    else:
        answer(job_id)
        flush()
    if not options.quiet:
        say(banner(reply.get("plan") or {}))
        say(f"watch it: osrc watch {job_id}   wait: osrc wait {job_id}   answer: osrc result {job_id}")
    if reach.in_process:
        from ..following import stay  # noqa: PLC0415 - only without a supervisor

        stay(reach, job_id)
    return 0


def _follow(options: Globals, verb: str, words: tuple[str, ...], flags: dict[str, Any]) -> int:
    request = job_request(options, verb, read_task(words, flags["task_file"]), flags)
    reach = Reach(options)
    reply = submit(reach, request, dry_run=flags["dry_run"])
    if reply.get("kind") == "planned":
        return _show_plan(options, reply)
    from ..following import run_to_end  # noqa: PLC0415 - not needed to detach

    return run_to_end(reach, str(reply["job_id"]), reply.get("plan") or {})


def _show_plan(options: Globals, reply: Reply) -> int:
    plan = reply.get("plan") or {}
    if options.json:
        answer_json({"plan": plan})
    else:
        for line in plan_lines(plan):
            answer(line)
    return 0
