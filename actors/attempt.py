"""One attempt at a job, as its records on disk and the kernel tell it."""

from __future__ import annotations

import os
from enum import Enum, auto

from ..messages.job import Identity
from ..state.errors import StateError
from ..state.identity import identify, look
from ..state.job_folder import JobFolder, SpawnRecord
from ..state.job_machine import ProcessState
from .base import log
from .signals import CONT, KILL, send


class LaunchFate(Enum):
    """What became of a launch that was asked for."""

    ENDED = auto()
    """There is an exit record and no spawn record: it could not be started."""
    OPEN = auto()
    """Somebody is at it, or nobody can tell yet: look again later."""
    NEVER = auto()
    """No delegate was started, and none ever will be for this attempt."""


def fate_of_launch(
    folder: JobFolder, attempt: int, *, waited_s: float, patience_s: float, grace_s: float
) -> SpawnRecord | LaunchFate:
    """Find out what became of a launch: its spawn record where the delegate exists or existed.

    An attempt that nobody claimed for ``patience_s`` is claimed here. ``grace_s`` is how long a claim
    that names no process is believed. Writes nothing but the claim.
    """
    claim = folder.read_claim(attempt)
    if claim is not None and claim.spawn is not None:
        return claim.spawn
    if folder.read_exit() is not None:
        return LaunchFate.ENDED
    if claim is None:
        # A shim that is faster than our claim is seen by the next look.
        patient = waited_s < patience_s
        return LaunchFate.OPEN if patient or not claim_attempt(folder, attempt) else LaunchFate.NEVER
    if claim.by == "supervisor":
        return LaunchFate.NEVER
    at_work = waited_s < grace_s if claim.process is None else state_of(claim.process) in _ALIVE
    # It may have written and left between two of our looks: its records decide, so look at them last.
    if at_work or folder.read_spawn(attempt) is not None or folder.read_exit() is not None:
        return LaunchFate.OPEN
    return LaunchFate.NEVER  # it died before its spawn record: the gate never opened, no prompt was sent


def hurry(folder: JobFolder, attempt: int, *, waited_s: float, grace_s: float) -> None:
    """Help on a shim that has had its time: let it go on if it was stopped; end it after twice its time.

    Ending it is safe at any point: the next look at its records says what it got done.
    """
    claim = folder.read_claim(attempt)
    if claim is None or claim.process is None or waited_s < grace_s:
        return
    resume(claim.process)
    if waited_s >= 2 * grace_s and state_of(claim.process) in _ALIVE:
        send(claim.process, KILL)


_ALIVE = (ProcessState.RUNNING, ProcessState.STOPPED)


def keep_promise(folder: JobFolder) -> None:
    """Let the folder know that its job is journalled: a store rebuilt from folders has it then."""
    try:
        folder.promise()
    except StateError as error:
        log.warning("%s: %s", folder.job_id, error)


def claim_attempt(folder: JobFolder, attempt: int) -> bool:
    """Take an attempt, so that no shim ever starts it. False when a shim (or an earlier one of us) has it."""
    me = identify(os.getpid())
    return folder.claim(attempt, {"by": "supervisor", **(me or {})})


def state_of(process: Identity | None) -> ProcessState:
    """Return what the kernel says of a process; one that we know nothing of is gone."""
    if process is None:
        return ProcessState.GONE
    return ProcessState(look(process.pid, process.started, process.boot_id))


def resume(process: Identity) -> None:
    """Let a stopped process of ours go on."""
    if state_of(process) is ProcessState.STOPPED:
        send(process, CONT)
