"""Loops as clients ask for them: everything that can be refused is refused before anything is spent.

Runs in the thread of the connection that asked, so it may block.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ..lanes.advice.contracts import ContractError, parse_contract
from ..messages.job import JobRequest
from ..messages.loop import (
    LoopAccepted,
    LoopCancel,
    LoopCancelRequested,
    LoopEnd,
    LoopFact,
    LoopLimits,
    LoopRecord,
    LoopRequest,
    LoopResume,
    LoopResumed,
    LoopStart,
    LoopTerms,
    Shape,
)
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import LoopIsAccepted, LoopPlanned, LoopView, Plan, Reply
from ..messages.vocabulary import Verb
from ..state.errors import StateError
from ..state.ids import new_job_id
from ..state.loop_views import loop_object
from ..state.loops_reader import loop
from ..state.reader import Reader
from .base import ask
from .budget_book import HINT
from .caller import settings_of
from .git import GitError, ask_git
from .host import decode_environment
from .intake_checks import as_utf8, check_cwd, task_text
from .job_desk import JobDesk
from .job_writing import forget_spool
from .kept_request import keepable
from .loop_folder import PLAN, REQUEST, RUBRIC, LoopFolder
from .loop_judging import is_named, other_writer, same_model
from .loop_names import Decree
from .loop_requests import everyone
from .loop_sessions import LoopSessions
from .owners import own_identity
from .redaction import clean
from .services import Services
from .session_desk import SessionDesk

ASK_S = 30.0
FEWEST, MOST_RUNGS, MOST_SEATS = 2, 4, 5
ADVICE = (
    "osrc loop optimize --rubric FILE --judge MODEL where quality is judged, osrc loop sweep where things are looked"
    " for, osrc second-opinion for an answer that matters, osrc run for the rest"
)
"""What is there for work that no command can check."""

Plans = list[tuple[str, Plan]]
"""Every kind of job that a loop may ask for, by what it is called, and how it would be run."""


class LoopDesk:
    """See the module."""

    def __init__(self, services: Services, desk: JobDesk, sessions: SessionDesk) -> None:
        self.services = services
        self._desk = desk
        self._sessions = LoopSessions(services, sessions)

    def answer(self, command: LoopStart | LoopCancel | LoopResume) -> Reply:
        """Do what was asked."""
        match command:
            case LoopStart(request=request, dry_run=dry_run):
                return self._start(request, dry_run=dry_run)
            case LoopCancel(loop_id=loop_id):
                return self._cancel(loop_id)
            case LoopResume():
                return self._resume(command)

    # --- starting one

    def _start(self, request: LoopRequest, *, dry_run: bool) -> Reply:  # noqa: PLR0911 - one refusal after the other
        if self.services.stopping.is_set():
            return Refused(code=RefusalCode.STOPPING, message="the supervisor is stopping", hint="try again")
        if not dry_run and (known := self._object(request.loop_id)) is not None:
            forget_spool(request.common, self.services.home)
            return LoopIsAccepted(loop=known)
        wrong = check_terms(request.terms, request.common) or check_common(request.terms, request.common)
        if wrong is not None:
            return wrong
        task = task_text(request.common, self.services.home)
        if isinstance(task, Refused):
            return task
        common = request.common.model_copy(update={"task": task, "task_file": None})
        first_job = self._first_job(common, live=request.terms.session)
        if isinstance(first_job, Refused):
            return first_job
        plans = self._looked_at(request.terms, common, first_job)
        if isinstance(plans, Refused):
            return plans
        if request.terms.shape is Shape.OPTIMIZE:
            apart = self._judged_by_another(request.terms, common, first_job, plans)
            if isinstance(apart, Refused):
                return apart
            common, plans = apart
        if dry_run:
            return LoopPlanned(
                steps=tuple({"step": name, "plan": plan.model_dump(mode="json")} for name, plan in plans)
            )
        lanes = {plan.lane: plan for _, plan in reversed(plans)}
        lanes = {plan.lane: lanes[plan.lane] for _, plan in plans}
        return self._take(request, common, tuple(lanes.values()), first_job)

    def _first_job(self, common: JobRequest, *, live: bool) -> str | Refused | None:
        """Return the id of the first lap's job where it gets a work tree, which is named by it."""
        try:
            environment = decode_environment(common.environment)
        except ValueError as error:
            return Refused(code=RefusalCode.BAD_REQUEST, message=str(error))
        wanted = False if live else common.worktree
        if wanted is None:
            wanted = settings_of(environment).flag("worktree") and common.verb.may_write
        return new_job_id(time.time(), os.urandom(6)) if wanted else None

    def _looked_at(self, terms: LoopTerms, common: JobRequest, first_job: str | None) -> Plans | Refused:
        """Return how every kind of job would be run, or why one would not: before anything is spent."""
        plans: Plans = []
        for name, request, live in everyone(terms, common):
            named = {"job_id": first_job if request.verb.may_write else None}
            if live:
                reply = self._sessions.look(request)
            else:
                reply = self._desk.submit(request.model_copy(update=named), dry_run=True)
            plan = getattr(reply, "plan", None)
            if isinstance(reply, Refused):
                message = f"{name}: {reply.message}" if terms.models or terms.seats or plans else reply.message
                return reply.model_copy(update={"message": message})
            if isinstance(plan, Plan):
                if not plan.gate_open:
                    return self._shut(request)
                if plan.budget is not None:
                    return Refused(
                        code=RefusalCode.BUDGET_SPENT, message=f"the budget has no room: {plan.budget}", hint=HINT
                    )
                plans.append((name, plan))
        return plans

    def _judged_by_another(
        self, terms: LoopTerms, common: JobRequest, first_job: str | None, plans: Plans
    ) -> tuple[JobRequest, Plans] | Refused:
        """Return the loop with another writer, where nobody named one and the judge may be the same model.

        Refused where the person named it twice; said where there is no other.
        """
        writer, judge = plans[0][1], plans[-1][1]
        same = same_model(writer, judge)
        if same is False:
            return common, plans
        if same and common.model is not None:
            message = f"{judge.model or terms.judge} would judge its own work"
            return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint="--judge with another model than -m")
        other = None if is_named(common) else other_writer(self.services, common, judge)
        again = None if other is None else self._looked_at(terms, other, first_job)
        if other is not None and isinstance(again, list) and same_model(again[0][1], again[-1][1]) is False:
            who = f"{again[0][1].model or 'its own model'} of {again[0][1].lane}"
            return other, _noted(again, f"{who} writes, so that {terms.judge} does not judge its own work")
        doubt = "judges itself" if same else "may judge itself: its own model is known only once it runs"
        return common, _noted(plans, f"the writer {doubt}; -m names another one (osrc models)")

    def _shut(self, request: JobRequest) -> Refused:
        """Return the gate's own refusal, with its code."""
        decided = self._desk.draft(request.model_copy(update={"job_id": None}))
        if isinstance(decided, Refused):
            return decided
        self.services.limits.give_back(decided.marker_id)
        return Refused(code=RefusalCode.STOPPING, message="the gate has just opened", hint="try again")

    def _take(self, request: LoopRequest, common: JobRequest, plans: tuple[Plan, ...], first_job: str | None) -> Reply:
        plan = plans[0]
        environment = decode_environment(common.environment)
        now = time.time()
        record = LoopRecord(
            loop_id=request.loop_id,
            label=common.label,
            terms=request.terms.model_copy(update={"rubric": None}),
            limits=request.limits,
            verb=common.verb,
            cwd=common.cwd,
            real=as_utf8(os.path.realpath(common.cwd)),
            model=common.model,
            lane=plan.lane,
            worktree=first_job is not None,
            first_job=first_job,
            base=_head(common.cwd),
            accepted_at=now,
            segment_began=now,
            launched=request.launch,
            owner=own_identity(self.services),
        )
        folder = LoopFolder.of(self.services.home, request.loop_id)
        there = folder.path.exists()
        try:
            folder.create(common.task or "", keepable(common, "", environment) | {"worktree": False})
            if request.terms.rubric is not None:
                folder.write(RUBRIC, request.terms.rubric)
        except StateError:
            if not there:  # else it is that of the same request, asked for before
                shutil.rmtree(folder.path, ignore_errors=True)
            raise
        self.services.requests.keep(request.loop_id, common.environment)
        answer = self._decree(LoopAccepted(loop_id=request.loop_id, record=record))
        if answer is not None:
            return answer
        forget_spool(request.common, self.services.home)
        return LoopIsAccepted(loop=self._object(request.loop_id) or {}, plan=plan, plans=plans)

    # --- one that there is

    def _cancel(self, loop_id: str) -> Reply:
        known = self._object(loop_id)
        if known is None:
            return no_such_loop(loop_id)
        if known["ended"] is None:
            answer = self._decree(LoopCancelRequested(loop_id=loop_id))
            if answer is not None:
                return answer
        return LoopView(loop=self._object(loop_id) or {})

    def _resume(self, command: LoopResume) -> Reply:
        record = self._record(command.loop_id)
        if record is None:
            return no_such_loop(command.loop_id)
        limits = raised(record, command)
        if isinstance(limits, Refused):
            return limits
        folder = LoopFolder.of(self.services.home, command.loop_id)
        if command.plan is not None:
            folder.write(PLAN, command.plan)
        launched = command.launch or command.plan is not None
        if launched and record.terms.judge is None and folder.read(PLAN) is None:
            message, hint = "nobody has decided on a plan yet", f"osrc loop resume {record.loop_id} --plan-file FILE"
            return Refused(code=RefusalCode.NOT_FINISHED, message=message, hint=hint)
        self._renew(record, command, folder)
        fact = LoopResumed(loop_id=record.loop_id, limits=limits, launched=launched, owner=own_identity(self.services))
        return self._decree(fact) or LoopView(loop=self._object(command.loop_id) or {})

    def _renew(self, record: LoopRecord, command: LoopResume, folder: LoopFolder) -> None:
        """Let laps to come see the environment of whoever resumes: a key that was missing may be there now."""
        kept = folder.request()
        if kept is None or not command.environment:
            return
        ack = kept.cloud_ack or command.cloud_ack
        renewed = kept.model_copy(update={"environment": command.environment, "cloud_ack": ack})
        folder.write_json(REQUEST, keepable(renewed, "", decode_environment(command.environment)))
        self.services.requests.keep(record.loop_id, command.environment)

    # --- small things

    def _decree(self, fact: LoopFact) -> Refused | None:
        answer: Any = ask(self.services.directory.find("loops"), Decree(fact), ASK_S)
        return answer if isinstance(answer, Refused) else None

    def _record(self, loop_id: str) -> LoopRecord | None:
        with Reader(self.services.home.database) as reader:
            found = loop(reader, loop_id)
        try:
            return None if found is None else LoopRecord.model_validate(found)
        except ValidationError:
            message = f"the record of {loop_id} makes no sense to this version"
            raise StateError("state_damaged", message, f"osrc loop status {loop_id}") from None

    def _object(self, loop_id: str) -> dict[str, Any] | None:
        """Return the public object of a loop; None when there is none."""
        with Reader(self.services.home.database) as reader:
            found = loop(reader, loop_id)
        return None if found is None else loop_object(found, os.fspath(self.services.home.root), time.time())


