"""Loops are their facts: folded, found again, and shown."""

import pytest
from fakes.state import job_id, scratch_home
from fakes.state import record as job_record
from outsourcerer.messages.facts import JobAccepted
from outsourcerer.messages.loop import (
    LoopAccepted,
    LoopCancelRequested,
    LoopEnd,
    LoopEnded,
    LoopLimits,
    LoopRecord,
    LoopResumed,
    LoopStep,
    LoopStepBegan,
    LoopStepEnded,
    LoopTerms,
)
from outsourcerer.state.loop_records import after, spent
from outsourcerer.state.loop_views import loop_object
from outsourcerer.state.loops_reader import live_loops, loop, loops, resolve_loop
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store

ONE, TWO = "loop-20261130-010203-0123456789ab", "loop-20261130-010204-0123456789ab"
STEP = LoopStep(number=1, role="build", lap=1, model="m", job_id="20261130-010203-0123456789ab", began=2.0)
DONE = STEP.model_copy(update={"ended": 3.0, "state": "done", "cash_usd": 0.25, "worktree": "/t", "cwd": "/t/a"})


def record(loop_id=ONE, **more):
    given = {"terms": {"shape": "verify", "check": "make"}, "limits": {}, "verb": "edit", "cwd": "/w", **more}
    return LoopRecord.model_validate({"loop_id": loop_id, "accepted_at": 1.0, "segment_began": 1.0, **given})


def life(loop_id=ONE):
    return [
        LoopAccepted(loop_id=loop_id, record=record(loop_id, label="mine")),
        LoopStepBegan(loop_id=loop_id, step=STEP),
        LoopStepEnded(loop_id=loop_id, step=DONE),
        LoopEnded(loop_id=loop_id, end="max_turns", reason="6 laps are over", hint="osrc loop resume {loop}"),
    ]


@pytest.fixture
def kept(tmp_path):
    home = scratch_home(tmp_path)
    store = Store.open(home.database, now=1.0)

    def keep(*facts, at=1.0):
        store.append(facts, at)
        store.commit()
        return Reader(home.database)

    yield keep
    store.close()


def test_a_life(kept):
    for at, fact in enumerate(life(), 1):
        kept(fact, at=float(at)).close()
    with kept(*life(TWO)[:2], at=9.0) as reader:
        assert live_loops(reader) == [TWO]
        assert [one["loop_id"] for one in loops(reader)] == [TWO, ONE]
        found = LoopRecord.model_validate(loop(reader, ONE))
        assert (found.steps, found.end.value, found.ended, found.spent_s) == ((DONE,), "max_turns", 4.0, 3.0)
        assert loop(reader, TWO)["steps"][0]["ended"] is None
    with kept(
        LoopResumed(loop_id=ONE, limits=LoopLimits(laps=9), launched=True),
        LoopCancelRequested(loop_id=ONE),
        LoopCancelRequested(loop_id=TWO),
        at=20.0,
    ) as reader:
        found = LoopRecord.model_validate(loop(reader, ONE))
        assert (found.end, found.limits.laps, found.segment, found.launched) == (None, 9, 1, True)
        assert (found.cancel_requested, found.spent_s, found.segment_began) == (True, 3.0, 20.0)
        assert live_loops(reader) == [TWO, ONE]


def test_what_a_person_may_call_it(kept):
    with kept(*life(), *life(TWO)) as reader:
        assert [one["loop_id"] for one in resolve_loop(reader, ONE)] == [ONE]
        assert len(resolve_loop(reader, "mine")) == 2
        assert [one["loop_id"] for one in resolve_loop(reader, "20261130-010204")] == [TWO]
        assert len(resolve_loop(reader, "loop-2026")) == 2
        assert [resolve_loop(reader, word) for word in ("", "nope", "a\nb", "job-1")] == [[]] * 4


def test_facts_that_say_nothing_change_nothing():
    known = record().model_dump(mode="json")
    ended = {**known, "end": "success"}
    assert after(None, {"kind": "loop.ended"}, 1.0) is None
    assert after(known, {"kind": "loop.accepted", "record": {}}, 1.0) is known
    assert after(known, {"kind": "loop.resumed"}, 1.0) is known
    assert after(ended, {"kind": "loop.step_began", "step": {}}, 1.0) is ended
    assert after(known, {"kind": "loop.from_the_future"}, 1.0) is known
    assert after(known, {"kind": "loop.step_ended", "step": 3}, 1.0)["steps"] == []
    assert spent({"spent_s": 2.0, "segment_began": 10.0}, 5.0) == 2.0  # the clock was set back


OTHER = "20261130-010299-0123456789ab"


