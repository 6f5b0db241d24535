"""What ``osrc pause`` and ``osrc resume`` ask of a supervisor. Runs in the thread of the connection that asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..messages.commands import QueuePause, QueueResume
from ..messages.facts import QueuePaused, QueueResumed
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import QueueState
from ..messages.vocabulary import JobState
from ..state.queue import EVERYTHING, of_group, of_job
from ..state.queue_reader import paused
from ..state.store import Reader
from .base import ask
from .job_line import Hold
from .services import Services

ASK_S = 30.0

Resolve = Callable[[Reader, Iterable[str]], "list[dict[str, Any]] | Refused"]


def answer(command: QueuePause | QueueResume, services: Services, resolve: Resolve) -> QueueState | Refused:
    """Journal a pause or the end of one, and return the queue as it is then."""
    with Reader(services.home.database) as reader:
        scopes = _scopes(reader, command.words, resolve, pausing=isinstance(command, QueuePause))
    if isinstance(scopes, Refused):
        return scopes
    kind = QueuePaused if isinstance(command, QueuePause) else QueueResumed
    told = ask(services.directory.find("jobs"), Hold(tuple(kind(scope=scope) for scope in scopes)), ASK_S)
    return told if isinstance(told, Refused) else view(services)


def view(services: Services) -> QueueState:
    """Return what is paused, and how many jobs wait for their turn."""
    with Reader(services.home.database) as reader:
        waiting = [row for row in reader.live() if row.get("state") == JobState.QUEUED.value]
        return QueueState(paused=tuple(sorted(paused(reader))), waiting=len(waiting))


def held_by(record: Mapping[str, Any], scopes: frozenset[str]) -> str | None:
    """Return the sentence about the pause that holds a job; None when none does."""
    group = record.get("group_id")
    own = (EVERYTHING, of_group(str(group)) if group else "", of_job(str(record.get("job_id"))))
    found = next((scope for scope in own if scope in scopes), None)
    if found is None:
        return None
    words = "--all" if found == EVERYTHING else found.partition(":")[2]
    return f"paused: osrc resume {words}"


def _scopes(reader: Reader, words: tuple[str, ...], resolve: Resolve, *, pausing: bool) -> list[str] | Refused:
    if not words:
        return [EVERYTHING]
    scopes = []
    for word in words:
        if reader.group(word):
            scopes.append(of_group(word))
            continue
        found = resolve(reader, (word,))
        if isinstance(found, Refused):
            return found
        job = found[0]
        if pausing and job.get("state") != JobState.QUEUED.value:
            return Refused(
                code=RefusalCode.NOT_FINISHED if job.get("ended") is None else RefusalCode.NO_SUCH_JOB,
                message=f"{job['job_id']} does not wait in the queue: it is {job.get('state')}",
                hint=f"osrc cancel {job['job_id']} ends it" if job.get("ended") is None else None,
            )
        scopes.append(of_job(str(job["job_id"])))
    return scopes
