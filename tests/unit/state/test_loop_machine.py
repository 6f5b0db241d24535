"""Loops: what comes next follows from what has been, and every loop ends in exactly one way, within its bounds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.loop import LoopEnd, LoopLimits, LoopRecord, LoopStep, LoopTerms, Role, Shape
from outsourcerer.state.loop_machine import EndedLoop, best, cash, decide, remaining_s
from outsourcerer.state.loop_moves import AGAIN, TOGETHER, Act, Grade, Wait
from outsourcerer.state.loop_moves import End as Over
from outsourcerer.state.opinion_machine import STANDS

LOOP = "loop-20261130-010203-0123456789ab"


def loop(*steps, shape="verify", limits=None, segment=0, **terms):
    known = {"check": "make test", **terms}
    known |= {"models": ("a", "b", "c")} if shape in ("escalate", "council") and "models" not in terms else {}
    if shape == "opinion":
        known |= {"seats": tuple({"label": one, "model": one} for one in "abcd"), "spares": 2}
    return LoopRecord(
        loop_id=LOOP,
        terms=LoopTerms(shape=shape, **known),
        limits=LoopLimits(**(limits or {})),
        verb="edit",
        cwd="/w",
        steps=tuple(one.model_copy(update={"number": place}) for place, one in enumerate(steps, 1)),
        accepted_at=0.0,
        segment_began=0.0,
        segment=segment,
    )


def done(role, lap=0, state="done", **more):
    return LoopStep(number=0, role=role, lap=lap, began=1.0, ended=2.0, state=state, **more)


def build(lap, state="done", **more):
    return done(Role.BUILD, lap, state, **more)


def check(lap, state="failed", fingerprint="f", code=1, **more):
    failed = state not in ("passed", "canceled")
    return done(
        Role.CHECK,
        lap,
        state,
        fingerprint=fingerprint if failed else None,
        code=0 if state == "passed" else code,
        **more,
    )


def ended(record, now=10.0):
    found = decide(record, now)
    assert isinstance(found, Over), found
    return found.end.value


RED = check(0)
GREEN = check(0, "passed")
PLAN = [done(Role.DEBATE, who=who, round=turn) for turn in (1, 2) for who in range(3)]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], Grade(0)),
        ([RED], Act(Role.BUILD, 1)),
        ([RED, build(1)], Grade(1)),
        ([RED, build(1, "done?")], Grade(1)),
        ([RED, build(1), check(1)], Act(Role.BUILD, 2)),
        ([check(0, "timed_out"), build(1)], Grade(1)),
        ([RED, build(1), check(1, fingerprint="a"), build(2), check(2, fingerprint="b")], Act(Role.BUILD, 3)),
        ([RED, build(1, "failed")], Act(Role.BUILD, 2)),  # not graded: it did not end well
        ([RED, build(1, "timeout"), build(2)], Grade(2)),
        ([RED, build(1), check(1, "not_run", code=None)], Grade(1)),  # nobody saw how it ended
        ([RED, build(1), check(1, "not_run", code=127)], Act(Role.BUILD, 2)),  # the delegate broke it
    ],
)
def test_what_comes_next(steps, expected):
    assert decide(loop(*steps), 10.0) == expected


@pytest.mark.parametrize(
    ("steps", "end", "word"),
    [
        ([RED, build(1), check(1, "passed")], "success", "after 1 lap"),
        ([GREEN], "blocked", "passes already"),
        ([check(0, "not_run", code=127, detail="no such command")], "blocked", "no such command"),
        ([check(0, "canceled")], "canceled", "stopped"),
        ([RED, build(1, "blocked", detail="no key")], "blocked", "no key"),
        ([RED, build(1, "permission-blocked")], "blocked", "blocked"),
        ([RED, build(1, "canceled")], "canceled", "canceled"),
        ([RED, build(1, "refused", detail="no such lane", hint="osrc lanes")], "blocked", "no such lane"),
        ([RED, build(1, "failed"), build(2, "wedged", detail="silent")], "blocked", "silent"),
        ([RED, build(1), check(1), build(2), check(2)], "blocked", "laps 1, 2"),
        (
            [RED, build(1), check(1), build(2), check(2, fingerprint="g"), build(3), check(3)],
            "blocked",
            "laps 1, 3",  # to and fro between two failures
        ),
        ([RED, build(1), check(1, "not_run", code=None), check(1, "not_run", code=None)], "blocked", "can't be run"),
        ([RED, build(1, changed=("Makefile",)), check(1, "passed")], "blocked", "Makefile"),
    ],
)
def test_how_it_ends(steps, end, word):
    found = decide(loop(*steps), 10.0)
    assert isinstance(found, Over)
    assert (found.end.value, word in found.reason) == (end, True), found


def test_permissions_that_were_given():
    assert decide(loop(GREEN, allow_green=True), 1.0) == Act(Role.BUILD, 1)
    changed = loop(RED, build(1, changed=("Makefile",)), check(1, "passed"), allow_check_edits=True)
    found = decide(changed, 1.0)
    assert (found.end, "Makefile" in found.reason) == (LoopEnd.SUCCESS, True)
    assert decide(loop(RED, build(1), check(1), build(2), check(2), stall=0), 1.0) == Act(Role.BUILD, 3)


def test_a_step_that_runs_is_waited_for():
    runs = build(1).model_copy(update={"ended": None, "state": None, "number": 2})
    record = loop(RED, runs)
    assert decide(record, 1.0) == Wait(record.steps[-1:])
    assert decide(record.model_copy(update={"cancel_requested": True}), 1.0) == Wait(record.steps[-1:], stop=True)


def test_a_cancel_ends_it_but_takes_no_success_away():
    assert ended(loop(RED, build(1)).model_copy(update={"cancel_requested": True})) == "canceled"
    assert ended(loop(RED, build(1), check(1, "passed")).model_copy(update={"cancel_requested": True})) == "success"


def test_bounds():
    steps = [RED, build(1, cash_usd=0.3), check(1, fingerprint="a")]
    assert ended(loop(*steps, limits={"laps": 1})) == "max_turns"
    assert decide(loop(*steps, limits={"seconds": 10}), 9.0) == Act(Role.BUILD, 2)
    assert ended(loop(*steps, limits={"seconds": 10}), 10.0) == "max_time"
    assert ended(loop(RED, build(1), limits={"seconds": 10}), 11.0) == "max_time"  # not graded past its time
    assert ended(loop(*steps, limits={"usd": 0.3})) == "max_usd"
    assert decide(loop(RED, build(1, cash_usd=9.0), limits={"usd": 0.3}), 1.0) == Grade(1)  # it was paid for
    unknown = decide(loop(RED, build(1, unknown=1), check(1), limits={"usd": 5}), 1.0)
    assert (unknown.end, "--max-usd" in unknown.reason) == (LoopEnd.BLOCKED, True)
    planned = build(1, plan="Claude", plan_used=0.81)
    assert ended(loop(RED, planned, check(1), limits={"plan_percent": 80})) == "max_usd"
    assert decide(loop(RED, planned, check(1), limits={"plan_percent": 82}), 1.0) == Act(Role.BUILD, 2)
    untold = loop(RED, build(1, plan="Claude"), check(1), limits={"plan_percent": 82})
    assert ended(untold) == "blocked"
    assert cash(loop(build(1, cash_usd=0.25, measured=False), build(2, cash_usd=0.5, unknown=2))) == (0.75, False, 2)
    assert remaining_s(loop(limits={"seconds": 10}).model_copy(update={"spent_s": 4.0}), 1.0) == 5.0


def test_what_was_before_a_resume_ends_nothing_after_it():
    before = [RED, build(1), check(1), build(2), check(2)]
    assert decide(loop(*before, segment=1), 1.0) == Act(Role.BUILD, 3)
    assert decide(loop(RED, build(1, "blocked"), segment=1), 1.0) == Act(Role.BUILD, 2)
    assert decide(loop(GREEN, segment=1), 1.0) == Grade(0)
    edited = [RED, build(1, changed=("Makefile",)), check(1, "passed")]
    assert decide(loop(*edited, segment=1), 1.0) == Grade(1)  # somebody looked at it: as it is now
    assert ended(loop(*edited, check(1, "passed", segment=1), segment=1)) == "success"
    again = [*before, build(3, segment=1), check(3, segment=1)]
    assert decide(loop(*again, segment=1), 1.0) == Act(Role.BUILD, 4)


def test_an_ended_loop_has_no_next():
    with pytest.raises(EndedLoop):
        decide(loop().model_copy(update={"end": LoopEnd.BLOCKED}), 1.0)


# --- other shapes


def test_up_the_ladder_on_failed_checks_alone():
    def at(*steps, **more):
        return decide(loop(RED, *steps, shape="escalate", **more), 1.0)

    two = [build(1), check(1, fingerprint="a"), build(2), check(2, fingerprint="b")]
    assert at(build(1), check(1)) == Act(Role.BUILD, 2, 0)
    assert at(*two) == Act(Role.BUILD, 3, 1)  # the rung's laps are used up
    assert at(build(1), check(1), build(2), check(2), per_rung=5) == Act(Role.BUILD, 3, 1)  # it repeats itself
    assert at(build(1, "failed")) == Act(Role.BUILD, 2, 0)
    assert at(build(1, "blocked")).end is LoopEnd.BLOCKED
    last = [*two, build(3, who=1), check(3), build(4, who=1), check(4, fingerprint="z")]
    assert at(*last) == Act(Role.BUILD, 5, 2)
    over = at(*last, build(5, who=2), check(5), build(6, who=2), check(6, fingerprint="y"))
    assert (over.end, "last rung, c" in over.reason) == (LoopEnd.BLOCKED, True)


def test_a_sweep_ends_when_nothing_new_comes():
    def at(*found, **more):
        steps = [done(Role.FIND, lap, found=count) for lap, count in enumerate(found, 1)]
        return decide(loop(*steps, shape="sweep", check=None, **more), 1.0)

    assert at() == Act(Role.FIND, 1)
    assert at(3, 0, 1) == Act(Role.FIND, 4)
    assert at(3, 0) == Act(Role.FIND, 3)
    assert (at(3, 0, 0).end, "3 findings" in at(3, 0, 0).reason) == (LoopEnd.SUCCESS, True)
    assert at(3, None) == Act(Role.FIND, 3)  # an answer that is none is not a dry round
    assert at(3, None, None).end is LoopEnd.BLOCKED
    assert at(*[1] * 6).end is LoopEnd.MAX_TURNS


def test_an_optimizer_stops_at_its_bar_or_where_it_gets_no_better():
    def at(*scores, checks=None, **more):
        steps = []
        for lap, score in enumerate(scores, 1):
            steps.append(done(Role.WRITE, lap))
            steps += [check(lap, checks)] if checks else []
            steps += [done(Role.JUDGE, lap, score=score)] if score is not ... else []
        return decide(loop(*steps, shape="optimize", judge="j", **{"check": None, **more}), 1.0)

    assert at() == Act(Role.WRITE, 1)
    assert at(...) == Act(Role.JUDGE, 1)
    assert at(50.0) == Act(Role.WRITE, 2)
    assert at(50.0, 90.0).end is LoopEnd.SUCCESS
    assert at(50.0, 49.0, 50.0).end is LoopEnd.BLOCKED
    assert at(50.0, 49.0, 51.0) == Act(Role.WRITE, 4)
    assert at(None) == Act(Role.JUDGE, 1)
    twice = [
        done(Role.WRITE, 1),
        *(done(Role.JUDGE, 1, score=None, state="done?", detail="no DONE line") for _ in "ab"),
    ]
    assert decide(loop(*twice, shape="optimize", judge="j", check=None), 1.0).reason == (
        "2 in a row came to nothing; the last: it ended done?, but gave no score of 0 to 100"
    )
    assert at(..., check="make") == Grade(1)
    assert at(..., check="make", checks="passed") == Act(Role.JUDGE, 1)
    assert at(..., check="make", checks="failed") == Act(Role.WRITE, 2)
    top = loop(done(Role.JUDGE, 1, score=50.0), done(Role.JUDGE, 2, score=70.0), done(Role.JUDGE, 3, score=70.0))
    assert best(top).lap == 2


def test_a_council_debates_decides_waits_for_a_go_builds_and_is_advised():
    def at(*steps, launched=False, judge="j", segment=0):
        record = loop(*steps, shape="council", judge=judge, segment=segment)
        return decide(record.model_copy(update={"launched": launched}), 1.0)

    assert at() == Act(Role.DEBATE, 0, 0, 1)
    assert at(*PLAN[:4]) == Act(Role.DEBATE, 0, 1, 2)
    assert at(*PLAN) == Act(Role.DECIDE, 0)
    gate = at(*PLAN, done(Role.DECIDE))
    assert (gate.end, gate.hint) == (LoopEnd.BLOCKED, f"{AGAIN} --launch")
    assert "--plan-file" in at(*PLAN, judge=None).hint  # the captain decides
    assert at(*PLAN, launched=True, judge=None) == Grade(0)
    built = [*PLAN, done(Role.DECIDE), RED, build(1), check(1, "passed")]
    assert at(*built, launched=True) == Act(Role.ADVISE, 1)
    assert at(*built, done(Role.ADVISE, 1, agrees=True), launched=True).end is LoopEnd.SUCCESS
    assert at(*built, done(Role.ADVISE, 1, agrees=False), launched=True) == Act(Role.BUILD, 2)
    assert at(*built, done(Role.ADVISE, 1), launched=True) == Act(Role.ADVISE, 1)
    assert at(*built, done(Role.ADVISE, 1), done(Role.ADVISE, 1), launched=True).end is LoopEnd.BLOCKED
    assert at(done(Role.DEBATE, state="blocked", round=1)).end is LoopEnd.BLOCKED
    assert at(done(Role.DEBATE, state="blocked", round=1), segment=1) == Act(Role.DEBATE, 0, 0, 1)


# --- whatever happens

JOB_STATES = st.sampled_from(["done", "done", "done?", "failed", "timeout", "blocked", "canceled", "refused"])
CHECK_STATES = st.sampled_from(["failed", "failed", "failed", "timed_out", "not_run", "passed"])


OUTCOMES = st.sampled_from(["consensus", "majority", "contract", "only_answer", "open", "none"])


@settings(deadline=None, max_examples=60)
@given(
    shape=st.sampled_from([one.value for one in Shape]),
    laps=st.integers(1, 6),
    stall=st.integers(0, 3),
    resumes=st.integers(0, 2),
    data=st.data(),
)
def test_every_loop_ends_once_within_its_bounds(shape, laps, stall, resumes, data):
    """Drive whole lives: nothing is graded that did not run, nothing runs past a bound, success is only what was seen."""
    record = loop(shape=shape, limits={"laps": laps}, stall=stall, judge="j").model_copy(update={"launched": True})
    now = 1.0
    for _ in range(400):
        now += 1.0
        found = decide(record, now)
        if isinstance(found, Over):
            if found.end is LoopEnd.SUCCESS:
                assert seen_to_be_right(record)
            if record.segment == resumes or found.end is LoopEnd.SUCCESS:
                return
            record = record.model_copy(
                update={"segment": record.segment + 1, "limits": LoopLimits(laps=record.limits.laps + 1)}
            )
            continue
        record = record.model_copy(update={"steps": (*record.steps, step_of(record, found, now, data))})
    raise AssertionError("it does not end")


def step_of(record, found, now, data):
    """The step that was decided on, with some end."""
    given = {"number": len(record.steps) + 1, "began": now, "ended": now + 0.5, "segment": record.segment}
    if isinstance(found, Grade):
        ran = [one for one in record.steps if one.lap == found.lap and one.role in (Role.BUILD, Role.WRITE)]
        assert found.lap == 0 or ran[-1].state in ("done", "done?")
        state = data.draw(CHECK_STATES)
        code = data.draw(st.sampled_from([None, 127])) if state == "not_run" else 0 if state == "passed" else 1
        print_ = data.draw(st.sampled_from(["a", "b", "c"])) if state != "passed" else None
        return LoopStep(role=Role.CHECK, lap=found.lap, state=state, code=code, fingerprint=print_, **given)
    assert isinstance(found, Act)
    assert found.lap <= record.limits.laps
    return LoopStep(
        role=found.role,
        lap=found.lap,
        who=found.who,
        round=found.round,
        state=data.draw(OUTCOMES if found.role is Role.COMPARE else JOB_STATES),
        score=data.draw(st.sampled_from([None, 10.0, 50.0, 95.0])) if found.role is Role.JUDGE else None,
        found=data.draw(st.sampled_from([None, 0, 0, 3])) if found.role in (Role.FIND, Role.ANSWER) else None,
        agrees=data.draw(st.sampled_from([None, True, False])) if found.role in (Role.ADVISE, Role.RULE) else None,
        **given,
    )


def seen_to_be_right(record):
    last = record.steps[-1]
    match record.terms.shape:
        case Shape.SWEEP:
            return last.found == 0
        case Shape.OPTIMIZE:
            return last.score is not None and last.score >= record.terms.bar
        case Shape.COUNCIL:
            return last.agrees is True
        case Shape.OPINION:
            outcomes = [one.state for one in record.steps if one.role is Role.COMPARE]
            return last.agrees is True or outcomes[-1] in STANDS
        case _:
            return last.state == "passed" and last.lap > 0


# --- several at once, and laps of one session


def seat(who, turn=1, **more):
    return done(Role.DEBATE, who=who, round=turn, **more)


def runs(step):
    return step.model_copy(update={"ended": None, "state": None})


def test_the_seats_of_a_round_are_asked_at_once():
    first = loop(runs(seat(0)), shape="council")
    assert decide(first, 1.0) == Act(Role.DEBATE, 0, 1, 1)
    two = loop(runs(seat(0)), seat(1), shape="council")
    assert decide(two, 1.0) == Act(Role.DEBATE, 0, 2, 1)
    three = loop(runs(seat(0)), seat(1), runs(seat(2)), shape="council")
    assert decide(three, 1.0) == Wait((three.steps[0], three.steps[2]))
    # One that failed is asked again beside the others; the next round waits for all of them.
    again = loop(runs(seat(0)), seat(1, state="failed"), seat(2), shape="council")
    assert decide(again, 1.0) == Act(Role.DEBATE, 0, 1, 1)
    assert decide(loop(seat(0), seat(1), seat(2), shape="council"), 1.0) == Act(Role.DEBATE, 0, 0, 2)
    # Nothing ends while others are at work, and nobody is asked once its end was.
    twice = [seat(1, state="failed"), seat(1, state="failed")]
    over = loop(runs(seat(0)), *twice, seat(2), shape="council")
    assert decide(over, 1.0) == Wait(over.steps[:1])
    assert ended(loop(seat(0), *twice, seat(2), shape="council")) == "blocked"
    stopped = first.model_copy(update={"cancel_requested": True})
    assert decide(stopped, 1.0) == Wait(first.steps, stop=True)
    late = loop(runs(seat(0)), shape="council", limits={"seconds": 5})
    assert decide(late, 6.0) == Wait(late.steps)


def test_two_seats_that_fail_once_are_no_standstill():
    record = loop(seat(0, state="failed"), seat(1, state="failed"), seat(2), shape="council")
    assert decide(record, 1.0) == Act(Role.DEBATE, 0, 0, 1)


def test_a_turn_that_was_cut_off_is_gone_on_with_in_its_lap():
    session = "20261130-010203-0123456789ab"
    cut = build(1, "interrupted", session_id=session)
    assert decide(loop(RED, cut), 1.0) == Act(Role.BUILD, 1)
    assert decide(loop(RED, build(1, "interrupted")), 1.0) == Act(Role.BUILD, 2)  # a job's work is over with it
    assert decide(loop(RED, cut), 1.0) == decide(loop(RED, cut, limits={"laps": 1}), 1.0)
    assert ended(loop(RED, cut, cut)) == "blocked"
    assert decide(loop(RED, cut, build(1, session_id=session)), 1.0) == Grade(1)


@settings(deadline=None, max_examples=40)
@given(shape=st.sampled_from(["council", "opinion"]), data=st.data())
def test_those_who_are_asked_at_once_are_each_asked_once_whoever_ends_first(shape, data):
    record = loop(shape=shape, judge="j").model_copy(update={"launched": True})
    now = 1.0
    for _ in range(400):
        now += 1.0
        found = decide(record, now)
        under_way = [one for one in record.steps if one.ended is None]
        if isinstance(found, Over):
            assert not under_way
            return
        if isinstance(found, Wait):
            assert list(found.steps) == under_way != []
        may_end = under_way and data.draw(st.booleans())
        if isinstance(found, Wait) or may_end:
            one = data.draw(st.sampled_from(under_way))
            fate = step_of(record, Act(one.role, one.lap, one.who, one.round), now, data)
            over = one.model_copy(
                update={"ended": now, "state": fate.state, "found": fate.found, "agrees": fate.agrees}
            )
            steps = tuple(over if step.number == one.number else step for step in record.steps)
        else:
            began = step_of(record, found, now, data)
            together = isinstance(found, Act) and found.role in TOGETHER
            assert together or not under_way
            if together:
                assert (found.who, found.round) not in [(one.who, one.round) for one in under_way]
                began = began.model_copy(update={"ended": None, "state": None, "found": None})
            steps = (*record.steps, began)
        record = record.model_copy(update={"steps": steps})
    raise AssertionError("it does not end")
