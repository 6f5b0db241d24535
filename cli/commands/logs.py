"""``osrc logs``: the end of a delegate's raw output."""

from __future__ import annotations

import time

import click

from ..completing import complete_job
from ..discreet import Screen
from ..errors import CliError
from ..following import terminal
from ..looking import Job, named, verdict_due
from ..options import Command, Globals, Whole
from ..output import answer, answer_bytes, answer_json, flush, say
from ..reach import Reach
from ..render.plain import strip_controls
from ..tailing import added, tail


@click.command(cls=Command)
@click.argument("job_id", metavar="ID", shell_complete=complete_job)
@click.option("-n", "--lines", type=Whole(), default=60, metavar="N", help="Last N lines (default 60).")
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on with what is added, until the job has ended.")
@click.option("--raw", is_flag=True, help="As it was written: with control sequences and secrets.")
@click.pass_obj
def logs(options: Globals, job_id: str, lines: int, follows: bool, raw: bool) -> None:
    """Print the end of what a job's program wrote to its stdout.

    Control sequences and secrets are taken out unless --raw is given. A file of any size is read from its end.
    """
    reach = Reach(options)
    job = named(reach, (job_id,))[0]
    path = job.get("log_path")
    if not isinstance(path, str):
        raise CliError("no_result", f"job {job['job_id']} has no log")
    try:
        data, offset = tail(path, lines)
    except FileNotFoundError:
        if terminal(job):
            raise CliError("no_result", f"the log of job {job['job_id']} is gone: {path}") from None
        data, offset = b"", 0
        say(f"job {job['job_id']} is still starting up: no output yet")
    except OSError as error:
        raise CliError("no_result", f"can't read {path}: {error.strerror}") from None
    screen = None if raw else Screen()
    if options.json:
        text = (data if screen is None else screen.feed(data) + screen.finish()).decode("utf-8", "replace")
        answer_json({"job_id": job["job_id"], "lines": (text if raw else strip_controls(text)).splitlines()})
        return
    if not data and not follows and offset == 0 and not terminal(job) and not options.quiet:
        say("no output yet")
    write(data, screen)
    if follows:
        ended = _Ended(reach, job)
        for part in added(path, offset, ended):
            write(part, screen)
    if screen is not None:
        show(screen.finish())


def write(data: bytes, screen: Screen | None) -> None:
    """Write a part of a log to stdout: what of it is complete, or with no ``screen`` as it is."""
    if screen is not None:
        show(screen.feed(data))
    elif data:
        answer_bytes(data)


def show(data: bytes) -> None:
    """Write clean bytes to stdout without control sequences."""
    if data:
        answer(data.decode("utf-8", "replace"), end="")
        flush()


class _Ended:
    """Whether a job has ended, asked at most once a second."""

    def __init__(self, reach: Reach, job: Job) -> None:
        self._reach = reach
        self._job = job
        self._asked = time.monotonic()

    def __call__(self) -> bool:
        if not self._over() and time.monotonic() - self._asked >= 1.0:
            self._job = named(self._reach, (str(self._job["job_id"]),))[0]
            self._asked = time.monotonic()
        return self._over()

    def _over(self) -> bool:
        """Whether nobody is left who could write more."""
        return terminal(self._job) or verdict_due(self._job)
