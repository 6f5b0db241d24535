"""The denylist on every path that picks a model, and the rule that refused in the answer."""

from __future__ import annotations

import base64
import os
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.lanes import lane_toml, write_lane
from fakes.state import scratch_home
from outsourcerer.actors.advising import Place, Question, give
from outsourcerer.actors.failover import Ways, policy_from
from outsourcerer.actors.gate import Dispatch, Scope, pass_gate
from outsourcerer.actors.imaging import Studio
from outsourcerer.actors.intake import preview
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.actors.loop_requests import everyone
from outsourcerer.actors.model_book import ModelBook
from outsourcerer.actors.session_desk import SessionDesk
from outsourcerer.actors.session_intake import preview_session
from outsourcerer.lanes.advice.failover import Case, Stop
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import JobRequest
from outsourcerer.messages.lane_events import FailureKind
from outsourcerer.messages.loop import LoopTerms, Shape
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.replies import Plan
from outsourcerer.messages.session import SessionRequest, SessionSteer, SetModel
from outsourcerer.messages.vocabulary import Tier, Verb
from outsourcerer.state.files import write_private
from outsourcerer.state.settings import Settings

PROGRAMS = ("claude", "codex", "devin", "gemini", "agy", "droid")
RULE = "OSRC_MODEL_DENYLIST"
KEYS = {"OPENROUTER_API_KEY": "made-up", "GEMINI_API_KEY": "made-up"}


class Machine:
    """A person with several CLIs, keys, and rows of their own."""

    def __init__(self, folder) -> None:
        self.home = scratch_home(folder)
        self.cwd = folder / "work"
        places = [folder / "bin", self.cwd, folder / "user" / ".codex"]
        for place in places:
            place.mkdir(parents=True)
        for program in PROGRAMS:
            (folder / "bin" / program).write_text("#!/bin/sh\nexit 1\n")
            (folder / "bin" / program).chmod(0o755)
        (folder / "user" / ".codex" / "auth.json").write_text("{}")
        self.environment = {"PATH": str(folder / "bin"), "HOME": str(folder / "user"), "OSRC_CLOUD_ACK": "1", **KEYS}
        write_private(self.home.root / "models.local", b"mine | vendor/quick-1 | cc | budget\n")
        for name, extra in (("named", 'model = "house-7"'), ("mute", "")):
            write_lane(self.home.root, name, lane_toml(argv=["claude"], extra=extra))
        self.registry = LaneBook(self.home).registry()

    def wire(self, **more: str) -> str:
        given = {**self.environment, **more}
        return base64.b64encode(b"\0".join(os.fsencode(f"{k}={v}") for k, v in given.items())).decode()

    def settings(self, **more: str) -> Settings:
        return Settings.load({**self.environment, **more}, None)

    def request(self, **fields: Any) -> JobRequest:
        return JobRequest(**{"task": "say hello", "cwd": str(self.cwd), **fields})

    def plan(self, rules: str, env: dict[str, str] | None = None, **fields: Any) -> Plan | Refused:
        wire = self.wire(**{RULE: rules}, **(env or {}))
        return preview(self.request(environment=wire, **fields), self.home, self.registry)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    return Machine(tmp_path_factory.mktemp("denying"))


