"""What the tools are made of, without a client and without a supervisor: bounds, members, depth, errands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.fake_gateway import job_id
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.mcp_server import errands
from outsourcerer.cli.mcp_server.ancestry import ancestors, inherit_depth
from outsourcerer.cli.mcp_server.asking import sentence
from outsourcerer.cli.mcp_server.bounds import clip, event_rows
from outsourcerer.cli.mcp_server.desk import members
from outsourcerer.cli.options import Globals
from outsourcerer.cli.reach import Reach

FIRST = job_id(1)


def test_a_sentence_holds_no_secret() -> None:
    secret = "ghp_" + "a1B2" * 9
    assert secret not in sentence(RuntimeError(f"the key {secret} is wrong"))


def test_members_of_a_fan_out() -> None:
    tasks: list[Any] = ["one", {"task": "two", "label": "b", "model": "opus", "effort": "high"}]
    expected = {"label": "b", "task": "two", "model": "opus", "effort": "high"}
    assert members(tasks, {}) == [{"label": "task-01", "task": "one"}, expected]
    # What the call says for all goes first.
    assert members(tasks, {"model": "sol"})[1] == {"label": "b", "task": "two", "effort": "high"}
    for bad in (
        [{"label": "x"}],
        [{"task": 1}],
        [{"task": "x", "effort": "turbo"}],
        [{"task": "x", "no": 1}],
        [],
        [""],
    ):
        with pytest.raises(Exception, match=r"task|effort|no"):
            members(bad, {})
    # A task of many lines, or one that begins with #, is one task all the same.
    assert [row["task"] for row in members(["# head\nbody", "two"], {})] == ["# head\nbody", "two"]


@pytest.mark.parametrize("size", [0, 10, 11, 1000])
def test_clip_never_hides_that_it_cut(size: int) -> None:
    text, left = clip("x" * size, 10)
    assert text.count("x") + left == size
    assert ("left out" in text) is (size > 10)


def test_events_are_bounded_whatever_is_in_them() -> None:
    deep: Any = "x" * 9000
    for _ in range(50):
        deep = {"in": [deep]}
    row = event_rows([{"seq": 1, "text": "y" * 9000, "deep": deep, "n": 1.5, "none": None}])[0]
    assert len(json.dumps(row)) < 8000
    assert (row["seq"], row["n"], row["none"]) == (1, 1.5, None)


@pytest.mark.parametrize(
    ("own", "above", "depth"),
    [
        ({}, [], None),
        ({}, [{}, {"OUTSOURCERER_DEPTH": "1"}, {"OUTSOURCERER_DEPTH": "7"}], "1"),
        ({"OUTSOURCERER_DEPTH": "0"}, [{"OUTSOURCERER_DEPTH": "1"}], "0"),
        ({"OUTSOURCERER_DEPTH": ""}, [{"OUTSOURCERER_DEPTH": "x"}], "x"),  # the gate refuses what is no number
    ],
)
def test_a_delegate_s_server_knows_how_deep_it_is(own: dict[str, str], above: list, depth: str | None) -> None:
    inherit_depth(own, above)
    assert own.get("OUTSOURCERER_DEPTH") == depth


def test_it_can_read_its_ancestors() -> None:
    assert all(isinstance(one, dict) for one in ancestors())


def test_nothing_more_is_started_for_an_errand_that_was_canceled(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Reach, "request", lambda _self, body: asked.append(body["kind"]) or {"job_id": FIRST})
    monkeypatch.setattr(errands, "cancel", lambda _reach, ids, **_: asked.append(*ids))
    errand = errands.Errand("image")
    reach = errands.ErrandReach(Globals(), errand, None)
    reach.request({"kind": "job.submit"})
    errands.stop(Reach(Globals()), errand)
    assert (errand.jobs, asked) == ([FIRST], ["job.submit", FIRST])
    with pytest.raises(CliError, match="canceled"):
        reach.request({"kind": "job.submit"})
    assert asked == ["job.submit", FIRST]


def test_errands_are_forgotten_in_the_end() -> None:
    every = errands.Errands()
    first = every.begin("x", lambda _: Reach(Globals()), lambda _: {})
    assert first.over.wait(60)
    for _ in range(errands.KEPT):
        assert every.begin("x", lambda _: Reach(Globals()), lambda _: {"n": 1}).over.wait(60)
    assert len(every._all) <= errands.KEPT
    broken = every.begin("x", lambda _: Reach(Globals()), lambda _: 1 / 0)
    assert broken.over.wait(60)
    assert broken.state == "failed"
    assert "division by zero" in (broken.trouble or "")
