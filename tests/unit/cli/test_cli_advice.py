"""``osrc advise``, ``mode`` and ``outcome`` as a person meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.model_server import ModelServer
from fakes.osrc_process import osrc, parsed, shown

NOWHERE = {"PATH": "/nowhere", "OSRC_LOCAL_URL": "http://127.0.0.1:9/v1"}


def test_advice_comes_with_nothing_here_and_starts_nothing(tmp_path: Path) -> None:
    home = tmp_path / "osrc"
    done = osrc(home, "advise", "--json", "--effort", "high", "fix the crash in src/parser.py", **NOWHERE)
    view = parsed(done)
    assert done.returncode == 0
    assert (view["category"], view["recommendation"]) == ("code", None)
    assert view["degraded"]
    assert view["effort"] == "high"
    assert not (home / "supervisor.json").exists()


def test_the_words_for_people(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    devin = tmp_path / "bin" / "devin"
    devin.write_text("#!/bin/sh\nexit 1\n")
    devin.chmod(0o755)
    done = osrc(
        tmp_path / "osrc", "advise", "-", stdin=b"prove that \xe2\x88\x9a2 is irrational", PATH=str(devin.parent)
    )
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("task: reasoning"), shown(done)
    assert any(line.startswith(">> ") and " on devin " in line for line in lines)
    assert lines[-1].startswith("run with: osrc run --lane devin -m ")


@pytest.mark.parametrize(
    "words", [["advise"], ["advise", "   "], ["advise", "--effort", "huge", "x"], ["mode", "wild"]]
)
def test_bad_words_are_refused(tmp_path: Path, words: list[str]) -> None:
    done = osrc(tmp_path / "osrc", *words, **NOWHERE)
    assert done.returncode != 0
    assert done.stderr.startswith(b"ERROR: ")
    assert b"Traceback" not in done.stderr


def test_a_refresh_that_can_not_be_had_is_said_and_advice_comes(tmp_path: Path) -> None:
    done = osrc(
        tmp_path / "osrc",
        "advise",
        "--json",
        "--refresh",
        "fix it",
        OSRC_OPENROUTER_URL="http://127.0.0.1:9",
        **NOWHERE,
    )
    view = parsed(done)
    assert done.returncode == 0, shown(done)
    assert len(view["problems"]) == 2
    assert any("OPENROUTER_API_KEY" in problem for problem in view["problems"])


def test_a_refresh_fetches_prices_and_scores_and_advice_goes_by_them(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    claude = tmp_path / "bin" / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.332 (Claude Code)'\n")
    claude.chmod(0o755)
    price = {"prompt": "0.0000001", "completion": "0.0000002"}
    score = {"intelligence_index": 97.0, "coding_index": 97.0, "agentic_index": 97.0}
    terms = {
        "PATH": str(claude.parent),
        "OPENROUTER_API_KEY": "sk-or-v1-scratch",
        "OSRC_LOCAL_URL": "http://127.0.0.1:9/v1",
    }
    with ModelServer([]) as server:
        server.catalogue = {"data": [{"id": "z-ai/glm-5.2", "context_length": 200000, "pricing": price}]}
        server.benchmarks = {"data": [{"model_permaslug": "z-ai/glm-5.2", **score}]}
        terms["OSRC_OPENROUTER_URL"] = server.url
        view = parsed(
            osrc(tmp_path / "osrc", "advise", "--json", "--refresh", "fix the crash in src/parser.py", **terms)
        )
        asked = {request.path.partition("?")[0]: request.headers.get("authorization") for request in server.requests}
    assert view["problems"] == []
    assert asked["/v1/benchmarks"] == "Bearer sk-or-v1-scratch"
    assert asked["/v1/models"] is None
    measured = [row for row in view["shortlist"] if row["measured"]]
    assert {row["score"] for row in measured} == {97.0}, view["shortlist"]
    assert all("glm-5.2" in row["model"] and row["meets"] for row in measured)
    kept = parsed(osrc(tmp_path / "osrc", "advise", "--json", "fix the crash in src/parser.py", **terms))
    assert kept["shortlist"] == view["shortlist"], "what was fetched is kept"


def test_a_mode_is_said_set_and_forgotten(tmp_path: Path) -> None:
    home = tmp_path / "osrc"
    assert parsed(osrc(home, "mode", "--json", **NOWHERE))["mode"] is None
    assert not home.exists(), "asking makes nothing"
    assert parsed(osrc(home, "mode", "C", "--json", **NOWHERE))["mode"] == "hybrid"
    assert osrc(home, "mode", **NOWHERE).stdout.startswith(b"hybrid (C): ")
    assert parsed(osrc(home, "mode", "reset", "--json", **NOWHERE)) == {
        "schema_version": "1",
        "mode": None,
        "letter": None,
        "path": str(home / "mode"),
        "note": None,
    }


def test_an_outcome_of_a_job_that_is_none_is_refused(tmp_path: Path) -> None:
    done = osrc(tmp_path / "osrc", "--no-daemon", "outcome", "--json", "nope", "passed")
    assert done.returncode == 1, shown(done)
    assert json.loads(done.stdout)["error"]["code"] == "no_such_job"
