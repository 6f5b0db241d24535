"""The check after a storm bites: each thing that must not be is found, and nothing else is."""

from dataclasses import replace

import pytest
from fakes.chaos_check import Asked, Process, Prompted, Seen, Sent, Told, check


def ended(seq: int, **more: object) -> Told:
    return Told(1, seq, "job.ended", {"job_id": "a", "revises": False, **more})


WELL = Seen(
    journal=(Told(1, 1, "job.accepted", {"job_id": "a", "record": {"label": "n0"}}), ended(2)),
    kept={1: "job.accepted", 2: "job.ended"},
    generation=1,
    records={"a": {"state": "done", "label": "n0"}},
    asked=(Asked("n0", "accepted", "a", done=True), Asked("n1", "unsure"), Asked("n2", "refused")),
    prompts=(Prompted("a", said_done=True, said_end=True),),
    sends=(Sent("s", 1, "given", 1, session_lives=True), Sent("s", 2, "unsure", 0, session_lives=True)),
    processes=(Process(7, "stranger", "", alive=True), Process(8, "delegate", "a", alive=False)),
)


def test_nothing_is_said_of_what_went_well():
    assert check(WELL) == []


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"journal": (*WELL.journal, ended(3)), "kept": {**WELL.kept, 3: "job.ended"}}, "ended-once"),
        ({"records": {"a": {"state": "running", "label": "n0"}}}, "ended-once"),
        ({"prompts": (Prompted("a", said_done=False, said_end=True),)}, "truly"),
        ({"prompts": ()}, "truly"),
        ({"records": {"a": {"state": "failed", "label": "n0"}}}, "truly"),
        ({"records": {"a": {"state": "canceled", "label": "n0"}}, "prompts": ()}, "truly"),
        ({"records": {"a": {"state": "done?", "label": "n0"}}, "prompts": ()}, "truly"),
        ({"prompts": (*WELL.prompts, *WELL.prompts)}, "prompted-once"),
        ({"prompts": (*WELL.prompts, Prompted("b", said_done=False, said_end=False))}, "prompted-once"),
        ({"asked": (*WELL.asked, Asked("n3", "accepted", "lost"))}, "heard"),
        ({"asked": (*WELL.asked, Asked("g1-0", "accepted"))}, "heard"),
        ({"asked": (Asked("n0", "refused"),)}, "heard"),
        ({"records": {**WELL.records, "b": {"state": "failed", "label": "n0"}}}, "heard"),
        ({"sends": (Sent("s", 1, "given", 2, session_lives=True),)}, "sent-once"),
        ({"sends": (Sent("s", 1, "given", 0, session_lives=True),)}, "sent-once"),
        ({"sends": (Sent("s", 1, "refused", 1, session_lives=False),)}, "sent-once"),
        ({"processes": (Process(7, "stranger", "", alive=True, signals=(15,)),)}, "no-stranger"),
        ({"processes": (Process(7, "stranger", "", alive=False),)}, "no-stranger"),
        ({"processes": (Process(8, "delegate", "a", alive=True),)}, "nothing-left"),
        ({"database": "row 3 missing from index"}, "database"),
        ({"answers": False}, "restarts"),
        ({"kept": {2: "job.ended"}}, "journal"),
        ({"kept": {**WELL.kept, 2: "job.progressed"}}, "journal"),
        ({"journal": tuple(reversed(WELL.journal))}, "journal"),
    ],
)
def test_what_must_not_be_is_found(change, rule):
    assert {violation.rule for violation in check(replace(WELL, **change))} == {rule}


def test_a_verdict_of_which_nothing_can_be_known_is_not_judged():
    seen = replace(WELL, prompts=(), spoiled={"a"})
    assert check(seen) == []
    seen = replace(WELL, records={"a": {"state": "canceled", "label": "n0"}}, canceled={"a"})
    assert check(seen) == []


def test_what_was_cleaned_up_or_could_not_be_rebuilt_is_no_loss():
    gone = (*WELL.journal, Told(1, 3, "job.removed", {"job_id": "a"}))
    assert check(replace(WELL, records={}, journal=gone, kept={**WELL.kept, 3: "job.removed"})) == []
    assert check(replace(WELL, records={}, generation=2, unreadable={"a"})) == []


def test_a_revised_end_and_one_in_another_journal_are_no_second_ends():
    revised = (*WELL.journal, ended(3, revises=True))
    assert check(replace(WELL, journal=revised, kept={**WELL.kept, 3: "job.ended"})) == []
    again = (*WELL.journal, Told(2, 3, "job.ended", {"job_id": "a"}))
    assert check(replace(WELL, journal=again, generation=2, kept={3: "job.ended"})) == []


