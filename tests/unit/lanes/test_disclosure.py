"""Where work goes, and what is said of it: every lane has a road, and none is local by its word alone."""

from __future__ import annotations

import dataclasses
import json

import pytest
from outsourcerer.lanes.contract import Lane, Launch, Locality
from outsourcerer.lanes.custom import load
from outsourcerer.lanes.disclosure import addresses_of, host_of, leaving, training, words_of
from outsourcerer.lanes.registry import Registry, builtin, names


def declared(local: bool) -> Lane:
    text = f'argv = ["mine"]\nlocal = {json.dumps(local)}\n[verbs]\nrun = "READ-ONLY"\n'
    made = load("mine", text.encode(), "mine.toml")
    assert isinstance(made, Lane)
    return made


def goes(lane: Lane, **more):
    given = {"model": None, "server": None, "addresses": (), "environment": {}, **more}
    found = leaving(lane, **given)
    return None if found is None else found.to


def test_every_built_in_lane_says_whom_its_work_goes_to():
    assert [name for name in names() if builtin(name).goes_to == declared(local=False).goes_to] == []


@pytest.mark.parametrize("name", names())
def test_a_lane_leaves_unless_it_says_local(name):
    lane = builtin(name)
    assert (goes(lane) is None) == (lane.locality is Locality.LOCAL)
    if lane.locality is Locality.CLOUD:
        assert goes(lane) == lane.goes_to


def test_an_agent_and_a_declared_lane_leave_unless_they_say_local():
    agent = Registry().get("acp:gemini --acp")
    assert isinstance(agent, Lane)
    assert goes(agent) == "wherever that agent sends it"
    assert goes(declared(local=False)) == "wherever its program sends it"
    assert goes(declared(local=True)) is None


@pytest.mark.parametrize(
    ("server", "to"),
    [
        ("http://127.0.0.1:11434/v1", None),
        ("http://localhost:1234/v1", None),
        ("http://[::1]:8080/v1", None),
        ("http://192.168.1.7:11434/v1", "192.168.1.7:11434"),
        ("https://models.example/v1", "models.example"),
        ("http://localhost.example/v1", "localhost.example"),
        ("http://127.0.0.1.example/v1", "127.0.0.1.example"),
        ("http://127.0.0.1@evil.example/v1", "evil.example"),
    ],
)
def test_local_that_is_not_on_this_machine_is_cloud(server, to):
    assert goes(builtin("local"), server=server) == to
    assert goes(declared(local=True), addresses=(server,)) == to


@pytest.mark.parametrize(
    ("model", "to"),
    [("gpt-oss:120b-cloud", "Ollama's cloud"), ("kimi:CLOUD", "Ollama's cloud"), ("cloudy:7b", None), (None, None)],
)
def test_a_model_that_the_local_server_hands_on(model, to):
    assert goes(builtin("local"), model=model) == to


@pytest.mark.parametrize("scheme", ["HTTPS", "Http", "ws", "wss", "grpc", "ssh", "socks5h"])
def test_an_address_is_one_in_any_case_and_of_any_protocol(scheme: str):
    argv = ("agent", f"--url={scheme}://far.example:1/v1", "HTTP://LOCALHOST:1/v1")
    launch = Launch(argv=argv)
    found = addresses_of(declared(local=True), launch, "")
    assert found == (f"{scheme}://far.example:1/v1", "HTTP://LOCALHOST:1/v1")
    assert goes(declared(local=True), addresses=found) == "far.example:1"
    assert goes(declared(local=True), addresses=found[1:]) is None


def test_addresses_are_those_of_the_command_and_not_of_the_prompt():
    prompt = "read https://prompt.example and say"
    launch = Launch(
        argv=(
            "/bin/x",
            "--base-url=https://a.example/v1",
            "-c",
            'p={ base_url="http://b.example", x=1 }',
            f"ask: {prompt}",
        ),
        env_set={"X": "see https://c.example/x"},
    )
    found = addresses_of(declared(local=True), launch, prompt)
    assert [host_of(one) for one in found] == ["a.example", "b.example", "c.example"]
    assert addresses_of(declared(local=False), launch, prompt) == ()


@pytest.mark.parametrize(
    ("name", "variable"), [(name, variable) for name in names() for variable in builtin(name).redirects]
)
def test_an_environment_that_redirects_is_said_without_its_password(name, variable):
    lane = dataclasses.replace(builtin(name), locality=Locality.CLOUD)
    to = goes(lane, environment={variable: "https://me:pass@proxy.example:8443/v1?key=1"})
    assert to == "proxy.example:8443 (as your environment says)"


def test_a_configuration_of_ones_own_may_name_another_provider_and_that_is_said():
    assert goes(builtin("codex"), environment={"OSRC_CODEX_USER_CONFIG": "0"}) == "OpenAI"
    own = goes(builtin("codex"), environment={"OSRC_CODEX_USER_CONFIG": "1"})
    assert own == "OpenAI, or the provider that you have set up in it"


def test_the_words_that_mean_a_lane():
    assert {"claude", "ccnative"} <= words_of(builtin("claude"))
    assert {"cc", "ccor", "or"} <= words_of(builtin("cc"))
    assert {"codex", "cxnative", "cx"} <= words_of(builtin("codex"))
    assert {"gemini", "gmnative", "gm"} <= words_of(builtin("gemini"))
    assert words_of(declared(local=False)) == {"mine"}
    lanes = [words_of(builtin(name)) for name in names()]
    assert sum(map(len, lanes)) == len(frozenset().union(*lanes)), "no word means two lanes"


def test_training_and_rules():
    assert training("deepseek/deepseek-r1:free").startswith("MAY be used")
    assert training("deepseek/deepseek-r1") == training(None)
    assert builtin("claude").rules[0] == "~/.claude/CLAUDE.md"
    assert declared(local=False).rules == ()


@pytest.mark.parametrize("address", ["http://[", "http://a:99999999/", "http://\x1b]0;x", "", "http://"])
def test_an_address_that_is_none_is_elsewhere(address):
    assert host_of(address) == "a server elsewhere"
