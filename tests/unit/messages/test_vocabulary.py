import subprocess
import sys

import pytest
from outsourcerer.messages.commands import JobSubmit
from outsourcerer.messages.job import Identity, JobRequest
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.messages.vocabulary import (
    FRAME_LIMIT,
    LIVE_STATES,
    PROTOCOL,
    TERMINAL_STATES,
    Effort,
    JobState,
    Tier,
    Verb,
)
from pydantic import ValidationError


def test_the_words_are_the_contract():
    """Others' scripts depend on these; a word may be added, none may change."""
    assert [verb.value for verb in Verb] == ["run", "explore", "research", "edit", "yolo"]
    assert [tier.value for tier in Tier] == ["frontier", "capable", "mid", "budget", "raw"]
    assert [effort.value for effort in Effort] == ["minimal", "low", "medium", "high", "xhigh", "max"]
    assert {state.value for state in TERMINAL_STATES} == {
        "done", "done?", "blocked", "permission-blocked", "interrupted", "timeout", "wedged", "failed", "canceled",
    }  # fmt: skip
    assert {state.value for state in LIVE_STATES} == {
        "queued", "launching", "running", "stalled?", "exploring?", "no-progress-writes", "waiting-limit", "needs-answer",
    }  # fmt: skip
    assert {"usage", "no_such_job", "state_full", "state_newer", "internal"} <= {code.value for code in RefusalCode}
    assert (PROTOCOL, FRAME_LIMIT) == (1, 8 * 1024 * 1024)


def test_every_state_is_live_or_ended():
    assert set(JobState) == LIVE_STATES | TERMINAL_STATES
    assert not LIVE_STATES & TERMINAL_STATES
    assert all(state.terminal == (state in TERMINAL_STATES) for state in JobState)


def test_what_verbs_promise():
    assert [verb for verb in Verb if verb.may_write] == [Verb.EDIT, Verb.YOLO]
    assert [verb for verb in Verb if verb.read_only] == [Verb.RUN, Verb.EXPLORE]


def request(**changes):
    return JobRequest.model_validate({"task": "x", "cwd": "/", **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "claude-opus-4-8[1m]"},
        {"model": "z-ai/glm-5.2:free"},
        {"model": "embedded:/path/model.gguf"},
        {"model": "embedded:/my models/größer (2).gguf"},
        {"model": "x" * 1024},
        {"label": "fix the ünit tests"},
        {"timeout_s": 0.5},
        {"lane": "or.x:y-z_1"},
    ],
)
def test_what_may_be_asked(changes):
    assert request(**changes).model_dump(exclude_unset=True) == {"task": "x", "cwd": "/", **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "a\tb"},
        {"model": "x\n"},
        {"model": ""},
        {"model": "x" * 1025},
        {"label": "a\nb"},
        {"label": ""},
        {"label": "x" * 81},
        {"lane": "../x"},
        {"lane": "Claude"},
        {"lane": "claude\n"},
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
        {"verb": "destroy"},
        {"effort": "none"},
        {"budget": 3},
    ],
)
def test_what_may_not(changes):
    with pytest.raises(ValidationError):
        request(**changes)


def test_the_field_is_named():
    with pytest.raises(ValidationError) as caught:
        JobSubmit.model_validate({"request": {"task": "x", "cwd": "/", "efort": "low"}})
    assert [error["loc"] for error in caught.value.errors()] == [("request", "efort")]


def test_no_process_has_pid_zero():
    for pid in (0, -1):
        with pytest.raises(ValidationError):
            Identity(pid=pid, started=1, boot_id="b")


def test_the_front_end_needs_no_pydantic_for_words_and_frames():
    script = "import sys; import outsourcerer.messages.vocabulary, outsourcerer.messages.codec; print('pydantic' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "False"
