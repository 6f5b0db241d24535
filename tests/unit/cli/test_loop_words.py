"""The words of ``osrc loop``: which shape fits, what is refused before anybody is asked, and how a loop is shown."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from outsourcerer.cli.app import cli
from outsourcerer.cli.loops import exit_code
from outsourcerer.cli.render.loop import conclusion, head, loop_lines, loop_table, step_line
from outsourcerer.state.loop_views import loop_object

LOOP = "loop-20261130-010203-0123456789ab"
STEPS = [
    {"number": 1, "role": "check", "lap": 0, "began": 1.0, "ended": 2.0, "state": "failed", "detail": "exit 1: \x1b[31mno"},
    {"number": 2, "role": "build", "lap": 1, "model": "m", "job_id": "J", "began": 2.0, "ended": 3.0, "state": "done",
     "changed": ["Makefile"], "cash_usd": 0.5, "measured": False},
    {"number": 3, "role": "check", "lap": 1, "began": 3.0, "ended": 4.0, "state": "passed"},
]  # fmt: skip


def shown(*steps, **more):
    record = {
        "loop_id": LOOP,
        "terms": {"shape": "verify", "check": "make test"},
        "limits": {"laps": 6, "seconds": 120.0, "usd": 2.0},
        "accepted_at": 1.0,
        "segment_began": 1.0,
        "steps": list(steps),
        **more,
    }
    return loop_object(record, "/home", 11.0)


def invoke(*words):
    return CliRunner().invoke(cli, ["loop", *words], catch_exceptions=True)


def test_without_a_word_it_helps_to_choose():
    told = invoke().output
    for word in (
        "verify",
        "escalate",
        "sweep",
        "optimize",
        "council",
        "osrc run",
        "osrc fanout",
        "osrc second-opinion",
    ):
        assert word in told
    assert set(json.loads(invoke("--json").output)["shapes"]) == {"verify", "escalate", "sweep", "optimize", "council"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("verify",), "No task"),
        (("verify", "--check", "x"), "No task"),
        (("verify", "--check", "x", "--max-minutes", "nan", "t"), "'--max-minutes': nan is no number"),
        (("verify", "--check", "x", "--guard", "no such file", "t"), "--guard 'no such file' is not there"),
        (("verify", "--check", "x", "--max-usd", "inf", "t"), "'--max-usd': inf is not in the range"),
        (("resume", "l", "--max-minutes", "1e9"), "'--max-minutes': 1000000000.0 is not in the range"),
        (("verify", "--max", "0", "t"), "0 is not in the range"),
        (("verify", "--max-minutes", "0", "t"), "0 is not in the range"),
        (("verify", "--max-usd", "nan-", "t"), "is not a valid float"),
        (("escalate", "--ladder", ",", "--check", "x", "t"), "names no model"),
        (("escalate", "-m", "a", "--check", "x", "t"), "--ladder names those"),
        (("council", "--seats", "a,b", "--launch", "--check", "x", "t"), "needs --judge"),
        (("council", "--check", "x", "t"), "--seats names no model"),
        (("verfy", "t"), "Did you mean 'verify'"),
    ],
)
def test_what_makes_no_sense_is_said(words, said):
    result = invoke(*words)
    assert result.exit_code != 0
    assert said in f"{result.output} {result.exception}"


def test_a_rubric_that_is_none(tmp_path):
    (tmp_path / "latin").write_bytes(b"gr\xfc\xdfe")
    (tmp_path / "blank").write_text(" \n")
    (tmp_path / "huge").write_bytes(b"x" * (1024 * 1024 + 1))
    for name in ("none", "latin", "blank", "huge", "."):
        result = invoke("optimize", "--rubric", str(tmp_path / name), "--judge", "j", "t")
        assert result.exit_code != 0
        assert "--rubric" in str(result.exception), result.exception


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("success", 0),
        ("blocked", 3),
        ("max_turns", 2),
        ("max_time", 2),
        ("max_usd", 2),
        ("canceled", 130),
        ("running", 124),
    ],
)
def test_the_exit_code_of_a_loop(state, code):
    assert exit_code({"state": state}) == code


def test_a_loop_in_full():
    told = shown(*STEPS, end="blocked", reason="the same\x07 failure", hint="osrc loop resume {loop}", ended=11.0)
    lines = loop_lines(told)
    assert lines[0] == f"{LOOP}  verify  blocked  1 of 6 laps, 0:00 of 2:00, ~$0.5000 of $2"
    assert "\x1b" not in "".join(lines)
    assert "\x07" not in "".join(lines)
    assert "CHANGED THE CHECK: Makefile" in lines[3]
    assert lines[-1] == f"try: osrc loop resume {LOOP}"
    assert loop_table([told])[1].startswith(LOOP)


def test_what_runs_and_what_is_not_known():
    runs = {"number": 4, "role": "judge", "lap": 2, "model": "j", "job_id": "J2", "began": 5.0}
    told = shown(*STEPS, {**runs, "unknown": 0})
    assert step_line(told["steps"][-1]) == "lap 2 judge by j: runs (osrc watch J2)"
    assert "0:10 of 2:00" in head(told)
    unknown = shown({**runs, "ended": 6.0, "state": "done", "unknown": 2})
    assert "no cash, 2 of unknown cost" in head(unknown)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("working", "runs (osrc session read S -f)"),
        (None, "runs (osrc session read S -f)"),
        ("waiting-approval", "asks you something (osrc session answer S)"),
        ("login", "waits: its session is in state login (osrc session read S)"),
    ],
)
def test_a_turn_of_a_session_says_how_it_is_steered(state, said):
    told = shown(*STEPS, {"number": 4, "role": "build", "lap": 2, "session_id": "S", "began": 5.0})
    told["steps"][-1]["session_state"] = state
    assert step_line(told["steps"][-1]) == f"lap 2 build: {said}"


def test_what_is_said_at_the_end_of_other_shapes():
    steps = [
        {"number": 1, "role": "write", "lap": 1, "job_id": "W", "began": 1.0, "ended": 1.0, "state": "done"},
        {"number": 2, "role": "judge", "lap": 1, "score": 70.0, "began": 1.0, "ended": 1.0, "state": "done"},
    ]
    told = shown(*steps, terms={"shape": "optimize"}, end="blocked", reason="r", ended=2.0)
    assert "best answer: lap 1, score 70: osrc result W" in conclusion(told)
    assert not any("judged by itself" in line for line in conclusion(told))
    for model in ("m-1", "m-2"):
        alike = shown(
            steps[0] | {"model": "m-1"}, steps[1] | {"model": model}, terms={"shape": "optimize"}, end="blocked"
        )
        assert any(line.startswith("judged by itself") for line in conclusion(alike)) is (model == "m-1")
    steps[0] |= {"job_id": None, "session_id": "S"}
    told = shown(*steps, terms={"shape": "optimize"}, end="blocked", reason="r", ended=2.0)
    assert f"best answer: lap 1, score 70: /home/loops/{LOOP}/answer-1.md" in conclusion(told)
    rungs = {"shape": "escalate", "models": ["a", "b", "c"]}
    told = shown(STEPS[1], terms=rungs, end="success", reason="r", ended=2.0)
    assert "never needed: b, c" in conclusion(told)
    found = {"number": 1, "role": "find", "lap": 1, "found": 3, "began": 1.0, "ended": 1.0, "state": "done"}
    told = shown(found, terms={"shape": "sweep"}, end="success", reason="r", ended=2.0)
    assert f"findings: /home/loops/{LOOP}/findings.txt" in conclusion(told)
