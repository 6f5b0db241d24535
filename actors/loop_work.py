"""The slow half of a loop: asking for a job, running a check, and seeing what a step came to. Runs in threads.

Everything here can be repeated: a supervisor that was killed begins the same step again, and finds the job or the check
that there is.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from dataclasses import dataclass

from ..lanes import loop_prompts as prompts
from ..lanes.feedback import fingerprint, last_line
from ..messages.job import JobRecord, JobRequest
from ..messages.loop import LoopRecord, LoopStep, Role, Shape
from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SessionRecord
from ..messages.vocabulary import JobState
from ..state import ledger
from ..state.errors import StateError, printable
from ..state.gauges import pressure
from ..state.gauges_reader import stored
from ..state.ids import new_job_id
from ..state.job_folder import JobFolder
from ..state.limits import key_of
from ..state.loop_machine import remaining_s
from ..state.loop_moves import REFUSED
from ..state.reader import Reader
from .caller import settings_of
from .check_files import changes, look_at_check
from .check_run import Check, CheckResult, Verdict, run_check
from .git import GitError
from .host import decode_environment
from .intake_checks import as_utf8
from .job_desk import JobDesk
from .job_tree import settle_lap
from .kept_request import without_secrets
from .leftovers import is_in_the_way
from .loop_folder import PLAN, LoopFolder
from .loop_names import GoesOn, Launched, Settled
from .loop_opinion import LoopOpinion
from .loop_requests import owner_of, place_of, request_for
from .loop_sessions import Came, LoopSessions
from .loop_tree import fresh_tree
from .loop_words import LoopWords, last_step
from .reported_gauges import told
from .services import Services

DETAIL = 300
_TRY_AGAIN = frozenset({RefusalCode.STOPPING, RefusalCode.SUPERVISOR_BUSY})
_NO_CONVERSATION = frozenset({RefusalCode.VERB_UNSUPPORTED, RefusalCode.NO_RESULT, RefusalCode.LANE_CONFLICT})
"""Why a conversation can't go on: its lane can't, it named none, or it ran elsewhere. Then one is begun."""
_NO_JUDGE = Refused(
    code=RefusalCode.LANE_NOT_READY, message="no model is here that could decide", hint="name one: --judge M"
)
_WORKS = (Role.BUILD, Role.WRITE)


@dataclass(frozen=True, slots=True)
class LoopWork:
    """See the module."""

    services: Services
    desk: JobDesk
    sessions: LoopSessions

    @property
    def opinion(self) -> LoopOpinion:
        """What a second opinion comes to."""
        return LoopOpinion(self.services)

    @property
    def words(self) -> LoopWords:
        """What delegates are told."""
        return LoopWords(self.services.home)

    # --- a job

    def launch(self, record: LoopRecord, step: LoopStep) -> Launched:
        """Ask for the job of a step, unless it was taken already."""
        home = self.services.home
        folder = LoopFolder.of(home, record.loop_id)
        job_id = step.job_id
        if job_id is None or is_in_the_way(JobFolder(home.job_dir(job_id)), lambda: self._is_known(job_id)):
            return Launched(step.number, renamed=_fresh_id())
        try:
            common = self._asked(record, step, folder)
            if isinstance(common, Refused):
                return Launched(step.number, refused=_refused(step, common))
            before = last_step(record, step.role, before=step.number)
            left = remaining_s(record, self.services.clock.now().wall)
            asks = step.role in (Role.ANSWER, Role.RULE)
            prompt = self.opinion.prompt(record, step) if asks else self.words.prompt(record, step, folder)
            request = request_for(record, common, step, prompt=prompt, before=before, timeout_s=left)
            if step.role is Role.RULE:
                judge = self.opinion.judge(record, request)
                if judge is None:
                    return Launched(step.number, refused=_refused(step, _NO_JUDGE))
                request = judge
            reply = self.desk.submit(request)
            if isinstance(reply, Refused) and request.continues and reply.code in _NO_CONVERSATION:
                reply = self.desk.submit(request.model_copy(update={"continues": None}))
        except StateError as error:
            return Launched(step.number, refused=_refused(step, error.refusal))
        return _not_begun(step, reply) if isinstance(reply, Refused) else Launched(step.number)

    def settle(self, record: LoopRecord, step: LoopStep, job: JobRecord | None) -> Settled:
        """Return what a job came to, once it has ended; without one: it was removed."""
        if job is None:
            return Settled(
                step.model_copy(update={"ended": time.time(), "state": "canceled", "detail": "it was removed"}),
                step.number,
            )
        rows = ledger.rows_of(job, job.ended or time.time())
        known = [row for row in rows if row.spent in ("measured", "estimated")]
        update: dict[str, object] = {
            "ended": time.time(),
            "state": job.state.value,
            "seconds": None if job.started is None or job.ended is None else max(0.0, job.ended - job.started),
            "detail": self._said(job),
            "model": job.model_observed or job.model or step.model,
            "cwd": job.cwd,
            "worktree": job.worktree,
            "branch": job.branch,
            "cash_usd": sum(row.cash_nano for row in known) / ledger.NANO if known else None,
            "measured": all(row.spent == "measured" for row in known),
            "unknown": sum(row.spent == "unknown" for row in rows),
            "plan": job.cost.plan or job.pool if job.cost.kind == "plan" else None,
            "plan_used": self._plan_used(job.lane, job.pool) if job.cost.kind == "plan" else None,
        }
        folder = LoopFolder.of(self.services.home, record.loop_id)
        if step.role in _WORKS and record.terms.check is not None:
            update["changed"] = self._changed(record, folder, job.cwd if job.worktree else None)
        if step.role in _WORKS and job.worktree is None and (owner := owner_of(record)) is not None:
            left = settle_lap(job, JobFolder(self.services.home.job_dir(owner)))
            if left is not None:
                update["detail"] = "; ".join(said for said in (job.reason or job.note, left) if said)[:DETAIL]
        if job.state in (JobState.DONE, JobState.DONE_UNVERIFIED):
            update |= self._answered(step, self.words.of_job(job.job_id) or "", folder)
            if step.role is Role.RULE:
                update |= self.opinion.ruled(record, step.model_copy(update=update))
        return Settled(step.model_copy(update=update), step.number)

    def compare(self, record: LoopRecord, step: LoopStep) -> Settled:
        """Return what the answers to a question come to."""
        return Settled(self.opinion.compared(record, step), step.number)

    # --- a turn of a session

    def begin_turn(self, record: LoopRecord, step: LoopStep) -> Launched:  # noqa: PLR0911 - one refusal after another
        """Have a step's prompt given to its session, unless it was given already."""
        folder, sessions = LoopFolder.of(self.services.home, record.loop_id), self.sessions
        if sessions.is_given(record, step):
            return Launched(step.number)
        if sessions.is_in_the_way(step):
            return Launched(step.number, renamed=_fresh_id())
        try:
            common = self._asked(record, step, folder)
            if isinstance(common, Refused):
                return Launched(step.number, refused=_refused(step, common))
            if step.role in _WORKS:
                sessions.stop_others(record, step)
            request = request_for(record, common, step, prompt="", before=None, timeout_s=None)
            found = sessions.up(record, step, request)
            if isinstance(found, Refused) and found.code is RefusalCode.SESSION_NAME_IN_USE:
                return Launched(step.number, renamed=_fresh_id())  # somebody else is called so now
            if isinstance(found, Refused):
                return _not_begun(step, found)
            said = [one for one in record.steps if one.session_id == step.session_id and one.ended is not None]
            knows = said[-1] if said and _goes_on(said[-1], found) else None
            prompt = self.words.prompt(record, step, folder, said=knows)
            if (refused := sessions.give(record, step, prompt, request)) is not None:
                return _not_begun(step, refused)
        except StateError as error:
            return Launched(step.number, refused=_refused(step, error.refusal))
        return Launched(step.number)

    def watch_turn(self, record: LoopRecord, step: LoopStep, stop: threading.Event) -> Settled | GoesOn:
        """Return what a turn came to, once it is over."""
        folder, now = LoopFolder.of(self.services.home, record.loop_id), self.services.clock.now().wall
        kept, left = folder.request(), remaining_s(record, now)
        bounds = [step.began + kept.timeout_s] if kept is not None and kept.timeout_s is not None else []
        bounds += [now + left] if left is not None else []
        came = self.sessions.watch(record, step, min(bounds, default=None), stop)
        if came is None:
            return GoesOn(step.number)
        return Settled(step.model_copy(update=self._came(record, step, came, folder)), step.number)

    def _came(self, record: LoopRecord, step: LoopStep, came: Came, folder: LoopFolder) -> dict[str, object]:
        now = time.time()
        said = came.detail or last_line(came.text)
        update: dict[str, object] = {"ended": now, "state": came.state.value, "seconds": max(0.0, now - step.began)}
        update |= {"detail": " ".join(said.split())[:DETAIL] or None}
        if (known := came.session) is not None:
            before = max((one.turns or 0 for one in record.steps if one.session_id == step.session_id), default=0)
            cash, measured, unknown = self.sessions.spent(known.session_id, before, came.turns)
            plan = known.paid == "plan"
            update |= {
                "model": known.model_observed or known.model or step.model,
                "cwd": known.cwd,
                "attempt": known.attempt if came.taken else None,
                "conversation": known.conversation if came.taken else None,
                "turns": max(before, came.turns),
                "cash_usd": cash,
                "measured": measured,
                "unknown": unknown,
                "plan": (known.pool or known.lane) if plan else None,
                "plan_used": self._plan_used(known.lane, known.pool) if plan else None,
            }
        folder.keep_answer(step.number, came.text)
        if step.role in _WORKS and record.terms.check is not None:
            update["changed"] = self._changed(record, folder, None)
        if came.state in (JobState.DONE, JobState.DONE_UNVERIFIED):
            update |= self._answered(step, came.text, folder)
        return update

    def close(self, record: LoopRecord) -> GoesOn:
        """Have every session of the loop ended, and what a question came to kept."""
        if record.terms.shape is Shape.OPINION:
            self.opinion.conclude(record)
        for session_id in self.sessions.live(record):
            self.sessions.stop(session_id)
        return GoesOn(0)

    def _answered(self, step: LoopStep, answer: str, folder: LoopFolder) -> dict[str, object]:
        """Return what an answer says, in the words that its role was asked for."""
        match step.role:
            case Role.FIND:
                found = prompts.findings_in(answer)
                return {"found": None if found is None else folder.keep_findings(step.number, found)}
            case Role.JUDGE:
                return {"score": prompts.score_in(answer)}
            case Role.ADVISE:
                return {"agrees": prompts.verdict_in(answer)}
            case Role.DECIDE:
                folder.write(PLAN, answer)
                return {}
            case Role.ANSWER:
                return self.opinion.answered(answer)
            case _:
                return {}

    # --- a check

    def check(self, record: LoopRecord, step: LoopStep, stop: threading.Event) -> Settled:
        """Run the check of a step, or wait for the run that there is."""
        folder = LoopFolder.of(self.services.home, record.loop_id)
        if (gone := _moved(record)) is not None:
            return Settled(_checked(step, CheckResult(Verdict.NOT_RUN, error=gone.message)), step.number)
        if not record.worktree or place_of(record) is not None:
            return Settled(self._checked_in(record, step, place_of(record) or record.cwd, stop), step.number)
        try:
            settings = settings_of(self._environment(record, folder))
            with fresh_tree(record, settings, make=not (folder.check(step.number) / "claim.1").exists()) as cwd:
                return Settled(self._checked_in(record, step, cwd, stop), step.number)
        except (GitError, StateError) as error:
            return Settled(_checked(step, CheckResult(Verdict.NOT_RUN, error=str(error))), step.number)

    def _checked_in(self, record: LoopRecord, step: LoopStep, cwd: str, stop: threading.Event) -> LoopStep:
        folder = LoopFolder.of(self.services.home, record.loop_id)
        left = remaining_s(record, self.services.clock.now().wall)
        timeout_s = record.terms.check_timeout_s if left is None else min(record.terms.check_timeout_s, max(1.0, left))
        environment = without_secrets(self._environment(record, folder)) | {"PWD": cwd}
        before = self._look(record, cwd)
        wanted = Check(record.terms.check or "false", cwd, environment, timeout_s, self.services.umask)
        result = run_check(folder.check(step.number), wanted, stop)
        self._own_changes(record, folder, before, self._look(record, cwd))
        return _checked(step, result)

    def _own_changes(self, record: LoopRecord, folder: LoopFolder, before: dict[str, str], now: dict[str, str]) -> None:
        """Take over what the check itself changed: no delegate is to be blamed for it."""
        kept = folder.guard(record.segment)
        if kept is None:  # nobody has worked in this segment yet
            folder.keep_guard(record.segment, now)
            return
        for path in {*before, *now}:
            if before.get(path) != now.get(path):
                kept.pop(path, None)
                if path in now:
                    kept[path] = now[path]
        folder.keep_guard(record.segment, kept)

    def _guard(self, record: LoopRecord, folder: LoopFolder) -> None:
        """Remember what the check consists of, before the first delegate of a segment may change it."""
        if record.terms.check is None or folder.guard(record.segment) is not None:
            return
        if not record.worktree or place_of(record) is not None:
            folder.keep_guard(record.segment, self._look(record, place_of(record) or record.cwd))
            return
        with contextlib.suppress(GitError), fresh_tree(record, settings_of(self._environment(record, folder))) as cwd:
            folder.keep_guard(record.segment, self._look(record, cwd))

    def _changed(self, record: LoopRecord, folder: LoopFolder, cwd: str | None) -> tuple[str, ...]:
        kept = folder.guard(record.segment)
        if kept is None:
            return ()
        return changes(kept, self._look(record, place_of(record) or cwd or record.cwd))[:100]

    @staticmethod
    def _look(record: LoopRecord, cwd: str) -> dict[str, str]:
        return dict(look_at_check(record.terms.check or "", cwd, record.terms.guard))

    # --- small things

    def _asked(self, record: LoopRecord, step: LoopStep, folder: LoopFolder) -> JobRequest | Refused:
        """Return what the loop was asked for, ready for a step: a delegate that works finds its folder watched."""
        found = _moved(record) or self._common(record, folder)
        if step.role in _WORKS and not isinstance(found, Refused):
            self._guard(record, folder)
        return found

    def _common(self, record: LoopRecord, folder: LoopFolder) -> JobRequest | Refused:
        kept = folder.request()
        if kept is None:
            return Refused(code=RefusalCode.STATE_DAMAGED, message=f"{printable(folder.path)} can't be read")
        environment = self.services.requests.get(record.loop_id)
        return kept if environment is None else kept.model_copy(update={"environment": environment})

    def _environment(self, record: LoopRecord, folder: LoopFolder) -> dict[str, str]:
        common = self._common(record, folder)
        try:
            return {} if isinstance(common, Refused) else decode_environment(common.environment)
        except ValueError:
            return {}

    def _plan_used(self, lane: str, pool: str | None) -> float | None:
        """Return how far the plan that a step spent is used, as far as anybody told of late."""
        home = self.services.home
        with Reader(home.database) as reader:
            known = [*stored(reader), *told(os.fspath(home.root), os.environ)]
        return pressure(known, key_of(lane, pool), self.services.clock.now().wall)

    def _is_known(self, job_id: str) -> bool:
        with Reader(self.services.home.database) as reader:
            return reader.record(job_id) is not None

    def _said(self, job: JobRecord) -> str | None:
        said = job.reason or job.note
        if said is None and job.state in (JobState.DONE, JobState.DONE_UNVERIFIED):
            said = last_line(self.words.of_job(job.job_id) or "")
        return " ".join(said.split())[:DETAIL] or None if said else None


