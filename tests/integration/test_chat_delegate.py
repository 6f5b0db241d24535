"""The chat delegate as a process of its own, against a scripted server that behaves well and badly."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from typing import Any

import pytest
from fakes.model_server import ModelServer
from outsourcerer.lanes.contract import Host, Launch, Task
from outsourcerer.lanes.local import LANE
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, LaneEvent, ModelObserved, Spoke, TurnEnded, UsageReported
from outsourcerer.messages.vocabulary import Verb

EVENT = '{"choices":[{"delta":{"content":"%s"},"finish_reason":%s}]}'


def run_launch(launch: Launch, **environ: str) -> subprocess.CompletedProcess[bytes]:
    env = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    return subprocess.run(
        launch.argv, input=launch.stdin, capture_output=True, env=env | environ, timeout=240, check=False
    )


def ask(
    url: str, prompt: str = "hello", host_environment: dict[str, str] | None = None, **environ: str
) -> tuple[list[LaneEvent], int]:
    """Plan with the lane, run the process, read its output with the lane's own parser."""
    task = Task(verb=Verb.RUN, prompt=prompt, cwd="/")
    host = Host(
        environment=host_environment or {},
        executables={},
        python=sys.executable,
        server=url,
        server_models=("stub-model",),
    )
    launch = LANE.plan(task, host)
    assert isinstance(launch, Launch)
    done = run_launch(launch, **environ)
    assert b"Traceback" not in done.stderr
    parser = LANE.parser(task)
    events = parser.feed(done.stdout)
    events += parser.finish(ExitStatus(code=done.returncode))
    return events, done.returncode


def last(events: list[LaneEvent]) -> TurnEnded:
    ends = [event for event in events if isinstance(event, TurnEnded)]
    assert len(ends) == 1
    assert events[-1] is ends[0]
    return ends[0]


def test_an_answer_with_its_model_and_tokens() -> None:
    with ModelServer([{"text": "Hello there, world."}]) as server:
        events, code = ask(server.url)
    end = last(events)
    assert (code, end.ok, end.text) == (0, True, "Hello there, world.")
    assert "".join(event.text for event in events if isinstance(event, Spoke)) == "Hello there, world."
    assert [event.model for event in events if isinstance(event, ModelObserved)] == ["stub-model"]
    usage = next(event.usage for event in events if isinstance(event, UsageReported))
    assert (usage.input, usage.cached_input, usage.output) == (1034, 200, 56)


