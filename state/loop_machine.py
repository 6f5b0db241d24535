"""A loop's life: what comes next, from what has been. Pure.

    match decide(record, now):
        case Act(): ...      # ask for a job
        case Grade(): ...    # run the check
        case Wait(): ...     # the last step has not ended
        case End(): ...      # it is over, in exactly one way

Rules. The history decides, and nothing else: a supervisor that was killed decides the same again. One step at a time,
but those who are asked the same at once (``TOGETHER``). A lap whose job did not end well is not graded. What a step
before a resume came to ends nothing after it: the loop goes on from there. Bounds hold before anything is begun; a
check of what was paid for costs nothing and is still made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..messages.loop import LoopEnd, LoopRecord, LoopStep, Role, Shape
from .loop_moves import (
    AGAIN,
    BLOCKED,
    CANCELED,
    DONE,
    INTERRUPTED,
    NOT_RUN,
    PASSED,
    REFUSED,
    TOGETHER,
    TRIES,
    Act,
    End,
    Grade,
    Next,
    Wait,
)
from .opinion_machine import opinion


class EndedLoop(Exception):  # noqa: N818 - named for what it is
    """Somebody asked what comes next in a loop that has ended: a bug."""


def decide(record: LoopRecord, now: float) -> Next:
    """Return what comes next. ``now`` is epoch seconds. Raises EndedLoop."""
    if record.end is not None:
        raise EndedLoop(record.loop_id)
    under_way = tuple(step for step in record.steps if step.ended is None)
    if under_way:
        return _beside(record, under_way, now)
    wanted = _SHAPES[record.terms.shape](record)
    if isinstance(wanted, End) and wanted.end is LoopEnd.SUCCESS:
        return wanted  # what was seen to be right is right, whoever gave up on it meanwhile
    if record.cancel_requested:
        return End(LoopEnd.CANCELED, "canceled on request", AGAIN)
    return _bounded(record, wanted, now) if isinstance(wanted, Act | Grade) else wanted


def _beside(record: LoopRecord, under_way: tuple[LoopStep, ...], now: float) -> Next:
    """Return who else may be asked while others are at work; mostly they are waited for."""
    wait = Wait(under_way, stop=record.cancel_requested)
    if record.cancel_requested or any(step.role not in TOGETHER for step in under_way):
        return wait
    wanted = _SHAPES[record.terms.shape](record)
    if not isinstance(wanted, Act) or wanted.role not in TOGETHER:
        return wait
    allowed = _bounded(record, wanted, now)
    return allowed if isinstance(allowed, Act) else wait


def cash(record: LoopRecord) -> tuple[float, bool, int]:
    """Return the cash that is known, whether all of it was measured, and how many attempts cost nobody knows what."""
    known = [step for step in record.steps if step.cash_usd]
    total = sum(step.cash_usd or 0.0 for step in known)
    return total, all(step.measured for step in known), sum(step.unknown for step in record.steps)


def remaining_s(record: LoopRecord, now: float) -> float | None:
    """Return how many seconds are left; None: there is no bound."""
    if record.limits.seconds is None:
        return None
    return record.limits.seconds - record.spent_s - max(0.0, now - record.segment_began)


def _bounded(record: LoopRecord, wanted: Act | Grade, now: float) -> Act | Grade | End:
    left = remaining_s(record, now)
    if left is not None and left <= 0:
        return End(LoopEnd.MAX_TIME, f"its {record.limits.seconds or 0:g} s are over", f"{AGAIN} --max-minutes N")
    if isinstance(wanted, Grade):
        return wanted
    if wanted.lap > record.limits.laps:
        return End(LoopEnd.MAX_TURNS, f"{record.limits.laps} laps are over", f"{AGAIN} --max N")
    if record.limits.usd is not None:
        total, measured, unknown = cash(record)
        if total >= record.limits.usd:
            about = "" if measured else "~"
            said = f"{about}${total:.4f} of ${record.limits.usd:g} are spent"
            return End(LoopEnd.MAX_USD, said, f"{AGAIN} --max-usd X")
        if unknown:
            said = "what a lap cost is not known, so --max-usd can't be held"
            return End(LoopEnd.BLOCKED, said, "choose a lane that tells what it costs (osrc lanes)")
    return _within_plan(record) or wanted


def _within_plan(record: LoopRecord) -> End | None:
    """Return the end where the plan that laps spend is used too far, or nobody tells how far."""
    most = record.limits.plan_percent
    spent = [step for step in record.steps if step.plan is not None and step.ended is not None]
    if most is None or not spent:
        return None
    last = spent[-1]
    if last.plan_used is None:
        said = f"how far the plan {last.plan} is used is not told, so --max-plan can't be held"
        return End(LoopEnd.BLOCKED, said, "choose a lane that tells (osrc limits)")
    if last.plan_used * 100 < most:
        return None
    said = f"{last.plan_used:.0%} of the plan {last.plan} are used; the bound is {most:g} %"
    return End(LoopEnd.MAX_USD, said, f"{AGAIN} --max-plan N")


# --- parts of every shape


_LACKS: Mapping[Role, str] = {
    Role.JUDGE: "gave no score of 0 to 100",
    Role.ADVISE: "did not say whether the work is what was planned",
    Role.FIND: "named no finding, and did not say that there is none",
}
"""What a job that ended well did not do, where its loop can't go on without."""


