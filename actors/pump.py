"""Delegates' output, from the log files to the jobs' actors.

A delegate writes to files and never to us: it can't be held up by a slow reader, can't be killed by
our death, and nothing it said is lost while nobody reads. One thread tails all logs. It tells each
actor few chunks that were not acknowledged yet, so a flood waits in the file and not in memory; a
quiet log is looked at less and less often.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..messages.internal import OutputArrived, OutputDrained
from ..state.files import open_regular, read_at
from .base import Handle

CHUNK = 512 * 1024
IN_FLIGHT = 2
FASTEST_S = 0.05
SLOWEST_S = 1.0
SLACK = 0.25
"""Share of its pause by which a log may be looked at early, so that many quiet ones share one waking."""

StreamName = Literal["out", "err"]
STREAMS: tuple[StreamName, ...] = ("out", "err")


@dataclass(slots=True)
class _Tail:
    to: Handle
    paths: dict[StreamName, Path]
    offsets: dict[StreamName, int]
    seen_before: Mapping[str, int]
    """Bytes that an earlier supervisor had already read: told again with ``live=False``."""
    descriptors: dict[StreamName, int] = field(default_factory=dict)
    ends: dict[StreamName, int] | None = None
    """Where to stop, once the end was asked for."""
    rescue_pid: int | None = None
    """A process that holds the logs open: where to find one that was removed."""
    in_flight: int = 0
    due: float = 0.0
    pause_s: float = FASTEST_S
    missing: bool = False


class Pump:
    """Tails the logs of running jobs. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._tails: dict[str, _Tail] = {}
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="pump", daemon=True)
        self._thread.start()

    def follow(
        self,
        job_id: str,
        to: Handle,
        folder: Path,
        *,
        seen_before: Mapping[str, int] | None = None,
        rescue_pid: int | None = None,
    ) -> None:
        """Start to tell a job's output, from its first byte."""
        paths: dict[StreamName, Path] = {"out": folder / "out.log", "err": folder / "err.log"}
        tail = _Tail(to, paths, {"out": 0, "err": 0}, seen_before or {"out": 0, "err": 0}, rescue_pid=rescue_pid)
        with self._condition:
            self._drop(job_id)
            self._tails[job_id] = tail
            self._condition.notify()

    def acknowledge(self, job_id: str) -> None:
        """One chunk was handled; the next may come."""
        with self._condition:
            tail = self._tails.get(job_id)
            if tail is not None:
                tail.in_flight = max(0, tail.in_flight - 1)
                if tail.in_flight == IN_FLIGHT - 1:  # until now it was left out of every round
                    tail.due = 0.0
                    self._condition.notify()

    def drain(self, job_id: str) -> None:
        """Tell what is in the logs now, then ``output.drained``, then forget the job."""
        with self._condition:
            tail = self._tails.get(job_id)
            if tail is None:
                return
            ends: dict[StreamName, int] = {}
            for stream in STREAMS:
                descriptor = self._open(tail, stream)
                if descriptor is None:
                    tail.missing = True
                ends[stream] = os.fstat(descriptor).st_size if descriptor is not None else 0
            tail.ends = ends  # whole or not at all: the thread that reads must not meet half of it
            tail.due = 0.0
            self._condition.notify()

    def forget(self, job_id: str) -> None:
        """Tell nothing more of this job."""
        with self._condition:
            self._drop(job_id)

    def offsets(self, job_id: str) -> dict[StreamName, int]:
        """How far each log was read."""
        with self._condition:
            tail = self._tails.get(job_id)
            return dict(tail.offsets) if tail else {}

    def unread(self, job_id: str) -> int | None:
        """Return how many bytes are still to be read after ``drain``; None before it, and once all is read."""
        with self._condition:
            tail = self._tails.get(job_id)
            if tail is None or tail.ends is None:
                return None
            return max(0, sum(tail.ends.values()) - sum(tail.offsets.values()))

    def close(self) -> None:
        """End the thread and let go of all logs."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._thread.join(timeout=2.0)
        with self._condition:
            for job_id in list(self._tails):
                self._drop(job_id)

    def _drop(self, job_id: str) -> None:
        tail = self._tails.pop(job_id, None)
        if tail is not None:
            for descriptor in tail.descriptors.values():
                os.close(descriptor)

    def _run(self) -> None:
        while True:
            with self._condition:
                if self._closed:
                    return
                now = time.monotonic()
                wait_s: float | None = None
                for job_id, tail in list(self._tails.items()):
                    if tail.in_flight >= IN_FLIGHT:
                        continue
                    if tail.due <= now + tail.pause_s * SLACK:
                        self._serve(job_id, tail, now)
                        if job_id not in self._tails or tail.in_flight >= IN_FLIGHT:
                            continue
                    wait_s = tail.due - now if wait_s is None else min(wait_s, tail.due - now)
                if wait_s is None or wait_s > 0:
                    self._condition.wait(wait_s)

    def _serve(self, job_id: str, tail: _Tail, now: float) -> None:
        """Read one chunk of each stream, or find that there is nothing."""
        told = False
        for stream in STREAMS:
            data = self._read(tail, stream)
            if data:
                live = tail.offsets[stream] > tail.seen_before.get(stream, 0)
                tail.in_flight += 1
                told = True
                if not tail.to.tell(OutputArrived(stream=stream, data=data, live=live)):
                    self._drop(job_id)
                    return
        if told:
            tail.pause_s = FASTEST_S
            tail.due = now
        elif tail.ends is not None:
            if tail.in_flight == 0:
                tail.to.tell(OutputDrained(missing=tail.missing))
                self._drop(job_id)
            else:
                tail.due = now + FASTEST_S
        else:
            tail.pause_s = min(SLOWEST_S, tail.pause_s * 1.6)
            tail.due = now + tail.pause_s

    def _read(self, tail: _Tail, stream: StreamName) -> bytes:
        descriptor = self._open(tail, stream)
        if descriptor is None:
            return b""
        size = CHUNK
        if tail.ends is not None:
            size = min(size, tail.ends[stream] - tail.offsets[stream])
        if size <= 0:
            return b""
        try:
            data = read_at(descriptor, size, tail.offsets[stream])
        except OSError:
            tail.missing = True
            return b""
        if not data and tail.ends is not None:
            tail.missing = True  # it was cut short after the end was asked for
        tail.offsets[stream] += len(data)
        return data

    @staticmethod
    def _open(tail: _Tail, stream: StreamName) -> int | None:
        """Return the log's descriptor, kept open so that a removed log is still read to its end."""
        descriptor = tail.descriptors.get(stream)
        if descriptor is not None:
            return descriptor
        places = [os.fspath(tail.paths[stream])]
        if tail.rescue_pid is not None:
            places.append(f"/proc/{tail.rescue_pid}/fd/{1 if stream == 'out' else 2}")
        for place in places:
            with contextlib.suppress(OSError):
                tail.descriptors[stream] = open_regular(place, follow=place is not places[0])
                return tail.descriptors[stream]
        return None
