"""Trusted lanes: exactly what the file says, resolved, and nothing where it can't be believed."""

from __future__ import annotations

import json
import os

import pytest
from outsourcerer.state.trusted_lanes import Trusted, read_trusted, trusted_file, trusts, trusts_itself


@pytest.fixture
def place(tmp_path):
    tmp_path.chmod(0o700)
    (tmp_path / "a" / "b" / "inside").mkdir(parents=True)
    (tmp_path / "a" / "bc").mkdir()
    return tmp_path


def written(place, value) -> Trusted:
    path = place / "trusted-lanes.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    path.chmod(0o600)
    return read_trusted(path)


def test_it_stands_beside_the_settings():
    assert str(trusted_file({"HOME": "/h"})) == "/h/.config/outsourcerer/trusted-lanes.json"
    assert str(trusted_file({"XDG_CONFIG_HOME": "/c"})) == "/c/outsourcerer/trusted-lanes.json"


def test_boundaries(place):
    trusted = written(place, {"claude": [f"{place}/a/b"]})

    def holds(folder, *words):
        return trusts(trusted, words or ("claude",), (str(folder),))

    assert holds(place / "a" / "b")
    assert holds(place / "a" / "b" / "inside")
    assert holds(place / "a" / "b", "codex", "claude")
    assert not holds(place / "a" / "bc"), "a name that only begins the same"
    assert not holds(place / "a")
    assert not holds(place / "a" / "b" / ".." / "bc")
    assert not holds(place / "a" / "b", "codex")
    assert not holds(place / "a" / "b" / "gone")
    assert not holds("a/b")
    assert not trusts(trusted, ("claude",), ()), "nothing is trusted with nothing"
    assert not trusts(trusted, ("claude",), (f"{place}/a/b", f"{place}/a/bc")), "every folder counts"


def test_links_are_resolved_on_both_sides(place):
    (place / "to-b").symlink_to(place / "a" / "b")
    (place / "a" / "b" / "out").symlink_to(place / "a" / "bc")
    by_link = written(place, {"claude": [f"{place}/to-b"]})
    assert trusts(by_link, ("claude",), (f"{place}/a/b/inside",))
    assert not trusts(by_link, ("claude",), (f"{place}/to-b/out",)), "a link that leads out is out"


@pytest.mark.parametrize("folders", [["/"], ["a/b"], [""], ["~"], ["/no/such/folder"], ["\0"]])
def test_folders_that_trust_nothing(place, folders):
    assert not trusts(written(place, {"claude": folders}), ("claude",), (str(place / "a"),))


@pytest.mark.parametrize(
    "value",
    ["", "{", "[]", "null", '"claude"', '{"claude": "/a"}', '{"claude": [1]}', "[" * 100_000, '{"claude": ["/a"]} x'],
)
def test_what_is_damaged_is_said_and_trusts_nothing(place, value):
    found = written(place, value)
    assert found.lanes == {}
    assert found.problem
    assert "trusted-lanes.json is not used" in found.problem


def test_nothing_there_is_no_problem(place):
    assert read_trusted(place / "none" / "trusted-lanes.json") == Trusted(str(place / "none" / "trusted-lanes.json"))


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_others_may_not_write_it(place, mode):
    written(place, {"claude": [str(place)]})
    (place / "trusted-lanes.json").chmod(mode)
    assert "written by other users" in (read_trusted(place / "trusted-lanes.json").problem or "")


def test_nor_its_folder(place):
    written(place, {"claude": [str(place)]})
    place.chmod(0o770)
    assert "its folder" in (read_trusted(place / "trusted-lanes.json").problem or "")


def test_a_pipe_is_not_waited_for(place):
    os.mkfifo(place / "trusted-lanes.json")
    assert "no regular file" in (read_trusted(place / "trusted-lanes.json").problem or "")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a stranger's file")
def test_a_stranger_s_file(place):
    written(place, {"claude": [str(place)]})
    os.chown(place / "trusted-lanes.json", 12345, 12345)
    assert "another user" in (read_trusted(place / "trusted-lanes.json").problem or "")


def test_a_folder_does_not_speak_for_itself(tmp_path):
    work, home = tmp_path / "work", tmp_path / "home"
    (work / "x").mkdir(parents=True)
    home.mkdir()
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(work / "x")}
    assert trusts_itself(trusted_file(environ), [str(work)], environ)
    assert not trusts_itself(trusted_file(environ), [str(home)], environ)
    usual = {"HOME": str(home)}
    assert not trusts_itself(trusted_file(usual), [str(home)], usual), "the usual place, and work in the home folder"
    (home / ".config").symlink_to(work / "x")
    assert not trusts_itself(trusted_file(usual), [str(work)], usual), "the person's own link"
