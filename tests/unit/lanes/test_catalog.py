"""From words to lanes: aliases, families, synonyms, refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.catalog import ChooseByReadiness, Resolved, resolve, tier_of
from outsourcerer.lanes.catalog.aliases import ALIASES, DUAL
from outsourcerer.lanes.registry import all_lanes
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Tier

LANES = {**all_lanes({}).tiers(), "mine": Tier.CAPABLE}


def ask(model: str | None = None, lane: str | None = None, tier: Tier | None = None, **defaults):
    return resolve(model, lane, tier, lanes=LANES, **defaults)


def found(*args, **kwargs) -> tuple:
    result = ask(*args, **kwargs)
    assert isinstance(result, Resolved), result
    return result.lane, result.model, result.tier.value


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("sol", ("codex", "gpt-5.6-sol", "frontier")),
        ("gpt-5.6-terra", ("codex", "gpt-5.6-terra", "frontier")),
        ("luna", ("codex", "gpt-5.6-luna", "mid")),
        ("gpt-5.5", ("codex", "gpt-5.5", "frontier")),
        ("fable", ("claude", "fable", "frontier")),
        ("opus", ("claude", "opus", "frontier")),
        ("sonnet", ("claude", "sonnet", "mid")),
        ("haiku", ("claude", "haiku", "budget")),
        ("claude-haiku-4-5-20251001", ("claude", "claude-haiku-4-5-20251001", "budget")),
        ("claude-opus-9", ("claude", "claude-opus-9", "frontier")),
        ("claude-sonnet-5[1m]", ("claude", "claude-sonnet-5[1m]", "mid")),
        ("gpt-6-mini", ("codex", "gpt-6-mini", "budget")),
        ("gpt-6.2-sol", ("codex", "gpt-6.2-sol", "frontier")),
        ("o3-pro", ("codex", "o3-pro", "frontier")),
        ("gpt-5.1-codex", ("codex", "gpt-5.1-codex", "mid")),
        ("ollama:qwen3:8b", ("local", "qwen3:8b", "capable")),
        ("lms:phi-mini", ("local", "phi-mini", "budget")),
        ("lmstudio:x", ("local", "x", "budget")),
        ("local:x", ("local", "x", "budget")),
        ("local", ("local", None, "budget")),
        ("embedded", ("embedded", None, "raw")),
        ("embedded:/models/qwen-0.5b.gguf", ("embedded", "/models/qwen-0.5b.gguf", "raw")),
        ("claude", ("claude", None, "frontier")),
        ("codex:gpt-5.5", ("codex", "gpt-5.5", "frontier")),
        ("claude:opus", ("claude", "opus", "frontier")),
        ("mine", ("mine", None, "capable")),
        ("mine:any/thing", ("mine", "any/thing", "capable")),
        ("mine:glm-mini", ("mine", "glm-mini", "budget")),
        ("chatgpt", ("codex", None, "frontier")),
        ("gemini-flash-lite", ("gemini", "gemini-flash-lite", "budget")),
        ("gemini-9-pro", ("gemini", "gemini-9-pro", "mid")),
        ("agy", ("gemini", None, "mid")),
    ],
)
def test_a_model_word_finds_its_lane(model: str, expected: tuple) -> None:
    assert found(model) == expected


@pytest.mark.parametrize(
    ("model", "lane", "expected"),
    [
        (None, "claude", ("claude", None, "frontier")),
        (None, "cc", ("cc", "z-ai/glm-5.2", "capable")),
        (None, "ccnative", ("claude", None, "frontier")),
        (None, "cx", ("codex", None, "frontier")),
        (None, "ollama", ("local", None, "budget")),
        ("sol", "codex", ("codex", "gpt-5.6-sol", "frontier")),
        ("codex:sol", "codex", ("codex", "gpt-5.6-sol", "frontier")),
        ("any-name-1", "local", ("local", "any-name-1", "budget")),
        ("opus", "mine", ("mine", "opus", "frontier")),
        ("/models/x.gguf", "embedded", ("embedded", "/models/x.gguf", "raw")),
        ("brand-new", "claude", ("claude", "brand-new", "mid")),
        ("brand-new", "codex", ("codex", "brand-new", "mid")),
    ],
)
def test_a_named_lane(model: str | None, lane: str, expected: tuple) -> None:
    assert found(model, lane) == expected


def test_what_is_not_in_the_table_or_moved_is_said() -> None:
    assert "not in the table" in ask("claude-opus-9").notices[0]
    assert "OpenRouter" in ask("vendor/model").notices[0]
    assert ask("opus").notices == ()


def test_a_tier_that_was_asked_for_stands() -> None:
    assert ask("haiku", tier=Tier.FRONTIER).tier is Tier.FRONTIER
    assert ask("embedded:/x.gguf", tier=Tier.MID).tier is Tier.MID


@pytest.mark.parametrize(
    ("model", "lane", "code", "words"),
    [
        ("sol", "claude", "lane_conflict", "served only by codex"),
        ("opus", "codex", "lane_conflict", "served only by claude"),
        ("claude-opus-9", "codex", "lane_conflict", "served only by claude"),
        ("gemini-pro", "claude", "lane_conflict", "served only by gemini"),
        ("z-ai/glm-5.2", "claude", "lane_conflict", "not a model"),
        (None, "claud", "unknown_lane", "Did you mean claude?"),
        ("ollama:x", "claude", "lane_conflict", "on this machine"),
        ("sonet", None, "unknown_model", "Did you mean sonnet?"),
        ("opuss", None, "unknown_model", "Did you mean opus?"),
        ("opuss", "claude", "unknown_model", "Did you mean opus?"),
        ("opsu[1m]", "claude", "unknown_model", "Did you mean opus?"),
        ("gpt5.5", "codex", "unknown_model", "Did you mean gpt-5.5?"),
        ("Gemini-flsh", "gemini", "unknown_model", "Did you mean gemini-flash?"),
        ("claude-opus5", None, "unknown_model", "Did you mean claude-opus-5?"),
        ("haikuu", "pi", "unknown_model", "Did you mean haiku?"),
        ("z-ai/glm5.2", "cc", "unknown_model", "Did you mean z-ai/glm-5.2?"),
        ("wholly-unknown-1", None, "unknown_model", "No lane is known"),
        ("gpt-image", None, "unknown_model", "makes images"),
        ("gpt-image", "codex", "unknown_model", "makes images"),
        ("-rf", None, "bad_request", "no model name"),
        ("a\nb", None, "bad_request", "no model name"),
        ("", None, "bad_request", "no model name"),
    ],
)
def test_refusals_say_what_and_what_else(model: str | None, lane: str | None, code: str, words: str) -> None:
    result = ask(model, lane)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode(code)
    assert words in result.message
    assert result.hint


def test_a_hint_lists_a_few_and_says_what_lists_all() -> None:
    many = {**LANES, **{f"lane-{number}": Tier.MID for number in range(60)}}
    for model, lane in (
        ("GPT5", None),
        ("wholly-unknown-1", None),
        (None, "lane-x"),
        ("sol", "claude"),
        ("opus", "codex"),
    ):
        result = resolve(model, lane, None, lanes=many)
        assert isinstance(result, Refused)
        assert result.hint is not None
        assert len(result.hint) < 160, result.hint
        assert "lane-7" not in result.hint or lane == "lane-x"
        assert "osrc lanes" in result.hint or "osrc models" in result.hint or "--lane" in result.hint
    hint = ask("GPT5").hint
    assert hint.startswith("osrc models lists the words (perhaps gpt-5")


def test_every_alias_has_its_lane_its_model_and_its_tier() -> None:
    for word, row in ALIASES.items():
        result = ask(word)
        assert row.lane in LANES
        if word in DUAL:
            assert isinstance(result, ChooseByReadiness)
        elif row.use == "text":
            assert (result.lane, result.model, result.tier) == (row.lane, row.model, row.tier)
        else:
            assert isinstance(result, Refused)


def test_nothing_named_is_left_to_readiness_in_order() -> None:
    result = ask()
    assert isinstance(result, ChooseByReadiness)
    assert [one.lane for one in result.candidates] == ["claude", "codex", "local", "embedded", "mine"]
    assert [one.tier for one in ask(tier=Tier.MID).candidates] == [Tier.MID] * 5
    assert isinstance(resolve(None, None, None, lanes={}), Refused)


def test_settings_count_only_where_nothing_was_named() -> None:
    assert found(default_lane="codex") == ("codex", None, "frontier")
    assert found(default_model="haiku") == ("claude", "haiku", "budget")
    assert found(default_lane="mine", default_model="x") == ("mine", "x", "capable")
    assert found("opus", default_lane="codex") == ("claude", "opus", "frontier")
    assert found("unheard-of", default_lane="mine") == ("mine", "unheard-of", "capable")
    assert found(None, "local", default_model="opus") == ("local", None, "budget")


@pytest.mark.parametrize(
    ("name", "tier"),
    [
        ("gpt-6", Tier.FRONTIER),
        ("gpt-6-nano", Tier.BUDGET),
        ("deepseek-v4", Tier.CAPABLE),
        ("hy3-large", Tier.CAPABLE),
        ("vendor/some:free", Tier.BUDGET),
        ("solar-pro", None),
        ("administrator", None),
        ("x", None),
    ],
)
def test_a_name_may_tell_its_tier(name: str, tier: Tier | None) -> None:
    assert tier_of(name) is tier


words = st.one_of(st.none(), st.text(max_size=20), st.sampled_from([*ALIASES, *LANES, "local:", "mine:", ":", "a/b"]))


@given(words, words, st.sampled_from([None, *Tier]), words, words)
def test_any_words_are_answered_and_a_lane_that_is_here_is_named(
    model, lane, tier, default_lane, default_model
) -> None:
    result = ask(model, lane, tier, default_lane=default_lane, default_model=default_model)
    if isinstance(result, Resolved):
        assert result.lane in LANES
        assert tier is None or result.tier is tier
        if lane in LANES and result.lane != lane:
            assert result.notices, "a move to another lane is always said"
    else:
        assert isinstance(result, (Refused, ChooseByReadiness))
