"""The line to an MCP host: whatever comes in is answered or passed over by the protocol, and the server goes on."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse, jsonrpc_message_adapter
from outsourcerer.cli.mcp_server.wire import Answering, Sayable, reply_to, with_an_id
from pydantic import ValidationError

PARSE, REQUEST, PARAMS, INTERNAL = -32700, -32600, -32602, -32603


def call(**changes: Any) -> str:
    """A line that calls a tool, changed."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}, **changes})


def answered(line: str) -> tuple[Any, int] | None:
    """Id and code of the answer to a line that the SDK can't read; None where there is none."""
    try:
        jsonrpc_message_adapter.validate_json(with_an_id(line), by_name=False)
    except ValidationError as error:
        reply = reply_to(error)
        return None if reply is None else (reply.id, reply.error.code)
    raise AssertionError("it is a message")


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("garbage", (None, PARSE)),
        ("[" * 100_000, (None, PARSE)),
        ('{"a":' * 50_000, (None, PARSE)),
        ('{"jsonrpc":"2.0","method":"ping","id":' + "9" * 6000 + "}", (None, PARSE)),
        ("[]", (None, REQUEST)),
        ('[{"jsonrpc":"2.0","id":5,"method":"ping"}]', (None, REQUEST)),
        ("null", (None, REQUEST)),
        ("7", (None, REQUEST)),
        ("{}", (None, REQUEST)),
        ('{"jsonrpc":"1.0","id":3,"method":"ping"}', (3, REQUEST)),
        ('{"id":"a","method":"ping"}', ("a", REQUEST)),
        ('{"jsonrpc":"2.0","id":4,"method":7}', (4, REQUEST)),
        ('{"jsonrpc":"2.0","id":true,"method":7}', (None, REQUEST)),
        ('{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}', (4, PARAMS)),
        (call(params={"name": "delegate", "arguments": {"task": "\ud800"}}), (1, PARAMS)),
        (call(params={"\ud800": 1}), (1, PARAMS)),
        (call(id="\ud800"), (None, PARAMS)),
        (call(id="x" * 2000, method=7), (None, REQUEST)),
        *((call(id=odd), (None, REQUEST)) for odd in (None, 1.5, 2.0, True, [1], {"a": 1})),
        ('{"jsonrpc":"2.0","\\u0069d":null,"method":"ping"}', (None, REQUEST)),
        # Never answered, by the protocol.
        ("", None),
        ("  \n", None),
        ('{"jsonrpc":"2.0","id":8,"error":{}}', None),
        (json.dumps({"jsonrpc": "2.0", "id": 8, "result": "\ud800"}), None),
        ('{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}', None),
    ],
)  # fmt: skip
def test_what_is_no_message_is_answered_as_the_protocol_has_it(line: str, reply: tuple[Any, int] | None) -> None:
    assert answered(line) == reply


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_MESSAGES = st.fixed_dictionaries({}, optional=dict.fromkeys(("jsonrpc", "id", "method", "params", "result"), _VALUES))


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60) | _VALUES.map(json.dumps) | _MESSAGES.map(json.dumps))
def test_no_line_can_break_it(line: str) -> None:
    try:
        jsonrpc_message_adapter.validate_json(with_an_id(line), by_name=False)
    except ValidationError as error:
        reply = reply_to(error)
    else:
        return
    if reply is not None:
        json.loads(reply.model_dump_json(by_alias=True))
        assert reply.error.message


@pytest.mark.parametrize(
    "line",
    [
        call(),
        call(id="a"),
        call(id=10**30),
        '{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled"}',
        '{"jsonrpc":"2.0","method":"ping"}',
        '{"jsonrpc":"2.0","id":null,"result":{}}',
        "garbage",
        "",
    ],
)
def test_a_line_whose_id_is_one_or_that_needs_none_stays_as_it_is(line: str) -> None:
    assert with_an_id(line) == line


def test_it_goes_on_after_what_is_no_message() -> None:
    async def whole() -> tuple[Any, list[Any]]:
        send, read = anyio.create_memory_object_stream[Any](10)
        write, sent = anyio.create_memory_object_stream[SessionMessage](10)
        message = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={}))
        for item in (ValueError("odd"), message):
            await send.send(item)
        send.close()
        async with Answering(read, Sayable(write)) as host:
            found = [item async for item in host]
        return found == [message], [sent.receive_nowait().message for _ in range(1)]

    went_on, said = anyio.run(whole)
    assert went_on
    assert [(one.id, one.error.code) for one in said] == [(None, PARSE)]


def test_an_answer_that_no_json_can_hold_is_an_error() -> None:
    async def whole() -> list[Any]:
        write, sent = anyio.create_memory_object_stream[SessionMessage](10)
        for value in ("good", "\udcff"):
            await Sayable(write).send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=7, result={"x": value})))
        return [sent.receive_nowait().message for _ in range(2)]

    good, bad = anyio.run(whole)
    assert good.result == {"x": "good"}
    assert (bad.id, bad.error.code) == (7, INTERNAL)