def _noted(plans: Plans, notice: str) -> Plans:
    """Return the plans, with something to be said of the first."""
    (name, first), *others = plans
    return [(name, first.model_copy(update={"notices": (*first.notices, notice)})), *others]


def check_terms(terms: LoopTerms, common: JobRequest) -> Refused | None:  # noqa: PLR0911 - one refusal after the other
    """Refuse a loop that could not end honestly. Pure."""
    shape = terms.shape
    if shape is Shape.OPINION:
        return _check_opinion(terms, common)
    if shape in (Shape.VERIFY, Shape.ESCALATE, Shape.COUNCIL) and (wrong := _check_checked(terms, common)) is not None:
        return wrong
    if terms.check is not None and clean(terms.check) != terms.check:
        message = "the check holds a secret value, and it would be written down"
        return Refused(code=RefusalCode.WOULD_LEAK, message=message, hint="let it read the secret from a file")
    if shape is Shape.OPTIMIZE and (not (terms.rubric or "").strip() or terms.judge is None):
        message = "loop optimize needs --rubric FILE and --judge MODEL: by what, and by whom, is it judged?"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint="osrc loop optimize -h")
    if terms.judge is not None and terms.judge == common.model:
        message = f"{terms.judge} would judge its own work"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint="--judge with another model than -m")
    most = {Shape.ESCALATE: MOST_RUNGS, Shape.COUNCIL: MOST_SEATS}.get(shape)
    if most is not None and not FEWEST <= len(terms.models) <= most:
        what = "the ladder has" if shape is Shape.ESCALATE else "the council has"
        message = f"{what} {len(terms.models)} models; it takes {FEWEST} to {most}"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message)
    if len(set(terms.models)) != len(terms.models):
        return Refused(code=RefusalCode.BAD_REQUEST, message="a model is named twice")
    if shape is Shape.SWEEP and common.worktree and common.verb is not Verb.EDIT:
        return Refused(code=RefusalCode.BAD_REQUEST, message="a sweep that only looks needs no work tree of its own")
    return None


