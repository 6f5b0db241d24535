"""``osrc outcome``: what became of a job's result. Advice learns from it."""

from __future__ import annotations

from typing import get_args

import click

from ...messages.vocabulary import Told
from ..options import Command, Globals
from ..output import answer, answer_json
from ..reach import Reach


@click.command(cls=Command)
@click.argument("job", metavar="ID")
@click.argument("word", metavar="passed|failed|reverted", type=click.Choice(get_args(Told)))
@click.pass_obj
def outcome(options: Globals, job: str, word: str) -> None:
    """Keep what became of an ended job's result: it passed, it failed, or it was reverted later.

    The newest word counts. It is kept by repository, kind of task and model, and moves what osrc advise recommends.
    """
    reach = Reach(options)
    try:
        kept = reach.request({"kind": "job.tell_outcome", "job": job, "outcome": word})
    finally:
        reach.close()
    if options.json:
        answer_json({key: kept.get(key) for key in ("job_id", "outcome", "task_kind", "project", "model")})
    else:
        what = " ".join(str(part) for part in (kept.get("task_kind"), "by", kept.get("model")) if part)
        answer(f"{kept['job_id']}: {kept['outcome']} ({what if kept.get('model') else 'its lane, no named model'})")
