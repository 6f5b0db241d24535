"""Who looks after a job, a group or a loop: a supervisor, or the command that its record names."""

from __future__ import annotations

import os

from ..messages.job import Identity
from ..state.identity import identify, look
from .services import Services


def own_identity(services: Services) -> Identity | None:
    """Return whom a new record names as its owner: a tree inside a command names itself, a supervisor nobody."""
    me = identify(os.getpid()) if services.attached else None
    return Identity.model_validate(me) if me else None


def is_ours(owner: Identity | None) -> bool:
    """Whether this process is the owner."""
    return owner is not None and owner.pid == os.getpid()


def owned_elsewhere(owner: Identity | None) -> bool:
    """Whether another process is the owner, and lives."""
    if owner is None or is_ours(owner):
        return False
    return look(owner.pid, owner.started, owner.boot_id) != "gone"


def is_abandoned(services: Services, owner: Identity | None) -> bool:
    """Whether nobody can be at work any more on what its maker, ``owner``, has not journalled.

    What a supervisor (None) was at is abandoned once the state home's lock is free: it is taken then.
    """
    return not owned_elsewhere(owner) and (not services.attached or services.lock.take())


def may_take(services: Services, owner: Identity | None) -> bool:
    """Whether a group or a loop is ours to look after. A tree inside a command takes those that a command began.

    What a supervisor began it takes only while it holds the state home's lock.
    """
    free = not services.attached or owner is not None or services.lock.held
    return free and not owned_elsewhere(owner)
