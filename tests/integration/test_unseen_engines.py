"""devin, cursor, hermes and warp through ``osrc``, with fake programs built from public facts in their place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.engine_clis import install
from fakes.lanes import steps
from fakes.supervised import Supervised

ENGINES = pytest.mark.parametrize("lane", ["devin", "cursor", "hermes", "warp"])
DONE = {"mark": "DONE", "text": "all of it"}


class Engines:
    """A scratch home in which the four programs are on PATH."""

    def __init__(self, root: Path) -> None:
        programs = root / "bin"
        install(programs)
        self.log = root / "log.jsonl"
        self.home = Supervised(
            root,
            PATH=f"{programs}:/usr/local/bin:/usr/bin:/bin",
            FAKE_ENGINE_LOG=str(self.log),
            FAKE_ENGINE_ACCOUNT="Logged in as someone",
            CLAUDECODE="1",
            OSRC_FALLBACK="0",
            OSRC_FAILOVER_MAX="0",
        )

    def job(self, lane: str, verb: str, *actions: dict[str, Any], words: tuple[str, ...] = ()) -> dict[str, Any]:
        """Run a job to its end; return it as ``status`` tells it."""
        done = self.home.osrc(verb, "--lane", lane, *words, "--", f"Do it.\n{steps(*actions)}")
        assert b"Traceback" not in done.stderr
        return json.loads(self.home.ok("status", "--all", "--json"))["jobs"][0]

    def calls(self) -> list[dict[str, Any]]:
        """What the programs were given."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(scope="module")
def shared_engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    """Those of all tests in which nothing fails: what does is remembered of its lane."""
    made = Engines(tmp_path_factory.mktemp("engines"))
    yield made
    made.home.close()


@pytest.fixture
def engines(shared_engines: Engines, tmp_path: Path) -> Engines:
    """With an empty log and a work folder of the test's own."""
    shared_engines.log.unlink(missing_ok=True)
    shared_engines.home.work = tmp_path
    return shared_engines


@pytest.fixture
def failing(tmp_path: Path) -> Iterator[Engines]:
    made = Engines(tmp_path)
    yield made
    made.home.close()


@ENGINES
def test_an_answer_signed_done(engines: Engines, lane: str) -> None:
    job = engines.job(lane, "run", {"say": "Here it is."}, DONE)
    assert (job["lane"], job["state"], job["exit"]) == (lane, "done", 0)
    [call] = engines.calls()
    assert "CLAUDECODE" not in call["environ"]
    assert Path(call["cwd"]) == engines.home.work
    assert engines.home.ok("result", job["job_id"]).strip() == "Here it is."


@ENGINES
def test_an_edit_may_write_and_a_run_may_not(engines: Engines, lane: str) -> None:
    path = engines.home.work / "a.txt"
    job = engines.job(lane, "edit", {"write": str(path), "content": "a"}, {"say": "Written."}, DONE)
    assert (job["state"], path.read_text()) == ("done", "a")
    other = engines.home.work / "b.txt"
    job = engines.job(lane, "run", {"write": str(other), "content": "b"}, {"say": "Tried."}, DONE)
    # Oz has no read-only mode: there our own wall holds it, or the comparison afterwards finds it.
    assert not other.exists() or (lane == "warp" and job["state"] == "failed")
    assert "b.txt" in (job["note"] or "") + (job["reason"] or "") or not other.exists()


@ENGINES
def test_a_prompt_too_long_for_a_command_line_arrives_whole(engines: Engines, lane: str) -> None:
    filler = "\n".join(f"line {number}" for number in range(20_000))
    job = engines.job(lane, "run", {"say": "Read."}, DONE)
    assert job["state"] == "done"
    task = engines.home.scratch / "task.md"
    task.write_text(f"{filler}\n{steps({'say': 'Read it all.'}, DONE)}")
    done = engines.home.osrc("run", "--lane", lane, "--task-file", str(task))
    assert done.returncode == 0, done.stderr
    assert b"Read it all." in done.stdout
    last = engines.calls()[-1]
    assert all(len(item) < 20_000 for item in last["argv"])