def _check_checked(terms: LoopTerms, common: JobRequest) -> Refused | None:
    """Refuse a loop to a check that has none, or could not come to pass."""
    if terms.check is None or not terms.check.strip():
        message = f"loop {terms.shape.value} needs --check: without a check outside the model it would grade itself"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint=ADVICE)
    if not common.verb.may_write:
        message = f"{common.verb.value} changes nothing, so that no check would ever pass by it"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint="--verb edit")
    return None


def _check_opinion(terms: LoopTerms, common: JobRequest) -> Refused | None:
    """Refuse a question that could have no second opinion."""
    if len(terms.seats) - terms.spares < FEWEST or any(not (seat.model or seat.lane) for seat in terms.seats):
        message = "a second opinion needs two who are asked"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint="name two: -m A,B (osrc models)")
    if common.verb.may_write:
        return Refused(code=RefusalCode.BAD_REQUEST, message=f"{common.verb.value} changes files; an opinion doesn't")
    try:
        parse_contract(terms.contract or "json")
    except ContractError as error:
        return Refused(code=RefusalCode.BAD_REQUEST, message=str(error))
    return None


def check_common(terms: LoopTerms, common: JobRequest) -> Refused | None:
    """Refuse what holds for every lap but can't."""
    if terms.session and (wrong := _no_session(common)) is not None:
        return wrong
    if common.after or common.continues:
        message = "a loop comes after no job and goes on with none"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint="osrc wait JOB && osrc loop ...")
    return check_cwd(common.cwd)


