"""``osrc bg``: have a task done in the background. As hot a path as ``status``."""

from __future__ import annotations

from typing import Any

import click

from .. import exit_codes
from ..errors import CliError
from ..options import Command, Globals, check_options, task_options
from ..output import answer, answer_json, flush, say
from ..reach import Reach
from ..render.plan import banner, disclosure, plan_lines, would_begin
from ..submit import Reply, job_request, submit
from ..task import read_task
from ..unwatched import supervise

VERBS = ("run", "explore", "research", "edit", "yolo")


@click.command(cls=Command)
@click.argument("words", metavar="[VERB] TASK", nargs=-1)
@check_options
@task_options
@click.pass_obj
def bg(options: Globals, /, words: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401 - click's values
    """Have a task done in the background: the job's id on stdout, how to watch it on stderr.

    VERB is run (the default), explore, research, edit or yolo.

    TASK is one argument in quotes, - for stdin, or --task-file F. Text after -- is never an option.

    Next: osrc watch ID or osrc wait ID, then osrc result ID; osrc cancel ID ends it.
    """
    verb = "run"
    named = words[0].lower() if words else ""
    if named in VERBS and (words[0] == named or len(words) > 1 or flags["task_file"] is not None):
        verb, words = named, words[1:]
    elif len(words) == 2:
        _no_verb(words[0])
    return detach(options, verb, words, flags)


def _no_verb(word: str) -> None:
    """Refuse a word that was most likely meant for a verb."""
    from ..spelling import meant  # noqa: PLC0415 - only on the way to an error

    if near := meant(word, VERBS):
        raise click.UsageError(f"There is no verb {word[:40]!r}.{near}")


def detach(options: Globals, verb: str, words: tuple[str, ...], flags: dict[str, Any]) -> int:
    """Submit one job and print its id; without a supervisor, stay until it has ended."""
    request = job_request(options, verb, read_task(words, flags["task_file"]), flags)
    return detach_request(options, Reach(options), request, dry_run=flags["dry_run"])


def detach_request(options: Globals, reach: Reach, request: dict[str, Any], *, dry_run: bool) -> int:
    """Submit a request and print the job's id; without a supervisor, stay until it has ended."""
    reply = submit(reach, request, dry_run=dry_run)
    if reply.get("kind") == "planned":
        return show_plan(options, reply)
    job_id = str(reply["job_id"])
    try:
        if options.json:
            answer_json({"job_id": job_id, "plan": reply.get("plan")})
        else:
            answer(job_id)
            flush()
    except (BrokenPipeError, CliError):
        say(f"job {job_id} was taken all the same")
        _stay(reach, job_id)
        raise
    plan = reply.get("plan") or {}
    if leaves := disclosure(plan, short=options.quiet):
        say(leaves)
    if not options.quiet:
        say(banner(plan))
        say(f"watch it: osrc watch {job_id}\nwait:     osrc wait {job_id}\nanswer:   osrc result {job_id}")
    if not reach.in_process:
        supervise(reach.root, quiet=options.quiet)
    _stay(reach, job_id)
    return 0


def follow_request(options: Globals, reach: Reach, request: dict[str, Any], *, dry_run: bool) -> int:
    """Submit a request and follow the job to its end; return the exit code."""
    reply = submit(reach, request, dry_run=dry_run)
    if reply.get("kind") == "planned":
        return show_plan(options, reply)
    from ..following import run_to_end  # noqa: PLC0415 - not needed to detach

    return run_to_end(reach, str(reply["job_id"]), reply.get("plan") or {})


def _stay(reach: Reach, job_id: str) -> None:
    """Supervise the job from here where nobody else does."""
    if reach.in_process:
        from ..following import stay  # noqa: PLC0415 - only without a supervisor

        stay(reach, job_id)


def show_plan(options: Globals, reply: Reply) -> int:
    """Print a dry run's plan; exit code 1 where the gate or the budget would refuse it."""
    plan = reply.get("plan") or {}
    if options.json:
        answer_json({"plan": plan})
    else:
        for line in plan_lines(plan):
            answer(line)
    return 0 if would_begin(plan) else exit_codes.REFUSED
