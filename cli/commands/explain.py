"""``osrc explain`` and ``osrc classify``: after the fact."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, Literal

import click

from ..completing import complete_either, complete_job
from ..discreet import discreet
from ..errors import CliError
from ..following import read_result, terminal
from ..groups import Group, either
from ..looking import Job, named, verdict_due
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..postmortem import classify as judge
from ..preferences import number
from ..reach import Reach
from ..render.group import counts
from ..render.lines import acts, attempt_lines, beyond, cost_words, token_words, words_for
from ..render.plain import one_line
from ..tailing import tail

_MISSING = "(not recorded)"
_ERROR_LINES = 5


@click.command(cls=Command)
@click.argument("job_id", metavar="ID", shell_complete=complete_either)
@click.pass_obj
def explain(options: Globals, job_id: str) -> None:
    """Say why a job is in the state it is in: what was asked, what was seen, the verdict.

    Next: osrc result ID and osrc logs ID show what it said; osrc classify ID whether that can be used.

    Of a group (fanout-...) each member's state and verdict are told.
    """
    jobs, group = either(Reach(options), job_id)
    if group is not None:
        _explain_group(options, group)
        return
    job = jobs[0]
    label, why = _judged(job)
    meaning = _meaning(job)
    if verdict_due(job):
        why = "verdict-due"
    folder = os.path.dirname(str(job.get("log_path") or ""))  # noqa: PTH120 - strings suffice
    errors = _last_errors(f"{folder}/err.log") if folder else []
    evidence = list(_denials(f"{folder}/events.jsonl")) if job.get("state") == "permission-blocked" else []
    if options.json:
        verdict = {"label": label, "reason": why}
        answer_json(
            {
                **job,
                "meaning": meaning,
                "verdict": verdict,
                "errors": errors,
                "evidence": evidence,
            }
        )
        return
    rows = [
        ("job", job.get("job_id")),
        ("label", job.get("label")),
        ("verb", job.get("verb")),
        ("model", _model(job)),
        ("lane", job.get("lane")),
        *(("", line) for line in attempt_lines(job)),
        *(("moved", over.get("why")) for over in job.get("hops") or ()),
        ("provider", job.get("provider")),
        ("folder", job.get("cwd")),
        ("state", _state(job.get("state"), meaning)),
        ("exit", job.get("exit")),
        ("reason", job.get("reason")),
        ("outcome", job.get("outcome")),
        ("tally", acts(job)),
        ("marker", (job.get("progress") or {}).get("last_marker")),
        ("cost", ", ".join(part for part in (cost_words(job), token_words(job)) if part)),
        ("note", job.get("note")),
        ("error", errors[0] if errors else None),
        *(("", line) for line in errors[1:]),
        ("verdict", f"{label} {why}"),
        *(("evidence", line) for line in evidence),
    ]
    for key, value in rows:
        text = _MISSING if value in (None, "") else one_line(str(value), 400)
        answer(f"{key + ':' if key else '':<10} {text}")


@click.command(cls=Command)
@click.argument("job_id", metavar="ID", shell_complete=complete_job)
@click.pass_obj
def classify(options: Globals, job_id: str) -> None:
    """Say whether a job's output can be used: REUSE-OUTPUT, RETRY-DIFFERENT-LANE or REAL-FAIL, a tab, why.

    A job that does not exist is REAL-FAIL too; the exit code is 0 with every label.
    """
    try:
        job = named(Reach(options), (job_id,))[0]
    except CliError as error:
        if error.code != "no_such_job":
            raise
        identifier, label, why = job_id, "REAL-FAIL", "no-job-dir"
    else:
        identifier = str(job["job_id"])
        label, why = _judged(job)
        if verdict_due(job):
            why = "verdict-due"
            say(f"its processes are gone and no supervisor has judged it yet: osrc wait {identifier}")
    if options.json:
        answer_json({"job_id": identifier, "label": label, "reason": why})
    else:
        answer(f"{label}\t{why}")


def _explain_group(options: Globals, group: Group) -> None:
    """Print a group, and the verdict on each member."""
    rows, judged = [], []
    for job in group["jobs"]:
        label, why = _judged(job)
        state = str(job.get("state"))
        row = {"job_id": job.get("job_id"), "label": job.get("label"), "state": state, "meaning": _meaning(job)}
        due = verdict_due(job)
        row["verdict"] = {"label": label, "reason": "verdict-due" if due else why}
        rows.append(row | {"reason": job.get("reason"), "note": job.get("note")})
        judged.append(f"; {label}" if terminal(job) else "")
    refused = list(group.get("refused") or ())
    if options.json:
        kept = {key: group.get(key) for key in ("group_id", "label", "state", "summary")}
        answer_json({**kept, "members": rows, "refused": refused})
        return
    answer(f"{'group:':<10} {group['group_id']}")
    answer(f"{'state:':<10} {group.get('state')} ({counts(group)})")
    for row, verdict in zip(rows, judged, strict=True):
        state = row["state"]
        why = row["reason"] or row["note"]
        said = f"{row['label'] or row['job_id']}: {_state(state, row['meaning'])}{verdict}"
        answer(f"{'member:':<10} {one_line(said + (f': {why}' if why else ''), 400)}")
        answer(f"{'':<10} osrc explain {row['job_id']}")
    for one in refused:
        answer(f"{'refused:':<10} {one_line(str(one.get('label')), 80)}: {one_line(str(one.get('message')), 400)}")


def _meaning(job: Job) -> str:
    """Return what a job's state means, in words."""
    return "when last seen; its verdict is due" if verdict_due(job) else words_for(str(job.get("state")))


def _state(state: object, meaning: str) -> str:
    more = beyond(state, meaning)
    return f"{state} ({more})" if more else str(state)


def _judged(job: Job) -> tuple[str, str]:
    ended = terminal(job)
    return judge(job, ended=ended, has_result=_has_result(job), work=_work(job, ended=ended))


def _work(job: Job, *, ended: bool) -> Literal["commits", "writes"] | None:
    """Return what a job that ended badly left behind; nobody asks that of one that ended well."""
    if not ended or job.get("state") in ("done", "done?"):
        return None
    from ..work_evidence import work_of  # noqa: PLC0415 - starts git; most jobs end well

    return work_of(job)


def _has_result(job: Job) -> bool | None:
    """Whether there is a final message; None when it can't be read."""
    try:
        return read_result(job) is not None
    except CliError:
        return None


def _model(job: Job) -> str | None:
    asked, seen = job.get("model"), job.get("model_observed")
    if seen and seen != asked:
        return f"{asked or 'its own default'} (observed: {seen})"
    return seen or asked


def _last_errors(path: str) -> list[str]:
    """Return the last lines of what the program wrote to stderr, safe to show."""
    try:
        data, _ = tail(path, _ERROR_LINES)
    except OSError:
        return []
    lines = (one_line(line, 400) for line in data.decode("utf-8", "replace").splitlines())
    return [discreet(line) for line in lines if line][-_ERROR_LINES:]


def _denials(path: str) -> Iterator[str]:
    """Yield the refused tool uses that were seen, at most ``OSRC_EXPLAIN_EVIDENCE_LINES`` of them."""
    left = int(number("explain_evidence_lines", 20))
    try:
        data, _ = tail(path, 5000)
    except OSError:
        return
    for line in data.splitlines():
        event = _object(line)
        if left > 0 and (event.get("kind") == "denied" or event.get("denied") is True):
            left -= 1
            yield one_line(f"{event.get('name') or 'a tool'} was refused: {event.get('excerpt') or ''}", 300)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