def refused_by(found: object, rule: str) -> str:
    assert isinstance(found, Refused), found
    assert found.code is RefusalCode.DENIED, found
    assert f"your denylist has {rule} (environment {RULE})" in found.message
    assert found.hint
    return found.message


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ("claude-opus-5", {"model": "claude-opus-5"}),
        ("opus", {"model": "claude-opus-5"}),
        ("OPUS", {"model": "opus"}),
        ("claude-opus-5", {"model": "opus"}),
        ("gpt-5.6-sol", {"model": "sol"}),
        ("glm", {"model": "glm"}),
        ("z-ai/glm-5.2", {"model": "glm", "lane": "devin"}),
        ("glm-5.2", {"model": "z-ai/glm-5.2"}),
        ("mine", {"model": "vendor/quick-1"}),
        ("vendor/*", {"model": "mine"}),
        ("anthropic/claude-opus-4.8", {"model": "anthropic/claude-opus-4.8"}),
        ("claude-opus-4-8", {"model": "anthropic/claude-opus-4.8"}),
        # nobody named one
        ("gpt-*", {"lane": "codex"}),
        ("*", {"lane": "codex"}),
        ("*", {}),
        ("*", {"lane": "named"}),
        ("house-7", {"lane": "named"}),
        ("glm-5.2", {"lane": "devin"}),
        ("glm-5.2", {"lane": "cc"}),
        ("other", {"lane": "droid"}),
        ("other", {"lane": "mute"}),
        ("deepseek", {"lane": "cc", "env": {"OR_OFFLOAD_CHAIN": "deepseek/deepseek-v4-pro z-ai/glm-5.2"}}),
        ("sol", {"env": {"OSRC_MODEL": "gpt-5.6-sol"}}),
        ("gpt-*", {"env": {"OSRC_PROVIDER": "codex"}}),
        # what a word becomes is known only once it is planned
        ("gemini-9-ultra", {"model": "gemini-pro", "env": {"OSRC_AGY_PRO_DEFAULT": "gemini-9-ultra"}}),
    ],
)
def test_a_job_is_refused_with_the_rule(machine: Machine, rule: str, asked: dict[str, Any]) -> None:
    refused_by(machine.plan(f"other, {rule}", **asked), rule)


@pytest.mark.parametrize(
    ("rule", "asked", "lane"),
    [
        ("devin:glm", {"model": "glm"}, "cc"),
        ("cc:glm", {"model": "glm"}, "devin"),
        ("opus", {"model": "sonnet"}, "claude"),
        ("gpt-*", {"lane": "claude"}, "claude"),
        ("gpt-*", {}, "claude"),
        ("opus", {}, "codex"),
        ("opus", {"lane": "droid", "model": "gpt-5.5"}, "droid"),
        ("opus", {"lane": "named"}, "named"),
        ("gemini-2*", {"model": "gemini-3.8-flash"}, "gemini"),
    ],
)
def test_what_no_rule_means_goes_on(machine: Machine, rule: str, asked: dict[str, Any], lane: str) -> None:
    found = machine.plan(rule, **asked)
    assert isinstance(found, Plan), found
    assert found.lane == lane
    assert found.gate_open
    left = [said for said in found.notices if "is left out" in said]
    assert all(f"your denylist has {rule} " in said for said in left)
    assert bool(left) == (asked in ({"model": "glm"}, {}) and rule not in ("cc:glm", "gpt-*"))


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        ("opus", {"model": "claude-opus-5"}),
        ("gpt-*", {"lane": "codex"}),
        ("gemini-3*", {"model": "gemini-pro", "lane": "gemini"}),
    ],
)
def test_a_session_is_refused_with_the_rule(machine: Machine, rule: str, asked: dict[str, Any]) -> None:
    request = SessionRequest(cwd=str(machine.cwd), environment=machine.wire(**{RULE: rule}), **asked)
    refused_by(preview_session(request, machine.home, machine.registry), rule)


@pytest.mark.parametrize(
    ("rule", "model"), [("opus", "claude-opus-5"), ("CLAUDE-*", "haiku"), ("mine", "vendor/quick-1")]
)
def test_a_session_does_not_switch_to_it(machine: Machine, rule: str, model: str) -> None:
    services = SimpleNamespace(models=ModelBook(machine.home), home=machine.home, directory=None)
    desk = SessionDesk(services, LaneBook(machine.home))
    desk._record = lambda _session: SimpleNamespace(lane="claude")
    command = SessionSteer(
        session="20261130-120000-abcdefabcdef",
        send_id="1",
        action=SetModel(model=model),
        environment=machine.wire(**{RULE: rule}),
    )
    refused_by(desk.answer(command), rule)


