"""A server on loopback that speaks Anthropic's dialect to one client and OpenAI's to a model server.

For one run only: it listens on a random port, takes only the key that was made for it, and asks for one
model whatever the client names.
"""

from __future__ import annotations

import hmac
import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import httpx

from ...lanes.loopback import is_loopback
from .anthropic_request import guess_tokens, to_chat
from .anthropic_stream import AnthropicStream, Frame, error_of
from .chat_client import headers_for, payloads, trouble_of
from .completion import Trouble, as_object

BODY_CAP = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """The model server behind it."""

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    connect_s: float = 10.0
    answer_s: float = 900.0
    """Limit of any silence of the model server, in seconds."""


class AnthropicServer:
    """A context manager; it listens from ``__enter__`` on."""

    def __init__(self, upstream: Upstream) -> None:
        """Bind a port of loopback. Raises OSError where there is none."""
        self.token = secrets.token_hex(24)
        self.upstream = upstream
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, as ``ANTHROPIC_BASE_URL`` wants it."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        """Listen."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop listening; an answer under way is left to end with the process."""
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: AnthropicServer

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - the library's own types
        """A client that leaves in the middle is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120
    server: _Http

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing: stderr belongs to the client program."""

    def do_GET(self) -> None:
        """Answer what a client asks before it begins."""
        if self._path() == "/v1/models" and self._known():
            row = {"type": "model", "id": self.server.owner.upstream.model, "display_name": "local"}
            self._json(200, {"data": [row], "has_more": False})
        else:
            self._json(200, {})

    def do_HEAD(self) -> None:
        """Answer a client that only looks whether somebody is there."""
        self._json(200, {})

    def do_POST(self) -> None:
        """Answer a message, or a count of tokens."""
        body = self._body()
        if not self._known():
            self._error(Trouble("auth", "this server answers its own client only"))
        elif body is None:
            self._error(Trouble("task", "the request is no JSON object, or longer than 64 MiB"))
        elif self._path() == "/v1/messages/count_tokens":
            self._json(200, {"input_tokens": guess_tokens(body)})
        elif self._path() == "/v1/messages":
            self._message(body)
        else:
            self._error(Trouble("model-gone", f"there is no {self._path()} here"))

    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _known(self) -> bool:
        given = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.server.owner.token.encode())

    def _body(self) -> dict[str, Any] | None:
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit() and len(length) < 12 and int(length) <= BODY_CAP):
            self.close_connection = True
            return None
        return as_object(self.rfile.read(int(length)))

    def _message(self, body: dict[str, Any]) -> None:
        upstream = self.server.owner.upstream
        stream = AnthropicStream(upstream.model, f"msg_{secrets.token_hex(8)}")
        wanted = body.get("stream") is True
        sent = False
        trouble: Trouble | None = None
        # A server that is asked and a client that listens are two connections: the second's end is not the first's.
        source = _ask(upstream, to_chat(body, upstream.model), stream)
        for frames in source:
            if isinstance(frames, Trouble):
                trouble = frames
                break
            if wanted and frames:
                if not sent:
                    self._begin_stream()
                    sent = True
                self._send(frames)
        if trouble is None and not wanted:
            self._json(200, stream.whole())
        elif trouble is not None and sent:
            self._send([("error", error_of(trouble)[1])])
        elif trouble is not None:
            self._error(trouble)
        self.close_connection = self.close_connection or sent

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-store")
        self.send_header("connection", "close")
        self.end_headers()

    def _send(self, frames: list[Frame]) -> None:
        lines = (f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in frames)
        self.wfile.write("".join(lines).encode())
        self.wfile.flush()

    def _error(self, trouble: Trouble) -> None:
        status, body = error_of(trouble)
        self._json(status, body)

    def _json(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _ask(upstream: Upstream, chat: dict[str, Any], stream: AnthropicStream) -> Iterator[list[Frame] | Trouble]:
    """Ask the model server; yield events as they come, and at most one trouble, last."""
    timeout = httpx.Timeout(upstream.answer_s, connect=upstream.connect_s)
    local = is_loopback(upstream.base_url)
    url = f"{upstream.base_url}/chat/completions"
    headers = headers_for(upstream.key)
    try:
        # A proxy from the environment must never see what is meant for this machine.
        with (
            httpx.Client(timeout=timeout, trust_env=not local, follow_redirects=False) as client,
            client.stream("POST", url, json=chat, headers=headers) as response,
        ):
            if response.status_code != 200:
                yield trouble_of(response)
                return
            for batch in payloads(response):
                frames = [frame for payload in batch for frame in stream.take(payload)]
                yield frames
                if stream.completion.stop:
                    break
    except (httpx.ConnectError, httpx.ConnectTimeout):
        yield Trouble("transport", f"no server answers at {upstream.base_url}")
        return
    except httpx.TimeoutException:
        yield Trouble("transport", f"the server said nothing for {upstream.answer_s:g} s")
        return
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        if not stream.completion.complete:
            yield Trouble("transport", f"the connection broke: {str(error) or type(error).__name__}")
            return
    frames, trouble = stream.finish()
    yield trouble if trouble is not None else frames
