"""What of a file in the work folder would lead a CLI elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Host, SessionLaunch, SessionTask
from outsourcerer.lanes.folder_settings import FolderFile, Form, harm
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.refusals import Refused
from outsourcerer.messages.session import Transport
from outsourcerer.messages.vocabulary import Effort

JSON = FolderFile(path="x.json", form=Form.JSON, names=frozenset({"ui", "model"}))
ENV = FolderFile(path=".env", form=Form.DOTENV, names=frozenset({"GEMINI_", "GOOGLE_"}))
TOML = FolderFile(path="x.toml", form=Form.TOML, names=frozenset({"install"}))


@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        (JSON, b'{"ui": {"a": 1}, "model": "m"}', None),
        (JSON, b'{"hooks": {}, "env": null}', None),
        (JSON, b'{"ui": 1, "hooks": {"a": 1}}', "hooks"),
        (JSON, b"[1]", None),
        (JSON, b"// words\n{}", "what can't be read as plain JSON"),
        (JSON, b"[" * 100_000, "what can't be read as plain JSON"),
        (JSON, b"\xff\xfe\xff", "what can't be read as plain JSON"),
        (TOML, b"[install]\nexact = true\n", None),
        (TOML, b'preload = ["./x.js"]\n', "preload"),
        (ENV, b"DATABASE_URL=x\nAPP_PORT=1\n", None),
        (ENV, b"# GOOGLE_GEMINI_BASE_URL=x\n", None),
        (ENV, b"GEMINI_API_KEY=its-own\nGEMINI_MODEL=m\n", None),
        (ENV, b"A=1\n  export GOOGLE_GEMINI_BASE_URL = http://x\n", "GOOGLE_GEMINI_BASE_URL"),
        (ENV, b"A=1\r\nGOOGLE_GEMINI_BASE_URL: http://x\r\n", "GOOGLE_GEMINI_BASE_URL"),
        (ENV, b"https_proxy=http://x\n", "https_proxy"),
        (ENV, b"NODE_OPTIONS=--require ./x.js\n", "NODE_OPTIONS"),
        (ENV, b"\xff\xfe\n\0GOOGLE_X", None),
    ],
)
def test_what_does_harm(file: FolderFile, content: bytes, found: str | None) -> None:
    assert harm(file, content, frozenset()) == found


def test_a_dotenv_does_not_replace_what_the_caller_has_set() -> None:
    line = b"GOOGLE_GEMINI_BASE_URL=http://x\n"
    assert harm(ENV, line, frozenset({"GOOGLE_GEMINI_BASE_URL"})) is None


@given(st.binary(max_size=300), st.sampled_from([JSON, ENV, TOML]))
def test_any_bytes_get_an_answer(content: bytes, file: FolderFile) -> None:
    assert isinstance(harm(file, content, frozenset()), str | None)


@pytest.mark.parametrize("lane", ["gemini", "qwen", "cline", "droid", "pi", "cursor"])
def test_these_lanes_name_what_their_cli_heeds(lane: str) -> None:
    assert builtin(lane).heeds


@pytest.mark.parametrize("transport", ["native", "pty"])
def test_a_claude_session_reads_the_persons_settings_alone(transport: Transport) -> None:
    task = SessionTask(cwd="/w")
    host = Host(environment={}, executables={"claude": "/bin/claude"})
    launch = builtin("claude").sessions[transport](task, host)
    assert isinstance(launch, SessionLaunch)
    assert "--setting-sources=user --add-dir /w" in " ".join(launch.argv)
    assert launch.env_set["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] == "1"
    trusting = builtin("claude").sessions[transport](task, replace(host, trust_folder=True))
    assert isinstance(trusting, SessionLaunch)
    assert "--setting-sources=user" not in trusting.argv


def test_a_claude_session_behind_its_adapter_does_so_too_on_the_persons_own_program() -> None:
    there = {"claude": "/bin/claude", "claude-agent-acp": "/bin/claude-agent-acp"}
    host = Host(environment={}, executables=there)
    over = builtin("claude").sessions["acp"]
    launch = over(SessionTask(cwd="/w", model="m", effort=Effort.MINIMAL), host)
    assert isinstance(launch, SessionLaunch)
    assert launch.env_set["CLAUDE_CODE_EXECUTABLE"] == "/bin/claude"
    told = json.loads(launch.options["meta"] or "")["claudeCode"]["options"]
    assert (told["settingSources"], told["additionalDirectories"]) == (["user"], ["/w"])
    assert (told["model"], told["effort"], told["strictMcpConfig"]) == ("m", "low", True)
    trusting = over(SessionTask(cwd="/w"), replace(host, trust_folder=True))
    assert isinstance(trusting, SessionLaunch)
    assert "settingSources" not in (trusting.options["meta"] or "")


@pytest.mark.parametrize("lane", ["claude", "codex"])
def test_an_adapter_that_is_not_there_is_said_with_how_to_get_it(lane: str) -> None:
    refused = builtin(lane).sessions["acp"](SessionTask(cwd="/w"), Host(environment={}, executables={lane: "/bin/x"}))
    assert isinstance(refused, Refused)
    assert "npm install -g @agentclientprotocol/" in (refused.hint or "")


@pytest.mark.parametrize("transport", ["acp", "pty"])
def test_an_opencode_session_leaves_the_folders_configuration_out(transport: Transport) -> None:
    inherited = {"OPENCODE_CONFIG_CONTENT": '{"model": "m", "instructions": ["/mine.md"]}'}
    host = Host(environment=inherited, executables={"opencode": "/bin/opencode"})
    launch = builtin("opencode").sessions[transport](SessionTask(cwd="/w"), host)
    assert isinstance(launch, SessionLaunch)
    assert launch.env_set["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    told = json.loads(launch.env_set["OPENCODE_CONFIG_CONTENT"])
    assert (told["model"], told["instructions"]) == ("m", ["/mine.md", "/w/AGENTS.md"])
