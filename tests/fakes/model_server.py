"""A scripted model server on loopback: what the real CLIs talk to in tests.

    with ModelServer([{"text": "Hello.", "mark": "DONE"}]) as server:
        ...  # point a CLI at server.url (Anthropic) or server.url + "/v1" (OpenAI)
    assert server.requests[0].main

Each *main* request plays the next step; *side* requests (titles, suggestions, token counts, structured
output) get a fixed answer and use up no step. When the steps run out the answer is ``(script exhausted)``.
Conversations that go on at once have a script each: ``server.scripts`` has them by a word that stands in the
conversation, and the first whose word does is played; ``steps`` are for all others. A step has these keys:

    "text": T        say it; ``{mark}`` in it becomes the marker id that the request's prompt discloses
    "find": PATTERN  ``{found}`` in the text becomes what the pattern finds in the conversation
    "mark": KIND     append a signed marker line of that kind
    "calls": [...]   tool calls: ``{"write": PATH, "content": T}``, ``{"shell": COMMAND}``, ``{"raw": NAME, "args": {...}, "namespace": S}``
    "error": STATUS, "kind": "rate|quota|plan", "resets_at": EPOCH     answer with an error instead
    "message": T     the error's words, where they are not the usual ones
    "body": {...}    further fields of the error object
    "headers": {...} further headers of the answer
    "stall": S       silence in the middle of the text, at most S seconds (it ends when the server closes)
    "drop": true     cut the connection in the middle of the text
    "bytes": B       chat only: these bytes as the whole stream body, then the end of the connection
    "finish": F      chat only: the finish reason
    "repeat": N      play the step for N requests; 0 is for ever
"""

from __future__ import annotations

import gzip
import json
import re
import socket
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from fakes import model_dialects as dialects
from fakes.fake_cli import marker_line, read_marker_id
from fakes.model_dialects import HALF, Turn
from fakes.model_tools import declared, resolve

Step = dict[str, Any]
EXHAUSTED: Step = {"text": "(script exhausted)"}
SIDE_TEXT = "A scripted title"
TURNS = ("messages", "input", "contents")
"""Where the dialects keep the conversation."""
SIDE_WORDS = ("[SUGGESTION MODE", "Generate a concise, single-line task title", "Managed memory has TWO directories")
TITLES = "You are a title generator."
"""How OpenCode 1.18.33 asks for a session's title, in its first message."""


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    dialect: str | None
    main: bool
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Every string in the request's messages, joined: where a prompt is looked for."""
        return "\n".join(strings(next((self.body[name] for name in TURNS if self.body.get(name)), [])))


def strings(value: Any) -> list[str]:
    """All strings inside a JSON value, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in strings(item)] if isinstance(value, list) else []


class ModelServer:
    """The server. A context manager; it listens from ``__enter__`` on."""

    def __init__(self, steps: list[Step], *, models: tuple[str, ...] = ("stub-model",), key: str | None = None) -> None:
        self.steps, self.models, self.key = steps, models, key
        self.scripts: dict[str, list[Step]] = {}
        self.requests: list[Request] = []
        self.price: float | None = None
        """What one generation costs at a gateway: its message ids are ``gen-``, and each has a receipt."""
        self.catalogue: dict[str, Any] | None = None
        """The whole answer to a question for models, instead of the names in ``models``."""
        self.benchmarks: dict[str, Any] | None = None
        """The answer to a question for benchmark scores, where there is one."""
        self.credits: tuple[float, float] | None = None
        """What was bought and what was used at a gateway; None: it does not say."""
        self.unready = 0
        """How many more questions for a receipt find none yet."""
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._played: Counter[str | None] = Counter()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``, without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def main_requests(self) -> list[Request]:
        """The requests that played steps."""
        return [request for request in self.requests if request.main]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(30)

    def forget(self) -> None:
        """Have neither a script nor a request yet."""
        with self._lock:
            self.steps, self.scripts = [], {}
            self._played.clear()
            self.requests.clear()

    def note(self, request: Request) -> Step | None:
        """Log a request; return the step it plays, None for a side request."""
        with self._lock:
            self.requests.append(request)
            if not request.main:
                return None
            word = next((word for word in self.scripts if word in request.text), None)
            steps = self.steps if word is None else self.scripts[word]
            if not steps:
                return EXHAUSTED
            self._played[word] += 1
            if steps[0].get("repeat", 1) and self._played[word] >= steps[0].get("repeat", 1):
                del self._played[word]
                if word is None:
                    self.steps = steps[1:]
                else:
                    self.scripts[word] = steps[1:]
            return steps[0]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of five, ten CLIs at once wait for seconds to be connected
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is what half of these tests are about."""


