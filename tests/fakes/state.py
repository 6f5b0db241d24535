"""Records, facts and failing disks for tests of what is kept."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st
from outsourcerer.messages.facts import (
    ChildCrashed,
    JobAccepted,
    JobCancelRequested,
    JobEnded,
    JobEnding,
    JobHeld,
    JobHopped,
    JobLaunching,
    JobProgressed,
    JobRemoved,
    JobSpawned,
    JobStateChanged,
    SupervisorStarted,
)
from outsourcerer.messages.group import FanoutMemberReleased
from outsourcerer.messages.job import Attempted, Cost, ExitStatus, Identity, JobRecord, Progress
from outsourcerer.messages.vocabulary import JobState, Verb
from outsourcerer.state.errors import StateError
from outsourcerer.state.files import Files
from outsourcerer.state.home import Home
from outsourcerer.state.ids import new_job_id

NOW = 1_795_000_000.0
GROUP = "fanout-20261118-110639-000000000001"


def job_id(number: int = 0) -> str:
    return new_job_id(NOW + number, number.to_bytes(6, "big"))


def record(number: int = 0, **changes: object) -> JobRecord:
    base = JobRecord(
        job_id=job_id(number),
        lane="claude",
        vehicle="claude",
        provider="claude",
        verb=Verb.RUN,
        posture="READ-ONLY",
        cwd="/work tree/ünï",
        accepted_at=NOW + number,
        marker_id="secret-marker",
    )
    return base.model_copy(update=changes)


def identity(pid: int = 4242) -> Identity:
    return Identity(pid=pid, started=1234, boot_id="boot")


def names(folder: Path) -> list[str]:
    """What is in a folder, sorted."""
    return sorted(entry.name for entry in folder.iterdir())


def scratch_home(folder: Path) -> Home:
    home = Home(folder / "home")
    home.preflight()
    return home


def refusal_of(action: Callable[[], object]) -> StateError | None:
    """Do it; return how it was refused, None when it was not."""
    try:
        action()
    except StateError as error:
        return error
    return None


class FailingDisk(Files):
    """Fails the ``nth`` operation that can fail, once, after half of a write was done."""

    def __init__(self, nth: int, error: int = errno.ENOSPC) -> None:
        self.left = nth
        self.error = error
        self.failed = False

    def _step(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.failed = True
            raise OSError(self.error, os.strerror(self.error))

    def open(self, path, flags):
        self._step()
        return super().open(path, flags)

    def write(self, descriptor, data):
        try:
            self._step()
        except OSError:
            super().write(descriptor, bytes(data)[: len(data) // 2])
            raise
        return super().write(descriptor, data)

    def fsync(self, descriptor):
        self._step()
        super().fsync(descriptor)

    def close(self, descriptor):
        super().close(descriptor)
        self._step()

    def replace(self, source, target):
        self._step()
        super().replace(source, target)

    def mkdir(self, path):
        self._step()
        super().mkdir(path)


def facts_of_a_life(number: int = 0, end: JobState = JobState.DONE) -> list:
    """The facts of one whole job."""
    name = job_id(number)
    return [
        JobAccepted(job_id=name, record=record(number)),
        JobLaunching(job_id=name, attempt=1),
        JobSpawned(job_id=name, shim=identity(10), delegate=identity(11)),
        JobProgressed(job_id=name, progress=Progress(reads=3, last_marker="1/2")),
        JobEnded(job_id=name, state=end, exit=0, exit_status=ExitStatus(code=0), outcome="passed"),
    ]


def any_fact(name: str) -> st.SearchStrategy:
    """Every kind of fact about one job, with every state."""
    states = st.sampled_from(list(JobState))
    progress = st.builds(
        Progress,
        last_marker=st.none() | st.text(max_size=8),
        reads=st.integers(0, 9),
        percent=st.none() | st.integers(0, 100),
    )
    words = st.none() | st.text(max_size=8)
    identities = st.none() | st.builds(identity, st.integers(1, 1 << 22))
    attempts = st.builds(
        Attempted, attempt=st.integers(1, 3), lane=st.just("claude"), vehicle=st.just("claude"), why=st.just("moved")
    )
    overs = st.none() | attempts
    return st.one_of(
        st.builds(lambda label: JobAccepted(job_id=name, record=record(0, label=label)), words),
        st.builds(JobLaunching, job_id=st.just(name), attempt=st.integers(0, 3)),
        st.builds(JobSpawned, job_id=st.just(name), shim=identities, delegate=identities),
        st.builds(JobStateChanged, job_id=st.just(name), state=states, reason=words),
        st.builds(JobProgressed, job_id=st.just(name), progress=progress, model_observed=words, conversation=words),
        st.builds(JobCancelRequested, job_id=st.just(name), at_once=st.booleans()),
        st.builds(
            JobEnded,
            job_id=st.just(name),
            state=states,
            exit=st.integers(0, 255),
            exit_status=st.none() | st.builds(ExitStatus, code=st.integers(0, 255)),
            reason=words,
            progress=progress,
            cost=st.sampled_from([Cost(), Cost(kind="plan", plan="Max")]),
            note=words,
            revises=st.booleans(),
        ),
        st.builds(JobEnding, job_id=st.just(name), cause=st.text(max_size=8)),
        st.builds(
            JobHopped, job_id=st.just(name), over=overs, record=st.just(record(0, lane="codex")), why=st.just("moved")
        ),
        st.builds(JobHeld, job_id=st.just(name), until=st.just(NOW + 60), why=st.just("waits"), over=overs),
        st.builds(FanoutMemberReleased, group_id=st.just(GROUP), job_id=st.just(name)),
        st.builds(JobRemoved, job_id=st.just(name)),
        st.just(SupervisorStarted(pid=1, version="0")),
        st.just(ChildCrashed(child="x", error="y", restarted=True)),
    )


def scribble(data: bytes, seed: int) -> bytes:
    """Random bytes at random places of a file's content."""
    chance = random.Random(seed)
    out = bytearray(data)
    for _ in range(chance.randint(1, 12)):
        start = chance.randrange(len(out))
        length = chance.choice((1, 4, 64, 512, 5000))
        piece = chance.randbytes(min(length, len(out) - start))
        out[start : start + len(piece)] = piece
    return bytes(out)
