"""What each command does: one flat match from a command to its replies.

Used by the socket's gateway and by the tree inside a command alike; runs in a thread that may block.
Views are read from the store, not asked of actors: looking never waits for work.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, assert_never

from pydantic import ValidationError

from .. import __version__
from ..messages.alarm import HeartbeatAcknowledge, HeartbeatStart, HeartbeatStop, ViewBearings
from ..messages.commands import (
    COMMAND,
    Everything,
    FanoutCancel,
    FanoutSubmit,
    FollowEvents,
    FollowJobs,
    Hello,
    Ids,
    JobCancel,
    JobCleanup,
    JobGc,
    JobSubmit,
    JobTellOutcome,
    LimitsClear,
    LimitsSet,
    QueuePause,
    QueueResume,
    Selection,
    SupervisorStatus,
    SupervisorStop,
    ViewAdvice,
    ViewJobs,
    ViewLimits,
)
from ..messages.facts import FACT, Entry
from ..messages.fleet import ViewFleet
from ..messages.group import FanoutRequest
from ..messages.history import BudgetAsk, HistoryImport
from ..messages.loop import LoopCancel, LoopResume, LoopStart
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import (
    AdviceView,
    Event,
    JobViews,
    Reply,
    Stopping,
    StreamEnded,
    SupervisorState,
)
from ..messages.sentences import what_is_wrong
from ..messages.session import (
    SessionRelaunch,
    SessionSend,
    SessionStart,
    SessionSteer,
    SessionStop,
    ViewSessions,
)
from ..messages.vocabulary import PROTOCOL, JobState
from ..state import views
from ..state.errors import FULL_ERRNOS, StateError, from_os_error
from ..state.identity import look
from ..state.loops_reader import live_loops, running
from ..state.queue_reader import paused
from ..state.store import Reader
from . import cleaning, fleet_watcher, heartbeat_desk, image_books, limit_commands, outcome_telling, queue_commands
from .advising import Place, Question, give
from .base import Stop, ask, log
from .caller import settings_of
from .group_desk import GroupDesk
from .host import decode_environment
from .job_desk import JobDesk, resolve
from .jobs_asked import Adopt, Cancel
from .lane_book import FOR_NOW, LaneBook
from .loop_desk import LoopDesk
from .services import Services
from .session_desk import SessionDesk

ASK_S = 30.0
PAGE = 500
IDLE_LOOK_S = 5.0
"""How often a follower that hears nothing looks whether the supervisor still stands."""


class Activity:
    """When somebody last wanted something; read to decide when to leave."""

    def __init__(self) -> None:
        self._lock = threading.Condition()
        self._open = 0
        self._last = time.monotonic()

    def begin(self) -> None:
        """An exchange begins."""
        with self._lock:
            self._open += 1

    def end(self) -> None:
        """An exchange ended."""
        with self._lock:
            self._open -= 1
            self._last = time.monotonic()
            self._lock.notify_all()

    def wait_over(self, timeout_s: float) -> bool:
        """Wait until no exchange is open: every answer was sent."""
        with self._lock:
            return self._lock.wait_for(lambda: self._open == 0, timeout_s)

    def idle_s(self) -> float:
        """Seconds since the last exchange ended; 0 while one is open."""
        with self._lock:
            return 0.0 if self._open else time.monotonic() - self._last


class Dispatcher:
    """See the module."""

    def __init__(
        self,
        services: Services,
        book: LaneBook,
        *,
        socket: str = "",
        max_jobs: int = 0,
    ) -> None:
        self.services = services
        self.activity = Activity()
        self._book = book
        self.sessions = SessionDesk(services, book)
        self.jobs = JobDesk(services, book)
        self._loops = LoopDesk(services, self.jobs, self.sessions)
        self._groups = GroupDesk(services, self.jobs.draft, self.jobs.preview)
        self._socket = socket
        self._max_jobs = max_jobs
        self._started_at = time.time()
        self._pauses: tuple[int, frozenset[str]] | None = None
        self._root = os.fspath(services.home.root)

    def exchange(self, body: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield every reply to one command. Never raises."""
        self.activity.begin()
        try:
            yield from self._answer(body)
        except StateError as error:
            yield error.refusal
        except OSError as error:
            log.exception("a %s command failed", body.get("kind"))
            yield unable(error)
        except Exception:  # noqa: BLE001  the client is told, whatever it was
            log.exception("a %s command failed", body.get("kind"))
            yield FAULT
        finally:
            self.activity.end()

    def _answer(self, body: Mapping[str, Any]) -> Iterator[Reply]:  # noqa: C901, PLR0912, PLR0915  one flat match
        try:
            command = COMMAND.validate_python(body)
        except ValidationError as error:
            yield bad_request(error)
            return
        match command:
            case Hello():
                yield Hello(protocol=PROTOCOL, version=__version__, capabilities=("follow", "handover"))
            case JobSubmit():
                yield self.jobs.submit(command.request, dry_run=command.dry_run)
            case JobCancel():
                yield self._cancel(command)
            case JobCleanup():
                yield cleaning.cleanup(command, self.services, resolve)
            case JobGc():
                yield cleaning.collect(command, self.services)
            case QueuePause() | QueueResume():
                yield queue_commands.answer(command, self.services, resolve)
            case ViewJobs(selection=selection):
                yield self._views(selection)
            case FollowJobs():
                yield from self._follow_jobs(command)
            case FollowEvents():
                yield from self._follow_events(command)
            case LimitsSet() | LimitsClear() | ViewLimits():
                yield limit_commands.answer(command, self.services, self._book.registry())
            case HeartbeatStart() | HeartbeatStop() | HeartbeatAcknowledge() | ViewBearings():
                yield heartbeat_desk.answer(command, self.services)
            case FanoutSubmit():
                yield self._submit_group(command.request, dry_run=command.dry_run)
            case FanoutCancel():
                yield self._groups.cancel(command.group_id, at_once=command.at_once)
            case LoopStart() | LoopCancel() | LoopResume():
                yield self._loops.answer(command)
            case SessionStart() | SessionSend() | SessionSteer() | SessionRelaunch() | SessionStop() | ViewSessions():
                yield self.sessions.answer(command)
            case JobTellOutcome():
                yield self._told(command)
            case HistoryImport():
                yield outcome_telling.keep_history(command, self.services)
            case BudgetAsk():
                yield image_books.ask_budget(command, self.services.budgets)
            case ViewAdvice():
                yield self._advice(command)
            case ViewFleet():
                yield fleet_watcher.answer(command, self.services)
            case SupervisorStatus():
                yield self._status()
            case SupervisorStop(reason=reason):
                self.services.stopping.set()
                self.services.directory.tell("root", Stop(reason))
                yield Stopping(pid=os.getpid(), reason=reason)
            case _:
                assert_never(command)

    def live_jobs(self) -> int:
        """Return how many jobs and loops have not ended, and how many sessions are in the middle of something."""
        with Reader(self.services.home.database) as reader:
            looping = len(live_loops(reader))
        return sum(self._live()) + self.sessions.live() + looping

    def _live(self) -> tuple[int, int]:
        with Reader(self.services.home.database) as reader:
            states = reader.live_states()
        queued = states.count(JobState.QUEUED.value)
        return len(states) - queued, queued

    # --- work

    def _submit_group(self, request: FanoutRequest, *, dry_run: bool) -> Reply:
        common = self.jobs.after_named(request.common)
        if isinstance(common, Refused):
            return common
        return self._groups.submit(request.model_copy(update={"common": common}), dry_run=dry_run)

    def _cancel(self, command: JobCancel) -> Reply:
        with Reader(self.services.home.database) as reader:
            found = resolve(reader, command.selection.ids)
        if isinstance(found, Refused):
            return found
        live = tuple(record["job_id"] for record in found if views.is_live(record))
        if live:
            answer = ask(self.services.directory.find("jobs"), Cancel(live, command.at_once), ASK_S)
            if isinstance(answer, Refused):
                return answer
        return self._views(command.selection)

    def _told(self, command: JobTellOutcome) -> Reply:
        with Reader(self.services.home.database) as reader:
            found = resolve(reader, (command.job,))
        return outcome_telling.tell(command, found, self.services)

    # --- looking

    def _advice(self, command: ViewAdvice) -> Reply:
        try:
            environment = decode_environment(command.environment)
        except ValueError as error:
            return Refused(code=RefusalCode.BAD_REQUEST, message=str(error))
        place = Place(
            home=self.services.home,
            registry=self._book.registry(),
            models=self.services.models,
            environment=environment,
            settings=settings_of(environment),
            limits=self.services.limits,
        )
        question = Question(task=command.task, cwd=command.cwd, effort=command.effort)
        return AdviceView(advice=give(question, place).view(command.task))

    def _views(self, selection: Selection) -> Reply:
        with Reader(self.services.home.database) as reader:
            match selection:
                case Ids(ids=ids):
                    found = resolve(reader, ids)
                    if isinstance(found, Refused):
                        return found
                    self._looked(found)
                    return JobViews.model_construct(jobs=tuple(self._view(record) for record in found), omitted=0)
                case Everything(state=state, limit=limit):
                    rows, omitted = reader.jobs(state.value if state else None, limit)
                    self._looked(rows)
                    loops = running(reader, time.time()) if state is None else ()
                    return JobViews.model_construct(jobs=tuple(map(self._view, rows)), omitted=omitted, loops=loops)
                case _:
                    assert_never(selection)

    def _looked(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Somebody sees these jobs now."""
        self.services.heartbeat_watch.seen.looked((str(record.get("job_id")) for record in records), time.time())

    def _view(self, record: Mapping[str, Any]) -> dict[str, Any]:
        # Once it has ended its record is the truth; the live figures may still say what was so before.
        live = self.services.live_figures.get(record["job_id"]) if views.is_live(record) else None
        if live is None and views.is_live(record):
            owner = record.get("owner")
            if owner is None:
                orphan = self.services.attached  # a supervisor takes what is nobody's as it starts
            else:
                orphan = look(owner["pid"], owner["started"], owner["boot_id"]) == "gone"
            if orphan:
                self.services.directory.tell("jobs", Adopt(record["job_id"]))
        if record.get("state") == JobState.QUEUED.value and (why := self._paused(record)) is not None:
            live = {**(live or {}), "note": why}
        trouble = self.services.feed.trouble
        if trouble is not None and views.is_live(record):
            live = {**(live or {}), "note": f"this may be out of date: the journal can't be written ({trouble})"}
        return views.job_object(record, self._root, time.time(), live)

    def _paused(self, record: Mapping[str, Any]) -> str | None:
        """Return the pause that holds a job. The pauses are read once for each state of the journal."""
        seq = self.services.feed.wait(-1, 0.0)
        if self._pauses is None or self._pauses[0] != seq:
            with Reader(self.services.home.database) as reader:
                self._pauses = seq, paused(reader)
        return queue_commands.held_by(record, self._pauses[1])

    def _follow_jobs(self, command: FollowJobs) -> Iterator[Reply]:
        with Reader(self.services.home.database) as reader:
            found = resolve(reader, command.selection.ids)
            if isinstance(found, Refused):
                yield found
                return
            ids = [record["job_id"] for record in found]
            shown: list[Any] = []
            feed, due = self.services.feed, 0.0
            while True:
                seq = feed.wait(-1, 0.0)
                records = [reader.record(job_id) or {"job_id": job_id, "state": "failed"} for job_id in ids]
                self._looked(records)
                key = [{**record, "progress": None} for record in records]
                now = time.monotonic()
                if key != shown or (command.every_s and now >= due):
                    shown, due = key, now + (command.every_s or 0.0)
                    yield JobViews.model_construct(jobs=tuple(map(self._view, records)), omitted=0)
                over = [not views.is_live(record) for record in records]
                if all(over) or (command.until_any and any(over)) or feed.closed:
                    break
                feed.wait(seq, min(command.every_s or IDLE_LOOK_S, IDLE_LOOK_S))
            yield StreamEnded(seq=seq)

    def _follow_events(self, command: FollowEvents) -> Iterator[Reply]:
        with Reader(self.services.home.database) as reader:
            job: str | None = None
            if command.job is not None:
                found = resolve(reader, (command.job,))
                if isinstance(found, Refused):
                    yield found
                    return
                job = found[0]["job_id"]
            since = command.since
            while True:
                rows = reader.entries(since, PAGE, job, command.type)
                for seq, at, _, text in rows:
                    since = seq
                    yield Event(entry=Entry(seq=seq, at=at, fact=FACT.validate_python(json.loads(text))))
                if len(rows) == PAGE:
                    continue
                if not command.follow or self.services.feed.closed:
                    break
                self._looked(({"job_id": job},) if job is not None else ())
                self.services.feed.wait(max(since, self.services.feed.wait(-1, 0.0)), IDLE_LOOK_S)
            yield StreamEnded(seq=since)

    def _status(self) -> SupervisorState:
        running, queued = self._live()
        return SupervisorState(
            pid=os.getpid(),
            version=__version__,
            protocol=PROTOCOL,
            home=self._root,
            socket=self._socket,
            started_at=self._started_at,
            live_jobs=running,
            queued_jobs=queued,
            max_jobs=self._max_jobs,
            actors=self.services.directory.waiting(),
        )


FAULT = Refused(
    code=RefusalCode.INTERNAL,
    message="the supervisor met a fault of its own",
    hint="osrc supervisor logs shows it",
)


def unable(error: OSError) -> Refused:
    """Return the refusal where the machine denied something: for want of room or descriptors is no fault of ours."""
    if error.errno in FOR_NOW:
        message = f"the supervisor can't do that for now: {error.strerror}"
        hint = "try again; where it stays so: osrc supervisor restart (what runs goes on)"
        return Refused(code=RefusalCode.SUPERVISOR_BUSY, message=message, hint=hint)
    if error.errno in FULL_ERRNOS:
        return from_os_error(error, error.filename or "a file of the supervisor").refusal
    return FAULT


def bad_request(error: ValidationError) -> Refused:
    """Name the field that is wrong."""
    place, words = what_is_wrong(error, skip=1)
    return Refused(
        code=RefusalCode.BAD_REQUEST,
        message=f"{place.removeprefix('request.') or 'the command'} {words}",
        hint="osrc help shows what can be asked",
    )
