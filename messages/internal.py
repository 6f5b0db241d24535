"""What the parts of the supervisor tell each other: plain data, never answered.

They are only ever told, inside one process. The supervision protocol itself (start, stop, crash,
probe) has no domain word in it and stands in ``actors/base.py`` and ``actors/supervisor.py``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Message
from .facts import Entry
from .job import JobId
from .refusals import Refused


class FactsCommitted(Message):
    """Journal → the writer of an append: these facts are on disk, in this order."""

    kind: Literal["facts.committed"] = "facts.committed"
    token: int
    entries: tuple[Entry, ...]


class FactsRefused(Message):
    """Journal → the writer of an append that must not wait: nothing was written."""

    kind: Literal["facts.refused"] = "facts.refused"
    token: int
    refusal: Refused


class OutputArrived(Message):
    """Pump → Job: bytes of the delegate's output. Acknowledged to the pump once handled."""

    kind: Literal["output.arrived"] = "output.arrived"
    stream: Literal["out", "err"]
    data: bytes = Field(repr=False)
    live: bool = True
    """False for bytes that an earlier supervisor had already seen."""


class OutputDrained(Message):
    """Pump → Job: everything that was in the logs when the end was asked for has been told."""

    kind: Literal["output.drained"] = "output.drained"
    missing: bool = False
    """True when a log could not be read to its end (it was removed or damaged)."""


class ShimNoticed(Message):
    """Notices → Job: a hint that the job's shim wrote a record. The record is the truth, not the hint."""

    kind: Literal["shim.noticed"] = "shim.noticed"
    what: Literal["spawned", "exited", "gone"]
    survivors: tuple[int, ...] = ()


class CancelNoticed(Message):
    """Notices → Jobs: another process journalled a cancel of this job. The journal is the truth, not the hint."""

    kind: Literal["cancel.noticed"] = "cancel.noticed"
    job_id: JobId
    at_once: bool = False


class TickDue(Message):
    """Clock → Job: look at the process and let the watchdog think."""

    kind: Literal["tick.due"] = "tick.due"


class TreeLooked(Message):
    """Scout → Job: what a close look at files and processor time found."""

    kind: Literal["tree.looked"] = "tree.looked"
    files: bool
    busy: bool
    cpu_s: float
    """Processor seconds of the tree so far, for the next look."""


class TreeEnded(Message):
    """Reaper → Job: the tree was ended; who is still there, if anyone."""

    kind: Literal["tree.ended"] = "tree.ended"
    survivors: tuple[int, ...] = ()


class TreeNoted(Message):
    """Guard → Job: the work tree was looked at (or it is known why not); the attempt may start."""

    kind: Literal["tree.noted"] = "tree.noted"
    attempt: int


class TreeCompared(Message):
    """Guard → Job: what differs in the work tree from before the delegate."""

    kind: Literal["tree.compared"] = "tree.compared"
    changes: tuple[str, ...] = ()
    """Sentences: ``added a.txt``, ``modified b.txt``, ``deleted c.txt``."""
    omitted: int = 0
    """Changes beyond those named."""
    why: str | None = None
    """Why nothing could be compared; None when it was."""


class WorktreeMade(Message):
    """Worktrees → Job: its own work tree is there, or it is known why not."""

    kind: Literal["worktree.made"] = "worktree.made"
    attempt: int
    why: str | None = None
    """Why there is none; None when there is."""


class WorktreeSettled(Message):
    """Worktrees → Job: what the delegate left in its own work tree; committed where it could not do that itself."""

    kind: Literal["worktree.settled"] = "worktree.settled"
    sentences: tuple[str, ...] = ()


class JobChecked(Message):
    """Check → Job: what the job's own check says of its work, now that its delegate is gone."""

    kind: Literal["job.checked"] = "job.checked"
    verified: bool | None
    """None: it says nothing, for the reason in the sentence."""
    sentence: str


class CostSettled(Message):
    """Receipts → Job: what the job cost, exactly or as an estimate; None is unknown."""

    kind: Literal["cost.settled"] = "cost.settled"
    cash_usd: float | None
    measured: bool


class LimitSettled(Message):
    """Limits → Job: the limit that it met was verified, and is marked where it holds."""

    kind: Literal["limit.settled"] = "limit.settled"
    key: str
    verdict: Literal["confirmed", "unverified", "answered"]
    """``answered``: there was none after all."""
    until: float | None
    """Epoch seconds until which nothing is sent there."""


class CancelJob(Message):
    """Jobs → Job: somebody asked for the end; the request is journalled."""

    kind: Literal["cancel.job"] = "cancel.job"
    at_once: bool = False


class JobFinished(Message):
    """Job → Jobs: the verdict is journalled; the slot is free."""

    kind: Literal["job.finished"] = "job.finished"
    job_id: JobId
    lost: bool = False
    """Whether its exit status was not seen. It may have been written since."""


Internal = Annotated[
    FactsCommitted
    | FactsRefused
    | OutputArrived
    | OutputDrained
    | ShimNoticed
    | CancelNoticed
    | TickDue
    | TreeLooked
    | TreeEnded
    | TreeNoted
    | TreeCompared
    | WorktreeMade
    | WorktreeSettled
    | CostSettled
    | LimitSettled
    | CancelJob
    | JobFinished,
    Field(discriminator="kind"),
]
