"""Credits: known to be spent refuses; anything else does not."""

from __future__ import annotations

import pytest
from fakes.model_server import ModelServer
from outsourcerer.actors.accounts import Account
from outsourcerer.actors.balance import credits_left, refuse_empty
from outsourcerer.messages.refusals import Refused

KEY = "sk-or-x"


@pytest.mark.parametrize(
    ("told", "refused"),
    [((10.0, 10.0), True), ((10.0, 11.0), True), ((10.0, 9.5), False), ((0.0, 0.0), True), (None, False)],
)
def test_only_a_known_zero_refuses(told: tuple[float, float] | None, refused: bool) -> None:
    with ModelServer([], key=KEY) as server:
        server.credits = told
        answer = refuse_empty(Account(server.url, KEY), "v/model")
        assert isinstance(answer, Refused) is refused
        if told is not None:
            assert credits_left(Account(server.url, KEY)) == told[0] - told[1]


def test_a_free_model_needs_none_and_nobody_is_asked() -> None:
    with ModelServer([], key=KEY) as server:
        server.credits = (1.0, 1.0)
        assert refuse_empty(Account(server.url, KEY), "v/model:free") is None
        assert server.requests == []


def test_a_gateway_that_does_not_answer_stops_nobody() -> None:
    assert refuse_empty(Account("http://127.0.0.1:9", KEY), "v/model") is None
