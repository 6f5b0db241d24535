"""Every effort on every lane: told to its program as it was asked for, or said to be something else."""

from __future__ import annotations

import pytest
from outsourcerer.lanes.contract import EffortSupport, Host, Lane, Launch, SessionLaunch, SessionTask, Task
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages.vocabulary import Effort, Verb

KEYS = ("OPENROUTER_API_KEY", "TOKENROUTER_API_KEY", "OSRC_CLAUDEX_TOKEN")
MODELS = {"tokenrouter": "glm", "embedded": "embedded:/m.gguf", "gemini": "gemini-flash"}
LANES = [name for name in names() if name != "acp"]


def host(lane: Lane, **environment: str) -> Host:
    programs = {name: f"/bin/{name}" for name in (lane.binary, *lane.executables) if name}
    return Host(
        environment=environment,
        executables=programs,
        server="http://127.0.0.1:1/v1",
        server_models=("gpt-5.6-sol",),
        embedded_runtime=True,
        own_servers=(),
        secrets=dict.fromkeys(KEYS, "made-up"),
    )


@pytest.mark.parametrize("effort", Effort)
@pytest.mark.parametrize("name", LANES)
def test_a_jobs_effort_is_what_was_asked_for_or_said(name: str, effort: Effort) -> None:
    lane = builtin(name)
    task = Task(verb=Verb.RUN, prompt="do two things", cwd="/", model=MODELS.get(name), effort=effort)
    launch = lane.plan(task, host(lane))
    assert isinstance(launch, Launch), launch
    if launch.effort is None:
        assert lane.effort is EffortSupport.ADVISORY
        return
    assert any(launch.effort in word for word in launch.argv), "what is said to be told is told"
    if launch.effort != effort:
        assert any(f"no effort {effort}" in said for said in launch.notices), launch.notices


@pytest.mark.parametrize("effort", [Effort.MINIMAL, Effort.MAX])
@pytest.mark.parametrize("name", LANES)
def test_a_sessions_effort_is_what_was_asked_for_or_said(name: str, effort: Effort) -> None:
    lane = builtin(name)
    for plan in lane.sessions.values():
        launch = plan(SessionTask(cwd="/", effort=effort), host(lane))
        assert isinstance(launch, SessionLaunch), launch
        if launch.effort not in (None, effort):
            assert any(f"no effort {effort}" in said for said in launch.notices), launch.notices
