"""Failures told from words; in doubt it is the task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Ending
from outsourcerer.lanes.failures import by_words, classify, status_in
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, TurnEnded


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("You\u2019ve hit your usage limit. Upgrade to Pro or try again at 9:18 AM.", "plan-limit"),
        ("You've hit your 5-hour limit \u00b7 resets 9:38am (UTC)", "plan-limit"),
        ("Claude AI usage limit reached|1796031524", "plan-limit"),
        ("Quota exceeded. Check your plan and billing details.", "plan-limit"),
        ("API Error: Request rejected (429) \u00b7 would exceed your organization's rate limit", "rate-limit"),
        ("unexpected status 401 Unauthorized: Incorrect API key provided: test.", "auth"),
        ("Invalid API key \u00b7 Fix external API key", "auth"),
        ("Not logged in \u00b7 Please run /login", "auth"),
        ("unexpected status 503 Service Unavailable: scripted error", "transport"),
        ("API Error: Repeated 529 Overloaded errors.", "transport"),
        ("stream disconnected before completion: failed to lookup address information", "transport"),
        ("connect ECONNREFUSED 127.0.0.1:1", "transport"),
        ("Claude's response exceeded the 32000 output token maximum", "output-limit"),
        ("The model gpt-9 does not exist or you do not have access to it.", "model-gone"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate-limit"),
        ("http error 502 from upstream", "transport"),
    ],
)
def test_sentences_of_real_clis(said: str, kind: str) -> None:
    assert by_words(said) == kind


@pytest.mark.parametrize("said", ["", "3 tests failed", "error: no such file", "port 8080 in use", "line 429: syntax"])
def test_an_ordinary_failure_is_no_known_kind(said: str) -> None:
    assert by_words(said) is None


def test_only_error_statuses_are_read() -> None:
    assert status_in("unexpected status 401 Unauthorized") == 401
    assert status_in("status: 200") is None
    assert status_in("code 999") is None
    assert status_in("error 42") is None


def ending(**fields) -> Ending:
    return Ending(**{"exit": ExitStatus(code=1), "turn": None, **fields})


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        (ending(turn=TurnEnded(ok=True), exit=ExitStatus(code=0)), "none"),
        (ending(turn=TurnEnded(ok=True, synthetic=True), exit=ExitStatus(code=0)), "none"),
        (ending(exit=ExitStatus(error="not found")), "launch"),
        (ending(exit=ExitStatus(signal=9)), "interrupted"),
        (ending(exit=ExitStatus(lost=True)), "interrupted"),
        (ending(exit=ExitStatus(code=143)), "interrupted"),
        (ending(turn=TurnEnded(ok=False, failure=FailureKind.AUTH)), "auth"),
        (ending(turn=TurnEnded(ok=False, message="usage limit reached")), "plan-limit"),
        (ending(turn=TurnEnded(ok=False, message="2 tests failed"), tail="connection refused"), "task"),
        (ending(tail="connection refused"), "transport"),
        (ending(retries=(500, 401)), "auth"),
        (ending(), "task"),
    ],
)
def test_classify_weighs_the_final_event_first(case: Ending, kind: str) -> None:
    assert classify(case) == kind


@given(st.text(), st.text())
def test_no_words_raise(message: str, tail: str) -> None:
    assert classify(ending(turn=TurnEnded(ok=False, message=message), tail=tail)) in FailureKind
