"""``--with`` on the real Claude Code and on a local model: what was granted arrives, and nothing else."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.real_clis import CLAUDE_MODEL, World

pytestmark = pytest.mark.e2e

ANSWER = {"text": "Done.", "mark": "DONE"}
SERVER = Path(__file__).parents[1] / "fakes" / "fake_mcp_server.py"


@pytest.fixture
def owned(make_world: Callable[[list[dict[str, Any]]], World]) -> World:
    """A person with two skills and two servers of their own."""
    world = make_world([ANSWER])
    home = world.root / "home"
    for name in ("tidy", "other"):
        folder = home / ".claude" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\ndescription: About {name}.\n---\nThe secret word of {name}.\n")
    row = {"command": sys.executable, "args": ["-I", str(SERVER)]}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"greeter": row, "unasked": row}}))
    return world


def started(world: World) -> dict[str, Any]:
    """What Claude Code says of itself when it starts."""
    (out,) = world.osrc_home.glob("jobs/*/out.log")
    return next(json.loads(line) for line in out.read_text().splitlines() if '"subtype":"init"' in line)


def test_a_skill_is_copied_and_named(owned: World) -> None:
    job, done = owned.job("run", "--lane", "claude", "-m", CLAUDE_MODEL, "--with", "skills=tidy", "Do it.")
    assert (job["state"], done.returncode) == ("done", 0), done.stderr
    folder = Path(job["log_path"]).parent
    assert (folder / "skills" / "tidy" / "SKILL.md").stat().st_mode & 0o777 == 0o600
    assert not (folder / "skills" / "other").exists()
    assert f"{folder}/skills/tidy/SKILL.md (About tidy.)" in owned.server.main_requests[0].text
    assert "with skills tidy" in done.stderr


def test_a_server_is_started_and_no_other(owned: World) -> None:
    job, done = owned.job("run", "--lane", "claude", "-m", CLAUDE_MODEL, "--with", "mcp=greeter", "Do it.")
    assert (job["state"], done.returncode) == ("done", 0), done.stderr
    assert [server["name"] for server in started(owned)["mcp_servers"]] == ["greeter"]
    assert list(owned.osrc_home.glob("jobs/*/mcp.json")) == []  # it may hold keys: gone with the job


def test_without_a_grant_nothing_of_the_person_reaches_it(owned: World) -> None:
    job, _done = owned.job("run", "--lane", "claude", "-m", CLAUDE_MODEL, "Do it.")
    assert job["state"] == "done"
    assert started(owned)["mcp_servers"] == []
    assert "secret word" not in owned.server.main_requests[0].text


def test_a_local_model_gets_skills_as_text(owned: World) -> None:
    job, done = owned.job("run", "-m", "local", "--with", "skills=all", "Do it.", OSRC_LOCAL_URL=owned.server.url)
    assert (job["state"], done.returncode) == ("done", 0), done.stderr
    assert "The secret word of tidy." in owned.server.main_requests[0].text
    assert "The secret word of other." in owned.server.main_requests[0].text


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--lane", "claude", "--with", "skills=gone"), 1),
        (("--lane", "claude", "--with", "mcp=gone"), 1),
        (("-m", "local", "--with", "mcp=greeter"), 1),
        (("--lane", "claude", "--with", "tools=x"), 64),
        (("--lane", "claude", "--with", "skills="), 64),
    ],
)
def test_what_can_not_be_given_never_dispatches(owned: World, words: tuple[str, ...], code: int) -> None:
    done = owned.osrc("run", *words, "Do it.", OSRC_LOCAL_URL=owned.server.url)
    assert done.returncode == code
    assert list(owned.osrc_home.glob("jobs/*")) == []
    assert owned.server.main_requests == []
