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
from ..messages.group import FanoutRequest
from ..messages.job import Identity, JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import (
    Accepted,
    AdviceView,
    Event,
    JobViews,
    Plan,
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
from ..state.errors import StateError
from ..state.identity import identify, look
from ..state.ids import is_job_id
from ..state.queue_reader import paused
from ..state.store import Reader
from . import cleaning, heartbeat_desk, limit_commands, outcome_telling, queue_commands
from .advising import Place, Question, give
from .attempt import keep_promise
from .base import Stop, ask, log
from .group_desk import GroupDesk
from .host import decode_environment
from .intake import Draft, draft, preview, settings_of
from .job_writing import create, forget_spool, read_plan
from .jobs import Adopt, Cancel, Submit
from .lane_book import LaneBook
from .services import Services
from .session_desk import SessionDesk, planned

ASK_S = 30.0
DRAFTS = 5
"""How often a job is planned anew when another took the last run of a quota from it."""
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
        self._sessions = SessionDesk(services, book)
        self._groups = GroupDesk(services, self._draft, self._preview)
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
        except Exception:  # noqa: BLE001  the client is told, whatever it was
            log.exception("a %s command failed", body.get("kind"))
            yield Refused(
                code=RefusalCode.INTERNAL,
                message="the supervisor met a fault of its own",
                hint="osrc supervisor logs shows it",
            )
        finally:
            self.activity.end()

    def _answer(self, body: Mapping[str, Any]) -> Iterator[Reply]:  # noqa: C901, PLR0912  one flat match
        try:
            command = COMMAND.validate_python(body)
        except ValidationError as error:
            yield bad_request(error)
            return
        match command:
            case Hello():
                yield Hello(protocol=PROTOCOL, version=__version__, capabilities=("follow", "handover"))
            case JobSubmit():
                yield self._submit(command.request, dry_run=command.dry_run)
            case JobCancel():
                yield self._cancel(command)
            case JobCleanup():
                yield cleaning.cleanup(command, self.services, self._resolve)
            case JobGc():
                yield cleaning.collect(command, self.services)
            case QueuePause() | QueueResume():
                yield queue_commands.answer(command, self.services, self._resolve)
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
            case SessionStart() | SessionSend() | SessionSteer() | SessionRelaunch() | SessionStop() | ViewSessions():
                yield self._sessions.answer(command)
            case JobTellOutcome(job=job):
                with Reader(self.services.home.database) as reader:
                    found = self._resolve(reader, (job,))
                yield outcome_telling.tell(command, found, self.services)
            case ViewAdvice():
                yield self._advice(command)
            case SupervisorStatus():
                yield self._status()
            case SupervisorStop(reason=reason):
                self.services.stopping.set()
                self.services.directory.tell("root", Stop(reason))
                yield Stopping(pid=os.getpid(), reason=reason)
            case _:
                assert_never(command)

    def live_jobs(self) -> int:
        """Return how many jobs have not ended, and how many sessions are in the middle of something."""
        return sum(self._live()) + self._sessions.live()

    def _live(self) -> tuple[int, int]:
        with Reader(self.services.home.database) as reader:
            states = [record.get("state") for record in reader.live()]
        queued = states.count(JobState.QUEUED.value)
        return len(states) - queued, queued

    # --- work

    def _submit(self, request: JobRequest, *, dry_run: bool) -> Reply:
        if self.services.stopping.is_set():
            return Refused(code=RefusalCode.STOPPING, message="the supervisor is stopping", hint="try again")
        if request.job_id is not None and not dry_run:
            known = self._asked_before(request, request.job_id)
            if known is not None:
                return known
        named = self._after_named(request)
        if isinstance(named, Refused):
            return named
        request = named
        if dry_run:
            return planned(self._preview(request))
        decided = self._draft(request)
        if isinstance(decided, Refused):
            return decided
        try:
            return self.services.admission.admit(decided.settings) or self._take(decided)
        finally:
            self.services.limits.give_back(decided.marker_id)  # from its commit on, the store counts the run

    def _submit_group(self, request: FanoutRequest, *, dry_run: bool) -> Reply:
        common = self._after_named(request.common)
        if isinstance(common, Refused):
            return common
        return self._groups.submit(request.model_copy(update={"common": common}), dry_run=dry_run)

    def _preview(self, request: JobRequest) -> Plan | Refused:
        """Return what a job would come to. Changes nothing."""
        services = self.services
        return preview(request, services.home, self._book.registry(), models=services.models, limits=services.limits)

    def _draft(self, request: JobRequest) -> Draft | Refused:
        """Decide about a job and hold a run of its quotas for it. Others may take the last one."""
        limits = self.services.limits
        for _ in range(DRAFTS):
            decided = draft(
                request, self.services.home, self._book.registry(), models=self.services.models, limits=limits
            )
            if isinstance(decided, Refused) or decided.wake_at is not None:
                return decided
            if limits.take(decided.marker_id, decided.lane.name, decided.resolved.model) is None:
                return decided
        return Refused(code=RefusalCode.QUOTA_FULL, message="the last runs of today were taken", hint="osrc limits")

    def _take(self, decided: Draft) -> Reply:
        """Create the job, and let it be journalled."""
        me = identify(os.getpid()) if self.services.attached else None
        owner = Identity.model_validate(me) if me else None
        record, folder = create(decided, self.services.home, umask=self.services.umask, owner=owner)
        if decided.account is not None:
            self.services.accounts.keep(record.job_id, decided.account)
        self.services.requests.keep(record.job_id, decided.request.environment)
        answer = ask(self.services.directory.find("jobs"), Submit(record), ASK_S)
        if isinstance(answer, Refused):
            self.services.accounts.take(record.job_id)
            if answer.code is not RefusalCode.SUPERVISOR_BUSY:  # nobody knows yet what became of a busy one
                self.services.requests.drop(record.job_id)
                folder.remove()
            return answer
        keep_promise(folder)
        self.services.vigil.launched(decided.settings, decided.environment)
        return Accepted(job_id=record.job_id, plan=decided.plan)

    def _after_named(self, request: JobRequest) -> JobRequest | Refused:
        """Return the request with the ids of the jobs that it comes after."""
        if not request.after:
            return request
        with Reader(self.services.home.database) as reader:
            found = self._resolve(reader, request.after)
        if isinstance(found, Refused):
            return found
        return request.model_copy(update={"after": tuple(record["job_id"] for record in found)})

    def _asked_before(self, request: JobRequest, job_id: str) -> Reply | None:
        """Return the answer to a request that was taken already, though the client never heard of it."""
        home = self.services.home
        if not is_job_id(job_id):
            return Refused(code=RefusalCode.BAD_REQUEST, message="job_id is no job's id")
        if not home.job_dir(job_id).exists():
            return None
        with Reader(home.database) as reader:
            if reader.record(job_id) is None:
                return None  # begun, but promised to nobody
        plan = read_plan(home, job_id)
        if plan is None:
            return Refused(
                code=RefusalCode.STATE_DAMAGED,
                message=f"job {job_id} was taken, but its plan can't be read",
                hint=f"osrc status {job_id}",
            )
        forget_spool(request, home)
        return Accepted(job_id=job_id, plan=plan)

    def _cancel(self, command: JobCancel) -> Reply:
        with Reader(self.services.home.database) as reader:
            found = self._resolve(reader, command.selection.ids)
        if isinstance(found, Refused):
            return found
        live = tuple(record["job_id"] for record in found if views.is_live(record))
        if live:
            answer = ask(self.services.directory.find("jobs"), Cancel(live, command.at_once), ASK_S)
            if isinstance(answer, Refused):
                return answer
        return self._views(command.selection)

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
                    found = self._resolve(reader, ids)
                    if isinstance(found, Refused):
                        return found
                    self._looked(found)
                    return JobViews.model_construct(jobs=tuple(self._view(record) for record in found), omitted=0)
                case Everything(state=state, limit=limit):
                    rows, omitted = reader.jobs(state.value if state else None, limit)
                    self._looked(rows)
                    return JobViews.model_construct(jobs=tuple(map(self._view, rows)), omitted=omitted)
                case _:
                    assert_never(selection)

    def _looked(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Somebody sees these jobs now."""
        self.services.vigil.seen.looked((str(record.get("job_id")) for record in records), time.time())

    def _view(self, record: Mapping[str, Any]) -> dict[str, Any]:
        # Once it has ended its record is the truth; the board may still hold what was so before.
        live = self.services.board.get(record["job_id"]) if views.is_live(record) else None
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

    @staticmethod
    def _resolve(reader: Reader, ids: Iterable[str]) -> list[dict[str, Any]] | Refused:
        records: list[dict[str, Any]] = []
        for word in ids:
            found = reader.resolve(word)
            if not found:
                return Refused(
                    code=RefusalCode.NO_SUCH_JOB,
                    message=f"there is no job {word!r}",
                    hint="osrc status --all lists the jobs there are",
                )
            if len(found) > 1:
                some = ", ".join(record["job_id"] for record in found[:5])
                return Refused(
                    code=RefusalCode.AMBIGUOUS_JOB,
                    message=f"{word!r} could be any of {len(found)} jobs: {some}" + (" ..." if len(found) > 5 else ""),
                    hint="give the id, or more of it",
                )
            records.append(found[0])
        return records

    def _follow_jobs(self, command: FollowJobs) -> Iterator[Reply]:
        with Reader(self.services.home.database) as reader:
            found = self._resolve(reader, command.selection.ids)
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
                found = self._resolve(reader, (command.job,))
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


def bad_request(error: ValidationError) -> Refused:
    """Name the field that is wrong."""
    place, words = what_is_wrong(error, skip=1)
    return Refused(
        code=RefusalCode.BAD_REQUEST,
        message=f"{place.removeprefix('request.') or 'the command'} {words}",
        hint="osrc help shows what can be asked",
    )
