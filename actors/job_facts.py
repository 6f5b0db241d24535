"""What of a job's life is journalled: from a step of its machine, and from its output, to facts."""

from __future__ import annotations

from collections.abc import Sequence

from ..lanes.evidence import Evidence
from ..messages.facts import Fact, GaugesRead, JobEnding, JobLaunching, JobProgressed, JobSpawned, JobStateChanged
from ..messages.job import JobRecord
from ..messages.session import GaugeWindow
from ..state.job_machine import (
    RUNNING_STATES,
    Announce,
    Effect,
    EndTree,
    Event,
    JobMachine,
    Launch,
    Spawned,
)
from ..state.watchdog import Cause


def facts_of(
    record: JobRecord, before: JobMachine, after: JobMachine, event: Event, effects: Sequence[Effect]
) -> list[Fact]:
    """Return what must be on disk before the effects of a step are done."""
    job_id, facts = record.job_id, list[Fact]()
    said = [effect.sentence for effect in effects if isinstance(effect, Announce)]
    if isinstance(event, Spawned):
        facts.append(JobSpawned(job_id=job_id, shim=record.shim, delegate=record.delegate))
    elif after.state is not before.state and after.state in RUNNING_STATES:
        facts.append(JobStateChanged(job_id=job_id, state=after.state, reason=said[-1] if said else None))
    for effect in effects:
        if isinstance(effect, Launch):
            facts.append(JobLaunching(job_id=job_id, attempt=effect.attempt))
        elif isinstance(effect, EndTree) and effect.cause is not Cause.CANCEL:  # that one is journalled by Jobs
            facts.append(JobEnding(job_id=job_id, cause=effect.cause.value))
    return facts


def progress_of(record: JobRecord, evidence: Evidence) -> JobProgressed:
    """Return what has been seen of the work so far."""
    return JobProgressed(
        job_id=record.job_id,
        progress=evidence.progress,
        model_observed=evidence.model,
        conversation=evidence.conversation,
    )


def gauges_of(record: JobRecord, evidence: Evidence, ended_at: float | None) -> list[Fact]:
    """Return what an attempt's output told of its plan, if anything. When it ended must be known: it tells the age."""
    if evidence.limit is None or ended_at is None:
        return []
    windows = tuple(
        GaugeWindow(name=window.name, utilization=window.utilization, resets_at=window.resets_at)
        for window in evidence.limit.windows
        if window.utilization is not None
    )
    if not windows:
        return []
    return [GaugesRead(lane=record.lane, pool=record.pool, windows=windows, measured_at=ended_at)]
