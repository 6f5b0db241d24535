"""Finding model servers: real sockets, in the order that the documentation promises."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from fakes.model_server import ModelServer
from outsourcerer.actors.local_servers import FoundServer, ServerSettings, find_server, list_models, model_ids


@pytest.fixture
def dead_port() -> Iterator[int]:
    """A port that refuses connections, kept from everyone else."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def port_of(server: ModelServer) -> int:
    port = urlsplit(server.url).port
    assert port is not None
    return port


def test_usual_ports_are_tried_in_order(dead_port: int) -> None:
    with ModelServer([], models=("a", "b")) as first, ModelServer([], models=("c",)) as second:
        found = find_server({}, ServerSettings(ports=(dead_port, port_of(first), port_of(second))))
    assert found == FoundServer(first.url + "/v1", ("a", "b"))
    assert second.requests == []


def test_ollama_host_comes_before_the_ports() -> None:
    with ModelServer([], models=("o",)) as ollama, ModelServer([], models=("p",)) as other:
        environ = {"OLLAMA_HOST": f"0.0.0.0:{port_of(ollama)}"}
        found = find_server(environ, ServerSettings(ports=(port_of(other),)))
    assert found == FoundServer(ollama.url + "/v1", ("o",))


def test_a_url_that_is_set_is_the_only_one_tried_and_gets_the_key(dead_port: int) -> None:
    with ModelServer([], models=("m",), key="k1") as server, ModelServer([], models=("other",)) as other:
        settings = ServerSettings(url=server.url, key="k1", ports=(port_of(other),))
        assert find_server({}, settings) == FoundServer(server.url + "/v1", ("m",))
        settings = ServerSettings(url=f"http://127.0.0.1:{dead_port}", ports=(port_of(other),))
        assert find_server({}, settings) == FoundServer(f"http://127.0.0.1:{dead_port}/v1", ())
    assert other.requests == []


def test_the_key_goes_nowhere_else() -> None:
    with ModelServer([]) as server:
        find_server({}, ServerSettings(key="k1", ports=(port_of(server),)))
    assert "authorization" not in server.requests[0].headers


def test_a_server_elsewhere_is_named_but_not_contacted() -> None:
    # An address of a test network: contacting it would take the whole time limit.
    assert find_server({}, ServerSettings(url="http://192.0.2.1:1", timeout_s=60)) == FoundServer(
        "http://192.0.2.1:1/v1", ()
    )
    assert find_server({"OLLAMA_HOST": "192.0.2.1:1"}, ServerSettings(ports=(), timeout_s=60)) is None


def test_nothing_found_is_none(dead_port: int) -> None:
    assert find_server({}, ServerSettings(ports=(dead_port,))) is None


def test_something_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert list_models(f"http://127.0.0.1:{silent.getsockname()[1]}/v1", timeout_s=0.2) is None


@pytest.mark.parametrize(
    ("body", "ids"),
    [
        (b'{"data":[{"id":"a"},{"id":"b"}]}', ("a", "b")),
        (b'{"data":[]}', ()),
        (b'{"data":[{"id":7},{"name":"x"},"y",{"id":""},{"id":"\\u001b[31m"},{"id":"ok"}]}', ("ok",)),
        (b'{"models":[]}', None),
        (b"<html>", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
    ],
)
def test_the_list_of_models(body: bytes, ids: tuple[str, ...] | None) -> None:
    assert model_ids(body) == ids
