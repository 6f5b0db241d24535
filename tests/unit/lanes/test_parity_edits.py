"""Our part in another tool's file: what is the person's stays, and what was put in can be taken out."""

import json
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.parity.edits import (
    HASH_MARKS,
    TEXT_MARKS,
    CannotEditError,
    with_block,
    with_servers,
    without_block,
    without_servers,
)
from outsourcerer.lanes.parity.hosts import HOST_TOOLS, folder_of
from outsourcerer.lanes.parity.servers import Local, entry, local

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20).filter(lambda text: "\0" not in text)
SERVERS = st.dictionaries(
    NAMES,
    st.builds(
        lambda name, args, values: Local("x", name, tuple(args), values),
        NAMES,
        st.lists(VALUES, max_size=3),
        st.dictionaries(st.from_regex(r"[A-Z_]{1,6}", fullmatch=True), VALUES, max_size=2),
    ),
    max_size=4,
)
JSON_FILES = st.one_of(
    st.none(),
    st.just(b""),
    st.dictionaries(NAMES, st.recursive(st.none() | st.integers() | VALUES, st.lists, max_leaves=4), max_size=3).map(
        lambda value: json.dumps(value).encode()
    ),
)
TOML_FILES = st.sampled_from([None, b"", b"a = 1", b"a = 1\n\n", b'[mcp_servers.mine]\ncommand = "x"\n', b"# only\n"])
YAML_FILES = st.sampled_from([None, b"", b"model: x\n", b"model:\n  default: y", b"# nothing\n\n"])


def rows(servers, host):
    return {name: entry(server, HOST_TOOLS[host].servers) for name, server in servers.items()}


def read(content, form):
    return tomllib.loads(content.decode()) if form == "toml" else json.loads(content or b"{}")


@settings(max_examples=60, deadline=None)
@given(st.data(), SERVERS, SERVERS, st.sampled_from([("cursor", "json"), ("codex", "toml"), ("hermes", "yaml")]))
def test_put_in_put_in_again_changed_and_taken_out(data, first, second, case):
    host, form = case
    before = data.draw({"json": JSON_FILES, "toml": TOML_FILES, "yaml": YAML_FILES}[form])
    key = HOST_TOOLS[host].servers.key
    one = with_servers(before, form, key, rows(first, host), {})
    assert with_servers(one.content, form, key, rows(first, host), one.ours).content == one.content
    two = with_servers(one.content, form, key, rows(second, host), one.ours)
    out = without_servers(two.content, form, key, two.ours)
    if form == "json":
        assert read(out, form) == {**read(before, form), **({key: {}} if key in read(out, form) else {})}
    else:
        assert out.decode().rstrip("\n") == (before or b"").decode().rstrip("\n")
    if form != "yaml":
        there = read(two.content, form).get(key, {})
        assert {name: there[name] for name in two.ours} == dict(two.ours)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.sampled_from(["one", "two\nlines"]))
def test_a_block_is_one_and_stays_where_it_is(text, body):
    once = with_block(text, body, TEXT_MARKS)
    assert with_block(once, body, TEXT_MARKS) == once
    assert once.count(TEXT_MARKS[0]) == 1
    assert without_block(once, TEXT_MARKS).rstrip("\n") == text.rstrip("\n")


def test_a_server_of_the_person_s_is_never_replaced():
    wanted = {"mine": {"command": "ours"}, "new": {"command": "ours"}}
    content = b'{"mcpServers": {"mine": {"command": "theirs"}}, "other": 1.50}'
    edited = with_servers(content, "json", "mcpServers", wanted, {})
    assert edited.kept == ("mine",)
    assert json.loads(edited.content)["mcpServers"]["mine"] == {"command": "theirs"}
    toml = with_servers(b'[mcp_servers.mine]\ncommand = "theirs"\n', "toml", "mcp_servers", wanted, {})
    assert (toml.kept, set(toml.ours)) == (("mine",), {"new"})


