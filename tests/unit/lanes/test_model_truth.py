"""The models that ran against the one that was asked for, on real streams and on names alone."""

from __future__ import annotations

from functools import reduce

import pytest
from fakes.recorded import cases, replay
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.evidence import KEPT_MODELS, Evidence, fold
from outsourcerer.lanes.model_truth import TAGS, line, models_that_ran, same
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import TokenUsage
from outsourcerer.messages.lane_events import ModelObserved, UsageReported


def seen(*heard: str, counted: tuple[str, ...] = (), announced: tuple[str, ...] = ()) -> Evidence:
    events: list = [ModelObserved(model=name, announced=True) for name in announced]
    events += [ModelObserved(model=name) for name in heard]
    if counted:
        events.append(UsageReported(usage=TokenUsage(), by_model={name: TokenUsage() for name in counted}))
    return reduce(fold, events, Evidence())


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("opus", "claude-opus-5-5"),
        ("opus", "claude-opus-4-8[1m]"),
        ("sonnet", "anthropic/claude-sonnet-5"),
        ("claude-haiku-4-5", "claude-haiku-4-5-20251001"),
        ("claude-opus-4.8", "claude-opus-4-8"),
        ("gemini-flash", "gemini-3.8-flash"),
        ("gemini-pro", "gemini-3.1-pro-preview-customtools"),
        ("gemini-flash-lite", "models/gemini-3.5-flash-lite"),
        ("stub/stub-model", "stub-model"),
        ("z-ai/glm-5.2", "z-ai/glm-5.2-0414"),
        ("glm-5-2", "z-ai/glm-5.2:free"),
        ("glm", "glm-5.2"),
        ("sol", "gpt-5.6-sol"),
        ("gpt-5.5", "openai/gpt-5.5-2026-04-01"),
        ("gpt-5.5-high", "gpt-5.5"),
        ("ollama:qwen3:8b", "qwen3:8b"),
        ("llama3", "llama3:latest"),
        ("GPT-5.5", "gpt-5.5"),
    ],
)
def test_one_model_under_two_names(asked: str, name: str) -> None:
    assert same(asked, name)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("opus", "claude-sonnet-5"),
        ("claude-opus-5", "claude-opus-5-5"),
        ("claude-opus-5-5", "claude-opus-5"),
        ("gemini-flash", "gemini-3.5-flash-lite"),
        ("gemini-3.8-flash", "gemini-3.5-flash"),
        ("gemini-pro", "gemini-3.8-flash"),
        ("gpt-5.5", "gpt-5.5-mini"),
        ("gpt-5.6-sol", "gpt-5.6-luna"),
        ("swe-1.7", "swe-1.7-lightning"),
        ("qwen3:8b", "qwen3:32b"),
        ("claude", "gemini-3.8-flash"),
        ("gpt", "claude-opus-5"),
        ("stub-model", "stub"),
        ("gpt-4-0613", "gpt-4-0314"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5-20260101"),
    ],
)
def test_two_models(asked: str, name: str) -> None:
    assert not same(asked, name)


def test_the_three_words() -> None:
    assert line("opus", seen("claude-opus-5-5")) == "[verified] opus ran as claude-opus-5-5"
    assert line("gpt-5.5", seen("gpt-5.5")) == "[verified] gpt-5.5 ran"
    drift = line("opus", seen(counted=("claude-opus-5-5", "claude-sonnet-5")))
    assert drift == "[MODEL DRIFT] opus was asked for: claude-opus-5-5 ran, and so did claude-sonnet-5"
    fallen = line("opus", seen("claude-haiku-4-5"))
    assert fallen == "[WARNING] opus was asked for, but what ran was claude-haiku-4-5"


def test_a_model_that_answered_in_the_middle_is_drift_though_the_last_was_right() -> None:
    assert (line("opus", seen("claude-opus-5-5", "claude-haiku-4-5", "claude-opus-5-5")) or "").startswith(
        "[MODEL DRIFT]"
    )


def test_unknown_stays_unknown() -> None:
    assert line(None, seen("claude-opus-5-5")) is None
    assert line("opus", Evidence()) is None
    assert line("opus", seen(announced=("claude-opus-5-5",))) is None
    assert line("openrouter/auto", seen("z-ai/glm-5.2")) is None


def test_what_was_announced_is_shown_as_the_model_but_proves_nothing() -> None:
    evidence = seen(announced=("custom:Stub-0",))
    assert (evidence.model, evidence.models, models_that_ran(evidence)) == ("custom:Stub-0", (), ())


def test_many_names_stay_few() -> None:
    evidence = seen(*(f"m-{number}" for number in range(50)))
    assert len(evidence.models) == KEPT_MODELS
    assert len(line("x", evidence) or "") < 700


CLAUDE, GEMINI, PI = "claude/2.1.332-2026-11-30", "gemini/0.61.0-2026-11-30", "pi/0.73.1-2026-11-30"


@pytest.mark.parametrize(
    ("folder", "case", "asked", "said"),
    [
        (CLAUDE, "a", "opus", "[verified] opus ran as claude-opus-5-5"),
        (CLAUDE, "oauth", "opus", "[WARNING] opus was asked for, but what ran was claude-sonnet-5-5"),
        (CLAUDE, "c", "opus", None),  # it announced a model, and no model answered
        (
            CLAUDE,
            "eshell",
            "opus",
            "[MODEL DRIFT] opus was asked for: claude-opus-5-5 ran, and so did claude-sonnet-5[1m]",
        ),
        ("cc/2.1.332-2026-11-30", "answer", "z-ai/glm-5.2", "[verified] z-ai/glm-5.2 ran"),
        ("codex/0.171.0-2026-11-30", "a", "gpt-5.5", None),  # its stream names no model
        (
            GEMINI,
            "b",
            "gemini-flash",
            "[MODEL DRIFT] gemini-flash was asked for: gemini-3.8-flash ran, and so did gemini-3.5-flash-lite",
        ),
        (GEMINI, "e", "gemini-pro", "[verified] gemini-pro ran as gemini-3.1-pro-preview-customtools"),
        (PI, "a", "stub/stub-model", "[verified] stub/stub-model ran as stub-model"),
        ("cline/3.0.65-2026-11-30", "a", "stub-model", "[verified] stub-model ran"),
        ("copilot/1.0.102-2026-11-30", "a", "stub-model", "[verified] stub-model ran"),
        ("qwen/0.24.4-2026-11-30", "b", "stub-model", "[verified] stub-model ran"),
        ("droid/0.215.0-2026-11-30", "b", "custom:Stub-0", None),  # it only announces
    ],
)
def test_recorded_streams(folder: str, case: str, asked: str, said: str | None) -> None:
    assert case in cases(folder)
    assert line(asked, replay(builtin(folder.partition("/")[0]), folder, case).seen) == said


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=5))
def test_any_names_give_a_tagged_line_or_none(asked: str, names: list[str]) -> None:
    said = line(asked, seen(*names))
    assert said is None or said.startswith(TAGS)


@given(st.from_regex(r"[a-z]{1,9}(-[a-z0-9]{1,5}){0,4}", fullmatch=True))
def test_a_name_means_itself_with_any_vendor_in_front(name: str) -> None:
    assert same(name, name)
    assert same(name, f"vendor/{name}")
    assert same(f"vendor/{name}", name)
