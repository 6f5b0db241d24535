"""A second look at a job whose exit was lost: a record that came late is the truth after all.

The supervisor gives its verdict when a delegate and its shim are gone, or after a while; a shim that
could not write sooner (a full disk, a machine that came up again) may still leave the true exit. Same
attempt, same output, so the verdict on all evidence replaces the one on less.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..lanes.contract import Lane
from ..messages.facts import JobEnded
from ..messages.job import JobRecord
from ..state.errors import StateError
from ..state.files import open_regular
from ..state.job_folder import ERR, EVENTS, LAST, OUT, JobFolder
from ..state.job_machine import REVOCABLE, IllegalEvent, JobMachine, Now, Revised, step
from .base import log
from .job_end import answer_of, ended_fact, verdict_on
from .job_output import JobOutput
from .job_terms import cause_of, policy_of, task_of

CHUNK = 512 * 1024


def may_be_revised(record: JobRecord) -> bool:
    """Whether a verdict rests on a lost exit, and later evidence may replace it."""
    return record.state in REVOCABLE and record.exit_status is not None and record.exit_status.lost


def look_again(record: JobRecord, lane: Lane, folder: JobFolder) -> JobEnded | None:
    """Judge a job anew if its exit record is there by now. None: there is nothing new. Blocks: reads all output."""
    found = folder.read_exit()
    if found is None or found.damaged or found.status.lost or found.attempt not in (None, record.attempt):
        return None
    output = JobOutput(lane, task_of(record), record.marker_id, folder.file(EVENTS))
    for name, stream in ((OUT, "out"), (ERR, "err")):
        _read(folder.file(name), stream, output)
    output.finish(found.status)
    verdict = verdict_on(
        output.evidence, found.status, cause_of(record), lane, record.verb, checks=record.check is not None
    )
    judged = JobMachine(state=record.state, attempt=record.attempt)
    try:
        step(judged, Revised(verdict.state, record.attempt), Now(0.0, 0.0), policy_of(record, lane))
    except IllegalEvent:
        return None
    notes = [f"judged again: its exit record came after the verdict {record.state.value}"]
    answer = answer_of(output.evidence, record.marker_id, notes)
    if answer:
        try:
            folder.write(LAST, answer)
        except StateError as error:
            notes.append(f"the result could not be written: {error}")
    return ended_fact(record, verdict, found.status, evidence=output.evidence, notes=notes, revises=True)


def _read(path: Path, stream: str, output: JobOutput) -> None:
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            while data := file.read(CHUNK):
                output.feed(data, stream)
    except OSError as error:
        log.warning("%s can't be read: %s", path, error.strerror)