def _moved(record: LoopRecord) -> Refused | None:
    """Refuse to work where the loop's folder was: it is gone, or a link leads somewhere else from there."""
    place = place_of(record)
    if place is not None:
        if os.path.isdir(place) and not os.path.islink(place):  # noqa: PTH112, PTH114 - a plain look
            return None
        return Refused(code=RefusalCode.BAD_CWD, message=f"its work tree {printable(place)} was removed or replaced")
    if record.real is None or as_utf8(os.path.realpath(record.cwd)) == record.real:
        return None
    message = f"its folder {printable(record.cwd)} leads elsewhere now: it was {printable(record.real)}"
    return Refused(code=RefusalCode.BAD_CWD, message=message, hint="put it back, or begin a loop there")


def _goes_on(step: LoopStep, session: SessionRecord) -> bool:
    """Whether a session still is in the conversation that got what a step sent."""
    same = step.conversation is not None and step.conversation == session.conversation
    return step.attempt is not None and (same or step.attempt == session.attempt)


def _fresh_id() -> str:
    return new_job_id(time.time(), os.urandom(6))


def _not_begun(step: LoopStep, why: Refused) -> Launched:
    """Return what became of a step that was refused; what may be different in a moment is asked for again."""
    if why.code in _TRY_AGAIN:
        return Launched(step.number, again=True)
    return Launched(step.number, refused=_refused(step, why))


def _refused(step: LoopStep, why: Refused) -> LoopStep:
    return step.model_copy(
        update={"ended": time.time(), "state": REFUSED, "detail": why.message[:1000], "hint": why.hint}
        | ({} if step.session_id is not None else {"job_id": None})
    )


def _checked(step: LoopStep, result: CheckResult) -> LoopStep:
    """Return the step with its verdict."""
    said = last_line(result.tail)
    words = result.words() if result.verdict is not Verdict.PASSED else None
    detail = said if words is None else f"{words}: {said}" if said else words
    failed = result.verdict not in (Verdict.PASSED, Verdict.CANCELED)
    return step.model_copy(
        update={
            "ended": time.time(),
            "state": result.verdict.value,
            "seconds": round(result.seconds, 3),
            "code": result.code,
            "detail": detail[:DETAIL] or None,
            "fingerprint": fingerprint(result.words(), result.tail) if failed else None,
        }
    )
