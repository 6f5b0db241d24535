"""What the answers to one question come to, out of a loop's steps: read here, decided in ``lanes/advice``. Blocks.

``verdict.json`` in the loop's folder is what ``osrc second-opinion`` prints, kept before the loop's end is journalled.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..lanes.advice.answers import fault_of
from ..lanes.advice.contracts import Contract, ContractError, kept, parse_contract
from ..lanes.advice.opinions import Ruling, Tally, asked_with, judge_prompt, read_ruling, tally
from ..messages.job import JobRequest
from ..messages.loop import LoopRecord, LoopStep, Role
from ..state.loop_moves import DONE, REFUSED
from ..state.reader import Reader
from .loop_folder import TASK, VERDICT, LoopFolder
from .loop_judging import bench_of
from .loop_words import LoopWords
from .services import Services

ANSWER_CHARS = 256 * 1024
"""So much of an answer is compared and shown to a judge; the job's own file has all."""


@dataclass(frozen=True, slots=True)
class Said:
    """One who was asked, and what it answered."""

    step: LoopStep
    job: Mapping[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class LoopOpinion:
    """See the module."""

    services: Services

    # --- what is asked

    def prompt(self, record: LoopRecord, step: LoopStep) -> str:
        """Return what a seat, or the judge, is told."""
        question, contract = self._question(record), contract_of(record)
        if step.role is Role.ANSWER:
            return asked_with(question, contract)
        said = self._said(record)
        found = tally(question, [one.text for one in said], contract)
        mark, places = self._mark(record, step, found)
        return judge_prompt(question, [(place, said[place].text) for place in places], mark, contract)

    def judge(self, record: LoopRecord, request: JobRequest) -> JobRequest | None:
        """Return the request for the judge, chosen where none was named; None where nobody here could be one."""
        if record.terms.judge is not None:
            return request
        asked = [seat.model or seat.lane or "" for seat in record.terms.seats]
        bench = bench_of(self.services, request.model_copy(update={"cwd": record.cwd}), self._question(record))
        one = bench.judge(asked)
        if one is None:
            return None
        return request.model_copy(update={"model": None if one.model is None else one.word, "lane": one.lane})

    def _mark(self, record: LoopRecord, step: LoopStep, found: Tally) -> tuple[str, list[int]]:
        """Return the judge's mark, which nobody could know before, and the order of the answers; always the same."""
        folder, name = LoopFolder.of(self.services.home, record.loop_id), f"ruling-{step.number}.json"
        known = folder.read_json(name)
        if isinstance(known, dict) and isinstance(known.get("mark"), str) and isinstance(known.get("places"), list):
            return known["mark"], [place for place in known["places"] if isinstance(place, int)]
        unusable = dict(found.unusable)
        places = [place for place in range(len(self._said(record))) if place not in unusable]
        mark = os.urandom(8).hex()
        if int(mark[0], 16) % 2:
            places.reverse()  # a judge may like what it reads first
        folder.write_json(name, {"mark": mark, "places": places})
        return mark, places

    # --- what it comes to

    def answered(self, text: str) -> dict[str, object]:
        """Return what a seat's step says of its answer."""
        return {"found": 1 if text.strip() else 0}

    def compared(self, record: LoopRecord, step: LoopStep) -> LoopStep:
        """Return the comparison of all answers that there are."""
        found = tally(self._question(record), [one.text for one in self._said(record)], contract_of(record))
        return step.model_copy(update={"ended": time.time(), "state": found.outcome, "detail": found.why[:300]})

    def ruled(self, record: LoopRecord, step: LoopStep) -> dict[str, object]:
        """Return whether a judge that ended well gave a ruling that stands."""
        steps = [one for one in record.steps if one.number != step.number]
        verdict = self.verdict(record.model_copy(update={"steps": (*steps, step)}))
        return {"agrees": verdict["outcome"] == "adjudicated", "detail": str(verdict["why"])[:300]}

    def conclude(self, record: LoopRecord) -> None:
        """Keep the verdict. Raises StateError."""
        LoopFolder.of(self.services.home, record.loop_id).write_json(VERDICT, self.verdict(record))

    def verdict(self, record: LoopRecord) -> dict[str, Any]:
        """Return what is known of the question by now, as ``osrc second-opinion --json`` prints it."""
        said, contract = self._said(record), contract_of(record)
        answers = [one.text for one in said]
        found = tally(self._question(record), answers, contract)
        outcome: str = found.outcome
        if outcome == "open":
            outcome = "dissent" if record.terms.judging == "never" else "undecided"
        view = _View(said, outcome, found.why, answers[found.winner] if found.winner is not None else None)
        rulings = (one for one in reversed(record.steps) if one.role is Role.RULE and one.segment == record.segment)
        step = next(rulings, None)
        if step is not None and step.ended is not None and record.terms.judging != "never":
            self._rule(record, step, view, contract)
        lost = dict(found.unusable)
        rows = [view.row(place, lost.get(place), found.agreeing) for place in range(len(said))]
        return {
            "opinion_id": record.loop_id,
            "outcome": view.outcome,
            "answer": view.answer,
            "why": view.why,
            "hint": view.hint,
            "members": rows,
            "dissent": [row["job_id"] for row in rows if row["fault"] is None and not row["agrees"]],
            "judge": view.judge,
        }

    def _rule(self, record: LoopRecord, step: LoopStep, view: _View, contract: Contract | None) -> None:
        if step.state == REFUSED or step.job_id is None:
            view.undecided(f"the judge was refused: {step.detail}", step.hint)
            return
        known = LoopFolder.of(self.services.home, record.loop_id).read_json(f"ruling-{step.number}.json")
        mark, places = (known.get("mark"), known.get("places")) if isinstance(known, dict) else (None, None)
        text = self._text(step)
        ruling = read_ruling(text, mark, places) if isinstance(mark, str) and isinstance(places, list) else None
        view.ruled(step, self._job(step.job_id), ruling, contract)

    # --- small things

    def _question(self, record: LoopRecord) -> str:
        return LoopFolder.of(self.services.home, record.loop_id).read(TASK) or ""

    def _said(self, record: LoopRecord) -> list[Said]:
        """Return who was asked, in the order of the seats: the newest try of each."""
        steps = {one.who: one for one in record.steps if one.role is Role.ANSWER and one.ended is not None}
        return [Said(step, self._job(step.job_id), self._text(step)) for _, step in sorted(steps.items())]

    def _text(self, step: LoopStep) -> str:
        if step.state not in DONE:
            return ""
        return (LoopWords(self.services.home).of_job(step.job_id) or "")[:ANSWER_CHARS].strip()

    def _job(self, job_id: str | None) -> Mapping[str, Any]:
        with Reader(self.services.home.database) as reader:
            return reader.record(job_id or "") or {}


@dataclass(slots=True)
class _View:
    """What is known of one question so far."""

    said: Sequence[Said]
    outcome: str
    why: str
    answer: str | None
    hint: str | None = None
    judge: dict[str, Any] | None = None

    def undecided(self, why: str, hint: str | None) -> None:
        """Keep why no judge ruled; what was decided without one stands."""
        self.hint = hint
        self.why = f"{self.why}; {why}" if self.why else why

    def ruled(self, step: LoopStep, job: Mapping[str, Any], ruling: Ruling | None, contract: Contract | None) -> None:
        """Take a judge's ruling in. One that gives no answer of its own stands for the answer it chose."""
        self.judge = {
            "job_id": step.job_id,
            "model": job.get("model_observed") or job.get("model"),
            "lane": job.get("lane"),
            "state": step.state,
            "choice": None,
        }
        if ruling is None:
            how = "it gave no ruling" if step.state in DONE else f"it ended {step.state}"
            self.undecided(f"the judge decided nothing: {how}", f"osrc logs {step.job_id}")
            return
        chosen = ruling.choice if isinstance(ruling.choice, int) and ruling.choice < len(self.said) else None
        self.judge["choice"] = ruling.choice if chosen is None else self.said[chosen].step.job_id
        own = ruling.answer if _usable(ruling.answer, contract) else ""
        if chosen is None and not own:
            self.undecided("the judge chose none and gave no answer that can be used", f"osrc result {step.job_id}")
            return
        self.outcome = "adjudicated"
        self.answer = own or self.said[chosen or 0].text
        words = {"both": "both mean the same", "none": "none of them is right"}
        right = words[str(ruling.choice)] if chosen is None else f"{who_of(self.said[chosen].job)} is right"
        self.why = f"{who_of(job)} decided: {right}"

    def row(self, place: int, fault: str | None, agreeing: Sequence[int]) -> dict[str, Any]:
        """Return one member as it is printed."""
        one = self.said[place]
        if fault is not None and one.step.state not in DONE:
            fault = f"its job ended {one.step.state}" + (f" ({one.step.detail[:100]})" if one.step.detail else "")
        if self.judge is not None and self.outcome == "adjudicated":
            stands = self.judge["choice"] in (one.step.job_id, "both")
        else:
            stands = place in agreeing
        return {
            "job_id": one.step.job_id,
            "label": one.job.get("label"),
            "who": who_of(one.job) if one.job else str(one.step.model),
            "model": one.job.get("model_observed") or one.job.get("model"),
            "lane": one.job.get("lane"),
            "state": one.step.state,
            "answer": one.text or None,
            "fault": fault,
            "agrees": fault is None and stands,
        }


def contract_of(record: LoopRecord) -> Contract | None:
    """Return the declared contract; it was read before the loop was taken."""
    if record.terms.contract is None:
        return None
    try:
        return parse_contract(record.terms.contract)
    except ContractError:
        return None


def who_of(job: Mapping[str, Any]) -> str:
    """Return who a job was done by, in words."""
    model = job.get("model_observed") or job.get("model") or "its default model"
    return f"{model} on {job.get('lane')}"[:100]


def _usable(text: str, contract: Contract | None) -> bool:
    return fault_of(text) is None and (contract is None or kept(contract, text))
