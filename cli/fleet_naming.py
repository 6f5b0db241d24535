"""Names for sessions, asked of a cheap lane as an ordinary job: through the gate, bounded, and kept."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from .errors import CliError, TimeLimitError
from .fleet import Row
from .following import follow, read_result, terminal
from .output import say
from .place import full_home
from .reach import Reach
from .render.plan import banner, disclosure
from .submit import environment, submit

_STOPS = frozenset({"consent_needed", "denied", "would_leak", "recursion", "bad_request"})
"""Refusals that no other model would answer."""
_GRACE_S = 60.0


def unnamed(rows: Sequence[Row], *, again: bool) -> list[Row]:
    """Return the sessions of other tools that bear no name of a person's or of ours yet."""
    given = {"user"} if again else {"user", "given"}
    return [
        row
        for row in rows
        if row.get("owner") == "foreign"
        and row.get("session_id")
        and row.get("transcript")
        and row.get("name_source") not in given
    ]


def name_them(reach: Reach, rows: Sequence[Row], model: str | None) -> tuple[dict[str, str], list[str]]:
    """Return the names that were given (``id`` → name) and the ids of the jobs that gave them; the names are kept.

    Raises CliError where nobody may be asked, or nobody who was asked gave an answer.
    """
    from ..actors.fleet_lines import subject_of  # noqa: PLC0415 - beside its only use
    from ..lanes.fleet_names import BATCH, question  # noqa: PLC0415 - as above

    subjects = [(row, found) for row in rows if (found := subject_of(row, os.environ)) is not None]
    named: dict[str, str] = {}
    jobs: list[str] = []
    for begin in range(0, len(subjects), BATCH):
        batch = subjects[begin : begin + BATCH]
        task = question([subject for _, subject in batch], os.urandom(8).hex())
        answer = _asked(reach, task, model, jobs)
        _keep(reach, [row for row, _ in batch], answer, named)
    return named, jobs


def _asked(reach: Reach, task: str, model: str | None, jobs: list[str]) -> str:
    """Ask one model after the other until one answers."""
    from ..lanes.fleet_names import MODELS, TIMEOUT_S  # noqa: PLC0415 - as above

    home = full_home(os.environ, reach.options.home)
    home.preflight()
    folder = home.root / "fleet" / "naming"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    problem: CliError | None = None
    lane = reach.options.provider
    for word in (model,) if model or lane else MODELS:
        request: dict[str, Any] = {
            "verb": "run",
            "task": task,
            **({"model": word} if word else {}),
            **({"lane": lane} if lane else {}),
            "cwd": os.fspath(folder),
            "timeout_s": TIMEOUT_S,
            "label": "fleet names",
            "environment": environment(),
            **({"cloud_ack": True} if reach.options.cloud_ack else {}),
        }
        try:
            reply = submit(reach, request)
        except CliError as error:
            if error.code in _STOPS or error.code.startswith("supervisor_"):
                raise
            problem = error
            continue
        jobs.append(str(reply["job_id"]))
        answer = _answer(reach, jobs[-1], reply.get("plan") or {})
        if answer is not None:
            return answer
        problem = CliError("no_result", f"{word or lane} gave no answer", f"osrc explain {jobs[-1]}")
    raise problem or CliError("no_result", "nobody was asked", "osrc lanes")


def _answer(reach: Reach, job_id: str, plan: dict[str, Any]) -> str | None:
    """Follow a job to its end and return what it said; None where it did not end well."""
    if not reach.options.quiet:
        for line in (disclosure(plan, short=False), banner(plan)):
            if line:
                say(line)
    from ..lanes.fleet_names import TIMEOUT_S  # noqa: PLC0415 - as above

    job: dict[str, Any] = {}
    try:
        for jobs in follow(reach, [job_id], deadline=time.monotonic() + TIMEOUT_S + _GRACE_S):
            job = jobs[0] if jobs else job
    except TimeLimitError:
        return None
    finally:
        reach.drop()
    text = read_result(job) if job and terminal(job) and job.get("state") in ("done", "done?") else None
    return None if text is None else text.decode("utf-8", "replace")


def _keep(reach: Reach, rows: Sequence[Row], answer: str, named: dict[str, str]) -> None:
    from ..lanes.fleet_names import names  # noqa: PLC0415 - as above
    from ..state.fleet_cache import NAMES, read_cache, write_cache  # noqa: PLC0415 - as above

    home = full_home(os.environ, reach.options.home)
    kept = read_cache(home, NAMES)
    for number, name in names(answer, len(rows)).items():
        row = rows[number - 1]
        named[str(row["id"])] = name
        kept.pop(str(row["id"]), None)
        kept[str(row["id"])] = {"name": name, "written_at": row["transcript"].get("written_at")}
    write_cache(home, NAMES, kept)