def _came_to_nothing(record: LoopRecord, step: LoopStep) -> End | None:
    """Return the end that a job which did not end well brings; None: it is tried again, but not for ever."""
    if step.segment != record.segment:
        return None
    what = f"lap {step.lap}" if step.lap else step.role.value
    if step.state in BLOCKED:
        return End(LoopEnd.BLOCKED, f"{what}: the delegate is blocked: {step.detail or 'it does not say why'}", AGAIN)
    if step.state == CANCELED:
        return End(LoopEnd.CANCELED, f"{what}: its job was canceled", AGAIN)
    if step.state == REFUSED:
        return End(LoopEnd.BLOCKED, f"{what} was refused: {step.detail}", step.hint)
    if len(_tries(record, step)) >= TRIES:
        lacks = _LACKS.get(step.role) if step.state in DONE else None
        why = f"it ended {step.state}, but {lacks}" if lacks else f"{step.state}: {step.detail or 'no reason given'}"
        said = f"{TRIES} in a row came to nothing; the last: {why}"
        return End(LoopEnd.BLOCKED, said, AGAIN)
    return None


def _tries(record: LoopRecord, step: LoopStep) -> list[LoopStep]:
    """Return the steps of its kind, in this segment, that came to nothing in a row, the last one included."""
    found: list[LoopStep] = []
    alike = [one for one in _of(record, step.role) if one.ended is not None]
    if step.role in TOGETHER:
        alike = [one for one in alike if (one.who, one.round) == (step.who, step.round)]
    for one in reversed(alike):
        if one.segment != record.segment or _useful(one):
            break
        found.append(one)
    return found


def _next_lap(step: LoopStep) -> int:
    """Return the lap after one that did not end well: a turn that was cut off is gone on with, it is no lap more."""
    return step.lap if step.session_id is not None and step.state == INTERRUPTED else step.lap + 1


def _useful(step: LoopStep) -> bool:
    """Whether a job did what it was for."""
    if step.state not in DONE:
        return False
    told: Mapping[Role, object] = {Role.JUDGE: step.score, Role.ADVISE: step.agrees, Role.FIND: step.found}
    return step.role not in told or told[step.role] is not None


def _of(record: LoopRecord, role: Role, lap: int | None = None) -> list[LoopStep]:
    return [step for step in record.steps if step.role is role and (lap is None or step.lap == lap)]


def _failed(check: LoopStep) -> bool:
    """Whether a check says that the work is not right; what nobody saw the end of says nothing."""
    return check.state not in (PASSED, CANCELED) and (check.state != NOT_RUN or check.code is not None)


def _baseline(record: LoopRecord) -> Grade | End | None:
    """Return what is to be done before the first lap; None: it may begin."""
    checks = _of(record, Role.CHECK, 0)
    if not checks or (checks[-1].segment != record.segment and not _of(record, Role.BUILD)):
        return Grade(0)
    if _of(record, Role.BUILD):
        return None
    first = checks[-1]
    if first.state == PASSED and not record.terms.allow_green:
        said = "the check passes already, before anything was done: it can't tell when the task is"
        hint = "give a --check that fails now; --allow-green where it is only to stay green"
        return End(LoopEnd.BLOCKED, said, hint)
    if first.state == NOT_RUN:
        return End(LoopEnd.BLOCKED, f"the check can't be run: {first.detail or 'it says nothing'}", AGAIN)
    if first.state == CANCELED:
        return End(LoopEnd.CANCELED, "the check was stopped", AGAIN)
    return None


