"""What a lane may know of the machine, and the caller's environment from the wire."""

import base64
import contextlib
import os
from dataclasses import replace

import pytest
from fakes.lanes import lane_toml, write_lane
from fakes.state import scratch_home
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.actors.host import decode_environment, host_for, probe, usable
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.lanes.contract import Host, Lane, ProbeFacts, ReadinessLevel
from outsourcerer.lanes.registry import builtin
from outsourcerer.state.settings import Settings

names = st.text(st.characters(exclude_characters="=\0", exclude_categories=["Cs"]), min_size=1, max_size=10)
values = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def wire(block: bytes) -> str:
    return base64.b64encode(block).decode()


@given(st.dictionaries(names, values))
def test_an_environment_comes_back(environment):
    block = b"\0".join(f"{name}={value}".encode() for name, value in environment.items())
    assert decode_environment(wire(block)) == environment


def test_bytes_that_are_no_text_come_back_as_the_same_bytes():
    found = decode_environment(wire(b"A=\xff\xfe\0B=x=y\0\0=no name\0no equals\0C="))
    assert {os.fsencode(name): os.fsencode(value) for name, value in found.items()} == {
        b"A": b"\xff\xfe",
        b"B": b"x=y",
        b"C": b"",
    }


@pytest.mark.parametrize("block", ["A", "AAAAA", "ü", "A==="])
def test_what_is_no_base64_says_so(block):
    with pytest.raises(ValueError, match=r"base64|ascii|ASCII"):
        decode_environment(block)


@given(st.text(max_size=50))
def test_no_text_does_worse_than_that(block):
    with contextlib.suppress(ValueError):
        decode_environment(block)


def lane_of(home, **terms) -> Lane:
    write_lane(home.root, "tool", lane_toml(argv=terms.pop("argv", ["some-tool", "{prompt}"]), stdin="none", **terms))
    lane = LaneBook(home).lane("tool")
    assert lane is not None
    return lane


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


def a_program(folder, name: str, script: str = "#!/bin/sh\necho 1.2.3\n") -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(script)
    path.chmod(0o755)
    return str(path)


def test_a_program_is_looked_for_on_the_callers_path_and_not_on_ours(home, tmp_path):
    lane = lane_of(home)
    mine = a_program(tmp_path / "bin", "some-tool")
    found = host_for(lane, {"PATH": str(tmp_path / "bin"), "HOME": "/h"}, Settings.load({}, None))
    assert found.executables["some-tool"] == mine
    assert found.home == "/h"
    assert host_for(lane, {"PATH": "/nowhere"}, Settings.load({}, None)).executables["some-tool"] is None


def test_a_lane_without_its_program_is_absent_and_nothing_is_run(home):
    lane = lane_of(home)
    readiness = probe(lane, {"PATH": "/nowhere"}, Settings.load({}, None))
    assert readiness.level is ReadinessLevel.ABSENT
    assert not usable(lane, readiness)


@pytest.mark.parametrize("name", ["local", "embedded"])
def test_a_lane_that_is_installed_but_lacks_what_it_needs_is_not_taken_unasked(name):
    lane = builtin(name)
    bare = Host(
        environment={}, executables={}, server="http://127.0.0.1:9/v1", embedded_runtime=True, python="/bin/python3"
    )
    readiness = lane.probe(ProbeFacts(host=bare))
    assert not usable(lane, readiness), readiness
    able = replace(bare, server_models=("m",), embedded_model="/m.gguf")
    assert usable(lane, lane.probe(ProbeFacts(host=able)))


def test_a_lane_with_its_program_is_usable(home, tmp_path):
    lane = lane_of(home)
    a_program(tmp_path / "bin", "some-tool")
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    for ask in (True, False):
        assert usable(lane, probe(lane, environment, Settings.load({}, None), ask_version=ask))


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "copilot", "droid", "opencode", "pi", "qwen", "cline"])
def test_a_version_that_nobody_asked_for_is_not_missed(name):
    """What helps is the sign-in, where there is none."""
    lane = builtin(name)
    programs = {program: f"/bin/{program}" for program in (lane.binary, "gemini")}
    found = lane.probe(ProbeFacts(host=Host(environment={}, executables=programs)))
    assert found.level is ReadinessLevel.INSTALLED
    assert "told no version" not in found.detail
    assert "None" not in found.detail
    assert "--version" not in found.fix
    assert found.signed_in in (False, None)


def test_the_real_path_of_a_program_is_not_resolved(home, tmp_path):
    lane = lane_of(home)
    real = a_program(tmp_path / "real", "multi-call")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "some-tool").symlink_to(real)
    found = host_for(lane, {"PATH": str(tmp_path / "bin")}, Settings.load({}, None))
    assert found.executables["some-tool"] == str(tmp_path / "bin" / "some-tool"), "it looks at the name it is called by"
