"""The plugin and its skill: only words that exist, manifests that fit, hooks that can't break a session."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import outsourcerer
import outsourcerer.cli.commands.hook as hooks
import pytest
from fakes.osrc_process import environment
from outsourcerer.cli.app import cli
from outsourcerer.cli.commands.hook import BOUND_S, CHARS
from outsourcerer.cli.main import run
from outsourcerer.cli.options import Globals
from outsourcerer.cli.plugin_place import launcher, plugin_root, skill_folder
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.identity import identify

ROOT = Path(outsourcerer.__path__[0])
SKILL = Path(skill_folder())
PAGES = [SKILL / "SKILL.md", *sorted((SKILL / "references").glob("*.md"))]
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


def command_lines(text: str) -> list[str]:
    """Every ``osrc ...`` in code: lines of fenced blocks, and inline ones."""
    lines = [line for _, body in _FENCED.findall(text) for line in body.splitlines()]
    lines += re.findall(r"`([^`\n]+)`", _FENCED.sub("", text))
    return [line for line in lines if re.match(r"osrc [a-z]", line)]


def parse(line: str) -> click.Command:
    """Parse one line as the program does, down to the last option; nothing runs. Raises click's errors."""
    number = {"N": "1", "GID": "fanout-20300101-000000-000000000001"}
    words = [number.get(word, word) for word in shlex.split(line, comments=True)[1:]]
    context = click.Context(cli, info_name="osrc", obj=Globals())
    command: click.Command = cli
    while isinstance(command, click.Group):
        if command is not cli and words and words[0].startswith("-"):  # a group that takes tasks after --
            before = words[: words.index("--")] if "--" in words else words
            command.make_parser(context).parse_args(list(before))
            return command
        if not words and command.invoke_without_command:
            return command
        name, found, words = command.resolve_command(context, words)
        assert found is not None, line
        command = found
        if not isinstance(command, click.Group):
            command.make_context(name, list(words), parent=context)
    return command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_in_the_skill_is_one(page: Path) -> None:
    lines = command_lines(page.read_text(encoding="utf-8"))
    assert lines, "a page without commands teaches nothing"
    for line in lines:
        try:
            parse(line)
        except click.ClickException as error:
            pytest.fail(f"{line}: {error.format_message()}")


@pytest.mark.parametrize(
    "line", ["osrc nothing", "osrc status --nothing", "osrc session start --transport x", "osrc session fly a"]
)
def test_the_check_bites(line: str) -> None:
    with pytest.raises(click.ClickException):
        parse(line)


def test_the_skill_is_short_and_its_pages_are_found() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    assert len(text.splitlines()) < 250
    links = {link for page in PAGES for link in _LINK.findall(page.read_text(encoding="utf-8"))}
    assert {link for link in links if not (SKILL / link).exists()} == set()
    assert links == {f"references/{page.name}" for page in PAGES[1:]}
    front = text.split("---\n")[1]
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields["name"] == SKILL.name
    assert 50 < len(fields["description"]) <= 1024


def test_every_state_has_its_line() -> None:
    text = (SKILL / "references" / "watching.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    assert rows == {state.value for state in JobState}


def test_the_manifests_fit() -> None:
    plugin = json.loads((Path(plugin_root()) / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))
    assert plugin["version"] == outsourcerer.__version__
    (entry,) = market["plugins"]
    assert (ROOT / entry["source"]).resolve() == Path(plugin_root()).resolve()
    assert (entry["name"], entry["description"]) == (plugin["name"], plugin["description"])


def test_the_hooks_run_the_entry_point_in_bounded_time() -> None:
    hooks = json.loads((Path(plugin_root()) / "hooks" / "hooks.json").read_text(encoding="utf-8"))["hooks"]
    assert set(hooks) == {"SessionStart", "Stop"}
    for rows in hooks.values():
        (row,) = rows[0]["hooks"]
        program, script, command, event = shlex.split(row["command"])
        assert (program, command) == ("sh", "hook")
        assert script.replace("${CLAUDE_PLUGIN_ROOT}", plugin_root()) == launcher()
        parse(f"osrc hook {event}")
        assert BOUND_S < row["timeout"] <= 15


# --- hooks


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OUTSOURCERER_DEPTH", "OSRC_DEPTH", "OSRC_UNWATCHED_AFTER", "OSRC_BLIND_TURN_GUARD", "OSRC_LAUNCHER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hooks, "BOUND_S", 600.0)  # it would end this very process
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


