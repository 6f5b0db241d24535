"""A second opinion as a loop: who is asked when, and what its answers end it with."""

import pytest
from outsourcerer.messages.loop import LoopEnd, LoopRecord, LoopStep, LoopTerms, Role
from outsourcerer.state.loop_machine import decide
from outsourcerer.state.loop_moves import Act, End, Wait

LOOP = "loop-20261130-010203-0123456789ab"
ASK = [Act(Role.ANSWER, 0, who, 1) for who in range(4)]


def asked(*steps, segment=0, seats=2, spares=0, **terms):
    named = tuple({"label": str(one), "model": f"m{one}"} for one in range(seats + spares))
    return LoopRecord(
        loop_id=LOOP,
        terms=LoopTerms(shape="opinion", seats=named, spares=spares, **terms),
        limits={},
        verb="run",
        cwd="/w",
        steps=tuple(one.model_copy(update={"number": place}) for place, one in enumerate(steps, 1)),
        accepted_at=0.0,
        segment_began=0.0,
        segment=segment,
    )


def done(role, state="done", **more):
    return LoopStep(number=0, role=role, lap=0, began=1.0, ended=2.0, state=state, **more)


def said(who, found=1, **more):
    return done(Role.ANSWER, who=who, round=1, found=found, **more)


def runs(step):
    return step.model_copy(update={"ended": None, "state": None, "found": None})


def lost(who, **more):
    return said(who, found=None, state="failed", **more)


BOTH = [said(0), said(1)]


def compared(outcome, **more):
    return done(Role.COMPARE, outcome, detail="why", **more)


def ruled(**more):
    return done(Role.RULE, **{"agrees": True, **more})


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (asked(), ASK[0]),
        (asked(runs(said(0))), ASK[1]),
        (asked(said(0)), ASK[1]),
        (asked(*BOTH), Act(Role.COMPARE, 0)),
        (asked(lost(0), lost(1)), Act(Role.COMPARE, 0)),  # nobody is asked twice
        (asked(said(0), lost(1), spares=2), ASK[2]),
        (asked(said(0), said(1), spares=2), Act(Role.COMPARE, 0)),
        (asked(said(0), lost(1), lost(2), spares=2), ASK[3]),
        (asked(said(0), lost(1), said(2), spares=2), Act(Role.COMPARE, 0)),
        (asked(*BOTH, compared("open")), Act(Role.RULE, 0)),
        (asked(*BOTH, compared("consensus"), judging="always"), Act(Role.RULE, 0)),
        # A resume asks again who gave nothing, compares and judges again.
        (asked(said(0), lost(1), compared("only_answer"), segment=1), ASK[1]),
        (asked(*BOTH, compared("open"), ruled(agrees=False), segment=1), Act(Role.COMPARE, 0)),
        (
            asked(*BOTH, compared("open"), ruled(agrees=False), compared("open", segment=1), segment=1),
            Act(Role.RULE, 0),
        ),
    ],
)
def test_what_comes_next(record, expected):
    assert decide(record, 1.0) == expected


def test_all_that_run_are_waited_for():
    record = asked(runs(said(0)), said(1))
    assert decide(record, 1.0) == Wait(record.steps[:1])
    spare = asked(runs(said(0)), lost(1), spares=1)
    assert decide(spare, 1.0) == Wait(spare.steps[:1])


@pytest.mark.parametrize(
    ("steps", "terms", "end", "word"),
    [
        ([compared("consensus")], {}, LoopEnd.SUCCESS, "consensus"),
        ([compared("majority")], {}, LoopEnd.SUCCESS, "majority"),
        ([compared("contract")], {"judging": "always"}, LoopEnd.SUCCESS, "contract"),
        ([compared("only_answer")], {}, LoopEnd.BLOCKED, "why"),
        ([compared("none")], {"judging": "always"}, LoopEnd.BLOCKED, "why"),
        ([compared("open")], {"judging": "never"}, LoopEnd.BLOCKED, "they differ"),
        ([compared("open"), ruled()], {}, LoopEnd.SUCCESS, "a judge ruled"),
        ([compared("open"), ruled(agrees=False, detail="hm")], {}, LoopEnd.BLOCKED, "decided nothing: hm"),
        ([compared("open"), done(Role.RULE, "failed")], {}, LoopEnd.BLOCKED, "decided nothing: failed"),
        ([compared("consensus"), ruled(agrees=False)], {"judging": "always"}, LoopEnd.SUCCESS, "consensus"),
    ],
)
def test_how_it_ends(steps, terms, end, word):
    found = decide(asked(*BOTH, *steps, **terms), 1.0)
    assert isinstance(found, End)
    assert (found.end, word in found.reason) == (end, True), found


def test_a_cancel_lets_nobody_more_be_asked():
    stopped = asked(runs(said(0))).model_copy(update={"cancel_requested": True})
    assert decide(stopped, 1.0) == Wait(stopped.steps, stop=True)
    over = decide(asked(*BOTH).model_copy(update={"cancel_requested": True}), 1.0)
    assert over.end is LoopEnd.CANCELED
