"""One turn of a CLI's own program outside of any job: started, read as its lane reads it, ended where it stays."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..lanes.contract import Ending, Host, Lane, Launch, Parser, Stream, Task
from ..lanes.evidence import Evidence, fold, hopeless
from ..messages.job import ExitStatus, Identity
from ..messages.lane_events import FailureKind, LaneEvent, TurnEnded
from ..messages.refusals import Refused
from ..state.identity import identify
from .gate import Passed
from .tree import end_tree
from .windows_argv import APART, startable

OUTPUT_LIMIT = 16 * 1024 * 1024
PIECE = 64 * 1024
STAY_S = 3.0
"""How long a program may stay once it has said why it fails."""
DRAIN_S = 5.0
"""Longest wait for the pipes of a program that was ended: a child of its own may hold them."""

_Pieces = queue.SimpleQueue[tuple[Stream, bytes]]


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a turn."""

    events: tuple[LaneEvent, ...]
    ended: ExitStatus
    failure: FailureKind
    """As the lane classifies it; NONE for a good one."""
    in_time: bool

    @property
    def last(self) -> TurnEnded | None:
        """The turn's end, if it told one."""
        return next((event for event in reversed(self.events) if isinstance(event, TurnEnded)), None)


def play(  # noqa: PLR0913  the parts of a turn, three of them by name
    lane: Lane, task: Task, host: Host, root: Path, *, within_s: float, permit: Passed, failing: bool = False
) -> Turn | Refused:
    """Run one turn to its end, in the host's environment, and read it as the lane reads it; by the gate's permit.

    ``failing``: a failure is what is waited for. A program that has told one is ended soon after, as is one that
    goes on although it is hopeless.
    """
    launch = lane.plan(task, host)
    if isinstance(launch, Refused):
        return launch
    job = root / "job"
    process = _start(launch, root, host.environment, permit)
    reading = _Reading(lane.parser(task))
    in_time = _follow(process, reading, within_s, STAY_S if failing else None)
    process.wait()
    code = process.returncode
    ended = ExitStatus(code=code) if code >= 0 else ExitStatus(signal=-code)
    parser = reading.parser
    if lane.report is not None:
        reading.take(parser.feed(_content(job / lane.report), Stream.REPORT))
    reading.take(parser.finish(ended))
    seen = reading.seen
    failure = hopeless(seen) or lane.classify(Ending(exit=ended, turn=seen.turn, retries=seen.retry_statuses))
    return Turn(tuple(reading.events), ended, failure, in_time)


class _Reading:
    """A turn's output so far."""

    def __init__(self, parser: Parser) -> None:
        self.parser = parser
        self.events: list[LaneEvent] = []
        self.seen = Evidence()
        self._left = OUTPUT_LIMIT

    def feed(self, stream: Stream, data: bytes) -> None:
        data = data[: self._left]
        self._left -= len(data)
        if data:
            self.take(self.parser.feed(data, stream))

    def take(self, events: list[LaneEvent]) -> None:
        self.events += events
        for event in events:
            self.seen = fold(self.seen, event)

    @property
    def over(self) -> bool:
        """Whether nothing more is to be expected of a turn that fails."""
        turn = self.seen.turn
        return hopeless(self.seen) is not None or (turn is not None and not turn.synthetic)


def _follow(process: subprocess.Popen[bytes], reading: _Reading, within_s: float, stay_s: float | None) -> bool:
    """Read both outputs to their ends, or end the program; return whether it left in time."""
    pieces: _Pieces = queue.SimpleQueue()
    outputs = ((Stream.OUT, process.stdout), (Stream.ERR, process.stderr))
    for stream, pipe in outputs:
        assert pipe is not None  # noqa: S101 - both were asked for
        threading.Thread(target=_pump, args=(stream, pipe, pieces), name="rehearsal", daemon=True).start()
    limit, deadline, left, in_time, killed = time.monotonic() + within_s, 0.0, len(outputs), True, False
    deadline = limit
    while left:
        try:
            stream, data = pieces.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            if killed:
                break
            _end(process)
            in_time = deadline < limit
            killed, deadline = True, time.monotonic() + DRAIN_S
            continue
        if not data:
            left -= 1
            continue
        reading.feed(stream, data)
        if stay_s is not None and not killed and reading.over:
            deadline = min(deadline, time.monotonic() + stay_s)
    if not killed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        if process.returncode is None:
            _end(process)
            in_time = deadline < limit
    return in_time


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it with all that it started, as far as that can be told."""
    if not hasattr(os, "killpg"):
        found = identify(process.pid)
        end_tree(f"rehearsal-{process.pid}", Identity.model_validate(found) if found else None, None, 0.0)
        return
    # Its first process was not waited for yet, so the group's number is still its own.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _pump(stream: Stream, pipe: IO[bytes], pieces: _Pieces) -> None:
    with contextlib.suppress(OSError, ValueError), pipe:
        while data := os.read(pipe.fileno(), PIECE):
            pieces.put((stream, data))
    pieces.put((stream, b""))


def _start(launch: Launch, root: Path, environment: Mapping[str, str], permit: Passed) -> subprocess.Popen[bytes]:
    permit.demand(permit.subject, 1)
    job = root / "job"

    def placed(text: str) -> str:
        return text.replace("{job}", str(job)) if launch.files else text

    for file in launch.files:
        path = job / file.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.content)
        path.chmod(0o700 if file.executable else 0o600)
    (job / "stdin").write_bytes(launch.stdin or b"")
    kept = {name: value for name, value in environment.items() if not _stripped(name, launch)}
    with (job / "stdin").open("rb") as source:
        return subprocess.Popen(
            startable([placed(item) for item in launch.argv], environment),
            cwd=root / "work",
            env=kept | {name: placed(value) for name, value in launch.env_set.items()},
            stdin=source if launch.stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            creationflags=APART,
        )


def _stripped(name: str, launch: Launch) -> bool:
    return any(name == one or (one.endswith("*") and name.startswith(one[:-1])) for one in launch.env_strip)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()[:OUTPUT_LIMIT]
    except OSError:
        return b""
