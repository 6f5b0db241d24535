"""Parity on files: everything twice, then back to the byte; what is the person's is never lost, whoever changes what."""

import json
import os
import tomllib
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.parity import survey, wanted_of
from outsourcerer.actors.parity_apply import carry_out, undo
from outsourcerer.lanes.parity.hosts import HOST_TOOLS, folder_of
from outsourcerer.lanes.parity.servers import Local
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home
from outsourcerer.state.parity_receipt import FILE, alone, read_receipt, save_receipt

BRIDGE = Local("outsourcerer", "/bin/osrc", ("mcp",))
FILES = {
    "devin": ("config.json", b'{"theme":"dark"}'),
    "antigravity": ("config/mcp_config.json", b""),
    "hermes": ("config.yaml", b"model:\n  default: x"),
    "codex": ("config.toml", b'model = "gpt"\n[mcp_servers.mine]\ncommand = "theirs"'),
    "gemini": ("settings.json", b'{\n  "a": 1,\n  "mcpServers": {"plain": {"command": "theirs"}}}\n'),
    "qwen": ("settings.json", b"{}"),
    "opencode": ("opencode.json", b'{"$schema": "x"}'),
    "cursor": ("mcp.json", b'{"mcpServers": {}}'),
    "droid": ("mcp.json", b'\n{"mcpServers": {"a": {"url": "https://x"}}}'),
    "copilot": ("mcp-config.json", b'{"mcpServers":{"x":{"command":"y"}}}'),
    "cline": ("data/settings/cline_mcp_settings.json", b'{"mcpServers":{}}'),
}


def leads(path: Path) -> str:
    return str(path.readlink())


def skill(folder: Path, words: str = "# skill") -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(words)


