"""``osrc events``: every journalled fact, in order, resumable."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import click

from ..completing import complete_job
from ..errors import SupervisorLostError, from_refusal
from ..looking import named
from ..options import Command, Globals, Whole
from ..output import answer, answer_json, flush
from ..reach import Reach
from ..render.plain import one_line

_BATCH = 500
_POLL_S = 0.3
_PRIVATE = ("marker_id", "environment")
_COLUMNS = ("seq", "at", "type", "job_id", "session_id", "record")

Entry = dict[str, Any]


@click.command(cls=Command)
@click.option("-f", "--follow", "follows", is_flag=True, help="Go on with each new fact.")
@click.option("--since", type=Whole(), default=0, metavar="SEQ", help="Only facts after this number.")
@click.option("--job", metavar="ID", shell_complete=complete_job, help="Only facts of this job.")
@click.option("--type", "kind", metavar="T", help="Only facts of this kind, for example job.ended.")
@click.pass_obj
def events(options: Globals, follows: bool, since: int, job: str | None, kind: str | None) -> None:
    """Print every journalled fact in order: number, time, kind, job, what.

    With --json one object a line. The number of the last line, given to --since, resumes without a gap
    and without a repetition.
    """
    kind = None if kind is None else kind.strip().lower()
    reach = Reach(options)
    job_id = None if job is None else str(named(reach, (job,))[0]["job_id"])
    for entry in _entries(reach, since, job_id, kind, follows=follows):
        if options.json:
            answer_json(entry)
        else:
            answer(event_line(entry))
            if follows:
                flush()


def _entries(reach: Reach, since: int, job: str | None, kind: str | None, *, follows: bool) -> Iterator[Entry]:
    """Yield facts through the supervisor while one runs, else from the store, without a gap between the two."""
    while True:
        over = True
        for entry in _some(reach, since, job, kind, follows=follows):
            since, over = entry["seq"], False
            yield entry
        if not follows:
            if over or reach.running() is not None:
                return
        elif over:
            time.sleep(_POLL_S)


def _some(reach: Reach, since: int, job: str | None, kind: str | None, *, follows: bool) -> Iterator[Entry]:
    channel = reach.running()
    if channel is None:
        yield from _stored(reach.root, since, job, kind)
        return
    body = {"kind": "follow.events", "since": since, "job": job, "type": kind, "follow": follows}
    try:
        for reply in channel.exchange(body):
            if reply.get("kind") == "refused" and reply.get("code") != "stopping":
                raise from_refusal(reply)
            if reply.get("kind") == "event":
                entry = reply["entry"]
                yield _flat(entry["seq"], entry["at"], entry["fact"])
    except SupervisorLostError:
        reach.drop()


def _stored(root: str, since: int, job: str | None, kind: str | None) -> Iterator[Entry]:
    from ...state.reader import Reader  # noqa: PLC0415 - only without a supervisor

    with Reader(f"{root}/state.db") as reader:
        for seq, at, _, body in reader.entries(since, _BATCH, job=job, type=kind):
            try:
                fact = json.loads(body)
            except ValueError:
                fact = None
            yield _flat(seq, at, fact if isinstance(fact, dict) else {"kind": "unreadable"})


def _flat(seq: int, at: float, fact: dict[str, Any]) -> Entry:
    """Return one fact as one flat object; what signs markers is never shown."""
    record = fact.get("record")
    shown = {name: value for name, value in fact.items() if name not in ("kind", *_PRIVATE)}
    if isinstance(record, dict):
        shown["record"] = {name: value for name, value in record.items() if name not in _PRIVATE}
    return {"seq": seq, "at": at, "type": fact.get("kind"), **shown}


def event_line(entry: Entry) -> str:
    """Return one fact as one line."""
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry["at"]))
    detail = {name: value for name, value in entry.items() if name not in _COLUMNS and _plain(value)}
    record = entry.get("record") or {}
    if record:
        detail = {name: record.get(name) for name in ("lane", "verb", "model", "label", "cwd") if record.get(name)}
    words = " ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in detail.items()
    )
    owner = entry.get("job_id") or entry.get("session_id") or "-"
    return one_line(f"{entry['seq']} {stamp} {entry['type']} {owner} {words}", 400)


def _plain(value: object) -> bool:
    """Whether a value says something in a word; ``false`` and objects are left to --json."""
    return isinstance(value, str | int | float) and value is not False