class _Dropped(Exception):  # noqa: N818 - not an error: the script asked for it
    pass


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    chunked = False

    def log_message(self, *args: object) -> None:
        """Tests read ``requests``."""

    def do_HEAD(self) -> None:
        self.note(None, {}, main=False)
        self.answer(200, {})

    def do_GET(self) -> None:
        self.note(None, {}, main=False)
        owner = self.server.owner
        if self.path.partition("?")[0].endswith("/generation"):
            self.answer_receipt(self.path.partition("?id=")[2])
        elif self.path.endswith("/credits") and self.server.owner.credits is not None:
            bought, used = self.server.owner.credits
            self.answer(200, {"data": {"total_credits": bought, "total_usage": used}})
        elif self.path.partition("?")[0].endswith("/benchmarks") and owner.benchmarks is not None:
            self.answer(200, owner.benchmarks)
        elif not self.path.partition("?")[0].endswith("/models"):
            self.answer(200, {})
        elif owner.key and self.headers.get("Authorization") != f"Bearer {owner.key}":
            self.answer(401, {"error": {"message": "Invalid API Key"}})
        elif owner.catalogue is not None:
            self.answer(200, owner.catalogue)
        else:
            self.answer(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in owner.models]})

    def answer_receipt(self, generation: str) -> None:
        """What OpenRouter tells of one generation, once it knows."""
        owner = self.server.owner
        if self.headers.get("Authorization") != f"Bearer {owner.key}":
            self.answer(401, {"error": {"message": "Invalid API Key", "code": 401}})
        elif owner.unready > 0 or owner.price is None:
            owner.unready -= 1
            self.answer(404, {"error": {"message": f"Generation {generation} not found", "code": 404}})
        else:
            tokens = {"native_tokens_prompt": 1234, "native_tokens_completion": dialects.OUTPUT_TOKENS}
            self.answer(200, {"data": {"id": generation, "total_cost": owner.price, **tokens}})

    def do_POST(self) -> None:
        body = self.read_body()
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self.note("anthropic", body, main=False)
            self.answer(200, {"input_tokens": 1000})
            return
        ends = {"/messages": "anthropic", "/responses": "responses", "/chat/completions": "chat"}
        ends |= {":streamGenerateContent": "gemini", ":generateContent": "gemini"}
        dialect = next((name for end, name in ends.items() if path.endswith(end)), None)
        if dialect == "gemini":  # the model is in the path
            body.setdefault("model", path.rpartition("/models/")[2].partition(":")[0])
        step = self.note(dialect, body, main=dialect is not None and is_main(dialect, body))
        try:
            if dialect is None:
                self.answer(200, {})
            else:
                self.play(dialect, body, step or {"text": SIDE_TEXT})
        except (_Dropped, ConnectionError):
            self.close_connection = True

    def note(self, dialect: str | None, body: dict[str, Any], *, main: bool) -> Step | None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        return self.server.owner.note(Request(self.command, self.path, dialect, main, headers, body))

    def read_body(self) -> dict[str, Any]:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            raw = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                raw += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        return body if isinstance(body, dict) else {}

    def play(self, dialect: str, body: dict[str, Any], step: Step) -> None:
        model = str(body.get("model") or "stub-model")
        if "error" in step:
            renders = {"anthropic": dialects.anthropic_error, "gemini": dialects.gemini_error}
            render = renders.get(dialect, dialects.openai_error)
            reset = int(step.get("resets_at", time.time() + 3600))
            status, headers, answer = render(step["error"], step.get("kind", "rate"), reset)
            if "message" in step:
                answer["error"]["message"] = step["message"]
            answer["error"] |= step.get("body", {})
            self.answer(status, answer, headers | step.get("headers", {}))
            return
        turn = scripted_turn(dialect, body, step)
        if self.server.owner.price is not None:
            turn = replace(turn, prefix="gen-")
        if "bytes" in step:
            self.start_stream({})
            self.wfile.write(step["bytes"])
            self.close_connection = True
        elif dialect == "gemini" and ":generateContent" in self.path:
            self.answer(200, dialects.gemini_route(model))
        elif dialect == "anthropic" and not body.get("stream"):
            self.interrupt(step)  # Claude Code asks for a whole answer once ten streams have broken (2.1.332)
            self.answer(200, dialects.anthropic_whole(turn, model))
        else:
            headers = dialects.anthropic_headers() if dialect == "anthropic" else dialects.openai_headers()
            frames = getattr(dialects, f"{dialect}_frames")(turn, model)
            # What real services send is chunked, so that a cut is seen as one: a body that ends with its
            # connection, cut, looks whole to a client that waits for no end mark.
            self.chunked = bool(step.get("drop"))
            self.start_stream(
                headers | step.get("headers", {}) | ({"transfer-encoding": "chunked"} if self.chunked else {})
            )
            for name, data in frames:
                if (name, data) == HALF:
                    self.interrupt(step)
                else:
                    self.send(name, data)
            self.close_connection = True

    def interrupt(self, step: Step) -> None:
        """What a script does in the middle of a text."""
        if step.get("stall"):
            self.server.owner.closing.wait(step["stall"])
        if step.get("drop"):
            # Linger 0 makes close() a reset: the client sees a broken connection, not an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            raise _Dropped

    def start_stream(self, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in {"content-type": "text/event-stream", "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def send(self, name: str | None, data: Any) -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        frame = (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()
        self.wfile.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n" if self.chunked else frame)
        self.wfile.flush()

    def answer(self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def is_main(dialect: str, body: dict[str, Any]) -> bool:
    """Whether a request is a turn of the conversation, as opposed to what CLIs ask on the side."""
    turns: list[Any] = next((body[name] for name in TURNS if body.get(name)), [""])
    last = "\n".join(strings(turns[-1:]))
    if dialect == "chat":
        titled = TITLES in "\n".join(strings(turns[:1]))
        return not titled and not any(word in last for word in SIDE_WORDS)
    if dialect == "gemini":
        return bool(declared(body)) and (body.get("generationConfig") or {}).get("responseMimeType") is None
    structured = isinstance(body.get("text"), dict) and (body["text"].get("format") or {}).get("type") == "json_schema"
    return bool(declared(body)) and not structured and not any(word in last for word in SIDE_WORDS)


def scripted_turn(dialect: str, body: dict[str, Any], step: Step) -> Turn:
    """Fill in a step against the request that plays it."""
    text = step.get("text", "")
    if "mark" in step or "{mark}" in text:
        prompt = "\n".join(strings([body.get(name) or [] for name in ("system", "instructions", *TURNS)]))
        marker_id = read_marker_id(prompt) or "no-marker-id"
        text = text.replace("{mark}", marker_id)
        if "mark" in step:
            text = f"{text}\n{marker_line(step['mark'], 'as scripted', marker_id)}"
    if "find" in step:
        said = "\n".join(strings(next((body[name] for name in TURNS if body.get(name)), [])))
        found = re.search(step["find"], said)
        text = text.replace("{found}", found[0] if found else "nothing")
    names = declared(body)
    turn_id = str(time.monotonic_ns())
    calls = [resolve(action, f"call_{turn_id}_{n}", dialect, names) for n, action in enumerate(step.get("calls", []))]
    return Turn(text=text, calls=tuple(calls), finish=step.get("finish"), id=turn_id)
