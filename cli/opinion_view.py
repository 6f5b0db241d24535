"""What ``osrc second-opinion`` prints: the answer on stdout, who agreed and who did not beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import exit_codes
from .crewing import model_of
from .looking import Job
from .options import Globals
from .output import answer_json, answer_untrusted, say
from .render.lines import words_for
from .render.plain import one_line

if TYPE_CHECKING:
    from ..lanes.advice.contracts import Contract
    from ..lanes.advice.opinions import Ruling, Tally

_EXITS: Mapping[str, int] = {
    "consensus": exit_codes.DONE,
    "majority": exit_codes.DONE,
    "contract": exit_codes.DONE,
    "adjudicated": exit_codes.DONE,
    "only_answer": exit_codes.UNVERIFIED,
    "dissent": exit_codes.UNVERIFIED,
    "undecided": exit_codes.REFUSED,
    "none": exit_codes.REFUSED,
}
"""What a question came to → the exit code."""
_SHOWN = 400


class View:
    """What is known of one question so far. ``outcome`` is a key of the table above."""

    def __init__(self, group_id: str, tally: Tally, jobs: Sequence[Job], answers: Sequence[str]) -> None:
        """Begin with what was decided for free."""
        self.group_id = group_id
        self.tally = tally
        self.jobs = jobs
        self.answers = answers
        self.outcome: str = tally.outcome if tally.outcome != "open" else "undecided"
        self.why = tally.why
        self.hint: str | None = None
        self.answer = answers[tally.winner] if tally.winner is not None else None
        self.judge: dict[str, Any] | None = None

    def undecided(self, why: str, hint: str | None) -> None:
        """Keep why no judge ruled; what was decided without one stands."""
        self.hint = hint
        self.why = f"{self.why}; {why}" if self.why else why

    def ruled(self, job: Job, ruling: Ruling | None, contract: Contract | None) -> None:
        """Take a judge's ruling in. One that gives no answer of its own stands for the answer it chose."""
        self.judge = {
            "job_id": job.get("job_id"),
            "model": job.get("model_observed") or job.get("model"),
            "lane": job.get("lane"),
            "state": job.get("state"),
            "choice": None,
        }
        if ruling is None:
            state = str(job.get("state"))
            how = "it gave no ruling" if state in ("done", "done?") else f"it ended {state}: {words_for(state)}"
            self.undecided(f"the judge decided nothing: {how}", f"osrc logs {job.get('job_id')}")
            return
        chosen = ruling.choice if isinstance(ruling.choice, int) else None
        self.judge["choice"] = ruling.choice if chosen is None else self.jobs[chosen].get("job_id")
        own = ruling.answer if _usable(ruling.answer, contract) else ""
        if chosen is None and not own:
            self.undecided(
                "the judge chose none and gave no answer that can be used", f"osrc result {job.get('job_id')}"
            )
            return
        self.outcome = "adjudicated"
        self.answer = own or self.answers[chosen or 0]
        said = {"both": "both mean the same", "none": "none of them is right"}
        self.why = f"{model_of(job)} decided: " + (
            said[str(ruling.choice)] if chosen is None else f"{model_of(self.jobs[chosen])} is right"
        )

    def stands_for(self, place: int) -> bool:
        """Whether a member's answer is the one that stands."""
        if self.judge is not None and self.outcome == "adjudicated":
            return self.judge["choice"] in (self.jobs[place].get("job_id"), "both")
        return place in self.tally.agreeing


def _usable(text: str, contract: Contract | None) -> bool:
    from ..lanes.advice.answers import fault_of  # noqa: PLC0415 - after a ruling
    from ..lanes.advice.contracts import kept  # noqa: PLC0415 - as above

    return fault_of(text) is None and (contract is None or kept(contract, text))


def facts(view: View) -> dict[str, Any]:
    """Return what a question came to, as ``--json`` has it."""
    rows = _rows(view)
    return {
        "group_id": view.group_id,
        "outcome": view.outcome,
        "answer": view.answer,
        "why": view.why,
        "members": rows,
        "dissent": [row["job_id"] for row in rows if row["fault"] is None and not row["agrees"]],
        "judge": view.judge,
    }


def show(options: Globals, view: View) -> int:
    """Print what a question came to; return the exit code."""
    if options.json:
        answer_json(facts(view))
        return _EXITS[view.outcome]
    rows = _rows(view)
    if view.answer is not None:
        answer_untrusted(view.answer.encode())
    else:
        for row in rows:
            text = row["answer"] or f"(no answer: {row['fault']})"
            answer_untrusted(f"--- {row['label']} ({row['who']})\n{text}\n".encode())
    _beside(options, view, rows)
    return _EXITS[view.outcome]


def _rows(view: View) -> list[dict[str, Any]]:
    lost = dict(view.tally.unusable)
    return [_row(view, place, lost.get(place)) for place in range(len(view.jobs))]


def _row(view: View, place: int, fault: str | None) -> dict[str, Any]:
    job = view.jobs[place]
    state = str(job.get("state"))
    if fault is not None and state not in ("done", "done?"):
        fault = f"its job ended {state}" + (f" ({one_line(str(job['reason']), 100)})" if job.get("reason") else "")
    return {
        "job_id": job.get("job_id"),
        "label": job.get("label"),
        "who": model_of(job),
        "model": job.get("model_observed") or job.get("model"),
        "lane": job.get("lane"),
        "state": state,
        "answer": view.answers[place] or None,
        "fault": fault,
        "agrees": fault is None and view.stands_for(place),
    }


def _beside(options: Globals, view: View, rows: Sequence[Mapping[str, Any]]) -> None:
    if not options.quiet:
        say(f"{view.outcome.replace('_', ' ')}: {one_line(view.why, 500)}")
        for row in rows:
            say(f"  {row['who']}: {row['fault'] or ('agrees' if row['agrees'] else _dissent(view, row))}")
        say(f"all answers: osrc fanout collect {view.group_id}")
    if view.hint:
        say(f"  try: {view.hint}")


def _dissent(view: View, row: Mapping[str, Any]) -> str:
    if view.answer is None:
        return "says otherwise"
    return f"says otherwise: {one_line(str(row['answer']), _SHOWN)}"