class World:
    """A user's home with Claude Code's things and some tools in it."""

    def __init__(self, root: Path) -> None:
        self.user = root / "user"
        self.home = Home(root / "osrc")
        self.environment = {"HOME": str(self.user)}
        claude = self.user / ".claude"
        skill(claude / "skills" / "mine")
        skill(claude / "skills" / "taken")
        cache = claude / "plugins" / "cache" / "market" / "tools"
        skill(cache / "1.9.0" / "skills" / "plug")
        skill(cache / "1.10.0" / "skills" / "plug")
        (cache / "1.11.0").mkdir()
        servers = {
            "plain": {"command": "/bin/plain", "args": ["a b", 'q"uote'], "env": {"LEVEL": "3"}},
            "keyed": {"command": "keyed", "env": {"KEYED_TOKEN": "hunter2"}},
            "cloud": {"type": "http", "url": "https://x"},
        }
        (self.user / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
        self.ours = self.user / "program" / "outsourcerer"
        skill(self.ours)

    def folder(self, host: str) -> Path:
        return Path(folder_of(HOST_TOOLS[host], self.environment) or "/nowhere")

    def furnish(self, host: str) -> None:
        name, content = FILES[host]
        path = self.folder(host) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        tool = HOST_TOOLS[host]
        for below in tool.skills:
            place = self.folder(host) / below
            skill(place / "taken", "theirs")
            (place / "plug").symlink_to("/nowhere/at/all")
            (place / "stray").symlink_to(self.user / ".claude" / "skills" / "gone")
            (place / "other").symlink_to("/nowhere/else")
        if tool.instructions:
            (self.folder(host) / tool.instructions).write_text("Be kind.")

    def wanted(self):
        made, problems = wanted_of(self.environment, lambda text: "hunter" in text, BRIDGE, self.ours, "Say it.")
        assert problems == []
        return made

    def plans(self, *hosts: str):
        names = hosts or tuple(HOST_TOOLS)
        return survey(names, self.wanted(), self.environment, read_receipt(self.home), named=bool(hosts))

    def apply(self, *hosts: str) -> int:
        with alone(self.home):
            receipt = read_receipt(self.home)
            names = hosts or tuple(HOST_TOOLS)
            found = survey(names, self.wanted(), self.environment, receipt, named=bool(hosts))
            assert carry_out(found, receipt, partial(save_receipt, self.home)) == []
        return sum(len(one.plan.actions) for one in found if one.plan)

    def undo(self, *hosts: str) -> list[str]:
        with alone(self.home):
            receipt = read_receipt(self.home)
            return undo(receipt, hosts or tuple(receipt.hosts), partial(save_receipt, self.home))[1]

    def picture(self) -> dict[str, object]:
        """Every path below the user's home: what it is and holds."""
        found: dict[str, object] = {}
        for path in sorted(self.user.rglob("*")):
            name = str(path.relative_to(self.user))
            if path.is_symlink():
                found[name] = ("link", leads(path))
            elif path.is_dir():
                found[name] = "folder"
            else:
                found[name] = (path.read_bytes(), path.stat().st_mode)
        return found


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.mark.parametrize("furnished", [True, False])
def test_twice_and_back_to_the_byte_for_every_tool(world, furnished):
    for host in HOST_TOOLS:
        if furnished:
            world.furnish(host)
    before = world.picture()
    assert world.apply(*HOST_TOOLS) > 3 * len(HOST_TOOLS)
    done = world.picture()
    assert b"hunter2" not in b"".join(
        row[0] for name, row in done.items() if name != ".claude.json" and isinstance(row[0], bytes)
    )
    assert world.apply(*HOST_TOOLS) == 0
    assert world.picture() == done
    assert world.undo() == []
    assert world.picture() == before
    assert not (world.home.root / FILE).exists()
    assert world.undo() == []


def test_what_each_tool_gets(world):
    for host in HOST_TOOLS:
        world.furnish(host)
    world.apply()
    newest = str(world.user / ".claude/plugins/cache/market/tools/1.10.0/skills/plug")
    for host, tool in HOST_TOOLS.items():
        for below in tool.skills:
            place = world.folder(host) / below
            assert leads(place / "plug") == newest, "a dead link is repaired, to the newest that has it"
            assert leads(place / "outsourcerer") == str(world.ours)
            assert (place / "taken" / "SKILL.md").read_text() == "theirs"
            assert (place / "mine").is_symlink() is not tool.reads_claude
            assert not (place / "stray").is_symlink(), "a dead link into Claude's folder is of no use"
            assert (place / "other").is_symlink(), "any other dead link is the person's"
    codex = tomllib.loads((world.folder("codex") / "config.toml").read_text())["mcp_servers"]
    assert codex["mine"] == {"command": "theirs"}
    assert codex["plain"] == {"command": "/bin/plain", "args": ["a b", 'q"uote'], "env": {"LEVEL": "3"}}
    assert codex["keyed"] == {"command": "keyed", "args": [], "env_vars": ["KEYED_TOKEN"]}
    gemini = json.loads((world.folder("gemini") / "settings.json").read_text())["mcpServers"]
    assert gemini["plain"] == {"command": "theirs"}
    assert gemini["keyed"]["env"] == {"KEYED_TOKEN": "${KEYED_TOKEN}"}
    devin = json.loads((world.folder("devin") / "config.json").read_text())["mcpServers"]
    assert set(devin) == {"plain", "outsourcerer"}
    opencode = json.loads((world.folder("opencode") / "opencode.json").read_text())["mcp"]
    assert opencode["outsourcerer"] == {"type": "local", "command": ["/bin/osrc", "mcp"], "enabled": True}
    assert (world.folder("droid") / "AGENTS.md").read_text().startswith("Be kind.\n\n<!-- begin")


def test_a_note_says_what_was_left_out_and_why(world):
    world.furnish("devin")
    (one,) = world.plans("devin")
    said = "\n".join(one.plan.notes)
    for words in ("taken is a folder of your own", "cloud was left out", "keyed was left out: it needs KEYED_TOKEN"):
        assert words in said


def test_only_what_is_here_unless_it_is_named(world):
    world.furnish("droid")
    assert [one.tool.name for one in world.plans() if one.plan] == ["droid"]
    assert [one.tool.name for one in world.plans("cursor") if one.plan] == ["cursor"]


def test_what_the_person_changed_since_is_kept(world):
    for host in ("cursor", "codex", "droid"):
        world.furnish(host)
    world.apply()
    cursor = world.folder("cursor") / "mcp.json"
    changed = json.loads(cursor.read_text())
    changed["mcpServers"]["theirs"] = {"command": "new"}
    cursor.write_text(json.dumps(changed))
    config = world.folder("codex") / "config.toml"
    config.write_text("top = 1\n" + config.read_text())
    notes = world.folder("droid") / "AGENTS.md"
    notes.write_text(notes.read_text() + "\nMore of mine.\n")
    link = world.folder("droid") / "skills" / "plug"
    link.unlink()
    skill(link, "mine now")
    world.apply()
    assert world.undo() == []
    assert json.loads(cursor.read_text()) == {"mcpServers": {"theirs": {"command": "new"}}}
    assert tomllib.loads(config.read_text()) == {
        "top": 1,
        "model": "gpt",
        "mcp_servers": {"mine": {"command": "theirs"}},
    }
    assert "More of mine." in notes.read_text()
    assert "outsourcerer" not in notes.read_text()
    assert (link / "SKILL.md").read_text() == "mine now"


def test_a_server_that_was_put_between_our_marks_is_not_lost(world):
    world.furnish("codex")
    world.apply("codex")
    config = world.folder("codex") / "config.toml"
    text = config.read_text().replace("# end outsourcerer", '[mcp_servers.late]\ncommand = "l"\n# end outsourcerer')
    config.write_text(text)
    assert any("between the marks" in line for line in world.undo("codex"))
    assert "late" in config.read_text()
    assert read_receipt(world.home).hosts


def test_a_newer_version_takes_the_link_over_and_a_lost_skill_takes_it_away(world):
    world.furnish("hermes")
    before = world.picture()
    world.apply()
    cache = world.user / ".claude" / "plugins" / "cache" / "market" / "tools"
    skill(cache / "2.0.0" / "skills" / "plug")
    assert world.apply() == 1
    assert leads(world.folder("hermes") / "skills" / "plug").endswith("2.0.0/skills/plug")
    for version in ("1.9.0", "1.10.0", "2.0.0"):
        (cache / version / "skills").rename(cache / version / "nothing")
    world.apply()
    assert not (world.folder("hermes") / "skills" / "plug").is_symlink()
    world.undo()
    after = world.picture()
    assert {name: row for name, row in after.items() if name.startswith(".hermes")} == {
        name: row for name, row in before.items() if name.startswith(".hermes")
    }


def test_odd_files_are_left_alone(world):
    for host in ("cursor", "codex", "droid", "copilot"):
        world.furnish(host)
    cursor = world.folder("cursor") / "mcp.json"
    cursor.unlink()
    os.mkfifo(cursor)
    codex = world.folder("codex") / "config.toml"
    codex.unlink()
    codex.symlink_to("/nowhere/config.toml")
    (world.folder("droid") / "mcp.json").write_bytes(b"{} // why not")
    real = world.user / "dotfiles.json"
    copilot = world.folder("copilot") / "mcp-config.json"
    copilot.rename(real)
    copilot.symlink_to(real)
    real.chmod(0o640)
    world.apply()
    said = "\n".join(note for one in world.plans() if one.plan for note in one.plan.notes)
    assert said.count("left alone") == 3
    assert copilot.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "outsourcerer" in real.read_text()


def test_killed_between_receipt_and_deed_it_is_taken_back_too(world):
    world.furnish("codex")
    before = world.picture()

    class KilledError(Exception):
        pass

    def save(receipt):
        save_receipt(world.home, receipt)
        raise KilledError

    with pytest.raises(KilledError):
        carry_out(world.plans("codex"), read_receipt(world.home), save)
    assert world.undo() == []
    assert world.picture() == before
    with pytest.raises(KilledError):
        carry_out(world.plans("codex"), read_receipt(world.home), save)
    assert world.apply("codex") > 0
    assert world.undo() == []
    assert world.picture() == before


def test_a_skills_folder_that_is_claude_s_own_is_left_alone(world):
    place = world.folder("qwen")
    place.mkdir()
    (place / "skills").symlink_to(world.user / ".claude" / "skills")
    before = world.picture()
    world.apply("qwen")
    assert {name for name in world.picture() if name.startswith(".claude/")} == {
        name for name in before if name.startswith(".claude/")
    }


def test_two_at_once_and_a_receipt_that_is_none(world):
    with alone(world.home), pytest.raises(StateError, match="another"), alone(world.home):
        pass
    for words in (b"{", b'{"version": 2, "hosts": {}}', b'{"version": 1, "hosts": {"x": 3}}', b"[]"):
        (world.home.root / FILE).write_bytes(words)
        with pytest.raises(StateError, match="receipt"):
            read_receipt(world.home)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(["apply", "undo", "newer", "edit", "furnish"]), max_size=7),
    st.sampled_from(sorted(HOST_TOOLS)),
)
def test_whatever_was_done_in_between_an_undo_leaves_none_of_ours(tmp_path_factory, steps, host):
    world = World(tmp_path_factory.mktemp("world"))
    version = 2
    for step in steps:
        if step == "apply":
            world.apply(host)
            assert world.apply(host) == 0
        elif step == "undo":
            assert world.undo() == []
        elif step == "newer":
            version += 1
            skill(world.user / f".claude/plugins/cache/market/tools/{version}.0/skills/plug")
        elif step == "edit" and (path := world.folder(host) / FILES[host][0]).exists() and path.suffix == ".json":
            value = json.loads(path.read_text() or "{}")
            value[f"theirs{len(value)}"] = 1
            path.write_text(json.dumps(value))
        elif step == "furnish" and not world.folder(host).exists():
            world.furnish(host)
    assert world.undo() == []
    left = {name: row for name, row in world.picture().items() if not name.startswith((".claude", "program"))}
    assert not any("outsourcerer" in name or "outsourcerer" in str(row) for name, row in left.items())
