"""The line to the host: what is no message is answered as JSON-RPC 2.0 has it, and what can't be said is said so.

The SDK (2.3.0) passes over a line that it can't read; a host whose words hold half a character would wait for ever.
"""

from __future__ import annotations

import json
import os
from typing import Any, Self, TextIO

import anyio
from mcp.server.mcpserver import MCPServer
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError
from mcp_types.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, ErrorData
from pydantic import ValidationError

ID_CHARACTERS = 1000
"""A longer id is not given back."""

HALF = "it holds half a character (a lone surrogate), which is no text"


async def speak(server: MCPServer[Any]) -> None:
    """Serve one host on stdin and stdout, until it closes them."""
    async with stdio_server(stdin=Lines(_host())) as (read, write):
        sayable = Sayable(write)
        lowlevel = server._lowlevel_server  # noqa: SLF001 - its public way makes the streams itself
        await lowlevel.run(Answering(read, sayable), sayable, lowlevel.create_initialization_options())


class Lines(anyio.AsyncFile[str]):
    """A host's lines, as the SDK reads them."""

    async def readline(self) -> str:
        """Return the next line; at the end an empty one."""
        return with_an_id(await super().readline())


def with_an_id(line: str) -> str:
    """Return a line; of a request whose id is neither text nor a whole number what can't pass for a notification.

    The SDK would take it for one, and never answer. A notification that bears an id all the same stays one: some
    hosts write null there.

    >>> with_an_id('{"jsonrpc": "2.0", "id": null, "method": "ping"}')
    '{"jsonrpc": "2.0", "id": null}'
    """
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(value, dict) or "id" not in value or not isinstance(value.get("method"), str):
        return line
    if type(value["id"]) in {int, str} or value["method"].startswith("notifications/"):
        return line
    return json.dumps({"jsonrpc": "2.0", "id": None})


def _host() -> TextIO:
    """Return stdin, with the null device left in its place: what is started here can't read the host's words.

    The SDK does the same where it opens stdin itself.
    """
    lines = os.fdopen(os.dup(0), encoding="utf-8", errors="replace", closefd=False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return lines


class Answering:
    """A host's messages. What is none is answered here, or passed over where nothing may be answered."""

    def __init__(self, read: Any, write: Sayable) -> None:  # noqa: ANN401 - the SDK's own type is private
        """``read``: what the SDK reads; an Exception in it is a line that is no message."""
        self._read, self._write = read, write

    @property
    def last_context(self) -> Any:  # noqa: ANN401 - as above
        """The context that the newest message was sent in, as the SDK asks for it."""
        return getattr(self._read, "last_context", None)

    async def receive(self) -> SessionMessage:
        """Return the next message. Raises anyio.EndOfStream."""
        while True:
            item = await self._read.receive()
            if not isinstance(item, Exception):
                return item  # type: ignore[no-any-return]
            reply = reply_to(item)
            if reply is not None:
                await self._write.send(SessionMessage(reply))

    async def aclose(self) -> None:
        """Close it."""
        await self._read.aclose()

    def __aiter__(self) -> Self:
        """Return the messages."""
        return self

    async def __anext__(self) -> SessionMessage:
        """Return the next one."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        """Hold it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()


class Sayable:
    """What goes to the host. An answer that no JSON can hold (half a character) becomes an error, not the end."""

    def __init__(self, write: Any) -> None:  # noqa: ANN401 - as above
        """``write``: where the SDK puts messages."""
        self._write = write

    async def send(self, item: SessionMessage) -> None:
        """Send a message."""
        try:
            item.message.model_dump_json(by_alias=True, exclude_unset=True)
        except ValueError as error:
            identifier = getattr(item.message, "id", None)
            if identifier is None or hasattr(item.message, "method"):
                return  # progress, say: nobody waits for it
            why = f"the answer can't be written as JSON: {str(error)[:200]!a}"
            item = SessionMessage(_error(identifier, INTERNAL_ERROR, why))
        await self._write.send(item)

    async def aclose(self) -> None:
        """Close it."""
        await self._write.aclose()

    async def __aenter__(self) -> Self:
        """Hold it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.aclose()


def reply_to(fault: Exception) -> JSONRPCError | None:
    """Return the answer to a line that the SDK could not read; None for what is never answered.

    ``fault``: its ValidationError, which holds the line, or what was in it. Never answered are an empty line,
    a notification and a response.
    """
    if not isinstance(fault, ValidationError):
        return _error(None, PARSE_ERROR, "this line can't be read")
    first = fault.errors(include_url=False, include_context=False)[0]
    line = first.get("input")
    if first.get("type") != "json_invalid" or not isinstance(line, str | bytes):
        return _wrong(_whole(fault))
    if not line.strip():
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "this line is no JSON object of the protocol")
    escaped = b"\\ud" if isinstance(line, bytes) else "\\ud"
    half = escaped in line.lower()  # type: ignore[operator]
    return _wrong(value, HALF if half else "it can't be read: is it nested too deep?")


def _whole(fault: ValidationError) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value that was no message: the one whose parts are complained of."""
    for one in fault.errors(include_url=False, include_context=False):
        if one["type"] in {"missing", "model_type"}:
            return one["input"]
    return None


def _wrong(value: Any, why: str = "") -> JSONRPCError | None:  # noqa: ANN401 - any JSON value
    if isinstance(value, list):
        return _error(None, INVALID_REQUEST, "a batch is not taken: one message a line")
    if not isinstance(value, dict):
        return _error(None, INVALID_REQUEST, "a message is a JSON object")
    if "method" not in value and ("result" in value or "error" in value):
        return None
    if isinstance(value.get("method"), str) and "id" not in value and value.get("jsonrpc") == "2.0":
        return None
    params = value.get("params")
    if why or (isinstance(value.get("method"), str) and params is not None and not isinstance(params, dict)):
        return _error(_id_of(value), INVALID_PARAMS, why or "params is no object")
    return _error(_id_of(value), INVALID_REQUEST, "jsonrpc is 2.0, id a string or a whole number, method a string")


def _id_of(value: dict[str, Any]) -> str | int | None:
    found = value.get("id")
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    if not isinstance(found, str) or len(found) > ID_CHARACTERS:
        return None
    return found if found.isascii() or not any("\ud800" <= character <= "\udfff" for character in found) else None


def _error(identifier: str | int | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=identifier, error=ErrorData(code=code, message=message))
