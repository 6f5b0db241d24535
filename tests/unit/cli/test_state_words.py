"""What is said of a job's state says more than its name, or nothing."""

from __future__ import annotations

import re

import pytest
from outsourcerer.cli.commands.explain import _state
from outsourcerer.cli.render.lines import beyond, change_line, receipt, words_for
from outsourcerer.messages.vocabulary import JobState


@pytest.mark.parametrize("state", [state.value for state in JobState])
def test_no_line_says_a_state_twice(state: str) -> None:
    job = {"job_id": "x", "state": state, "reason": state, "started": 1.0, "ended": 2.0, "age_s": 1.0}
    for line in (_state(state, words_for(state)), change_line(job), receipt(job)[0]):
        bare = re.escape(state.rstrip("?"))
        assert not re.search(rf"[|:(]\s*{bare}[?.]?\)?$", line), line
        assert not re.search(rf"[(:] ?{bare}:", line), line
        assert not line.rstrip().endswith((":", "|", "()")), line
    told = receipt(job | {"reason": f"{state}: no room"})[0]
    assert told.endswith(f": {state}: no room"), told


def test_what_says_more_stays() -> None:
    assert _state("blocked", words_for("blocked")) == "blocked (it needs something from you)"
    assert (beyond("failed", None), beyond("failed", "exit\nnow")) == ("", "exit now")