def lap(number: int, role: str, **more: object) -> dict[str, object]:
    given = {"number": number, "role": role, "lap": 1, "job_id": None, "ended": 1.0, "state": "done"}
    return {**given, **more}


def step(seq: int, told: str, one: dict[str, object]) -> Told:
    return Told(1, seq, f"loop.step_{told}", {"loop_id": "L", "step": one})


BUILD, GREEN = lap(1, "build", job_id="j"), lap(2, "check", state="passed")
LOOP = {
    "limits": {"laps": 2},
    "terms": {"shape": "verify"},
    "label": "l0",
    "end": "success",
    "steps": (BUILD, GREEN),
}
FACTS = (
    Told(1, 1, "loop.accepted", {"loop_id": "L", "record": {"end": None}}),
    step(2, "began", {**BUILD, "ended": None}),
    step(3, "ended", BUILD),
    step(4, "began", {**GREEN, "ended": None}),
    step(5, "ended", GREEN),
    Told(1, 6, "loop.ended", {"loop_id": "L"}),
)
CREW = (
    Told(1, 7, "fanout.accepted", {"group_id": "G", "record": {"members": [{"job_id": "m"}], "most": 1}}),
    Told(1, 8, "job.launching", {"job_id": "m"}),
    Told(1, 9, "job.ended", {"job_id": "m"}),
    Told(1, 10, "fanout.ended", {"group_id": "G"}),
)
LOOPED = Seen(
    journal=(*FACTS, *CREW),
    kept={told.seq: told.kind for told in (*FACTS, *CREW)},
    generation=1,
    records={"j": {"state": "done", "label": "verify l0: build 1", "check": None}, "m": {"state": "failed"}},
    prompts=(Prompted("j", said_done=True, said_end=True),),
    loops={"L": LOOP},
    asked_loops=(Asked("l0", "accepted", "L"),),
    groups={"G": {"members": [{"job_id": "m"}], "ended": 1.0}},
    checks={"L/check-2": 1},
    green={"L/check-2"},
)


def looped(**change: object) -> dict[str, object]:
    return {"loops": {"L": {**LOOP, **change}}}


def told(*facts: Told) -> dict[str, object]:
    facts = tuple(replace(fact, seq=seq) for seq, fact in enumerate(facts, 1))
    return {"journal": facts, "kept": {fact.seq: fact.kind for fact in facts}}


def test_nothing_is_said_of_loops_and_crews_that_went_well():
    assert check(LOOPED) == []


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"checks": {"L/check-2": 2}}, "checked-once"),
        ({"green": ()}, "loop-truly"),
        ({"records": {**LOOPED.records, "m": {"state": "done", "check": "x"}}}, "truly"),
        (looped(end=None), "loop-once"),
        (looped(limits={"laps": 0}), "loop-bound"),
        (looped(end="canceled"), "loop-truly"),
        (looped(steps=(BUILD, {**GREEN, "state": "failed"})), "loop-truly"),
        (looped(steps=({**BUILD, "ended": None}, GREEN)), "loop-step"),
        (looped(steps=({**BUILD, "state": "failed"}, GREEN)), "loop-truly"),
        (looped(steps=(BUILD, {**BUILD, "number": 3}, GREEN)), "lap-once"),
        (looped(steps=({**BUILD, "job_id": None}, GREEN)), "lap-once"),
        (told(*FACTS, FACTS[-1], *CREW), "loop-once"),
        (told(*FACTS[:3], FACTS[2], *FACTS[3:], *CREW), "loop-step"),
        (told(FACTS[0], *FACTS[2:], *CREW), "loop-step"),
        (told(*FACTS, FACTS[1], *CREW), "loop-step"),
        (told(*FACTS, CREW[0], CREW[1], CREW[3], CREW[2]), "group-end"),
        (told(*FACTS, *CREW, CREW[3]), "group-end"),
        (
            told(
                *FACTS,
                Told(1, 0, CREW[0].kind, {**CREW[0].body, "record": {"members": [{"job_id": "m"}], "most": 0}}),
                *CREW[1:],
            ),
            "group-most",
        ),
        ({"groups": {"G": {"members": (), "ended": None}}}, "group-end"),
        ({"asked_loops": (Asked("l1", "accepted", "lost"),)}, "heard"),
        ({"asked_loops": (Asked("l0", "refused", "L"),)}, "heard"),
    ],
)
def test_what_must_not_be_of_a_loop_or_a_crew_is_found(change, rule):
    assert {violation.rule for violation in check(replace(LOOPED, **change))} == {rule}