@pytest.mark.parametrize(
    ("failure", "rules", "gone"),
    [
        (FailureKind.TRANSPORT, "gpt-*", "codex: on your denylist (gpt-*)"),
        (FailureKind.PLAN_LIMIT, "sol terra luna gpt-5.5", "codex: on your denylist (sol)"),
        (FailureKind.PLAN_LIMIT, "*", "codex: on your denylist (*)"),
    ],
)
def test_nothing_is_moved_to_it(machine: Machine, failure: FailureKind, rules: str, gone: str) -> None:
    stop = ways(machine, failure, **{RULE: rules}).next()
    assert not isinstance(stop, Stop) or gone in (stop.why or "")
    assert isinstance(stop, Stop) or stop.lane != "codex"


def ways(machine: Machine, failure: FailureKind, **more: str) -> Ways:
    settings = machine.settings(**more)
    case = Case(
        verb=Verb.RUN,
        lane="claude",
        model="opus",
        tier=Tier.FRONTIER,
        key="claude",
        failure=failure,
        policy=policy_from(settings),
    )
    environment = {**machine.environment, **more}
    return Ways(
        case,
        registry=machine.registry,
        models=ModelBook(machine.home),
        limits=None,
        environment=environment,
        settings=settings,
    )


def test_a_lane_that_is_seen_to_have_no_sign_in_is_not_moved_to(machine: Machine, tmp_path) -> None:
    hop = ways(machine, FailureKind.PLAN_LIMIT).next()
    assert not isinstance(hop, Stop)
    assert hop.lane == "codex"
    stop = ways(machine, FailureKind.PLAN_LIMIT, HOME=str(tmp_path), GEMINI_API_KEY="").next()
    assert isinstance(stop, Stop) or stop.lane not in ("codex", "gemini")
    if isinstance(stop, Stop):
        assert "codex: no sign-in found" in (stop.why or "")


def test_nobody_advises_it(machine: Machine) -> None:
    environment = {**machine.environment, RULE: "claude:* codex:* gemini:* devin:* cc:* *opus*"}
    place = Place(
        home=machine.home,
        registry=machine.registry,
        models=ModelBook(machine.home),
        environment=environment,
        settings=Settings.load(environment, None),
    )
    given = give(Question(task="add a page", cwd=str(machine.cwd)), place)
    assert given.advice.pick is None
    assert "on your denylist (claude:*)" in str(given.view("add a page"))


@pytest.mark.parametrize(
    ("rule", "model", "backend"),
    [
        ("nano-banana", "nano-banana", "gemini"),
        ("gpt-image-2", "gpt-image", None),
        ("gpt-image", None, "codex"),
        ("*", None, "gemini"),
    ],
)
def test_no_image_is_made_by_it(machine: Machine, rule: str, model: str | None, backend: Any) -> None:
    environment = {**machine.environment, RULE: rule}
    studio = Studio(machine.home, machine.registry, environment, Settings.load(environment, None))
    refused_by(studio.choose(model, backend), rule)


@pytest.mark.parametrize(
    ("shape", "more"),
    [
        (Shape.ESCALATE, {"models": ("haiku", "claude-opus-5")}),
        (Shape.COUNCIL, {"models": ("sol", "opus"), "judge": "sonnet"}),
        (Shape.OPTIMIZE, {"judge": "opus", "rubric": "short"}),
    ],
)
def test_no_rung_seat_or_judge_is_one(machine: Machine, shape: Shape, more: dict[str, Any]) -> None:
    """Every kind of job of a loop is looked at before its first."""
    common = machine.request(verb=Verb.EDIT, environment=machine.wire(**{RULE: "opus"}))
    found = [
        preview(request, machine.home, machine.registry)
        for _, request, *_ in everyone(LoopTerms(shape=shape, check="true", **more), common)
    ]
    refused_by(next(one for one in found if isinstance(one, Refused)), "opus")


def test_the_gate_stops_it_on_whatever_path(machine: Machine) -> None:
    settings = machine.settings(**{RULE: "opus"})
    for lane in ("claude", "local"):
        dispatch = Dispatch(
            subject="x",
            lane=builtin(lane),
            verb=Verb.RUN,
            model="opus",
            scope=Scope(texts=("hello",)),
            cwd=str(machine.cwd),
            home=machine.home,
            environment=machine.environment,
            settings=settings,
        )
        refused_by(pass_gate(dispatch), "opus")