def test_a_step_begins_once_unless_it_names_whose_place_it_takes(kept):
    """An actor that crashed while its decision waited for room: its successor's, of the same step, comes behind it."""
    other = STEP.model_copy(update={"job_id": OTHER})
    with kept(*life()[:2], LoopStepBegan(loop_id=ONE, step=other)) as reader:
        assert [step["job_id"] for step in loop(reader, ONE)["steps"]] == [STEP.job_id]
    with kept(LoopStepBegan(loop_id=ONE, step=other, instead_of="20261130-010277-0123456789ab")) as reader:
        assert [step["job_id"] for step in loop(reader, ONE)["steps"]] == [STEP.job_id]
    with kept(LoopStepBegan(loop_id=ONE, step=other, instead_of=STEP.job_id)) as reader:
        assert [step["job_id"] for step in loop(reader, ONE)["steps"]] == [OTHER]


@pytest.mark.parametrize("launched", [False, True])
def test_a_step_whose_job_there_is_was_not_refused(kept, launched):
    """Its actor was told no for want of room, and crashed before that was written: its successor had it launched."""
    begun = STEP.model_copy(update={"job_id": job_id(7)})
    refused = begun.model_copy(update={"job_id": None, "ended": 3.0, "state": "refused"})
    there = (JobAccepted(job_id=job_id(7), record=job_record(7)),) if launched else ()
    facts = (life()[0], LoopStepBegan(loop_id=ONE, step=begun), *there, LoopStepEnded(loop_id=ONE, step=refused))
    with kept(*facts) as reader:
        (step,) = loop(reader, ONE)["steps"]
    assert (step["state"], step["job_id"]) == ((None, job_id(7)) if launched else ("refused", None))


def test_a_store_without_any(tmp_path):
    with Reader(tmp_path / "state.db") as reader:
        assert (loops(reader), live_loops(reader), loop(reader, ONE)) == ([], [], None)


def test_the_object_of_a_loop():
    steps = (
        LoopStep(number=1, role="check", lap=0, began=1.0, ended=2.0, state="failed", detail="1 failed"),
        DONE.model_copy(update={"number": 2}),
        LoopStep(number=3, role="build", lap=2, who=1, began=4.0, model="n", cash_usd=None, unknown=1),
    )
    known = record(steps=steps, terms={"shape": "escalate", "check": "x", "models": ("m", "n", "o")})
    shown = loop_object(known.model_dump(mode="json"), "/home", 11.0)
    assert (shown["state"], shown["laps"], shown["elapsed_s"], shown["cwd"], shown["worktree"]) == (
        "running",
        2,
        10.0,
        "/t/a",
        "/t",
    )
    assert shown["cost"] == {"cash_usd": 0.25, "measured": True, "unknown": 1}
    assert (shown["now"]["role"], shown["last_failure"], shown["unused_models"]) == ("build", "1 failed", ["o"])
    assert shown["steps"][1]["state"] == "done"
    over = known.model_copy(update={"end": LoopEnd.BLOCKED, "hint": "osrc loop resume {loop}"}).model_dump(mode="json")
    assert loop_object(over, "/h", 1.0)["hint"] == f"osrc loop resume {ONE}"


def test_the_best_answer_is_the_earliest_of_the_best():
    steps = [
        LoopStep(number=n, role=role, lap=lap, began=1.0, ended=1.0, state="done", score=score, job_id=job)
        for n, (role, lap, score, job) in enumerate(
            [
                ("write", 1, None, "20261130-010203-000000000001"),
                ("judge", 1, 60.0, None),
                ("write", 2, None, "20261130-010203-000000000002"),
                ("judge", 2, 60.0, None),
            ],
            1,
        )
    ]
    shown = loop_object(record(steps=steps, terms=LoopTerms(shape="optimize")).model_dump(mode="json"), "/h", 1.0)
    assert shown["best"] == {"lap": 1, "score": 60.0, "job_id": "20261130-010203-000000000001", "path": None}


def test_what_has_ended_is_not_said_again(kept):
    """An actor crashed before what it had said was on disk: its successor, or its caller, said it again, or otherwise."""
    with kept(*life()[:3]) as reader:
        before = loop(reader, ONE)
    late = DONE.model_copy(update={"state": "failed", "ended": 9.0})
    kept(life()[0], LoopStepEnded(loop_id=ONE, step=late), LoopStepBegan(loop_id=ONE, step=STEP), life()[3]).close()
    second = STEP.model_copy(update={"number": 2})
    with kept(life()[3], LoopStepBegan(loop_id=ONE, step=second), *life(TWO)[:1]) as reader:
        after_all = loop(reader, ONE)
        kinds = [row[0] for row in reader.select("SELECT kind FROM facts ORDER BY seq")]
    assert (after_all["steps"], after_all["end"]) == (before["steps"], "max_turns")
    assert kinds == [fact.kind for fact in (*life(), *life(TWO)[:1])]
