"""A model server on loopback that says one sentence, in four dialects: what a rehearsal's CLI talks to.

Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, Gemini generateContent; streamed where asked.
"""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from .scripted_mishaps import Mishap, refused_key, spent_plan

BODY_LIMIT = 32 * 1024 * 1024
READ_S = 60.0

Frames = list[tuple[str | None, Any]]
ENDS = {
    "/messages": "messages",
    "/responses": "responses",
    "/chat/completions": "chat",
    ":streamGenerateContent": "gemini",
    ":generateContent": "gemini",
}
"""End of a path → dialect."""


class ScriptedModel:
    """Answers every question with ``sentence``; ``heard`` keeps what was asked. A context manager."""

    def __init__(self, sentence: str, mishap: Mishap | None = None, *, spent_status: int = 429) -> None:
        """Bind a port of the system's choice, on loopback only. ``spent_status``: how a spent plan is told."""
        self.sentence = sentence
        self.mishap = mishap
        self.spent_status = spent_status
        self.heard: list[bytes] = []
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.owner = self

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        """Begin to serve."""
        threading.Thread(target=self._http.serve_forever, args=(0.05,), name="scripted-model", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop; what is still being answered is cut."""
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    owner: ScriptedModel

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client that leaves early is no event."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = READ_S
    server: _Server

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """List the one model; anything else is empty."""
        self._answer({"object": "list", "data": [{"id": "scripted-model", "object": "model"}]})

    def do_HEAD(self) -> None:
        """Say that it is there."""
        self._answer({})

    def do_POST(self) -> None:
        """Say the sentence in the dialect that the path asks for."""
        raw = self._body()
        path = urlsplit(self.path).path
        dialect = next((name for end, name in ENDS.items() if path.endswith(end)), None)
        if dialect is None:
            self._answer({"input_tokens": 100} if path.endswith("/count_tokens") else {})
            return
        owner = self.server.owner
        first = not owner.heard
        owner.heard.append(raw)
        if owner.mishap is Mishap.REFUSED_KEY:
            self._refuse(*refused_key(dialect))
            return
        if owner.mishap is Mishap.SPENT_PLAN:
            self._refuse(*spent_plan(dialect, owner.spent_status, time.time()))
            return
        try:
            asked = json.loads(raw)
        except (ValueError, RecursionError):
            asked = None
        body = asked if isinstance(asked, dict) else {}
        model = str(body.get("model") or path.rpartition("/models/")[2].partition(":")[0] or "scripted-model")
        frames, whole = DIALECTS[dialect](owner.sentence, model)
        streamed = ":stream" in path if dialect == "gemini" else body.get("stream") is True
        if first and owner.mishap is Mishap.CUT:
            self._cut(DIALECTS[dialect](owner.sentence[: len(owner.sentence) // 2], model)[0])
        elif streamed:
            self._stream(frames)
        else:
            self._answer(whole)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            raw = b""
            while size := int(self.rfile.readline(64).split(b";")[0] or b"0", 16):
                raw += self.rfile.read(min(size, BODY_LIMIT - len(raw)))
                self.rfile.readline(64)
            self.rfile.readline(64)
        else:
            raw = self.rfile.read(min(int(self.headers.get("content-length") or 0), BODY_LIMIT))
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def _refuse(self, status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> None:
        self._answer(body, status, headers)

    def _answer(self, body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, frames: Frames) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for name, data in frames:
            self.wfile.write(_framed(name, data))
        self.close_connection = True

    def _cut(self, frames: Frames) -> None:
        """Begin an answer and break the connection before its end, so that it is seen to be broken."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")  # a body without a length that ends looks whole
        self.end_headers()
        for name, data in frames[: (len(frames) - 1) // 2]:
            part = _framed(name, data)
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.flush()
        # Linger 0 makes close() a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


def _framed(name: str | None, data: Any) -> bytes:  # noqa: ANN401 - JSON, or text
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()


def _named(kind: str, **fields: Any) -> tuple[str, Any]:  # noqa: ANN401 - JSON
    return kind, {"type": kind, **fields}


def messages(sentence: str, model: str) -> tuple[Frames, dict[str, Any]]:
    """Return an answer of Anthropic Messages, streamed and whole."""
    usage = {"input_tokens": 100, "output_tokens": 1}
    empty = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "usage": usage}
    stop = {"stop_reason": "end_turn", "stop_sequence": None}
    frames: Frames = [
        _named("message_start", message={**empty, "stop_reason": None, "stop_sequence": None}),
        _named("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        _named("content_block_delta", index=0, delta={"type": "text_delta", "text": sentence}),
        _named("content_block_stop", index=0),
        _named("message_delta", delta=stop, usage={"output_tokens": 10}),
        _named("message_stop"),
    ]
    return frames, {**empty, **stop, "content": [{"type": "text", "text": sentence}]}


def responses(sentence: str, model: str) -> tuple[Frames, dict[str, Any]]:
    """Return an answer of OpenAI Responses, streamed and whole."""
    begun = {"id": "resp_1", "object": "response", "created_at": 0, "model": model, "status": "in_progress"}
    begun |= {"output": [], "error": None, "usage": None}
    part = {"type": "output_text", "text": sentence, "annotations": []}
    item = {"type": "message", "id": "item_1", "role": "assistant", "status": "completed", "content": [part]}
    place = {"item_id": "item_1", "output_index": 0, "content_index": 0}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110, **details}
    done = {**begun, "status": "completed", "output": [item], "usage": usage}
    started = {**item, "status": "in_progress", "content": []}
    frames: Frames = [
        _named("response.created", response=begun),
        _named("response.output_item.added", output_index=0, item=started),
        _named("response.content_part.added", **place, part={**part, "text": ""}),
        _named("response.output_text.delta", **place, delta=sentence),
        _named("response.output_text.done", **place, text=sentence),
        _named("response.content_part.done", **place, part=part),
        _named("response.output_item.done", output_index=0, item=item),
        _named("response.completed", response=done),
    ]
    return frames, done


def chat(sentence: str, model: str) -> tuple[Frames, dict[str, Any]]:
    """Return an answer of OpenAI Chat Completions, streamed and whole."""
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    base = {"id": "chat_1", "created": 0, "model": model}
    message = {"role": "assistant", "content": sentence}

    def chunk(delta: dict[str, str], finish: str | None = None) -> tuple[None, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return None, {**base, "object": "chat.completion.chunk", "choices": [choice]}

    last = {**base, "object": "chat.completion.chunk", "choices": [], "usage": usage}
    frames: Frames = [chunk(message), chunk({}, "stop"), (None, last), (None, "[DONE]")]
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return frames, {**base, "object": "chat.completion", "choices": [choice], "usage": usage}


def gemini(sentence: str, model: str) -> tuple[Frames, dict[str, Any]]:
    """Return an answer of Gemini generateContent, streamed and whole."""
    content = {"role": "model", "parts": [{"text": sentence}]}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    whole = {"candidates": [{"content": content, "index": 0, "finishReason": "STOP"}], "usageMetadata": usage}
    whole |= {"modelVersion": model, "responseId": "r1"}
    return [(None, whole)], whole


DIALECTS: Mapping[str, Callable[[str, str], tuple[Frames, dict[str, Any]]]] = {
    "messages": messages,
    "responses": responses,
    "chat": chat,
    "gemini": gemini,
}
