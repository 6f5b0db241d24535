"""What explain says of a job's model, and of a group's members."""

from __future__ import annotations

import pytest
from outsourcerer.cli.commands.explain import _explain_group, _model
from outsourcerer.cli.options import Globals


@pytest.mark.parametrize(
    ("asked", "seen", "words"),
    [
        (None, None, None),
        (None, "fake-1", "its own default (observed: fake-1)"),
        ("opus", None, "opus"),
        ("opus", "opus", "opus"),
        ("opus", "claude-opus-5", "opus (observed: claude-opus-5)"),
    ],
)
def test_the_models_words(asked: str | None, seen: str | None, words: str | None) -> None:
    assert _model({"model": asked, "model_observed": seen}) == words


def test_no_verdict_is_spoken_of_a_member_that_has_not_ended(capsys: pytest.CaptureFixture[str]) -> None:
    going = {"job_id": "a", "label": "one", "state": "running"}
    lost = {"job_id": "b", "label": "two", "state": "running", "supervision": "none", "note": "its processes are gone"}
    over = {"job_id": "c", "label": "three", "state": "failed", "exit": 3, "reason": "exit code 3"}
    names = ("total", "queued", "running", "done", "unverified", "blocked", "failed", "removed")
    group = {"group_id": "fanout-1", "state": "running", "summary": dict.fromkeys(names, 0), "refused": []}
    _explain_group(Globals(), group | {"jobs": [going, lost, over]})
    members = [line for line in capsys.readouterr().out.splitlines() if line.startswith("member:")]
    assert members[0].endswith("one: running (at work)")
    assert "two: running (when last seen; its verdict is due)" in members[1]
    assert "REAL-FAIL" not in members[1]
    assert "three: failed; REAL-FAIL" in members[2]
