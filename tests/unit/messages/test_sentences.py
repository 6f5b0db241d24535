"""What is wrong is said in words, whatever the model."""

from __future__ import annotations

import pytest
from outsourcerer.lanes.custom import LaneFile
from outsourcerer.messages.commands import COMMAND
from outsourcerer.messages.sentences import what_is_wrong
from pydantic import ValidationError

RUN = {"run": "READ-ONLY"}
WRONG = [
    ({"argv": [5], "verbs": RUN}, "argv item 1", "must be text"),
    ({"argv": [""], "verbs": RUN}, "argv item 1", "is empty"),
    ({"argv": ["x", "a\0b"], "verbs": RUN}, "argv item 2", "is empty, too long, or has a character"),
    ({"argv": [], "verbs": RUN}, "argv", "is empty"),
    ({"argv": ["x"]}, "verbs", "is missing"),
    ({"argv": ["x"], "verbs": RUN, "colour": 1}, "colour", "is not known"),
    ({"argv": ["x"], "verbs": {"run": "FREE"}}, "verbs.run.posture", "must be one of "),
    ({"argv": ["x"], "verbs": RUN, "local": "maybe"}, "local", "must be true or false"),
    ({"argv": ["x"], "verbs": {"run": "MUTATING"}}, "", "verbs.run: run promises that nothing is changed"),
]


@pytest.mark.parametrize(("value", "place", "words"), WRONG)
def test_lane_files(value: dict[str, object], place: str, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        LaneFile.model_validate(value)
    found, said = what_is_wrong(caught.value)
    assert found == place
    assert said.startswith(words)


def test_bounds_and_kinds() -> None:
    with pytest.raises(ValidationError) as caught:
        COMMAND.validate_python({"kind": "follow.events", "since": -1})
    assert what_is_wrong(caught.value, skip=1) == ("since", "must be at least 0")
    with pytest.raises(ValidationError) as caught:
        COMMAND.validate_python({"kind": "x\x1b"})
    assert what_is_wrong(caught.value) == ("", "is 'x\\x1b', which is not known")
