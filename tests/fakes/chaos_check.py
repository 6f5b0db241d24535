"""What must hold after whatever happened: pure questions over what was journalled, delivered and left running.

    check(Seen(...)) == []

Used for the simulated machine and for the real one alike. What is not known is not judged: a caller
whose supervisor died before it answered may have been heard or not, but it must be one of the two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

TERMINAL = frozenset(
    {"done", "done?", "blocked", "permission-blocked", "interrupted", "timeout", "wedged", "failed", "canceled"}
)


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must not be."""

    rule: str
    about: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.about}: {self.what}"


@dataclass(frozen=True, slots=True)
class Told:
    """A fact that was journalled, in which journal: a store that was damaged and made anew begins another."""

    generation: int
    seq: int
    kind: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A job that a caller asked for, under a label of its own."""

    label: str
    answer: str
    """``accepted``, ``refused`` (nothing was done), or ``unsure``."""
    job_id: str | None = None
    done: bool = False
    """Whether its script says DONE and ends well where nobody disturbs it."""


@dataclass(frozen=True, slots=True)
class Prompted:
    """A prompt that reached a delegate, and what of the end that delegate said in full."""

    job_id: str
    said_done: bool
    said_end: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """A send to a session: what its caller was told, and how often the delegate read it."""

    session_id: str
    number: int
    answer: str
    """``given``, ``refused`` or ``unsure``."""
    read: int
    session_lives: bool
    """Whether the session still took what it is given at the end, so that all of it must have been read."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process at the end."""

    pid: int
    kind: str
    """``stranger``, or what it is of ours."""
    about: str
    alive: bool
    signals: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """All that can be known of one history."""

    journal: Sequence[Told] = ()
    kept: Mapping[int, str] = field(default_factory=dict)
    """Sequence number → kind of what the newest journal holds now."""
    generation: int = 0
    """Which journal that is."""
    records: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Job id → its record at the end."""
    asked: Sequence[Asked] = ()
    prompts: Sequence[Prompted] = ()
    sends: Sequence[Sent] = ()
    processes: Sequence[Process] = ()
    spoiled: Collection[str] = ()
    """Jobs whose files were damaged by somebody: nothing can be said of their verdict."""
    canceled: Collection[str] = ()
    unreadable: Collection[str] = ()
    """Jobs whose folders can't say what they are: no store can be rebuilt with them."""
    database: str = "ok"
    """What ``PRAGMA integrity_check`` says."""
    answers: bool = True
    """Whether a supervisor that was started at the end answered."""


def check(seen: Seen) -> list[Violation]:
    """Return all that must not be."""
    return [
        *_ended_once(seen),
        *_truly(seen),
        *_prompted_once(seen),
        *_heard(seen),
        *_sent_once(seen),
        *_nobody_else(seen),
        *_kept(seen),
    ]


def _ended_once(seen: Seen) -> list[Violation]:
    found = []
    ends: Counter[tuple[int, str]] = Counter()
    for told in seen.journal:
        if told.kind != "job.ended":
            continue
        job_id = told.body["job_id"]
        if not told.body.get("revises"):
            ends[told.generation, job_id] += 1
    for (generation, job_id), times in ends.items():
        if times > 1:
            found.append(Violation("ended-once", job_id, f"ended {times} times in journal {generation}"))
    for job_id, record in seen.records.items():
        if record.get("state") not in TERMINAL:
            found.append(Violation("ended-once", job_id, f"never ended: {record.get('state')}"))
    return found


