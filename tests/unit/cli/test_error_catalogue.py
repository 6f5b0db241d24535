"""Every error there is: it says what was wrong, and what helps names something that exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import anyio
import click
import outsourcerer
import pytest
from outsourcerer.actors.gate import _ways_out
from outsourcerer.cli import exit_codes
from outsourcerer.cli.app import cli
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.hints import HINTS, SILENT, hint_of
from outsourcerer.cli.main import run
from outsourcerer.cli.mcp_server.desk import Desk
from outsourcerer.cli.mcp_server.server import build
from outsourcerer.cli.mcp_server.wording import SHELL, in_parameters
from outsourcerer.cli.options import Globals
from outsourcerer.messages.refusals import RefusalCode

ROOT = Path(outsourcerer.__path__[0])
LAYERS = ("cli", "actors", "lanes", "state", "messages")
CLASSES = {"CliError": ("code", "message", "hint"), "StateError": ("code", "message", "hint"), "Refused": ()}
COMMAND = re.compile(r"(?<![\w.-])osrc ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?")
NO_COMMANDS = {"in", "is", "itself", "only"}
"""What follows the program's name in a sentence about the program."""


TABLES = {"messages/refusals.py", "cli/exit_codes.py", "cli/hints.py"}
"""Where every code stands, said or not."""


@cache
def source() -> list[tuple[str, ast.Call | ast.Attribute | ast.Constant]]:
    """Every call, attribute and text of the program, with its file; read once."""
    found: list[tuple[str, ast.Call | ast.Attribute | ast.Constant]] = []
    for layer in LAYERS:
        for path in (ROOT / layer).rglob("*.py"):
            name, written = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            if not re.search(r"Error\(|Refused|RefusalCode|osrc ", written):
                continue
            for node in ast.walk(ast.parse(written)):
                text = isinstance(node, ast.Constant) and isinstance(node.value, str)
                if text or isinstance(node, ast.Call | ast.Attribute):
                    found.append((name, node))
    return found


def raised() -> Iterator[tuple[str, dict[str, ast.expr]]]:
    """Where each error is made, and its parts."""
    for name, node in source():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CLASSES:
            parts = dict(zip(CLASSES[node.func.id], node.args, strict=False))
            parts |= {word.arg: word.value for word in node.keywords if word.arg}
            yield f"{name}:{node.lineno}", parts