def hook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], event: str, told: bytes = b"{}") -> str:
    """Run a hook; it must exit 0 and say nothing to stderr. Returns its stdout."""
    stdin = SimpleNamespace(buffer=io.BytesIO(told), isatty=lambda: False, closed=False)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert run(["hook", event]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out


def leave(home: Path, *rows: Any) -> None:
    """Have a supervisor, this very process, say which jobs run and when each was looked at."""
    (home / "unwatched.json").write_text(json.dumps({"at": 0.0, "by": identify(os.getpid()), "jobs": rows}))


def test_a_session_starts_with_a_glance(home: Path, monkeypatch, capsys) -> None:
    said = hook(monkeypatch, capsys, "session-start")
    assert "mode       : not chosen" in said
    assert launcher() in said
    assert len(said) <= CHARS + 1
    monkeypatch.setenv("OUTSOURCERER_DEPTH", "1")
    assert hook(monkeypatch, capsys, "session-start") == ""  # a delegate leads nobody


def test_the_end_of_a_turn_names_what_nobody_watches(home: Path, monkeypatch, capsys) -> None:
    leave(home, {"job_id": "j1", "label": "docs\x1b[31m", "since": 1.0})
    told = json.loads(hook(monkeypatch, capsys, "stop"))["hookSpecificOutput"]
    assert told["hookEventName"] == "Stop"
    assert "1 job runs that nobody has looked at: j1 (docs, " in told["additionalContext"]
    assert "\x1b" not in told["additionalContext"]
    assert hook(monkeypatch, capsys, "stop", b'{"stop_hook_active": true}') == ""
    for name, value in (("OSRC_BLIND_TURN_GUARD", "0"), ("OSRC_UNWATCHED_AFTER", "0"), ("OSRC_DEPTH", "2")):
        with monkeypatch.context() as set_:
            set_.setenv(name, value)
            assert hook(monkeypatch, capsys, "stop") == "", name


@pytest.mark.parametrize(
    "hint",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"jobs": 1}',
        b'{"jobs": [1, {"since": "x"}, {"since": true}]}',
        b"\xff",
        b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("told", [b"", b"[]", b"\xff\xfe", b"x" * 2_000_000])
def test_nothing_odd_makes_a_hook_fail(home: Path, monkeypatch, capsys, hint: bytes | None, told: bytes) -> None:
    if hint is not None:
        (home / "unwatched.json").write_bytes(hint)
    assert hook(monkeypatch, capsys, "stop", told) == ""


def test_neither_a_broken_home_nor_settings_make_a_hook_fail(home: Path, monkeypatch, capsys) -> None:
    (home / "state.db").write_bytes(b"no database")
    monkeypatch.setenv("OSRC_UNWATCHED_AFTER", "soon")
    for event in ("session-start", "stop"):
        hook(monkeypatch, capsys, event)
    monkeypatch.setenv("OSRC_HOME", "/dev/null/home")
    for event in ("session-start", "stop"):
        hook(monkeypatch, capsys, event)


def test_a_hook_leaves_though_its_host_never_says_anything(home: Path) -> None:
    program = (
        "import sys, outsourcerer.cli.commands.hook as hooks; hooks.BOUND_S = 0.2; "
        "from outsourcerer.cli.main import run; sys.exit(run(['hook', 'stop']) + 9)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, env=environment(home))
    try:
        assert process.wait(60) == 0  # by the guard: its end by itself would be 9
    finally:
        process.kill()
        process.communicate()


def test_a_pipe_in_place_of_the_list_is_not_waited_for(home: Path, monkeypatch, capsys) -> None:
    os.mkfifo(home / "unwatched.json")
    assert hook(monkeypatch, capsys, "stop") == ""


def test_many_are_named_shortly(home: Path, monkeypatch, capsys) -> None:
    leave(home, *({"job_id": f"j{number}", "label": "x" * 500, "since": 0.0} for number in range(50)))
    told = json.loads(hook(monkeypatch, capsys, "stop"))["hookSpecificOutput"]["additionalContext"]
    assert told.startswith("50 jobs run")
    assert len(told) < 500


# --- osrc skill


def test_the_skill_is_linked_once_and_nothing_real_is_replaced(home: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    link = tmp_path / ".claude" / "skills" / "outsourcerer"
    assert run(["skill", "install", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] is True
    assert (link / "SKILL.md").read_text(encoding="utf-8") == PAGES[0].read_text(encoding="utf-8")
    assert run(["skill", "install", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] is False
    link.unlink()
    link.symlink_to(tmp_path / "gone")
    assert run(["skill", "install"]) == 0
    assert link.resolve() == SKILL.resolve()
    link.unlink()
    link.mkdir()
    (link / "mine").touch()
    assert run(["skill", "install"]) == 1
    assert "is not replaced" in capsys.readouterr().err
    assert [entry.name for entry in link.parent.iterdir()] == ["outsourcerer"]
    assert (link / "mine").exists()
    assert run(["skill", "path"]) == 0
    assert capsys.readouterr().out == f"{SKILL}\n"
    assert run(["skill", "path", "--plugin"]) == 0
    assert capsys.readouterr().out == f"{plugin_root()}\n"
