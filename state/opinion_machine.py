"""A second opinion as a loop: all are asked at once, answers are compared; where they differ a judge rules. Pure.

What the answers come to is a step of its own (``compare``), whose state is the outcome: it is worked out beside this
machine, for free, and journalled like any other step. A resume asks again whoever gave no answer, and judges again.
"""

from __future__ import annotations

from ..messages.loop import LoopEnd, LoopRecord, LoopStep, Role
from .loop_moves import AGAIN, DONE, Act, End, Next, Wait

ENOUGH = 2
"""So many answers there must be before nobody more is asked."""
STANDS = frozenset({"consensus", "majority", "contract"})
"""Outcomes by which an answer stands without a judge."""


def opinion(record: LoopRecord) -> Next:
    """Return what comes next."""
    said = {one.who: one for one in record.steps if one.role is Role.ANSWER and _counts(record, one)}
    asked = len(record.terms.seats) - record.terms.spares
    for who in range(asked):
        if who not in said:
            return Act(Role.ANSWER, 0, who, 1)
    if any(one.ended is None for one in said.values()):
        return Wait()
    if sum(one.found or 0 for one in said.values()) < ENOUGH:
        spare = next((who for who in range(asked, len(record.terms.seats)) if who not in said), None)
        if spare is not None:
            return Act(Role.ANSWER, 0, spare, 1)
    compared = _last(record, Role.COMPARE)
    if compared is None or compared.number < max((one.number for one in said.values()), default=0):
        return Act(Role.COMPARE, 0)
    return _judged(record, compared)


def _counts(record: LoopRecord, one: LoopStep) -> bool:
    """Whether a seat is not to be asked (again)."""
    return one.segment == record.segment or bool(one.found)


def _last(record: LoopRecord, role: Role) -> LoopStep | None:
    """Return the newest step of a role since the last resume."""
    return next((one for one in reversed(record.steps) if one.role is role and one.segment == record.segment), None)


def _judged(record: LoopRecord, compared: LoopStep) -> Next:
    outcome, why = compared.state or "none", compared.detail or ""
    if outcome == "none":
        return End(LoopEnd.BLOCKED, why, AGAIN)
    wanted = outcome == "open" or (record.terms.judging == "always" and outcome != "contract")
    if wanted and record.terms.judging != "never":
        ruling = _last(record, Role.RULE)
        if ruling is None or ruling.number < compared.number:
            return Act(Role.RULE, 0)
        if ruling.state in DONE and ruling.agrees:
            return End(LoopEnd.SUCCESS, f"a judge ruled: {ruling.detail or why}"[:1000])
        why = f"{why}; the judge decided nothing: {ruling.detail or ruling.state}"[:1000]
    if outcome in STANDS:
        return End(LoopEnd.SUCCESS, f"{outcome}: {why}"[:1000])
    if outcome == "only_answer":
        return End(LoopEnd.BLOCKED, why, AGAIN)
    return End(LoopEnd.BLOCKED, f"they differ: {why}"[:1000], AGAIN)
