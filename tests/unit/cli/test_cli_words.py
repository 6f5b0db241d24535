"""Words on the command line: help everywhere, typos, options anywhere before ``--``, errors as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import click
import outsourcerer
import pytest
from fakes.fake_gateway import FakeGateway, job, job_id
from fakes.osrc_process import osrc, parsed, shown
from outsourcerer.cli.app import cli
from outsourcerer.cli.main import run
from outsourcerer.cli.table import COMMANDS, FAMILIES


def leaves(command: click.Command = cli, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found += leaves(inner, (*path, name))
    return found


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("OSRC_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OSRC_DEBUG", raising=False)
    return folder


@pytest.mark.parametrize("path", leaves(), ids=" ".join)
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_of_every_command(
    path: tuple[str, ...],
    flag: str,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*path, flag]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"Usage: {' '.join(('osrc', *path))}")
    assert "--no-daemon" in said.out
    assert [line for line in said.out.splitlines() if len(line) > 80] == []
    assert " RANGE" not in said.out
    assert "\\" not in said.out
    assert "...\n" not in said.out.partition("\nCommands:")[2], "a sentence is cut off"
    assert said.err == ""
    assert not home.exists()


def test_help_is_grouped_and_whole(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    text = capsys.readouterr().out
    assert run(["help"]) == 0
    assert capsys.readouterr().out == text
    places = [text.index(f"\n{family}:") for family in FAMILIES if any(r.family == family for r in COMMANDS.values())]
    assert places == sorted(places)
    for name, row in COMMANDS.items():
        assert f"\n  {name} " in text, name
        assert row.summary in text


# "lanes" alone is a topic, which comes before the command of that name.
@pytest.mark.parametrize("path", [path for path in leaves()[1:] if path != ("lanes",)], ids=" ".join)
def test_help_command_prints_the_same_as_the_flag(
    path: tuple[str, ...], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run([*path, "-h"])
    expected = capsys.readouterr().out
    assert run(["help", *path]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("topic", ["lanes", "exit-codes", "env", "json"])
def test_topics(topic: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", topic]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 10
    assert run(["help", topic, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == "1"


def test_version(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("--version", "-V"):
        assert run([flag]) == 0
        assert capsys.readouterr().out == f"outsourcerer {outsourcerer.__version__}\n"


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (["statsu"], "'status'"),
        (["rnu", "x"], "'run'"),
        (["supervisor", "stauts"], "'status'"),
        (["config", "shwo"], "'show'"),
        (["status", "--jsno"], "'--json'"),
        (["run", "--modle", "x", "task"], "Did you mean '--model'?"),
        (["fleet", "lst"], "Did you mean 'ls'?"),
        (["heartbeat", "stat"], "Did you mean 'status'?"),
        (["mode", "atuo"], "Did you mean 'auto'?"),
        (["parity", "codx"], "Did you mean 'codex'?"),
        (["bg", "edti", "fix it"], "There is no verb 'edti'. Did you mean 'edit'?"),
        (["bg", "fix", "it"], "The task is one argument"),
        (["tab", "--by", "modl"], "Did you mean 'model'?"),
        (["status", "--state", "runing"], "Did you mean 'running'?"),
        (["--hme", "x", "status"], "'--home'"),
        (["help", "exit-code"], "exit-codes"),
        (["help", "nosuch"], "try: osrc help\n"),
        (["session", "status"], "Did you mean 'list'?"),
        (["fix the login bug"], 'osrc run "..."'),
        (["run", "--tier", "middle", "x"], "'mid'"),
        (["run", "fix", "it"], '"fix it"'),
        (["config", "get", "max_job"], "max_jobs"),
    ],
)
def test_a_typo_gets_the_nearest_word_and_exit_64(
    words: list[str], suggestion: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("ERROR: ")
    assert suggestion in said.err
    assert "Traceback" not in said.err
    assert not home.exists()


@pytest.mark.parametrize("path", [path for path in leaves() if path], ids=" ".join)
def test_a_choice_is_taken_in_any_case(path: tuple[str, ...], home: Path) -> None:
    command: click.Command | None = cli
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name)
    assert command is not None
    for parameter in command.params:
        if isinstance(parameter.type, click.Choice):
            for word in parameter.type.choices:
                assert parameter.type.convert(str(word).upper(), parameter, None) == word


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["--json", "statsu"], "usage", 64),
        (["status", "--json", "--bogus"], "usage", 64),
        (["run", "--json"], "usage", 64),
        (["run", "--json", " "], "bad_task", 64),
        (["bg", "$task", "--json"], "bad_task", 64),
        (["result", "--json", "nosuch"], "no_such_job", 1),
        (["result", "--json", "loop-20300101-000000-000000000000"], "no_such_job", 1),
        (["config", "get", "nosuch", "--json"], "bad_config", 64),
    ],
)
def test_errors_are_json_too(
    words: list[str], code: str, exit_code: int, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == exit_code
    said = capsys.readouterr()
    value = json.loads(said.out)
    assert set(value) == {"schema_version", "error"}
    assert set(value["error"]) == {"code", "message", "hint"}
    assert value["error"]["code"] == code
    assert said.err == ""


def test_a_label_that_is_nearly_one_is_suggested(gateway: FakeGateway, capsys: pytest.CaptureFixture[str]) -> None:
    gateway.jobs[job_id(1)] = job(job_id(1), label="notes")
    for words, meant in ((["result", "notse"], True), (["wait", "noets"], True), (["result", "2031"], False)):
        assert run(words) == 1
        assert ("Did you mean 'notes'?" in capsys.readouterr().err) is meant


def test_a_word_of_no_model_gets_the_nearest_one(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["models", "opsu"]) == 0
    assert "no word that is known here holds 'opsu'. Did you mean 'opus'?" in capsys.readouterr().err


@pytest.fixture
def gateway(home: Path):
    with FakeGateway(home) as made:
        yield made


ALONE = job_id(1)


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "--home", "HOME", "status"],
        ["--home=HOME", "status", "--json"],
        ["status", "--home", "HOME", "--json"],
        ["status", "--json", "--home=HOME"],
        ["--json", "status", "--home=HOME", ALONE],
        ["status", ALONE, "--home=HOME", "--json"],
        ["supervisor", "--json", "--home=HOME", "status"],
        ["--quiet", "supervisor", "status", "--json", "--home", "HOME"],
        ["-q", "-v", "status", "-vv", "--json", "--home", "HOME", "--provider=claude", "--cloud-ack"],
    ],
)
def test_global_options_stand_anywhere(words: list[str], gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSRC_HOME", "/nonexistent/place")
    gateway.jobs[ALONE] = job(ALONE)
    done = osrc(gateway.home, *[word.replace("HOME", str(gateway.home)) for word in words], OSRC_HOME="/nonexistent")
    assert done.returncode == 0, shown(done)
    assert parsed(done)
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("words", "task", "more"),
    [
        (["bg", "--", "--json"], "--json", {}),
        (["bg", "--", "-m"], "-m", {}),
        (["bg", "--", "--provider=claude do it"], "--provider=claude do it", {}),
        (["bg", "--label", "--json", "x"], "x", {"label": "--json"}),
        (["bg", "--label=--home", "x"], "x", {"label": "--home"}),
        (["bg", "use --no-daemon and --home /x"], "use --no-daemon and --home /x", {}),
        (["bg", "x", "--provider", "claude"], "x", {"lane": "claude"}),
        (["--provider=claude", "bg", "x"], "x", {"lane": "claude"}),
        (["bg", "-m", "glm-5.2", "edit", "x"], "x", {"model": "glm-5.2", "verb": "edit"}),
        (["bg", "edit", "-m", "glm-5.2", "x"], "x", {"model": "glm-5.2", "verb": "edit"}),
        (["bg", "edit", "--", "edit"], "edit", {"verb": "edit"}),
        (
            ["bg", "x", "--timeout", "10m", "--effort=high", "--tier", "mid"],
            "x",
            {"timeout_s": 600, "effort": "high", "tier": "mid"},
        ),
        (["bg", "x", "--trust-lane", "codex"], "x", {"lane": "codex", "trust_lane": True}),
        (["bg", "--cloud-ack", "x", "--allow-downgrade"], "x", {"cloud_ack": True, "allow_downgrade": True}),
        (["yolo", "--bg", "x"], "x", {"verb": "yolo"}),
    ],
)
def test_what_is_sent(words: list[str], task: str, more: dict[str, object], gateway: FakeGateway) -> None:
    done = osrc(gateway.home, *words)
    assert done.returncode == 0, shown(done)
    assert done.stdout.decode().strip() in gateway.jobs
    request = gateway.requests[-1]["request"]
    assert request["task"] == task
    assert {key: request.get(key) for key in more} == more
    assert request["verb"] == more.get("verb", "run")
    assert request["cwd"] == str(gateway.home.parent)


@pytest.mark.parametrize(
    "words",
    [
        ["bg"],
        ["bg", "edit"],
        ["bg", "edit", ""],
        ["run", "   "],
        ["run", "$prompt"],
        ["run", "one", "two"],
        ["run", "x", "--lane", "a", "--provider", "b"],
        ["run", "x", "--trust-lane", "a", "--lane", "b"],
        ["run", "x", "--timeout", "soon"],
        ["run", "x", "--cwd", "/no/such/folder"],
        ["run", "x", "--task-file", "/etc/hostname"],
        ["run", "--task-file", "/no/such/file"],
        ["research", b"bad \xff bytes"],
        ["bg", "x", "--label", b"\xff"],
    ],
)
def test_refused_before_anything_is_asked(words: list[str], gateway: FakeGateway) -> None:
    done = osrc(gateway.home, *words)
    assert done.returncode in (1, 64), shown(done)
    assert done.stdout == b""
    assert b"Traceback" not in done.stderr
    assert done.stderr.startswith(b"ERROR: ")
    assert gateway.requests == []
    assert list((gateway.home / "spool").iterdir()) == []


@pytest.mark.parametrize("group", ["session", "supervisor", "config"])
def test_a_group_that_is_given_no_command_says_what_it_has(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([group]) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"Usage: osrc {group} ")
    assert "ERROR" not in said.err
