"""What the delegates of a loop are told, out of what its steps before said: reads files, and asks git. Blocks."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..lanes import loop_prompts as prompts
from ..lanes.feedback import feedback
from ..messages.loop import LoopRecord, LoopStep, Role, Shape
from ..state.errors import StateError, printable
from ..state.files import open_regular, read_private
from ..state.home import Home
from ..state.job_folder import LAST
from ..state.loop_moves import INTERRUPTED, PASSED
from .check_run import result_of
from .git import GitError, ask_git
from .loop_folder import PLAN, RUBRIC, TASK, LoopFolder
from .loop_requests import place_of

ANSWER_LIMIT = 8 * 1024 * 1024
DIFF_S = 60.0
NEW_FILES, NEW_BYTES = 30, 8192
"""So many new files are shown to an advisor, and so much of each."""


@dataclass(frozen=True, slots=True)
class LoopWords:
    """See the module."""

    home: Home

    def prompt(  # noqa: PLR0911 - one for a role
        self, record: LoopRecord, step: LoopStep, folder: LoopFolder, *, said: LoopStep | None = None
    ) -> str:
        """Return what a step is told. ``said``: the turn before it in the same conversation, which knows the task."""
        task, rubric = None if said is not None else folder.read(TASK) or "", folder.read(RUBRIC) or ""
        match step.role:
            case Role.BUILD:
                last = last_step(record, Role.BUILD, before=step.number)
                advice = last_step(record, Role.ADVISE, before=step.number)
                late = advice is not None and last is not None and advice.lap == last.lap
                return prompts.build(
                    task,
                    check=record.terms.check,
                    failure=self._failure(record, folder),
                    plan=folder.read(PLAN) if record.terms.shape is Shape.COUNCIL and said is None else None,
                    advice=self.answer(record, advice)
                    if late and advice is not None and advice.agrees is False
                    else None,
                    changed=last.changed if last is not None and not record.terms.allow_check_edits else (),
                    cut=said is not None and said.state == INTERRUPTED,
                )
            case Role.FIND:
                return prompts.find(task or "", folder.findings(step.number))
            case Role.WRITE:
                last, judged = (
                    last_step(record, Role.WRITE, before=step.number),
                    last_step(record, Role.JUDGE, before=step.number),
                )
                same = last is not None and judged is not None and judged.lap == last.lap
                return prompts.write(
                    task,
                    rubric=rubric,
                    before=self.answer(record, last) if said is None else None,
                    critique=self.answer(record, judged) if same and judged is not None else None,
                    failure=self._failure(record, folder),
                )
            case Role.JUDGE:
                last = last_step(record, Role.WRITE)
                return prompts.judge(task or "", rubric=rubric, answer=self.answer(record, last) or "")
            case Role.DEBATE:
                before = self._proposals(record, step.round - 1)
                others = [(name, text) for who, name, text in before if who != step.who]
                return prompts.debate(task, turn=step.round, others=others)
            case Role.DECIDE:
                proposals = self._proposals(record, record.terms.rounds)
                return prompts.decide(task or "", [(name, text) for _, name, text in proposals])
            case Role.ADVISE:
                diff = self._diff(record, place_of(record) or record.cwd)
                return prompts.advise(task or "", plan=folder.read(PLAN) or "", diff=diff)
            case _:
                return task or ""

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
            (who, record.terms.models[who], self.answer(record, step) or "") for who, step in sorted(latest.items())
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

    def answer(self, record: LoopRecord, step: LoopStep | None) -> str | None:
        """Return what a step answered; None where nothing is kept of it."""
        if step is not None and step.session_id is not None:
            return LoopFolder.of(self.home, record.loop_id).answer(step.number)
        return None if step is None else self.of_job(step.job_id)

    def of_job(self, job_id: str | None) -> str | None:
        """Return a job's final message."""
        if job_id is None:
            return None
        try:
            data = read_private(self.home.job_dir(job_id) / LAST, ANSWER_LIMIT)
        except StateError:
            return None
        return None if data is None else data.decode("utf-8", "replace")


def last_step(record: LoopRecord, role: Role, *, before: int | None = None) -> LoopStep | None:
    """Return the newest step of a role."""
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
