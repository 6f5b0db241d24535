"""Who may let a session do more without asking."""

import pytest
from outsourcerer.actors.kept_request import wire
from outsourcerer.actors.session_mode import may_answer, may_set
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.messages.session import SetMode
from outsourcerer.messages.vocabulary import SessionMode

PERSON = {"HOME": "/nowhere"}
DELEGATE = {"HOME": "/nowhere", "OUTSOURCERER_DEPTH": "1", "OUTSOURCERER_MAX_DEPTH": "3"}


@pytest.mark.parametrize("mode", list(SessionMode))
@pytest.mark.parametrize("yolo", [False, True])
@pytest.mark.parametrize("who", [PERSON, DELEGATE])
def test_more_than_it_may_at_first_takes_a_person_and_their_word(mode, yolo, who):
    refused = may_set(SetMode(mode=mode, yolo=yolo), wire(who))
    more = mode in (SessionMode.EDITS, SessionMode.YOLO)
    assert (refused is None) is (not more or (yolo and who is PERSON))
    if refused is not None:
        assert refused.code is RefusalCode.DENIED
        assert ("--yolo" in refused.hint) is (who is PERSON)


def test_a_caller_of_whom_nothing_is_known_is_no_delegate_but_an_odd_depth_is_one():
    assert may_set(SetMode(mode=SessionMode.EDITS, yolo=True), "") is None
    odd = may_set(SetMode(mode=SessionMode.EDITS, yolo=True), wire({"OUTSOURCERER_DEPTH": "x"}))
    assert odd is not None
    assert odd.code is RefusalCode.RECURSION
    assert may_set(SetMode(mode=SessionMode.PLAN), wire({"OUTSOURCERER_DEPTH": "x"})) is None


@pytest.mark.parametrize(
    ("depth", "most", "may"), [("", "", True), ("0", "1", True), ("1", "1", False), ("1", "2", True), ("x", "9", False)]
)
def test_a_delegate_that_may_not_delegate_answers_nothing_for_its_person(depth: str, most: str, may: bool):
    refused = may_answer(wire({"OUTSOURCERER_DEPTH": depth, "OUTSOURCERER_MAX_DEPTH": most or "1"}))
    assert (refused is None) is may
    if refused is not None:
        assert refused.code is RefusalCode.RECURSION