def _truly(seen: Seen) -> list[Violation]:
    found = []
    by_job: dict[str, list[Prompted]] = defaultdict(list)
    for prompt in seen.prompts:
        by_job[prompt.job_id].append(prompt)
    for job_id, record in seen.records.items():
        state, heard = record.get("state"), by_job.get(job_id, [])
        if job_id in seen.spoiled or state not in TERMINAL:
            continue
        done = any(prompt.said_done for prompt in heard)
        ended = any(prompt.said_end for prompt in heard)
        if state == "done" and not done:
            found.append(Violation("truly", job_id, "done, and its delegate never said so"))
        if state == "done?" and not ended:
            found.append(Violation("truly", job_id, "done?, and its delegate never ended its turn"))
        if done and state not in ("done", *(("canceled",) if job_id in seen.canceled else ())):
            found.append(Violation("truly", job_id, f"its delegate said DONE, the record says {state}"))
        if state == "canceled" and job_id not in seen.canceled and not record.get("after"):
            found.append(Violation("truly", job_id, "canceled, and nobody asked for that"))
    return found


def _prompted_once(seen: Seen) -> list[Violation]:
    times, gone = Counter(prompt.job_id for prompt in seen.prompts), _removed(seen)
    found = [
        Violation("prompted-once", job_id, f"its prompt was delivered {count} times")
        for job_id, count in times.items()
        if count > 1
    ]
    found += [
        Violation("prompted-once", job_id, "a delegate ran for a job that nobody knows of")
        for job_id in times
        if job_id not in seen.records and job_id not in gone
    ]
    return found


def _removed(seen: Seen) -> set[str]:
    """Return the jobs that were cleaned up by their age, as the journal says: a clock may have jumped by months."""
    removed = {told.body["job_id"] for told in seen.journal if told.kind == "job.removed"}
    return removed | (set(seen.unreadable) if seen.generation > 1 else set())


def _heard(seen: Seen) -> list[Violation]:
    labels, gone = Counter(record.get("label") for record in seen.records.values()), _removed(seen)
    ever = {told.body["record"].get("label") for told in seen.journal if told.kind == "job.accepted"}
    found = []
    for asked in seen.asked:
        known = labels.get(asked.label, 0)
        there = known or asked.label in ever if asked.job_id is None else asked.job_id in seen.records
        if asked.answer == "accepted" and not there and asked.job_id not in gone:
            found.append(Violation("heard", asked.label, f"{asked.job_id or 'it'} was accepted and is not there"))
        if asked.answer == "refused" and known:
            found.append(Violation("heard", asked.label, "it was refused, and is there"))
        if known > 1:
            found.append(Violation("heard", asked.label, f"asked for once, there {known} times"))
    return found


def _sent_once(seen: Seen) -> list[Violation]:
    found = []
    for sent in seen.sends:
        name = f"{sent.session_id} send {sent.number}"
        if sent.read > 1:
            found.append(Violation("sent-once", name, f"read {sent.read} times"))
        if sent.answer == "given" and sent.session_lives and not sent.read:
            found.append(Violation("sent-once", name, "given, and never read"))
        if sent.answer == "refused" and sent.read:
            found.append(Violation("sent-once", name, "refused, and read"))
    return found


def _nobody_else(seen: Seen) -> list[Violation]:
    found = []
    for process in seen.processes:
        if process.kind == "stranger" and (process.signals or not process.alive):
            found.append(Violation("no-stranger", str(process.pid), f"got signals {list(process.signals)}"))
        if process.kind != "stranger" and process.alive:
            found.append(Violation("nothing-left", process.about, f"its {process.kind} {process.pid} still runs"))
    return found


def _kept(seen: Seen) -> list[Violation]:
    found = []
    if seen.database != "ok":
        found.append(Violation("database", "integrity_check", seen.database))
    if not seen.answers:
        found.append(Violation("restarts", "supervisor", "the next one does not answer"))
    last = 0
    for told in seen.journal:
        if told.generation != seen.generation:
            continue
        if told.seq <= last:
            found.append(Violation("journal", str(told.seq), f"{told.kind} came after {last}"))
        last = told.seq
        if seen.kept.get(told.seq) != told.kind:
            found.append(Violation("journal", str(told.seq), f"{told.kind} was told as kept and is not there"))
    return found
