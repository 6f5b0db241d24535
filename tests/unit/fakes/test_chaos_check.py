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
