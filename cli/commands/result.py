"""``osrc result``: a job's final message, alone."""

from __future__ import annotations

import click

from .. import exit_codes
from ..completing import complete_job
from ..errors import CliError
from ..following import read_result, terminal
from ..looking import named, verdict_due
from ..options import Command, Globals
from ..output import answer_json, answer_untrusted
from ..reach import Reach
from ..render.lines import words_for


@click.command(cls=Command)
@click.argument("job_id", metavar="ID", shell_complete=complete_job)
@click.pass_obj
def result(options: Globals, job_id: str) -> int:
    """Print a job's final message and nothing else.

    Exit code 1 when the job has not ended, or ended without a message.
    """
    job = named(Reach(options), (job_id,))[0]
    identifier, state = str(job["job_id"]), str(job.get("state"))
    if verdict_due(job):
        raise CliError(
            "not_finished",
            f"job {identifier} is not judged yet: its processes are gone and no supervisor runs",
            f"osrc wait {identifier}",
        )
    if not terminal(job):
        raise CliError("not_finished", f"job {identifier} is {state}: {words_for(state)}", f"osrc wait {identifier}")
    text = read_result(job)
    if text is None:
        reason = f" ({job['reason']})" if job.get("reason") else ""
        raise CliError(
            "no_result", f"job {identifier} ended {state}{reason} and left no final message", f"osrc logs {identifier}"
        )
    if options.json:
        answer_json({"job_id": identifier, "state": state, "result": text.decode("utf-8", "replace")})
    else:
        answer_untrusted(text)
    return exit_codes.DONE
