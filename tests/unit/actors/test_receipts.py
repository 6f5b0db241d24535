"""Receipts: all of them is exact, fewer is not; bounded, and never a traceback."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from fakes.model_server import ModelServer
from outsourcerer.actors.accounts import Account, Accounts, account_in
from outsourcerer.actors.receipts import Receipt, read_receipts, receipt_in, settle
from outsourcerer.lanes.evidence import Evidence, fold
from outsourcerer.messages.job import TokenUsage
from outsourcerer.messages.lane_events import GenerationNamed, Retrying, UsageReported

KEY = "sk-or-x"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer([], key=KEY) as running:
        running.price = 0.5
        yield running


def heard(*ids: str, output: int | None = None) -> Evidence:
    seen = Evidence()
    for name in ids:
        seen = fold(seen, GenerationNamed(generation=name))
    return seen if output is None else fold(seen, UsageReported(usage=TokenUsage(input=1, output=output)))


def settled(server: ModelServer, evidence: Evidence, *, key: str = KEY, wait_s: float = 5.0):
    return settle(
        evidence,
        Account(server.url, key),
        estimate=lambda _: 0.25,
        wait_s=wait_s,
        stop=threading.Event(),
    )


def test_every_receipt_is_the_exact_cost(server: ModelServer) -> None:
    cost = settled(server, heard("gen-1", "gen-2", "gen-1"))
    assert (cost.cash_usd, cost.measured) == (1.0, True)


def test_it_waits_for_receipts_that_are_late(server: ModelServer) -> None:
    server.unready = 1
    found = read_receipts(["gen-1"], Account(server.url, KEY), wait_s=5, stop=threading.Event(), pause_s=0.01)
    assert found == [Receipt(0.5, 56)]
    assert len(server.requests) == 2


def test_one_that_never_comes_makes_it_an_estimate(server: ModelServer) -> None:
    server.unready = 1000
    stop = threading.Event()
    assert read_receipts(["gen-1", "gen-2"], Account(server.url, KEY), wait_s=5, stop=stop, pause_s=0.01) is None
    assert len(server.requests) == 10
    cost = settled(server, heard("gen-1"), wait_s=0.1)
    assert (cost.cash_usd, cost.measured) == (0.25, False)


def test_a_refused_key_is_not_asked_with_again(server: ModelServer) -> None:
    cost = settled(server, heard("gen-1"), key="wrong")
    assert (cost.cash_usd, cost.measured) == (0.25, False)
    assert len(server.requests) == 1


def test_tokens_that_no_receipt_explains_make_it_an_estimate(server: ModelServer) -> None:
    assert settled(server, heard("gen-1", output=56)).measured
    assert not settled(server, heard("gen-1", output=57)).measured


def test_a_connection_that_broke_may_have_cost_something(server: ModelServer) -> None:
    assert not settled(server, fold(heard("gen-1"), Retrying(status=None))).measured
    assert settled(server, fold(heard("gen-1"), Retrying(status=429))).measured
    assert server.requests[0].path.endswith("/v1/generation?id=gen-1")


def test_without_a_generation_or_an_account_nobody_is_asked(server: ModelServer) -> None:
    assert not settled(server, heard()).measured
    none = settle(heard("gen-1"), None, estimate=lambda _: None, wait_s=1, stop=threading.Event())
    assert (none.cash_usd, none.measured) == (None, False)
    assert server.requests == []


def test_a_stop_ends_the_wait(server: ModelServer) -> None:
    server.unready = 1000
    stop = threading.Event()
    stop.set()
    assert read_receipts(["gen-1"], Account(server.url, KEY), wait_s=60, stop=stop, pause_s=30) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'{"data":[]}',
        b'{"data":{}}',
        b'{"data":{"total_cost":"1"}}',
        b'{"data":{"total_cost":-1}}',
        b"\xff",
    ],
)
def test_what_is_no_receipt(body: bytes) -> None:
    assert receipt_in(body) is None


def test_an_account_is_a_key_and_an_address_it_may_be_sent_to() -> None:
    there = {"OPENROUTER_API_KEY": KEY, "HOME": "/nonexistent"}
    assert account_in(there, None) == Account("https://openrouter.ai/api", KEY)
    assert account_in(there, "http://127.0.0.1:9/") is not None
    assert account_in(there, "http://example.org") is None
    assert account_in({"HOME": "/nonexistent"}, None) is None
    assert KEY not in repr(account_in(there, None))


def test_an_account_is_taken_once() -> None:
    accounts = Accounts()
    accounts.keep("job", Account("http://127.0.0.1", KEY))
    assert accounts.take("job") is not None
    assert accounts.take("job") is None