@pytest.mark.parametrize(
    ("lane", "words", "outcome"),
    [
        ("devin", "Error: weekly plan quota exhausted, resets in 11h26m", "plan-limit"),
        ("cursor", "You've hit your usage limit. Your usage limits will reset on 12/1", "plan-limit"),
        ("cursor", "Error: Authentication required. Please run 'agent login' first", "auth"),
        ("warp", "error: QuotaLimit", "plan-limit"),
        ("warp", "message token limit reached", "exit-nonzero"),
        ("hermes", "HTTP 401 Unauthorized", "auth"),
        ("hermes", "I could not find the page about limits", "exit-nonzero"),
    ],
)
def test_a_failure_has_its_kind(failing: Engines, lane: str, words: str, outcome: str) -> None:
    job = failing.job(lane, "run", {"fail": 2, "err": words})
    assert (job["state"], job["outcome"]) == ("failed", outcome)


def test_what_each_verb_becomes(engines: Engines) -> None:
    for lane in ("devin", "cursor", "hermes", "warp"):
        for verb in ("run", "edit", "yolo"):
            engines.job(lane, verb, DONE)
    for lane in ("devin", "cursor"):
        engines.job(lane, "research", DONE)
    words = [
        " ".join([call["name"], *(item for item in call["argv"] if item.startswith("-"))]) for call in engines.calls()
    ]
    assert [line.partition(" ")[0] for line in words] == [
        *["devin"] * 3, *["cursor-agent"] * 3, *["hermes"] * 3, *["oz"] * 3, "devin", "cursor-agent",
    ]  # fmt: skip
    modes = [
        call["argv"][call["argv"].index("--permission-mode") + 1] for call in engines.calls() if call["name"] == "devin"
    ]
    assert modes == ["auto", "accept-edits", "dangerous", "autonomous"]
    assert ["--yolo" in line for line in words[6:9]] == [False, True, True]
    assert ["--force" in line for line in words[3:6]] == [False, True, True]
    assert "--sandbox" in words[12]
    for lane in ("hermes", "warp"):
        done = engines.home.osrc("research", "--lane", lane, "--json", "x")
        error = json.loads(done.stdout)["error"]
        assert error["code"] == "verb_unsupported"
        assert "codex" in error["message"] + error["hint"]


def test_effort_and_model_are_told(engines: Engines) -> None:
    engines.job("devin", "run", DONE, words=("-m", "deepseek", "--effort", "max"))
    assert "deepseek-v4-pro-max" in engines.calls()[0]["argv"]
    done = engines.home.osrc("run", "--lane", "warp", "-m", "kimi", "--effort", "high", "--", "x")
    assert b"only as words in the prompt" in done.stderr
    assert "kimi-k3" in engines.calls()[1]["argv"]


def test_cursors_stream_tells_tokens_tools_and_the_conversation(engines: Engines) -> None:
    path = engines.home.work / "a.txt"
    job = engines.job("cursor", "edit", {"write": str(path), "content": "a"}, {"say": "Written."}, DONE)
    assert job["progress"]["writes"] == 1
    assert (job["cost"]["tokens"]["input"], job["cost"]["tokens"]["cached_input"]) == (1234, 200)
    assert (job["cost"]["kind"], job["cost"]["plan"]) == ("plan", "Cursor")


def test_lanes_say_that_they_were_never_run_with_the_real_program(engines: Engines) -> None:
    for lane in ("devin", "cursor", "hermes", "warp"):
        shown = engines.home.ok("lanes", "show", lane)
        assert "never run with the real program" in shown
        row = json.loads(engines.home.ok("lanes", "show", lane, "--json"))
        assert row["tested_versions"] == []
        assert row["ready"] == ("installed" if lane == "hermes" else "signed-in")
    row = json.loads(engines.home.ok("lanes", "show", "devin", "--json", FAKE_ENGINE_ACCOUNT="Not logged in"))
    assert (row["ready"], row["fix"]) == ("installed", "devin auth login")
