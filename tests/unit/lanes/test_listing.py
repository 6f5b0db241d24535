"""OpenRouter's catalogue: read from anything, tiers by price, estimates that need every number."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.catalog.listing import Listed, estimate, is_catalogue, parse, tier_by_price
from outsourcerer.lanes.prices import price_of
from outsourcerer.messages.job import TokenUsage
from outsourcerer.messages.vocabulary import Tier


def catalogue(**pricing: object) -> bytes:
    return json.dumps({"data": [{"id": "a/b", "context_length": 1000, "created": 5, "pricing": pricing}]}).encode()


def test_a_model_and_its_prices() -> None:
    found = parse(catalogue(prompt="0.000001", completion="0.00001", input_cache_read=0))
    assert found == {"a/b": Listed(id="a/b", prompt=1e-6, completion=1e-5, cached=0.0, context=1000, created=5.0)}
    assert not found["a/b"].free
    assert parse(catalogue(prompt="0", completion="0"))["a/b"].free


@pytest.mark.parametrize("price", ["-1", "nan", "inf", "cheap", None, True, [], "1e999"])
def test_a_price_that_is_none_is_unknown(price: object) -> None:
    model = parse(catalogue(prompt=price, completion=price))["a/b"]
    assert (model.prompt, model.completion, model.free) == (None, None, False)
    assert tier_by_price(model) is None
    assert estimate(model, TokenUsage(input=1, output=1)) is None


@pytest.mark.parametrize(
    ("usd_per_million", "tier"),
    [(0, Tier.BUDGET), (1.99, Tier.BUDGET), (2.0, Tier.MID), (11.9, Tier.MID), (12.0, Tier.FRONTIER)],
)
def test_a_tier_by_its_output_price(usd_per_million: float, tier: Tier) -> None:
    assert tier_by_price(Listed(id="x", completion=usd_per_million / 1e6)) is tier
    assert tier_by_price(None) is None


def test_an_estimate_counts_cached_tokens_at_their_own_price() -> None:
    model = Listed(id="x", prompt=1e-6, completion=1e-5, cached=1e-7)
    usage = TokenUsage(input=1000, cached_input=500, cache_write=10, output=100)
    assert estimate(model, usage) == pytest.approx(1010e-6 + 500e-7 + 100e-5)
    assert estimate(model, TokenUsage(output=100)) is None
    assert estimate(model, None) is None
    assert estimate(None, usage) is None


def test_only_a_catalogue_with_prices_replaces_one() -> None:
    assert is_catalogue(catalogue(prompt="0", completion="0"))
    for content in (b"", b"{}", b"[]", b'{"data":[]}', b'{"data":[{"id":"x"}]}', b"<html>", b"\xff"):
        assert not is_catalogue(content)


@given(st.binary(max_size=200))
def test_any_bytes_are_read(content: bytes) -> None:
    parse(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["data", "id", "pricing", "prompt"]), inner)
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read(value: object) -> None:
    for model in (parse(json.dumps({"data": [value]}).encode()) or {}).values():
        assert model.id.isprintable()


@pytest.mark.parametrize("price", ["1e307", 1e307, "1.5", "1_0", "\u0661", "-1", "nan", "inf", True, None, [], "x"])
def test_a_price_that_can_not_be_one_is_unknown(price):
    content = json.dumps({"data": [{"id": "v/m", "pricing": {"prompt": price, "completion": "0.000002"}}]}).encode()
    assert parse(content)["v/m"].prompt is None
    assert price_of("v/m", content) is None