def _no_session(common: JobRequest) -> Refused | None:
    """Refuse what only jobs can have."""
    wrong = {
        "--worktree": common.worktree is True,
        "--with": bool(common.skills or common.mcp),
        "--tier": common.tier is not None,
    }
    named = next((name for name, given in wrong.items() if given), None)
    if named is None:
        return None
    hint = "leave --session away" if named != "--worktree" else "git worktree add DIR, and --cwd DIR"
    return Refused(
        code=RefusalCode.BAD_REQUEST, message=f"{named} is for jobs; with --session there are none", hint=hint
    )


def raised(record: LoopRecord, command: LoopResume) -> LoopLimits | Refused:
    """Return the bounds that a loop goes on with, or why it can't. Pure. Bounds are only ever raised."""
    if record.end is None:
        message = f"{record.loop_id} has not ended"
        return Refused(code=RefusalCode.NOT_FINISHED, message=message, hint=f"osrc loop wait {record.loop_id}")
    if record.end is LoopEnd.SUCCESS:
        message = f"{record.loop_id} has succeeded: there is nothing to resume"
        return Refused(code=RefusalCode.BAD_REQUEST, message=message)
    old = record.limits
    bounds = (
        _Bound("--max", command.laps, old.laps, LoopEnd.MAX_TURNS),
        _Bound("--max-minutes", _minutes(command.seconds), _minutes(old.seconds), LoopEnd.MAX_TIME),
        _Bound("--max-usd", command.usd, old.usd, LoopEnd.MAX_USD),
        _Bound("--max-plan", command.plan_percent, old.plan_percent, LoopEnd.MAX_USD),
    )
    wrong = [said for bound in bounds if (said := bound.lowered()) is not None]
    met = [bound for bound in bounds if bound.end is record.end and bound.was is not None]
    if met and not any(bound.is_raised() for bound in met):
        ways = " or ".join(f"a higher {bound.name} than {bound.was:g}" for bound in met)
        wrong.append(f"it ended as {record.end.value}: give {ways}")
    if wrong:
        return Refused(code=RefusalCode.BAD_REQUEST, message=wrong[0])
    return LoopLimits(
        laps=command.laps or old.laps,
        seconds=command.seconds or old.seconds,
        usd=command.usd or old.usd,
        plan_percent=command.plan_percent or old.plan_percent,
    )


@dataclass(frozen=True, slots=True)
class _Bound:
    """One bound as it was, and as it is to be."""

    name: str
    new: float | None
    was: float | None
    end: LoopEnd

    def lowered(self) -> str | None:
        """Return what is wrong with a bound that would be lower than it was; None: nothing is."""
        if self.new is None or (self.was is not None and self.new >= self.was):
            return None
        if self.was is None:
            return f"{self.name} was not bounded before: bounds are only raised"
        return f"{self.name} {self.new:g} is lower than it was ({self.was:g}): bounds are only raised"

    def is_raised(self) -> bool:
        return self.new is not None and self.was is not None and self.new > self.was


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else seconds / 60


def no_such_loop(word: str) -> Refused:
    """Return the refusal for a word that names no loop."""
    return Refused(code=RefusalCode.NO_SUCH_LOOP, message=f"there is no loop {word!r}", hint="osrc loop list")


def _head(cwd: str) -> str | None:
    """Return the commit that is checked out in a folder; None where there is none."""
    try:
        found = ask_git(cwd, ("rev-parse", "--verify", "--quiet", "HEAD"))
    except GitError:
        return None
    return found.text or None if found.code == 0 else None
