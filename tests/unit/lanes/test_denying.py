"""Which models a person's denylist means, on which lane, and what is said."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.catalog import Known
from outsourcerer.lanes.catalog.aliases import ALIASES, Alias
from outsourcerer.lanes.catalog.denying import denied, mistyped, undecided
from outsourcerer.messages.vocabulary import Tier

OWN = Known(own={"fast": Alias("vendor/quick-1", "cc", Tier.BUDGET), "Work": Alias("gpt-5.5", "codex", Tier.MID)})


@pytest.mark.parametrize(
    ("rule", "lane", "model"),
    [
        # the id itself, in any case, and by its alias
        ("gpt-5.6-sol", "codex", "gpt-5.6-sol"),
        ("GPT-5.6-Sol", "codex", "gpt-5.6-sol"),
        ("sol", "codex", "gpt-5.6-sol"),
        ("gpt-5.6-sol", "codex", "sol"),
        ("glm", "devin", "glm-5.2"),
        ("glm", "cc", "z-ai/glm-5.2"),
        ("fast", "cc", "vendor/quick-1"),
        ("FAST", "cc", "vendor/quick-1"),
        ("work", "codex", "gpt-5.5"),
        ("vendor/quick-1", "cc", "vendor/quick-1"),
        # other services' ids of it
        ("glm-5.2", "cc", "z-ai/glm-5.2"),
        ("z-ai/glm-5.2", "devin", "glm-5.2"),
        ("glm-5-2", "cc", "z-ai/glm-5.2"),
        ("claude-opus-5", "cc", "anthropic/claude-opus-5"),
        ("anthropic/claude-opus-5", "claude", "claude-opus-5"),
        ("gpt-5.5", "opencode", "openrouter/openai/gpt-5.5"),
        ("gpt-5.5", "pi", "openai/GPT-5.5"),
        ("claude-haiku-4-5", "claude", "claude-haiku-4-5-20251001"),
        ("sonnet", "claude", "sonnet[1m]"),
        ("tencent/hy3", "cc", "tencent/hy3:free"),
        ("kimi-k3", "droid", "kimi-k3"),
        # a family word is the whole family
        ("opus", "claude", "claude-opus-9-1"),
        ("opus", "cursor", "claude-4.5-opus-high-thinking"),
        ("haiku", "copilot", "claude-haiku-4.5"),
        # what leaves the version open
        ("claude-opus-4-8", "claude", "opus"),
        ("claude-opus-9", "claude", "opus"),
        ("gemini-3.8-flash", "gemini", "gemini-flash"),
        ("claude-opus-6*", "claude", "opus"),
        ("gemini-3*", "gemini", "gemini-pro"),
        # globs
        ("*", "local", "llama3:8b"),
        ("gpt-*", "codex", "gpt-5.6-sol"),
        ("gpt-*", "cc", "openai/gpt-9"),
        ("openai/*", "codex", "gpt-5.5"),
        ("Claude-*", "claude", "opus"),
        ("*opus*", "claude", "claude-opus-5"),
        ("z-ai/*", "devin", "glm-5.2"),
        ("*:free", "cc", "tencent/hy3:free"),
        ("qwen*", "local", "qwen3-coder:30b"),
        ("fas*", "cc", "vendor/quick-1"),
        # for one lane
        ("cc:*", "cc", "z-ai/glm-5.2"),
        ("cc:glm", "cc", "z-ai/glm-5.2"),
        ("local:llama3*", "local", "llama3:8b"),
        ("ollama:llama3", "local", "llama3"),
        # a lane's own default: one vendor's models
        ("opus", "claude", None),
        ("claude-*", "claude", None),
        ("anthropic/claude-opus-5", "claude", None),
        ("gpt-5.5", "codex", None),
        ("gpt-9*", "codex", None),
        ("*flash*", "gemini", None),
        ("*", "codex", None),
        ("codex:*", "codex", None),
    ],
)
def test_a_rule_means(rule: str, lane: str, model: str | None) -> None:
    found = denied(["other-model", rule], lane, model, OWN)
    assert found is not None
    assert found.rule == rule
    assert (model or lane) in found.why


@pytest.mark.parametrize(
    ("rule", "lane", "model"),
    [
        ("gpt-5.6-sol", "codex", "gpt-5.6-terra"),
        ("gpt-5.5", "codex", "gpt-5.5-mini"),
        ("glm-5.2", "devin", "glm-5-3"),
        ("glm-5.3", "devin", "glm-5-3-flash"),
        ("claude-opus-5", "claude", "claude-opus-4-8"),
        ("haiku", "claude", "opus"),
        ("claude-haiku-*", "claude", "opus"),
        ("gemini-pro", "gemini", "gemini-flash"),
        ("sonnet[1m]", "claude", "sonnet"),
        ("tencent/hy3:free", "cc", "tencent/hy3"),
        ("cc:*", "codexor", "z-ai/glm-5.2"),
        ("cc:glm", "devin", "glm-5.2"),
        ("codex:*", "claude", "opus"),
        ("local:*", "cc", "z-ai/glm-5.2"),
        ("gpt-*", "claude", "opus"),
        ("*-mini", "codex", "gpt-5.5"),
        ("gpt-5.5", "claude", None),
        ("z-ai/*", "codex", None),
        ("opus", "codex", None),
        ("codex:*", "claude", None),
        ("*", "copilot", None),  # what it takes is found out first
    ],
)
def test_a_rule_does_not_mean(rule: str, lane: str, model: str | None) -> None:
    assert denied([rule], lane, model, OWN) is None


@pytest.mark.parametrize("word", sorted(word for word, row in ALIASES.items() if row.use == "text"))
def test_every_word_of_the_table_is_stopped_by_itself_and_by_its_id(word: str) -> None:
    row = ALIASES[word]
    for rule in (word, word.upper(), row.model, f"*{row.model}", f"{row.lane}:{word}"):
        assert denied([rule], row.lane, row.model) is not None, rule
    assert denied([], row.lane, row.model) is None


def test_a_default_that_nobody_knows_may_be_any_of_them() -> None:
    assert undecided(["gpt-5.5"], "copilot") is not None
    assert undecided(["claude:opus"], "copilot") is None
    assert undecided(["claude:opus"], "claude") is not None
    assert undecided([], "copilot") is None


def test_what_is_said_names_the_model_and_what_it_may_be() -> None:
    found = denied(["claude-opus-9"], "claude", "opus")
    assert found is not None
    assert found.why == "the model opus may be claude-opus-9"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("opsu", "'opsu' stops no model that is known here; did you mean opus?"),
        ("Claude:SONET", "did you mean claude:sonnet?"),
        ("clade-opus-5", "did you mean claude-opus-5?"),
        ("opus;sonnet", "'opus;sonnet' stops nothing"),
        ("[opus", "'[opus' stops nothing"),
    ],
)
def test_a_rule_that_is_a_slip_of_the_pen_is_named(rule: str, said: str) -> None:
    (found,) = mistyped(["sonnet", rule], OWN)
    assert said in found


@pytest.mark.parametrize(
    "rule",
    ["OPUS", "opus[1m]", "glm", "gpt-5", "gpt-7", "claude-opus-9", "x-ai/grok-9", "*", "codex:*", "gemini:", "zzz"],
)
def test_what_stops_something_or_is_not_out_yet_is_no_slip(rule: str) -> None:
    assert mistyped([rule], OWN) == []


def test_many_stars_are_no_trap() -> None:
    rule, model = "*a" * 500 + "b", "a" * 1000
    before = time.process_time()
    assert denied([rule] * 20, "cc", model) is None
    assert time.process_time() - before < 20


words = st.text(alphabet="aopus-5.*/:[]1mG", max_size=14)


@given(rule=words, model=words, lane=st.sampled_from(["claude", "cc", "local", "pi"]))
@settings(max_examples=60, deadline=None)
def test_any_words_are_answered_and_a_model_is_stopped_by_its_own_name(rule: str, model: str, lane: str) -> None:
    denied([rule], lane, model, OWN)
    undecided([rule], lane)
    if model and "*" not in model and ":" not in model:
        assert denied([model.upper()], lane, model) is not None
