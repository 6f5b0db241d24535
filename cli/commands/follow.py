"""``osrc watch`` and ``osrc wait``: stay with jobs until they have ended."""

from __future__ import annotations

import sys
import time

import click

from .. import exit_codes
from ..completing import complete_job
from ..errors import TimeLimitError
from ..following import follow, terminal
from ..id_routing import ask_its_own, is_other
from ..looking import Job, named
from ..options import Command, Duration, Globals
from ..output import answer, answer_json, flush, may_colour, output_width, say
from ..preferences import number
from ..reach import Reach
from ..render.lines import change_line, words_for
from ..render.progress import Display
from ..render.table import job_table


@click.command(cls=Command)
@click.argument("job_id", metavar="ID", shell_complete=complete_job)
@click.option("--for", "bound", metavar="S", type=Duration(zero=True), help="Watch no longer than this.")
@click.pass_context
def watch(context: click.Context, /, job_id: str, bound: float | None) -> int:
    """Show a job's life: a line at each change, and a digest now and then, until it has ended.

    ID may also be that of a loop, a question, or a group of jobs, which is waited for with a line at each step.

    The exit code tells how it ended; 124 when the time was up first. Ctrl-C stops the watching, not the job.
    """
    if is_other((job_id,)):
        return ask_its_own(context, "wait", job_id, bound=bound)
    options = context.ensure_object(Globals)
    reach = Reach(options)
    deadline = None if bound is None else time.monotonic() + bound
    job = named(reach, (job_id,))[0]
    teller = _Teller(options)
    teller.tell(job)
    try:
        if not terminal(job):
            reach.drop()
            for jobs in follow(reach, [job["job_id"]], every_s=teller.every_s, deadline=deadline):
                for job in jobs:
                    teller.tell(job)
    except TimeLimitError:
        teller.clear()
        say(f"still {job['state']} ({words_for(str(job['state']))})")
    finally:
        teller.clear()
        reach.close()
    return exit_codes.of_job(job)


class _Teller:
    """Writes a line to stdout at each change and at each digest; a live line on a terminal in between."""

    def __init__(self, options: Globals) -> None:
        self._json = options.json
        self._display = Display(quiet=options.quiet or options.json or not sys.stderr.isatty())
        self._digest_s = max(number("watch_digest_secs", 420.0), 1.0)
        self._told: object = None
        self._told_at = 0.0

    @property
    def every_s(self) -> float:
        """How often a frame is wanted."""
        return self._display.every_s or self._digest_s

    def tell(self, job: Job) -> None:
        """Take the job as it is now."""
        progress = job.get("progress") or {}
        key = (job.get("state"), job.get("reason"), progress.get("last_marker"))
        now = time.monotonic()
        if key == self._told and now - self._told_at < self._digest_s * 0.9:
            self._display.show([job])
            return
        self._told, self._told_at = key, now
        self._display.clear()
        if self._json:
            answer_json(job)
        else:
            answer(change_line(job))
            flush()
        if not terminal(job):
            self._display.show([job])

    def clear(self) -> None:
        """Take the live line away."""
        self._display.clear()


@click.command(cls=Command)
@click.argument("ids", metavar="ID...", nargs=-1, required=True, shell_complete=complete_job)
@click.option("--any", "any_one", is_flag=True, help="Until the first of them has ended.")
@click.option("--for", "bound", metavar="S", type=Duration(zero=True), help="Wait no longer than this; 0 is one check.")
@click.pass_context
def wait(context: click.Context, /, ids: tuple[str, ...], any_one: bool, bound: float | None) -> int:
    """Wait for jobs to end, then print them as status does.

    Alone, ID may be that of a loop, a question, or a group of jobs: its state is printed then.

    The exit code is the job's (0 done, 2 done?, 3 blocked, 1 failed ...), the gravest of several, or 124
    when the time was up first. Ctrl-C stops the waiting, not the jobs.
    """
    if is_other(ids):
        return ask_its_own(context, "wait", ids[0], bound=bound)
    options = context.ensure_object(Globals)
    reach = Reach(options)
    deadline = None if bound is None else time.monotonic() + bound
    jobs = named(reach, ids)
    enough = any if any_one else all
    display = Display(quiet=options.quiet or options.json)
    try:
        if not enough(map(terminal, jobs)) and bound != 0:
            reach.drop()
            wanted = [str(job["job_id"]) for job in jobs]
            for seen in follow(reach, wanted, until_any=any_one, every_s=display.every_s, deadline=deadline):
                jobs = seen
                display.show(jobs)
    except TimeLimitError:
        pass
    finally:
        display.clear()
        reach.close()
    if options.json:
        alone = jobs[0] if len(jobs) == 1 else {}
        answer_json({**alone, "jobs": jobs, "omitted": 0})
    else:
        answer("\n".join(job_table(jobs, width=output_width(), colour=may_colour(sys.stdout))), styled=True)
    if not enough(map(terminal, jobs)):
        return exit_codes.TIMEOUT
    return exit_codes.gravest(exit_codes.of_job(job) for job in jobs if terminal(job))
