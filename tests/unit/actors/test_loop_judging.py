"""A writer's work is judged by another model where one is here; where none is, that is said and never hidden."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.state import job_id, scratch_home
from outsourcerer.actors import loop_desk
from outsourcerer.actors.loop_desk import LoopDesk
from outsourcerer.actors.loop_folder import LoopFolder
from outsourcerer.actors.loop_judging import same_model
from outsourcerer.messages.job import JobRequest
from outsourcerer.messages.loop import LoopRequest, LoopTerms, Shape
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.replies import Plan
from outsourcerer.state.errors import StateError
from outsourcerer.state.loop_views import loop_object

TERMS = LoopTerms(shape=Shape.OPTIMIZE, judge="opus", rubric="brief")
EMPTY = base64.b64encode(b"HOME=/nowhere").decode()


def plan(model: str | None, lane: str = "claude") -> Plan:
    words = {"vehicle": lane, "tier": "mid", "effort": None, "verb": "run", "posture": "P", "cwd": "/", "stdin": "-"}
    return Plan(lane=lane, model=model, argv=(), gate="open", cost="plan", **words)


@pytest.mark.parametrize(
    ("writer", "judge", "same"),
    [
        (plan("claude-opus-5"), plan("claude-opus-5"), True),
        (plan("anthropic/Claude-Opus-5", "cc"), plan("claude-opus-5"), True),
        (plan("claude-haiku-5"), plan("claude-opus-5"), False),
        (plan(None), plan(None), True),
        (plan(None), plan("claude-opus-5"), None),
        (plan("claude-opus-5", "devin"), plan(None), None),
        (plan(None, "codex"), plan("claude-opus-5"), False),
        (plan(None, "codex"), plan(None), False),
    ],
)
def test_whether_two_plans_are_of_one_model(writer: Plan, judge: Plan, same: bool | None) -> None:
    assert same_model(writer, judge) is same


def judged(monkeypatch: pytest.MonkeyPatch, writer: Plan, other: tuple[str, Plan] | None, **asked: object) -> object:
    """Return what becomes of a loop whose writer is planned so, where ``other`` is the strongest other model."""
    judge = plan("claude-opus-5")
    request = JobRequest(task="t", cwd="/", environment=EMPTY, **asked)
    desk = LoopDesk(SimpleNamespace(), SimpleNamespace(), SimpleNamespace())
    found = None if other is None else request.model_copy(update={"model": other[0]})
    monkeypatch.setattr(loop_desk, "other_writer", lambda *_: found)
    monkeypatch.setattr(desk, "_looked_at", lambda *_: [("write", other[1]), ("judge", judge)])
    return desk._judged_by_another(TERMS, request, None, [("write", writer), ("judge", judge)])


@pytest.mark.parametrize("writer", [plan("claude-opus-5"), plan(None)], ids=["the judge's", "unknown"])
def test_another_one_writes_where_nobody_was_named(monkeypatch: pytest.MonkeyPatch, writer: Plan) -> None:
    common, plans = judged(monkeypatch, writer, ("sol", plan("gpt-5.6-sol", "codex")))
    assert (common.model, plans[0][1].model) == ("sol", "gpt-5.6-sol")
    assert plans[0][1].notices == ("gpt-5.6-sol of codex writes, so that opus does not judge its own work",)


@pytest.mark.parametrize(
    ("writer", "other", "asked", "said"),
    [
        (plan("claude-opus-5"), None, {}, "the writer judges itself"),
        (plan(None), None, {}, "the writer may judge itself"),
        (plan("claude-opus-5"), ("claude-opus-5", plan("claude-opus-5")), {}, "the writer judges itself"),
        (plan("claude-opus-5"), ("sol", plan("gpt-5.6-sol", "codex")), {"lane": "claude"}, "the writer judges itself"),
    ],
    ids=["nobody else", "nobody else, and it is unknown", "the other is the judge", "the lane was named"],
)
def test_where_no_other_one_is_here_it_is_said(monkeypatch, writer, other, asked, said) -> None:
    common, plans = judged(monkeypatch, writer, other, **asked)
    assert (common.model, plans[0][1].model) == (None, writer.model)
    assert said in plans[0][1].notices[0]


def test_what_is_apart_is_left_alone_and_one_named_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    _, plans = judged(monkeypatch, plan("gpt-5.6-sol", "codex"), None)
    assert plans[0][1].notices == ()
    twice = judged(monkeypatch, plan("claude-opus-5"), None, model="opus-by-another-word")
    assert isinstance(twice, Refused)
    assert (twice.code, "judge its own work" in twice.message) == (RefusalCode.BAD_REQUEST, True)


@pytest.mark.parametrize(
    ("models", "found"),
    [
        ([("m", "m")], True),
        ([("a", "b"), ("m", "m")], True),
        ([("a", "b"), ("b", "a")], False),
        ([("a", "b"), (None, "b")], None),
        ([(None, None)], None),
        ([], None),
    ],
)
def test_the_result_says_whether_it_was_judged_by_itself(models, found) -> None:
    steps = []
    for lap, (writer, judge) in enumerate(models, 1):
        steps += [{"role": "write", "lap": lap, "model": writer, "number": 2 * lap}]
        steps += [{"role": "judge", "lap": lap, "model": judge, "number": 2 * lap + 1, "score": 7.0}]
    record = {"loop_id": "loop-1", "terms": {"shape": "optimize"}, "steps": steps, "segment_began": 1.0}
    assert loop_object(record, "/h", 1.0)["judged_by_itself"] is found
    assert loop_object(record | {"terms": {"shape": "verify"}}, "/h", 1.0)["judged_by_itself"] is None


@pytest.mark.parametrize("there", [False, True])
def test_a_loop_whose_rubric_cannot_be_kept_leaves_no_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool
) -> None:
    def full(*_: object) -> None:
        raise StateError("state_full", "no room")

    home = scratch_home(tmp_path)
    common = JobRequest(task="t", cwd=str(tmp_path), environment=EMPTY)
    request = LoopRequest(loop_id="loop-" + job_id(1), common=common, terms=TERMS)
    folder = LoopFolder.of(home, request.loop_id)
    if there:
        folder.create("t", {})
    desk = LoopDesk(SimpleNamespace(home=home), SimpleNamespace(), SimpleNamespace())
    monkeypatch.setattr(loop_desk, "own_identity", lambda _: None)
    monkeypatch.setattr(LoopFolder, "write", full)
    with pytest.raises(StateError, match="no room"):
        desk._take(request, common, (plan("opus"),), None)
    assert folder.path.exists() is there