def _graded(record: LoopRecord, lap: int) -> LoopStep | Grade | End:
    """Return a lap's verdict, or what is to be done to have one."""
    checks = [one for one in _of(record, Role.CHECK, lap) if one.segment == record.segment or _failed(one)]
    if not checks:
        return Grade(lap)
    last = checks[-1]
    if last.state == CANCELED:
        return End(LoopEnd.CANCELED, "the check was stopped", AGAIN)
    if last.state == PASSED or _failed(last):
        return last
    if len([one for one in checks if one.state == NOT_RUN]) >= TRIES:
        return End(LoopEnd.BLOCKED, f"the check can't be run: {last.detail or 'it says nothing'}", AGAIN)
    return Grade(lap)


def _build(record: LoopRecord) -> Next:
    """Return what comes next where a builder loops on the check; SUCCESS once that passes."""
    first = _baseline(record)
    if first is not None:
        return first
    builds = _of(record, Role.BUILD)
    if not builds:
        return Act(Role.BUILD, 1)
    last = builds[-1]
    if last.state not in DONE:
        return _came_to_nothing(record, last) or Act(Role.BUILD, _next_lap(last), last.who)
    verdict = _graded(record, last.lap)
    if not isinstance(verdict, LoopStep):
        return verdict
    return _passed(record, last) if verdict.state == PASSED else _after_failure(record, last, verdict)


