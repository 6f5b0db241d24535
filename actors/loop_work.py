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
from ..lanes.feedback import feedback, fingerprint, last_line
from ..messages.job import JobRecord, JobRequest
from ..messages.loop import LoopRecord, LoopStep, Role, Shape
from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import JobState
from ..state import ledger
from ..state.errors import StateError, printable
from ..state.files import open_regular, read_private
from ..state.gauges import pressure
from ..state.gauges_reader import stored
from ..state.ids import new_job_id
from ..state.job_folder import LAST, JobFolder
from ..state.limits import key_of
from ..state.loop_machine import PASSED, REFUSED, remaining_s
from ..state.reader import Reader
from .check_files import changes, look_at_check
from .check_run import Check, CheckResult, Verdict, result_of, run_check
from .git import GitError, ask_git
from .host import decode_environment
from .intake import settings_of
from .job_desk import JobDesk
from .job_tree import settle_lap
from .kept_request import without_secrets
from .loop_folder import PLAN, RUBRIC, TASK, LoopFolder
from .loop_names import Launched, Settled
from .loop_requests import owner_of, place_of, request_for
from .loop_tree import fresh_tree
from .services import Services
from .told_gauges import told

ANSWER_LIMIT = 8 * 1024 * 1024
DETAIL = 300
DIFF_S = 60.0
NEW_FILES, NEW_BYTES = 30, 8192
"""So many new files are shown to an advisor, and so much of each."""
_TRY_AGAIN = frozenset({RefusalCode.STOPPING, RefusalCode.SUPERVISOR_BUSY})
_NO_CONVERSATION = frozenset({RefusalCode.VERB_UNSUPPORTED, RefusalCode.NO_RESULT, RefusalCode.LANE_CONFLICT})
"""Why a conversation can't go on: its lane can't, it named none, or it ran elsewhere. Then one is begun."""
_WORKS = (Role.BUILD, Role.WRITE)