@pytest.mark.parametrize(
    ("content", "form", "key"),
    [
        (b'{"a": 1} // words', "json", "mcpServers"),
        (b"[1]", "json", "mcpServers"),
        (b"\xff", "json", "mcpServers"),
        (b'{"mcpServers": []}', "json", "mcpServers"),
        (b'{"a": NaN}', "json", "mcpServers"),
        (b'{"a": 1, "a": 2}', "json", "mcpServers"),
        (b"[" * 100_000, "json", "mcpServers"),
        (b"a = ", "toml", "mcp_servers"),
        (b"mcp_servers = { w = { command = 'y' } }", "toml", "mcp_servers"),
        (b"mcp_servers = 3", "toml", "mcp_servers"),
        (b"mcp_servers:\n  a: {}\n", "yaml", "mcp_servers"),
        (b"---\na: 1\n", "yaml", "mcp_servers"),
        (f"{HASH_MARKS[0]}\n".encode(), "toml", "mcp_servers"),
        (f"{HASH_MARKS[0]}\n[mcp_servers.theirs]\n{HASH_MARKS[1]}\n".encode(), "toml", "mcp_servers"),
    ],
)
def test_a_file_that_could_be_harmed_is_left_alone(content, form, key):
    with pytest.raises(CannotEditError):
        with_servers(content, form, key, {"x": {"command": "y"}}, {})


def looks_secret(text):
    return text.startswith("sk-")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"url": "https://x"}, "no program"),
        ({"type": "sse", "url": "https://x"}, "no program"),
        ({"command": "x", "args": "y"}, "list of words"),
        ({"command": "x", "args": ["${HOME}/y"]}, "only Claude Code"),
        ({"command": "x", "args": ["sk-live"]}, "secret"),
        ({"command": "x", "env": {"A": "a${B}c"}}, "put together"),
        ({"command": "x", "env": {"A B": "c"}}, "name that is none"),
        ({"command": "x", "env": {"A": 3}}, "table of words"),
        ({"command": "x", "args": ["y" * 70_000]}, "too large"),
    ],
)
def test_what_can_t_be_passed_on(config, why):
    assert why in local("it", config, looks_secret)


@pytest.mark.parametrize(
    "args",
    [
        ["--token", "hunter2"],
        ["run", "--figma-api-key=hunter2"],
        ["-e", "GITHUB_TOKEN=hunter2", "image"],
        ["--header", "X-Api-Key:hunter2"],
        ["--header", "Authorization: anything"],
        ["--db-password", "hunter2", "--verbose"],
    ],
)
def test_what_a_command_line_calls_a_secret_is_one(args):
    assert "secret" in local("it", {"command": "x", "args": args}, looks_secret)


@pytest.mark.parametrize(
    "args",
    [
        ["run", "-i", "--rm", "-e", "GITHUB_PERSONAL_ACCESS_TOKEN", "ghcr.io/github/github-mcp-server"],
        ["--max-tokens", "4096", "--token-file=/run/token", "--auth", "oauth"],
        ["-v", "/srv/keys:/keys", "keys:/keys", "https://keys.example/"],
        ["--token"],
        ["--token", "--verbose"],
        ["--key=", "token"],
    ],
)
def test_what_only_speaks_of_secrets_is_passed_on(args):
    assert local("it", {"command": "x", "args": args}, looks_secret) == Local("it", "x", tuple(args))


@pytest.mark.parametrize("host", [name for name, tool in HOST_TOOLS.items() if tool.servers])
def test_no_secret_is_ever_copied(host):
    config = {"command": "x", "env": {"API_TOKEN": "hunter2", "A": "sk-live", "B": "${C:-d}", "PLAIN": "word"}}
    server = local("it", config, looks_secret)
    assert isinstance(server, Local)
    made = entry(server, HOST_TOOLS[host].servers)
    assert "hunter2" not in str(made)
    assert "sk-live" not in str(made)
    assert "hunter2" not in repr(server)
    if isinstance(made, dict):
        assert "word" in str(made)
        assert "API_TOKEN" in str(made)


def test_codex_passes_variables_on_by_their_own_name():
    same = entry(Local("x", "c", (), {}, {"K": "K"}), HOST_TOOLS["codex"].servers)
    assert same == {"command": "c", "args": [], "env_vars": ["K"]}
    assert "another name" in entry(Local("x", "c", (), {}, {"K": "OTHER"}), HOST_TOOLS["codex"].servers)


def test_where_a_tool_keeps_its_things():
    environment = {"HOME": "/h", "CODEX_HOME": "/c/", "XDG_CONFIG_HOME": "/x"}
    assert folder_of(HOST_TOOLS["codex"], environment) == "/c"
    assert folder_of(HOST_TOOLS["devin"], environment) == "/x/devin"
    assert folder_of(HOST_TOOLS["cursor"], environment) == "/h/.cursor"
    assert folder_of(HOST_TOOLS["cursor"], {"HOME": "relative"}) is None