def _passed(record: LoopRecord, build: LoopStep) -> End:
    laps = "1 lap" if build.lap == 1 else f"{build.lap} laps"
    changed = build.changed if build.segment == record.segment else ()
    some = ", ".join(changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")
    if changed and not record.terms.allow_check_edits:
        said = f"the check passes, but what it consists of was changed while the delegate worked: {some}"
        return End(LoopEnd.BLOCKED, said, f"look at it; if it is right, {AGAIN} runs the check again as it is now")
    return End(LoopEnd.SUCCESS, f"the check passes after {laps}" + (f"; its own {some} changed" if changed else ""))


def _after_failure(record: LoopRecord, build: LoopStep, verdict: LoopStep) -> Next:
    """Return the next lap, up the ladder where there is one, or the end of a loop that does not move."""
    ladder = record.terms.models if record.terms.shape is Shape.ESCALATE else ()
    mine = [
        check
        for check in _of(record, Role.CHECK)
        if check.lap
        and check.segment == record.segment
        and _failed(check)
        and (not ladder or _rung(record, check.lap) == build.who)
    ]
    same = sorted({check.lap for check in mine if check.fingerprint == verdict.fingerprint})
    stands = bool(record.terms.stall) and verdict.segment == record.segment and len(same) >= record.terms.stall
    used_up = bool(ladder) and len({check.lap for check in mine}) >= record.terms.per_rung
    if not stands and not used_up:
        return Act(Role.BUILD, build.lap + 1, build.who)
    if build.who + 1 < len(ladder):
        return Act(Role.BUILD, build.lap + 1, build.who + 1)
    laps = ", ".join(map(str, same))
    why = f"the same failure in laps {laps}" if stands else f"{record.terms.per_rung} laps failed"
    where = f" on the last rung, {ladder[-1]}" if ladder else ""
    said = f"{why}{where}: {verdict.detail or verdict.state}"
    return End(LoopEnd.BLOCKED, said, f"help it along, then {AGAIN}")


def _rung(record: LoopRecord, lap: int) -> int:
    return next((one.who for one in _of(record, Role.BUILD, lap)), 0)


# --- shapes


def _sweep(record: LoopRecord) -> Next:
    rounds = _of(record, Role.FIND)
    if not rounds:
        return Act(Role.FIND, 1)
    last = rounds[-1]
    if not _useful(last):
        return _came_to_nothing(record, last) or Act(Role.FIND, last.lap + 1)
    useful = [one for one in rounds if _useful(one)]
    dry = record.terms.dry_rounds
    if len(useful) >= dry and all(one.found == 0 for one in useful[-dry:]):
        total = sum(one.found or 0 for one in useful)
        return End(LoopEnd.SUCCESS, f"{dry} rounds in a row found nothing new; {total} findings in all")
    return Act(Role.FIND, last.lap + 1)


def _optimize(record: LoopRecord) -> Next:  # noqa: PLR0911 - one step after the other
    writes = _of(record, Role.WRITE)
    if not writes:
        return Act(Role.WRITE, 1)
    last = writes[-1]
    if last.state not in DONE:
        return _came_to_nothing(record, last) or Act(Role.WRITE, _next_lap(last))
    if record.terms.check is not None:
        verdict = _graded(record, last.lap)
        if not isinstance(verdict, LoopStep):
            return verdict
        if verdict.state != PASSED:
            return _no_better(record, last.lap) or Act(Role.WRITE, last.lap + 1)
    judged = _of(record, Role.JUDGE, last.lap)
    if not judged:
        return Act(Role.JUDGE, last.lap)
    if not _useful(judged[-1]):
        return _came_to_nothing(record, judged[-1]) or Act(Role.JUDGE, last.lap)
    score = judged[-1].score or 0.0
    if score >= record.terms.bar:
        return End(LoopEnd.SUCCESS, f"lap {last.lap} has {score:g} of 100; the bar is {record.terms.bar:g}")
    return _no_better(record, last.lap) or Act(Role.WRITE, last.lap + 1)


def best(record: LoopRecord) -> LoopStep | None:
    """Return the judge's step with the highest score, the earliest of equals."""
    scored = [one for one in _of(record, Role.JUDGE) if one.score is not None]
    return max(scored, key=lambda one: (one.score or 0.0, -one.lap)) if scored else None


def _no_better(record: LoopRecord, lap: int) -> End | None:
    top = best(record)
    since = max(top.lap if top else 0, _first_lap(record) - 1)
    if lap - since < record.terms.patience:
        return None
    had = f"the best is lap {top.lap} with {top.score:g} of 100" if top else "none was judged"
    said = f"{record.terms.patience} laps in a row are no better; {had}, the bar is {record.terms.bar:g}"
    return End(LoopEnd.BLOCKED, said, AGAIN)


def _first_lap(record: LoopRecord) -> int:
    """Return the first lap of this segment."""
    return next((one.lap for one in record.steps if one.segment == record.segment and one.lap), 1)


def _council(record: LoopRecord) -> Next:  # noqa: PLR0911 - one step after the other
    debate = _debate(record)
    if debate is not None:
        return debate
    if not record.launched:
        if record.terms.judge is None:
            said = "the proposals wait for your decision"
            return End(LoopEnd.BLOCKED, said, f"{AGAIN} --plan-file FILE builds your plan")
        return End(LoopEnd.BLOCKED, "the plan waits for your go", f"{AGAIN} --launch")
    wanted = _build(record)
    if not isinstance(wanted, End) or wanted.end is not LoopEnd.SUCCESS:
        return wanted
    lap = _of(record, Role.BUILD)[-1].lap
    advice = _of(record, Role.ADVISE, lap)
    if not advice:
        return Act(Role.ADVISE, lap)
    last = advice[-1]
    if not _useful(last):
        return _came_to_nothing(record, last) or Act(Role.ADVISE, lap)
    if last.agrees:
        return End(LoopEnd.SUCCESS, f"{wanted.reason}, and the advisor finds that it is what was planned")
    return Act(Role.BUILD, lap + 1)


def _debate(record: LoopRecord) -> Next | None:
    """Return who speaks next, all seats of a round at once; None once there is a plan, or somebody has to decide."""
    for turn in range(1, record.terms.rounds + 1):
        found = _round(record, turn)
        if found is not None:
            return found
    return None if record.terms.judge is None else _decided(record)


def _round(record: LoopRecord, turn: int) -> Next | None:
    """Return what a round of the debate still needs: a seat that was not asked yet comes before any that failed."""
    said = {one.who: one for one in _of(record, Role.DEBATE) if one.round == turn}
    seats = range(len(record.terms.models))
    failed = [one for who in seats if (one := said.get(who)) is not None and one.ended and one.state not in DONE]
    for one in failed:
        if (over := _came_to_nothing(record, one)) is not None:
            return over
    for who in seats:
        if who not in said or said[who] in failed:
            return Act(Role.DEBATE, 0, who, turn)
    return Wait() if any(one.ended is None for one in said.values()) else None


def _decided(record: LoopRecord) -> Next | None:
    plans = _of(record, Role.DECIDE)
    if plans and plans[-1].state in DONE:
        return None
    if plans and (over := _came_to_nothing(record, plans[-1])) is not None:
        return over
    return Act(Role.DECIDE, 0)


_SHAPES: Mapping[Shape, Callable[[LoopRecord], Next]] = {
    Shape.VERIFY: _build,
    Shape.ESCALATE: _build,
    Shape.SWEEP: _sweep,
    Shape.OPTIMIZE: _optimize,
    Shape.COUNCIL: _council,
    Shape.OPINION: opinion,
}
"""Shape → what comes next in it, bounds left aside."""