def test_a_prompt_of_two_mebibytes_and_any_character_arrives_whole() -> None:
    prompt = "ü\t\n😀-" * (2 * 1024 * 1024 // 9)
    with ModelServer([{"text": "ok"}]) as server:
        events, _code = ask(server.url, prompt)
    assert last(events).ok
    assert server.requests[0].body["messages"][0]["content"] == prompt


@pytest.mark.parametrize(
    ("step", "failure"),
    [
        ({"error": 401}, FailureKind.AUTH),
        ({"error": 404}, FailureKind.MODEL_GONE),
        ({"error": 500}, FailureKind.TRANSPORT),
        ({"error": 400}, FailureKind.TASK),
        ({"text": "one two three four", "drop": True}, FailureKind.TRANSPORT),
        ({"text": "cut off here", "finish": "length"}, FailureKind.OUTPUT_LIMIT),
        ({"text": ""}, FailureKind.TASK),
        ({"bytes": b""}, FailureKind.TRANSPORT),
        ({"bytes": b"data: {not json\n\n: comment\n\ndata: [1,2]\n\n"}, FailureKind.TRANSPORT),
        ({"bytes": b"\xff\xfe\x00" * 1000}, FailureKind.TRANSPORT),
        ({"bytes": b"data: " + b"[" * 200_000 + b"\n\n"}, FailureKind.TRANSPORT),
        ({"bytes": b"data: " + b"x" * 3_000_000}, FailureKind.TRANSPORT),
        ({"bytes": b'data: {"error":{"message":"busy","code":429}}\n\n'}, FailureKind.RATE_LIMIT),
    ],
)
def test_every_way_to_fail_has_its_kind(step: dict[str, Any], failure: FailureKind) -> None:
    with ModelServer([step | {"repeat": 0}]) as server:
        events, code = ask(server.url)
    end = last(events)
    assert (code, end.ok, end.failure, end.synthetic) == (1, False, failure, False)
    assert end.message
    assert len(server.requests) == 1


def test_a_rate_limit_says_until_when() -> None:
    before = time.time()
    with ModelServer([{"error": 429, "headers": {"retry-after": "30"}}]) as server:
        events, _code = ask(server.url)
    end = last(events)
    assert end.failure is FailureKind.RATE_LIMIT
    assert end.until is not None
    assert before + 30 <= end.until <= time.time() + 30


@pytest.mark.parametrize(
    "body",
    [
        b": warming up\r\n\r\ndata: " + (EVENT % ("fine", '"stop"')).encode() + b"\r\n\r\n",
        b"data: "
        + (EVENT % ("fi", "null")).encode()
        + b"\n\ndata: garbage\n\ndata: "
        + (EVENT % ("ne", '"stop"')).encode(),
        b"data: " + b"y" * 2_000_000 + b"\n\ndata: " + (EVENT % ("fine", "null")).encode() + b"\n\ndata: [DONE]\n\n",
    ],
)
def test_a_sloppy_server_that_answers_is_understood(body: bytes) -> None:
    with ModelServer([{"bytes": body}]) as server:
        events, code = ask(server.url)
    assert (code, last(events).text) == (0, "fine")


def test_half_a_character_and_a_lone_surrogate_are_shown_not_fatal() -> None:
    body = b'data: {"choices":[{"delta":{"content":"a\\ud800b"},"finish_reason":"stop"}]}\n\ndata: \xf0\x9f\n\n'
    with ModelServer([{"bytes": body}]) as server:
        events, code = ask(server.url)
    assert code == 0
    assert (last(events).text or "").startswith("a")


def test_an_answer_longer_than_a_line_may_be_arrives_whole() -> None:
    text = "0123456789abcde " * 40_000
    with ModelServer([{"text": text}]) as server:
        events, _code = ask(server.url)
    assert last(events).text == text


def test_silence_ends_at_the_limit_and_is_a_transport_failure() -> None:
    with ModelServer([{"text": "one two three", "stall": 60}]) as server:
        events, _code = ask(server.url, host_environment={"OSRC_LOCAL_GEN_TIMEOUT": "0.5"})
    assert last(events).failure is FailureKind.TRANSPORT


def test_nobody_listening_is_a_transport_failure() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        events, _code = ask(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    end = last(events)
    assert end.failure is FailureKind.TRANSPORT
    assert "no server answers" in (end.message or "")


def test_a_proxy_in_the_environment_never_sees_loopback_traffic() -> None:
    with ModelServer([]) as proxy, ModelServer([{"text": "direct"}]) as server:
        names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
        events, _code = ask(server.url, **dict.fromkeys(names, proxy.url))
    assert last(events).text == "direct"
    assert proxy.requests == []


def test_the_key_goes_in_the_header_and_nowhere_else() -> None:
    with ModelServer([{"text": "ok"}]) as server:
        events, _code = ask(server.url, OSRC_LOCAL_KEY="sk-secret-1")
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret-1"
    assert "sk-secret-1" not in repr(events)


def test_a_key_that_the_server_repeats_is_masked() -> None:
    with ModelServer([{"error": 401}]) as server:
        events, _code = ask(server.url, OSRC_LOCAL_KEY="test")  # the scripted 401 quotes this key
    assert last(events).message == "Incorrect API key provided: ***."


def test_a_server_elsewhere_is_not_contacted() -> None:
    argv = [
        sys.executable,
        "-P",
        "-m",
        "outsourcerer.actors.delegates.chat",
        "--base-url=http://192.0.2.1/v1",
        "--model=m",
    ]
    done = run_launch(Launch(argv=tuple(argv), stdin=b"x"))
    assert done.returncode == 1
    assert json.loads(done.stdout)["failure"] == "launch"


def test_a_module_in_the_working_folder_is_not_imported(tmp_path: Any) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hijacked')")
    task = Task(verb=Verb.RUN, prompt="x", cwd=str(tmp_path))
    with ModelServer([{"text": "safe"}]) as server:
        host = Host(environment={}, executables={}, python=sys.executable, server=server.url, server_models=("m",))
        launch = LANE.plan(task, host)
        assert isinstance(launch, Launch)
        env = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
        done = subprocess.run(
            launch.argv, input=launch.stdin, capture_output=True, env=env, cwd=tmp_path, timeout=240, check=False
        )
    assert done.returncode == 0, done.stderr
