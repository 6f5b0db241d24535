"""Models on lanes that were named, models of two lanes, and what is refused: each with its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.catalog import ChooseByReadiness, Known, Resolved, resolve
from outsourcerer.lanes.catalog.aliases import ALIASES, DUAL, Alias
from outsourcerer.lanes.registry import all_lanes
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Tier

LANES = all_lanes({}).tiers()


def ask(model: str | None, lane: str | None = None, **more):
    return resolve(model, lane, None, lanes=more.pop("lanes", LANES), **more)


def found(model: str | None, lane: str | None = None, **more) -> tuple[str, str | None]:
    result = ask(model, lane, **more)
    assert isinstance(result, Resolved), result
    return result.lane, result.model


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("vendor/model:free", ("cc", "vendor/model:free")),
        ("anthropic/claude-opus-4.8", ("cc", "anthropic/claude-opus-4.8")),
    ],
)
def test_where_no_lane_was_named_the_one_that_follows_is_said(model: str, expected: tuple) -> None:
    result = ask(model)
    assert isinstance(result, Resolved), result
    assert (result.lane, result.model) == expected
    assert "id of OpenRouter" in " ".join(result.notices)


@pytest.mark.parametrize(
    ("model", "lane", "typed"),
    [
        # an OpenRouter model on a lane that is not OpenRouter's
        ("glm", "codex", ("codexor", "glm")),
        ("hy3", "codex", ("codexor", "hy3")),
        ("vendor/model", "codex", ("codexor", "vendor/model")),
        ("glm", "claude", ("cc", "glm")),
        ("hy3", "devin", ("cc", "hy3")),
        ("vendor/model", "devin", ("cc", "vendor/model")),
        # Devin's own id
        ("glm-5.2", "cc", ("devin", "glm-5.2")),
        ("swe", "codexor", ("devin", "swe")),
        ("swe", "claude", ("devin", "swe")),
        # vendors' models
        ("opus", "devin", ("claude", "opus")),
        ("sol", "devin", ("codex", "sol")),
        ("gpt-9", "devin", ("codex", "gpt-9")),
        ("gemini-pro", "dv", ("gemini", "gemini-pro")),
        ("opus", "cc", ("claude", "opus")),
        ("claude-opus-9", "cc", ("claude", "claude-opus-9")),
        ("sol", "codexor", ("codex", "sol")),
        ("sol", "cc", ("codex", "sol")),
        ("opus", "codexor", ("claude", "opus")),
        ("opus", "codex", ("claude", "opus")),
        ("opus", "gemini", ("claude", "opus")),
        ("opus", "claudex", ("claude", "opus")),
        # this machine's
        ("ollama:x", "claude", ("local", "x")),
        ("local:x", "cc", ("local", "x")),
    ],
)
def test_a_lane_that_was_named_is_never_another_one(model: str, lane: str, typed: tuple[str, str]) -> None:
    """It is refused with what to type, and what is to be typed works."""
    result = ask(model, lane)
    assert isinstance(result, Refused), result
    assert result.code is RefusalCode.LANE_CONFLICT
    there, word = typed
    assert (result.hint or "").startswith(f"--lane {there} -m {word}")
    assert found(word, there)[0] == there
    without = {name: tier for name, tier in LANES.items() if name != there}
    elsewhere = ask(model, lane, lanes=without)
    assert isinstance(elsewhere, Refused)
    assert f"--lane {there}" not in (elsewhere.hint or "")


@pytest.mark.parametrize(
    ("model", "lane", "expected"),
    [
        ("glm", "cc", ("cc", "z-ai/glm-5.2")),
        ("glm", "openrouter", ("cc", "z-ai/glm-5.2")),
        ("kimi", "codexor", ("codexor", "moonshotai/kimi-k3")),
        ("deepseek", "devin", ("devin", "deepseek-v4-pro")),
        ("glm", "dv", ("devin", "glm-5.2")),
        ("glm-5-3", "devin", ("devin", "glm-5-3")),
        ("vendor/model", "cc", ("cc", "vendor/model")),
        ("anthropic/claude-opus-4.8", "cc", ("cc", "anthropic/claude-opus-4.8")),
        (None, "cc", ("cc", "z-ai/glm-5.2")),
        (None, "codexor", ("codexor", "z-ai/glm-5.2")),
        (None, "devin", ("devin", "glm-5.2")),
        (None, "claudex", ("claudex", "gpt-5.6-sol")),
        (None, "tokenrouter", ("tokenrouter", None)),
        ("sol", "claudex", ("claudex", "gpt-5.6-sol")),
        ("gpt-7-mini", "claudex", ("claudex", "gpt-7-mini")),
        ("kimi", "warp", ("warp", "kimi-k3")),
        ("kimi", "cursor", ("cursor", "kimi")),
        ("opus", "cursor", ("cursor", "opus")),
        ("any thing", "hermes", ("hermes", "any thing")),
        ("glm", "tokenrouter", ("tokenrouter", "glm")),
    ],
)
def test_a_model_on_its_lane(model: str | None, lane: str, expected: tuple) -> None:
    assert found(model, lane) == expected


@pytest.mark.parametrize(
    ("model", "lane", "words", "hint"),
    [
        ("sol", "cc", "ChatGPT backend only", "--lane codex -m sol"),
        ("opus", "codexor", "Claude backend only", "--lane claude -m opus"),
        ("glm", "codex", "metered on your key", "gpt-5.5"),
        ("glm-5.2", "cc", "Devin's own id", "z-ai/glm-5.2"),
        ("hy3", "devin", "over OpenRouter only", "glm-5-3"),
        ("gemini-pro", "cc", "Gemini backend only", "VENDOR/MODEL"),
        ("opus", "codex", "served only by claude", "gpt-5.5"),
        ("glm", "claude", "not a model of the claude lane", "--lane cc"),
        ("opus", "claudex", "against its terms", "gpt-5.6-sol"),
        ("claude-opus-9", "claudex", "against its terms", "--lane claude"),
        ("anthropic/claude-opus-4.8", "claudex", "against its terms", "--lane claude"),
        ("gpt-image", "cc", "makes images", "text model"),
        ("gpt-image", "devin", "makes images", "text model"),
        ("brand-new", "cc", "VENDOR/MODEL", "osrc models --refresh"),
    ],
)
def test_a_refusal_says_why_and_what_to_type(model: str, lane: str, words: str, hint: str) -> None:
    result = ask(model, lane)
    assert isinstance(result, Refused), result
    assert words in result.message
    assert hint in (result.hint or "")


def test_a_bare_name_is_told_its_openrouter_id_when_it_is_known() -> None:
    known = Known(listed=frozenset({"z-ai/glm-9", "other/thing"}))
    result = ask("glm-9", "cc", known=known)
    assert isinstance(result, Refused)
    assert "z-ai/glm-9" in (result.hint or "")


@pytest.mark.parametrize("word", DUAL)
def test_a_model_of_two_lanes_goes_where_it_can(word: str) -> None:
    result = ask(word)
    assert isinstance(result, ChooseByReadiness)
    devin, openrouter = result.candidates
    assert (devin.lane, devin.model) == ("devin", DUAL[word].devin)
    assert (openrouter.lane, openrouter.model) == ("cc", DUAL[word].openrouter)
    assert "--lane cc" in devin.notices[0]
    assert "metered" in openrouter.notices[0]
    assert devin.tier is openrouter.tier is Tier.CAPABLE
    without = {name: tier for name, tier in LANES.items() if name != "devin"}
    assert found(word, lanes=without) == ("cc", DUAL[word].openrouter)
    for default, expected in (
        ("devin", "devin"),
        ("cc", "cc"),
        ("or", "cc"),
        ("codexor", "codexor"),
        ("cx", "codexor"),
    ):
        assert found(word, default_lane=default)[0] == expected
    assert isinstance(ask(word, default_lane="claude"), ChooseByReadiness)


def test_the_persons_own_rows_stand_in_front() -> None:
    own = {
        "glm": Alias("z-ai/glm-6", "codexor", Tier.FRONTIER),
        "fast": Alias("some/model", "cc", Tier.BUDGET),
        "claude": Alias("x/y", "cc", Tier.MID),
        "sol": Alias("gpt-7-sol", "codex", Tier.MID),
    }
    known = Known(own=own)
    for word, row in own.items():
        result = ask(word, known=known)
        assert (result.lane, result.model, result.tier) == (row.lane, row.model, row.tier)
    assert found("fast", "codexor", known=known) == ("codexor", "some/model")
    assert found(None, "claude", known=known) == ("claude", None)


def test_a_default_model_of_the_persons_own() -> None:
    known = Known(defaults={"cc": "deepseek/deepseek-v4-pro"})
    result = ask(None, "cc", known=known)
    assert (result.model, result.tier) == ("deepseek/deepseek-v4-pro", Tier.CAPABLE)


def test_a_tier_is_the_flags_the_tables_the_names_the_prices_then_mid() -> None:
    known = Known(price_tier={"v/cheap": Tier.BUDGET, "v/opus": Tier.BUDGET, "v/x-mini": Tier.FRONTIER}.get)
    assert resolve("v/cheap", "cc", Tier.RAW, lanes=LANES, known=known).tier is Tier.RAW
    assert ask("hy3", known=known).tier is Tier.CAPABLE
    assert ask("v/x-mini", "cc", known=known).tier is Tier.BUDGET
    assert ask("v/opus", "cc", known=known).tier is Tier.FRONTIER
    assert ask("v/cheap", "cc", known=known).tier is Tier.BUDGET
    assert ask("v/never-heard-of", "cc", known=known).tier is Tier.MID


def test_an_engines_word_for_a_lane_is_known() -> None:
    for word, lane in (("oz", "warp"), ("cursor-agent", "cursor"), ("ccor", "cc"), ("codex-openrouter", "codexor")):
        assert ask(None, word).lane == lane


names = st.one_of(st.text(max_size=12), st.sampled_from([*ALIASES, *DUAL, "a/b", "anthropic/x", "claude-z", "gpt-z"]))


@given(names, st.sampled_from(sorted(LANES)))
def test_no_claude_model_reaches_the_proxy_and_no_vendors_model_another_vendor(model: str, lane: str) -> None:
    result = ask(model, lane)
    if isinstance(result, Resolved):
        row = ALIASES.get(result.model or "")
        if result.lane == "claudex" and result.model:
            assert "claude" not in result.model.lower()
        if row is not None and row.lane in ("claude", "codex") and result.lane in ("claude", "codex", "gemini"):
            assert result.lane == row.lane
        assert result.lane == lane
