"""One job's output on its way to evidence: parser, marker scanner, fold, and the typed event log."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..lanes.contract import Lane, Parser, Stream, Task
from ..lanes.evidence import Evidence, fold, hopeless, why_retrying
from ..lanes.markers import MarkerScanner
from ..messages.job import ExitStatus, TokenUsage
from ..messages.lane_events import (
    FailureKind,
    LaneEvent,
    Marked,
    MarkerKind,
    Retrying,
    Spoke,
    ToolCalled,
    TurnEnded,
    UsageMetered,
)
from ..messages.vocabulary import Verb
from ..state.errors import StateError
from ..state.files import open_regular, read_private
from ..state.job_machine import Asked, Event, FinalSeen, Hopeless, Life, LimitWait
from ..state.watchdog import Cause
from .base import log
from .redaction import clean_answer, clean_fact

EVENT_LOG_LIMIT = 64 * 1024 * 1024
REPORT_LIMIT = 1024 * 1024
"""Bytes of a lane's report; a longer one is not read."""
LIMITS = frozenset({FailureKind.RATE_LIMIT, FailureKind.PLAN_LIMIT})
"""Why a CLI waits for its provider, where it waits for a limit to end; else it only tries again."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What one piece of output meant to the job."""

    initialised: bool = False
    wrote: bool = False
    acted: bool = False
    final: bool = False
    waiting: bool = False
    """The last thing heard is that the CLI waits for a limit to end."""
    retrying: bool = False
    """The last thing heard is that the CLI tries its provider again, for another reason."""
    asked: bool = False
    marked: bool = False


class JobOutput:
    """Holds the evidence of one attempt."""

    def __init__(self, lane: Lane, task: Task, marker_id: str | None, events_path: Path) -> None:
        self.evidence = Evidence()
        self._parser: Parser = lane.parser(task)
        self._scanner = MarkerScanner(marker_id)
        self._events = EventLog(events_path)
        self._report = events_path.parent / lane.report if lane.report is not None else None
        self.bytes: dict[str, int] = {"out": 0, "err": 0}

    def feed(self, data: bytes, stream: str) -> Heard:
        """Take a piece of output."""
        self.bytes[stream] += len(data)
        return self._take(self._parser.feed(data, Stream(stream)))

    def finish(self, exit_status: ExitStatus) -> Heard:
        """Take the end of output."""
        told = self._parser.feed(report, Stream.REPORT) if (report := self._reported()) else []
        heard = self._take([*told, *self._parser.finish(exit_status)])
        self._events.close()
        return heard

    def metered(self, usage: TokenUsage) -> None:
        """Take what the run has used so far, which its stream does not tell."""
        if self.evidence.usage is None:
            self._take([UsageMetered(by_model={"": usage})])

    def close(self) -> None:
        """Let go of the event log without ending the turn."""
        self._events.close()

    def _reported(self) -> bytes | None:
        """Return what the CLI wrote to the file of its lane, or None where it wrote none that can be read."""
        if self._report is None:
            return None
        try:
            return read_private(self._report, REPORT_LIMIT)
        except StateError as error:
            log.warning("%s", error.refusal.message)
            return None

    def _take(self, parsed: Iterable[LaneEvent]) -> Heard:
        scanned = _joined(self._scanner.scan(parsed))
        # A marker's words are shown live, journalled and become reasons: they are cleaned once, here.
        events = [clean_fact(event) if isinstance(event, Marked) else event for event in scanned]
        before = self.evidence
        acted = final = waiting = retrying = asked = marked = False
        for event in events:
            self.evidence = fold(self.evidence, event)
            match event:
                case Spoke() | ToolCalled():
                    acted, final, waiting, retrying = True, False, False, False
                case TurnEnded():
                    final, waiting, retrying = not event.synthetic, False, False
                case Retrying():
                    waiting = why_retrying(event) in LIMITS
                    retrying = not waiting
                case Marked(signed=True, marker=marker):
                    marked = True
                    asked = asked or marker is MarkerKind.NEED_INPUT
                case _:
                    pass
        self._events.write(events)
        return Heard(
            initialised=self.evidence.initialised,
            wrote=self.evidence.writes > before.writes,
            acted=acted,
            final=final,
            waiting=waiting,
            retrying=retrying,
            asked=asked,
            marked=marked,
        )


def meaning(heard: Heard, evidence: Evidence, verb: Verb, permission_abort: int) -> Iterator[Event]:
    """Yield what a piece of output means to the job's machine. ``permission_abort`` refusals are hopeless; 0 is off."""
    if heard.final:
        yield FinalSeen()
    elif heard.waiting:
        yield LimitWait()
    elif heard.retrying:  # it is at work, and as much alive as one whose model is heard
        yield Life(initialised=True, wrote=heard.wrote, acted=True)
    else:
        yield Life(initialised=heard.initialised, wrote=heard.wrote, acted=heard.acted)
    if heard.asked and not heard.final:
        yield Asked()
    if hopeless(evidence) is FailureKind.AUTH:
        yield Hopeless(Cause.AUTH)
    refused = permission_abort and evidence.denials >= permission_abort
    if refused and not verb.read_only and not evidence.writes:
        yield Hopeless(Cause.PERMISSION)


class EventLog:
    """``events.jsonl``: written anew by each reading of the output, so a replay doubles nothing.

    It is a convenience made from ``out.log``: a full disk or its limit stops it, never the job.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = EVENT_LOG_LIMIT
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):
            self._descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)

    def write(self, events: Iterable[LaneEvent]) -> None:
        """Append events."""
        if self._descriptor is None:
            return
        data = b"".join(event.model_dump_json().encode() + b"\n" for event in events)
        if not data:
            return
        data, _ = clean_answer(data)
        self._left -= len(data)
        try:
            if self._left < 0:
                log.warning("%s reached its limit of %d bytes and ends here", self._path, EVENT_LOG_LIMIT)
                self.close()
            else:
                os.write(self._descriptor, data)
        except OSError as error:
            log.warning("%s can't be written (%s): it ends here, the job goes on", self._path, error.strerror)
            self.close()

    def close(self) -> None:
        """Close; repeating it is harmless."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def _joined(events: Iterable[LaneEvent]) -> Iterator[LaneEvent]:
    """Yield events; pieces of one message that came together are one, which is cheaper to fold and to write."""
    pieces: list[str] = []
    for event in events:
        if isinstance(event, Spoke) and event.partial:
            pieces.append(event.text)
            continue
        if pieces:
            yield Spoke(text="".join(pieces), partial=True)
            pieces = []
        yield event
    if pieces:
        yield Spoke(text="".join(pieces), partial=True)
