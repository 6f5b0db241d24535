"""The terms on which one job is supervised, from its record and its lane; and where its watchdog stands on disk."""

from __future__ import annotations

from ..lanes.contract import Lane, Task
from ..messages.job import JobRecord
from ..state import job_machine as machine
from ..state.errors import StateError
from ..state.job_folder import WATCH, JobFolder
from ..state.job_machine import JobMachine
from ..state.watchdog import Cause, Policy, Watch, policy_for
from .base import log


def policy_of(record: JobRecord, lane: Lane) -> Policy:
    """Return every window of a job."""
    return policy_for(
        record.windows.get,
        tier=record.tier,
        verb=record.verb,
        streamed=lane.liveness.streamed,
        agentic=record.agentic,
        timeout_s=record.timeout_s,
        stall_kill_floor_s=lane.liveness.stall_kill_floor_s,
        first_output_s=lane.liveness.first_output_s,
        final_grace_s=lane.liveness.final_grace_s,
    )


def task_of(record: JobRecord) -> Task:
    """Return the task as the lane's parser wants it: without the prompt, which parsers must not need."""
    return Task(
        verb=record.verb,
        prompt="",
        cwd=record.cwd,
        model=record.model,
        effort=record.effort,
        tier=record.tier,
    )


def cause_of(record: JobRecord) -> Cause | None:
    """Return why the job's tree was being ended, as far as that was journalled."""
    if record.ending in set(Cause):
        return Cause(record.ending)
    return Cause.CANCEL if record.cancel_requested else None


def save_watch(folder: JobFolder, watched: JobMachine, read: dict[str, int]) -> None:
    """Keep where the watchdog stands and how much was read; losing it costs nothing but patience."""
    try:
        folder.write_json(WATCH, {"machine": machine.snapshot(watched), "read": read})
    except StateError as error:
        log.warning("%s: the watchdog's place can't be kept: %s", folder.job_id, error)


def load_watch(folder: JobFolder, attempt: int) -> tuple[Watch, dict[str, int]]:
    """Return what ``save_watch`` kept of this attempt; what is missing, old or malformed is a fresh start."""
    saved = folder.read_json(WATCH) or {}
    values, raw = saved.get("machine"), saved.get("read")
    kept = machine.restore(values if isinstance(values, dict) else {})
    if kept.attempt != attempt:
        return Watch(), {}
    read = raw if isinstance(raw, dict) else {}
    return kept.watch, {stream: size for stream, size in read.items() if type(size) is int and size >= 0}