@dataclass(frozen=True, slots=True)
class LoopWork:
    """See the module."""

    services: Services
    desk: JobDesk

    # --- a job

    def launch(self, record: LoopRecord, step: LoopStep) -> Launched:  # noqa: PLR0911 - one refusal after the other
        """Ask for the job of a step, unless it was taken already."""
        home = self.services.home
        folder = LoopFolder.of(home, record.loop_id)
        if step.job_id is None or (home.job_dir(step.job_id).exists() and not self._is_known(step.job_id)):
            return Launched(step.number, renamed=new_job_id(time.time(), os.urandom(6)))
        try:
            common = self._common(record, folder)
            if isinstance(common, Refused):
                return Launched(step.number, refused=_refused(step, common))
            if (place := place_of(record)) is not None and not os.path.isdir(place):  # noqa: PTH112 - a plain look
                gone = Refused(code=RefusalCode.BAD_CWD, message=f"its work tree {printable(place)} was removed")
                return Launched(step.number, refused=_refused(step, gone))
            if step.role in _WORKS:
                self._guard(record, folder)
            before = _last(record, step.role, before=step.number)
            left = remaining_s(record, self.services.clock.now().wall)
            prompt = self._prompt(record, step, folder)
            request = request_for(record, common, step, prompt=prompt, before=before, timeout_s=left)
            reply = self.desk.submit(request)
            if isinstance(reply, Refused) and request.continues and reply.code in _NO_CONVERSATION:
                reply = self.desk.submit(request.model_copy(update={"continues": None}))
        except StateError as error:
            return Launched(step.number, refused=_refused(step, error.refusal))
        if isinstance(reply, Refused):
            if reply.code in _TRY_AGAIN:
                return Launched(step.number, again=True)
            return Launched(step.number, refused=_refused(step, reply))
        return Launched(step.number)

    def settle(self, record: LoopRecord, step: LoopStep, job: JobRecord | None) -> Settled:
        """Return what a job came to, once it has ended; without one: it was removed."""
        if job is None:
            return Settled(
                step.model_copy(update={"ended": time.time(), "state": "canceled", "detail": "it was removed"})
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
            "plan_used": self._plan_used(job) if job.cost.kind == "plan" else None,
        }
        folder = LoopFolder.of(self.services.home, record.loop_id)
        if step.role in _WORKS and record.terms.check is not None:
            update["changed"] = self._changed(record, folder, job.cwd if job.worktree else None)
        if step.role in _WORKS and job.worktree is None and (owner := owner_of(record)) is not None:
            left = settle_lap(job, JobFolder(self.services.home.job_dir(owner)))
            if left is not None:
                update["detail"] = "; ".join(said for said in (job.reason or job.note, left) if said)[:DETAIL]
        if job.state in (JobState.DONE, JobState.DONE_UNVERIFIED):
            update |= self._answered(step, self._answer(job.job_id) or "", folder)
        return Settled(step.model_copy(update=update))

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
            case _:
                return {}

    # --- a check

    def check(self, record: LoopRecord, step: LoopStep, stop: threading.Event) -> Settled:
        """Run the check of a step, or wait for the run that there is."""
        folder = LoopFolder.of(self.services.home, record.loop_id)
        if not record.worktree or place_of(record) is not None:
            return Settled(self._checked_in(record, step, place_of(record) or record.cwd, stop))
        try:
            settings = settings_of(self._environment(record, folder))
            with fresh_tree(record, settings, make=not (folder.check(step.number) / "claim.1").exists()) as cwd:
                return Settled(self._checked_in(record, step, cwd, stop))
        except (GitError, StateError) as error:
            return Settled(_checked(step, CheckResult(Verdict.NOT_RUN, error=str(error))))

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

    # --- what a delegate is told

    def _prompt(self, record: LoopRecord, step: LoopStep, folder: LoopFolder) -> str:  # noqa: PLR0911 - one for a role
        task, rubric = folder.read(TASK) or "", folder.read(RUBRIC) or ""
        match step.role:
            case Role.BUILD:
                last = _last(record, Role.BUILD, before=step.number)
                advice = _last(record, Role.ADVISE, before=step.number)
                late = advice is not None and last is not None and advice.lap == last.lap
                return prompts.build(
                    task,
                    check=record.terms.check,
                    failure=self._failure(record, folder),
                    plan=folder.read(PLAN) if record.terms.shape is Shape.COUNCIL else None,
                    advice=self._answer(advice.job_id)
                    if late and advice is not None and advice.agrees is False
                    else None,
                    changed=last.changed if last is not None and not record.terms.allow_check_edits else (),
                )
            case Role.FIND:
                return prompts.find(task, folder.findings(step.number))
            case Role.WRITE:
                last, judged = (
                    _last(record, Role.WRITE, before=step.number),
                    _last(record, Role.JUDGE, before=step.number),
                )
                same = last is not None and judged is not None and judged.lap == last.lap
                return prompts.write(
                    task,
                    rubric=rubric,
                    before=self._answer(last.job_id) if last is not None else None,
                    critique=self._answer(judged.job_id) if same and judged is not None else None,
                    failure=self._failure(record, folder),
                )
            case Role.JUDGE:
                last = _last(record, Role.WRITE)
                return prompts.judge(task, rubric=rubric, answer=(self._answer(last.job_id) if last else None) or "")
            case Role.DEBATE:
                said = self._proposals(record, step.round - 1)
                others = [(name, text) for who, name, text in said if who != step.who]
                return prompts.debate(task, turn=step.round, others=others)
            case Role.DECIDE:
                said = self._proposals(record, record.terms.rounds)
                return prompts.decide(task, [(name, text) for _, name, text in said])
            case Role.ADVISE:
                diff = self._diff(record, place_of(record) or record.cwd)
                return prompts.advise(task, plan=folder.read(PLAN) or "", diff=diff)
            case _:
                return task

    def _failure(self, record: LoopRecord, folder: LoopFolder) -> str | None:
        """Return what the last check said; None where it passed, or there was none."""
        checks = [step for step in record.steps if step.role is Role.CHECK and step.ended is not None]
        if not checks or checks[-1].state == PASSED:
            return None
        result = result_of(folder.check(checks[-1].number))
        return None if result is None else feedback(result.words(), result.tail)

    def _proposals(self, record: LoopRecord, turn: int) -> list[tuple[int, str, str]]:
        """Return who proposed what in a round: seat, name, text."""
        latest = {step.who: step for step in record.steps if step.role is Role.DEBATE and step.round == turn}
        return [
            (who, record.terms.models[who], self._answer(step.job_id) or "") for who, step in sorted(latest.items())
        ]

    @staticmethod
    def _diff(record: LoopRecord, cwd: str) -> str:
        """Return what is not as it was when the loop began, as far as git can tell."""
        if record.base is None:
            return "There is no commit to compare with: look at the files yourself."
        try:
            changed = ask_git(cwd, ("diff", "--no-ext-diff", "--no-textconv", record.base, "--"), timeout_s=DIFF_S)
            new = ask_git(cwd, ("ls-files", "-z", "--others", "--exclude-standard"), timeout_s=DIFF_S)
        except GitError as error:
            return f"What changed can't be seen ({error}): look at the files yourself."
        said = changed.out.decode("utf-8", "replace")
        names = [os.fsdecode(name) for name in new.out.split(b"\0") if name]
        told = "\n".join(f"New file {printable(name)}:\n{_beginning(f'{cwd}/{name}')}" for name in names[:NEW_FILES])
        rest = f"\nand {len(names) - NEW_FILES} more new files" if len(names) > NEW_FILES else ""
        return f"{said}\n{told}{rest}".strip() or "Nothing."

    # --- small things

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

    def _plan_used(self, job: JobRecord) -> float | None:
        """Return how far the plan that a job spent is used, as far as anybody told of late."""
        home = self.services.home
        with Reader(home.database) as reader:
            known = [*stored(reader), *told(os.fspath(home.root), os.environ)]
        return pressure(known, key_of(job.lane, job.pool), self.services.clock.now().wall)

    def _is_known(self, job_id: str) -> bool:
        with Reader(self.services.home.database) as reader:
            return reader.record(job_id) is not None

    def _answer(self, job_id: str | None) -> str | None:
        if job_id is None:
            return None
        try:
            data = read_private(self.services.home.job_dir(job_id) / LAST, ANSWER_LIMIT)
        except StateError:
            return None
        return None if data is None else data.decode("utf-8", "replace")

    def _said(self, job: JobRecord) -> str | None:
        said = job.reason or job.note
        if said is None and job.state in (JobState.DONE, JobState.DONE_UNVERIFIED):
            said = last_line(self._answer(job.job_id) or "")
        return " ".join(said.split())[:DETAIL] or None if said else None


def _last(record: LoopRecord, role: Role, *, before: int | None = None) -> LoopStep | None:
    found = (one for one in reversed(record.steps) if one.role is role and (before is None or one.number < before))
    return next(found, None)


def _beginning(path: str) -> str:
    """Return the beginning of a file as text; for what can't be read, a word."""
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            data = file.read(NEW_BYTES + 1)
    except OSError as error:
        return f"({error.strerror})"
    text = data[:NEW_BYTES].decode("utf-8", "replace")
    return f"{text}\n[... the rest is left out ...]" if len(data) > NEW_BYTES else text


def _refused(step: LoopStep, why: Refused) -> LoopStep:
    return step.model_copy(
        update={"ended": time.time(), "state": REFUSED, "detail": why.message[:1000], "hint": why.hint, "job_id": None}
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
