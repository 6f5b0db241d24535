"""The translating server on real sockets, between a client of one dialect and a scripted server of the other."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from fakes.model_server import ModelServer
from outsourcerer.actors.delegates.anthropic_server import AnthropicServer, Upstream

BODY = {"model": "claude-sonnet-5", "max_tokens": 10, "messages": [{"role": "user", "content": "Hi"}]}


def post(server: AnthropicServer, path: str = "/v1/messages", token: str | None = None, **more: Any) -> httpx.Response:
    headers = {"x-api-key": server.token if token is None else token}
    return httpx.post(f"{server.url}{path}", json={**BODY, **more}, headers=headers, trust_env=False, timeout=240)


def between(model: ModelServer, **more: Any) -> AnthropicServer:
    return AnthropicServer(Upstream(base_url=f"{model.url}/v1", model="local-model", **more))


def test_streamed_and_whole_answers() -> None:
    with ModelServer([{"text": "one two three", "repeat": 2}], key="k") as model, between(model, key="k") as server:
        streamed = post(server, stream=True)
        whole = post(server)
    assert streamed.headers["content-type"] == "text/event-stream"
    events = [json.loads(line[6:]) for line in streamed.text.splitlines() if line.startswith("data: ")]
    assert (
        "".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta") == "one two three"
    )
    assert events[-1]["type"] == "message_stop"
    assert whole.json()["content"] == [{"type": "text", "text": "one two three"}]
    assert {request.body["model"] for request in model.main_requests} == {"local-model"}
    assert {request.headers["authorization"] for request in model.main_requests} == {"Bearer k"}


@pytest.mark.parametrize(("given", "status"), [(401, 401), (404, 404), (429, 429), (400, 400), (503, 500)])
def test_errors_pass_through(given: int, status: int) -> None:
    with ModelServer([{"error": given}]) as model, between(model) as server:
        answer = post(server, stream=True)
    assert (answer.status_code, answer.json()["type"]) == (status, "error")


def test_a_dropped_stream_is_an_error_event() -> None:
    with ModelServer([{"text": "one two three four", "drop": True}]) as model, between(model) as server:
        answer = post(server, stream=True)
    assert answer.text.splitlines()[-2].startswith('data: {"type": "error"')


def test_a_server_that_is_silent_is_given_up() -> None:
    with ModelServer([{"text": "one two three four", "stall": 30}]) as model, between(model, answer_s=0.5) as server:
        answer = post(server, stream=True)
    assert "said nothing for 0.5 s" in answer.text


def test_nobody_behind_it() -> None:
    with AnthropicServer(Upstream(base_url="http://127.0.0.1:1/v1", model="m")) as server:
        assert post(server).status_code == 500


def test_only_its_own_client_is_answered() -> None:
    with ModelServer([{"text": "x"}]) as model, between(model) as server:
        assert post(server, token="").status_code == 401
        assert post(server, token="wrong").status_code == 401
        assert post(server, path="/v1/nothing").status_code == 404
    assert model.main_requests == []


def test_counting_and_the_odd_requests() -> None:
    with ModelServer([]) as model, between(model) as server:
        assert post(server, path="/v1/messages/count_tokens?beta=true").json()["input_tokens"] > 0
        assert httpx.head(f"{server.url}/api/hello", trust_env=False).status_code == 200
        broken = httpx.post(
            f"{server.url}/v1/messages", content=b"[", headers={"x-api-key": server.token}, trust_env=False
        )
        assert broken.status_code == 400