def words_of(node: ast.expr | None) -> str:
    """The literal words of an expression; what is filled in is one word."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(words_of(part) if isinstance(part, ast.Constant) else "{X}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return words_of(node.left) + words_of(node.right)
    return "" if node is None else "{X}"


def unknown_commands(text: str) -> list[str]:
    """The commands that a text names and that do not exist."""
    wrong = []
    for match in COMMAND.finditer(text):
        first, second = match.groups()
        if first in NO_COMMANDS:
            continue
        context = click.Context(cli)
        command = cli.get_command(context, first)
        if command is None:
            wrong.append(first)
        elif isinstance(command, click.Group) and second and not command.get_command(context, second):
            # A group that does something by itself may be followed by the words of the sentence.
            wrong += [] if command.invoke_without_command else [f"{first} {second}"]
    return wrong


def test_every_code_has_a_hint_that_names_a_command_there_is() -> None:
    made = {words_of(parts.get("code")) for _, parts in raised()} - {"", "{X}"}
    assert {code.value for code in RefusalCode} | made - SILENT <= set(HINTS)
    for code, hint in HINTS.items():
        assert COMMAND.search(hint) or "osrc COMMAND -h" in hint, code
        assert unknown_commands(hint) == [], code
        assert len(hint) <= 110, code
        assert hint_of(code, exit_codes.of_refusal(code)) == hint
    assert hint_of("a code of tomorrow", 1) == HINTS["internal"]
    assert hint_of("stdout", 1) is None
    assert hint_of("usage", 130) is None


def test_every_refusal_code_is_said_by_something() -> None:
    outside = [node for name, node in source() if name not in TABLES]
    said = {node.attr for node in outside if isinstance(node, ast.Attribute)}
    said |= {node.value for node in outside if isinstance(node, ast.Constant)}
    assert [code.value for code in RefusalCode if not {code.name, code.value} & said] == []


def test_every_error_says_what_was_wrong_on_one_line_and_points_to_what_there_is() -> None:
    seen = list(raised())
    assert len(seen) > 300
    for where, parts in seen:
        message, hint = words_of(parts.get("message")), words_of(parts.get("hint"))
        assert parts.get("message") is not None, where
        assert message.strip(), where
        assert "\n" not in message.strip(), where
        assert "\n" not in hint, where
        assert hint.strip().lower().rstrip(".") not in {"did you mean", "unknown", "error", "failed"}, where
        assert unknown_commands(f"{message} {hint}") == [], where


def test_every_text_of_the_program_names_commands_that_exist() -> None:
    for name, node in source():
        if isinstance(node, ast.Constant) and "osrc " in node.value:
            assert unknown_commands(node.value) == [], f"{name}:{node.lineno}"


@pytest.mark.parametrize("code", list(RefusalCode))
def test_an_error_without_a_hint_of_its_own_is_shown_with_one(
    code: RefusalCode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def trouble(_arguments: list[str]) -> int:
        raise CliError(code, "it was not done")

    monkeypatch.setattr("outsourcerer.cli.main._invoke", trouble)
    monkeypatch.setenv("OSRC_HOME", str(tmp_path))
    assert run(["status"]) == exit_codes.of_refusal(code)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"ERROR: it was not done\n  try: {HINTS[code]}\n"


SHELL_ONLY = {"--csv", "--json", "--no-daemon", "--session", "--to"}
"""Options of commands that no tool stands for."""


def test_no_tool_is_told_to_give_an_option() -> None:
    """Whatever is refused: parameters and tools are named, and what is left is said to be for a shell."""

    async def listed() -> dict[str, list[str]]:
        tools = await build(Desk(Globals())).list_tools()
        return {tool.name: list(tool.input_schema.get("properties", ())) for tool in tools}

    tools = anyio.run(listed)
    texts = set(HINTS.values()) | {_ways_out(SimpleNamespace(lane=SimpleNamespace(name="codex")))}
    texts |= {words_of(parts.get(part)) for _, parts in raised() for part in ("message", "hint")}
    assert len(texts) > 400
    for text in texts:
        for name, parameters in tools.items():
            told = in_parameters(text, parameters, tools)
            bare = re.sub(r"\bosrc (?!itself\b|only\b)[^;,()]*", "", told.removesuffix(SHELL))
            assert set(re.findall(r"(?<![\w-])(?:--[a-z][a-z-]*|-m)(?![\w-])", bare)) <= SHELL_ONLY, (name, told)
            for command in re.findall(r"\bosrc ([a-z]+(?: [a-z]+)?)(?! -h)(?=[ ;,)]|$)", told.removesuffix(SHELL)):
                assert command not in {"wait", "session read", "session stop"}, (name, told)
                assert told.endswith(SHELL) or command.split()[0] in NO_COMMANDS, (name, told)


@pytest.mark.parametrize(
    "words",
    [
        ["run"],
        ["run", ""],
        ["run", "$task"],
        ["run", "--task-file", "/nowhere", "--bg"],
        ["run", "--timeout", "soon", "x"],
        ["run", "--cwd", "/nowhere/at/all", "x"],
        ["status", "nosuch"],
        ["result", "nosuch"],
        ["logs", "nosuch"],
        ["explain", "nosuch"],
        ["continue", "nosuch", "x"],
        ["lanes", "show", "clade"],
        ["models", "--nosuch"],
        ["fanout"],
        ["fanout", "status", "nosuch"],
        ["crew", "--", "x"],
        ["best-of", "3", "x"],
        ["loop", "status", "nosuch"],
        ["session", "read", "nosuch"],
        ["session", "start", "--transport", "pigeon"],
        ["limits", "set", "claude", "opus", "5"],
        ["config", "get", "nosuch"],
        ["config", "set", "max_jobs", "many"],
        ["tab", "--since", "whenever"],
        ["import", "/nowhere"],
        ["parity", "nosuch"],
        ["help", "nosuch"],
        ["nosuch"],
    ],
    ids=" ".join,
)
def test_each_trouble_that_can_be_had_without_a_supervisor_says_what_helps(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OSRC_DEBUG", raising=False)
    assert run(words) not in {0, 2, 130}
    said = capsys.readouterr()
    assert said.err.startswith("ERROR: ")
    assert "\n  try: " in said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "home" / "supervisor.json").exists()
