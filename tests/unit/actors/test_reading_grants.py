"""Finding and reading skills and servers in a scratch home."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from outsourcerer.actors.grants import GrantError, read_servers, read_skills

CAP = 1 << 20


class Home:
    """A person's home with Claude's own places in it, and a repository."""

    def __init__(self, root: Path) -> None:
        self.home, self.repo = root / "home", root / "repo"
        self.home.mkdir()
        (self.repo / ".git").mkdir(parents=True)
        self.environment = {"HOME": str(self.home)}

    def skill(self, place: str, name: str, body: str = "x") -> Path:
        folder = (self.repo if place.startswith("repo") else self.home / ".claude") / place.removeprefix("repo/") / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(body)
        return folder

    def read(self, *names: str, cwd: Path | None = None, cap: int = CAP) -> dict[str, str]:
        skills = read_skills(names, self.environment, str(cwd or self.repo), cap)
        return {skill.name: skill.files[0].content.decode() for skill in skills}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_nearest_place_wins(home: Home) -> None:
    plugin = "plugins/cache/market/plug"
    home.skill(f"{plugin}/1.9.0/skills", "a", "plugin")
    assert home.read("a") == {"a": "plugin"}
    home.skill("skills", "a", "user")
    assert home.read("a") == {"a": "user"}
    home.skill("repo/.claude/skills", "a", "project")
    assert home.read("a") == {"a": "project"}
    inner = home.repo / "b"
    inner.mkdir()
    assert home.read("a", cwd=inner) == {"a": "project"}
    assert home.read("plug:a") == {"a": "plugin"}


def test_of_a_plugin_the_newest_version_that_really_has_it(home: Home) -> None:
    for version, name in (("1.9.0", "a"), ("1.10.0", "a"), ("1.11.0", "other")):
        home.skill(f"plugins/cache/m/p/{version}/skills", name, version)
    (home.home / ".claude/plugins/cache/m/p/1.12.0/skills/a").mkdir(parents=True)  # an empty shell
    assert home.read("a") == {"a": "1.10.0"}


def test_all_is_all_and_never_none(home: Home) -> None:
    with pytest.raises(GrantError, match="no skills"):
        home.read("all")
    home.skill("skills", "b")
    home.skill("repo/.claude/skills", "a")
    assert list(home.read("all")) == ["a", "b"]


def test_an_unknown_skill_is_refused_with_those_there(home: Home) -> None:
    home.skill("skills", "here")
    with pytest.raises(GrantError, match="no skill gone") as caught:
        home.read("here", "gone")
    assert "here" in (caught.value.refusal.hint or "")


def test_folders_links_and_modes_are_kept(home: Home, tmp_path: Path) -> None:
    real = home.skill("elsewhere", "s")
    (real / "lib").mkdir()
    (real / "lib" / "tool").write_text("#!")
    (real / "lib" / "tool").chmod(0o755)
    (real / "alias").symlink_to("lib/tool")
    (real / ".git").mkdir()
    (home.home / ".claude" / "skills").mkdir()
    (home.home / ".claude" / "skills" / "linked").symlink_to(real)  # the skill itself may be a link
    (skill,) = read_skills(("linked",), home.environment, str(home.repo), CAP)
    found = {file.path: file.executable for file in skill.files}
    assert found == {"SKILL.md": False, "alias": True, "lib/tool": True}


@pytest.mark.parametrize("target", ["/etc/passwd", "../other/SKILL.md", ".."])
def test_a_link_that_leads_out_is_refused(home: Home, target: str) -> None:
    home.skill("skills", "other")
    folder = home.skill("skills", "s")
    (folder / "l").symlink_to(target)
    with pytest.raises(GrantError, match="leads out"):
        home.read("s")


def test_a_link_that_leads_back_and_what_is_no_file_are_refused(home: Home) -> None:
    folder = home.skill("skills", "loop")
    (folder / "l").symlink_to(".")
    with pytest.raises(GrantError, match="leads back"):
        home.read("loop")
    os.mkfifo(home.skill("skills", "pipe") / "p")
    with pytest.raises(GrantError, match="no ordinary file"):
        home.read("pipe")
    (home.skill("skills", "dangling") / "d").symlink_to("nothing")
    with pytest.raises(GrantError, match="can't be read"):
        home.read("dangling")


def test_too_much_is_refused_before_it_is_read(home: Home) -> None:
    with (home.skill("skills", "big") / "b").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(GrantError, match="too large"):
        home.read("big")
    home.skill("skills", "a", "x" * 60)
    home.skill("skills", "b", "x" * 60)
    with pytest.raises(GrantError, match="too large"):
        home.read("a", "b", cap=100)


def test_servers_come_from_claudes_own_file_this_folders_first(home: Home) -> None:
    rows = {
        "mcpServers": {"x": {"command": "global"}, "y": {"command": "y"}},
        "projects": {str(home.repo): {"mcpServers": {"x": {"command": "own"}}}},
    }
    (home.home / ".claude.json").write_text(json.dumps(rows))
    plugin = home.home / ".claude/plugins/cache/m/p/1.0"
    plugin.mkdir(parents=True)
    (plugin / ".mcp.json").write_text(json.dumps({"mcpServers": {"z": {"command": "${CLAUDE_PLUGIN_ROOT}/z"}}}))
    found = {
        server.name: server.config["command"]
        for server in read_servers(("x", "y", "z"), home.environment, str(home.repo))
    }
    assert found == {"x": "own", "y": "y", "z": f"{plugin}/z"}
    with pytest.raises(GrantError, match="no MCP server q") as caught:
        read_servers(("q",), home.environment, str(home.repo))
    assert "x, y, z" in (caught.value.refusal.hint or "")


def test_a_damaged_file_is_said(home: Home) -> None:
    (home.home / ".claude.json").write_text("{")
    with pytest.raises(GrantError, match="can't be read"):
        read_servers(("x",), home.environment, str(home.repo))
