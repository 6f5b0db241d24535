"""Where the work tree is that a read-only promise is about, and what stands around it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from outsourcerer.actors.work_tree import Guard, find_tree, guard_for, stands
from outsourcerer.lanes.contract import Host, Wall
from outsourcerer.lanes.registry import builtin
from outsourcerer.lanes.walls import Fence
from outsourcerer.messages.vocabulary import Verb
from outsourcerer.state.home import Home
from outsourcerer.state.settings import Settings

LANE = replace(builtin("claude"), wall=Wall.OURS, state=("~/.cli",))


def git(where: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *identity, *words), cwd=where, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    (place / "sub").mkdir(parents=True)
    git(place, "init", "-q")
    (place / "a.txt").write_text("a\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    return place


def host(home: Path, path: str = "/nowhere") -> Host:
    return Host(environment={"PATH": path}, executables={}, home=str(home))


def guard(cwd: Path, user_home: Path, home: Path, **environ: str) -> Guard:
    found = guard_for(LANE, Verb.RUN, str(cwd), host(user_home), Settings.load(environ, None), Home(home))
    assert found is not None
    return found[0]


def test_the_tree_of_a_folder_inside_a_repository_is_the_repository(repo: Path):
    assert find_tree(str(repo / "sub")) == (str(repo), (str(repo / ".git"),))


def test_outside_git_it_is_the_folder(tmp_path: Path):
    assert find_tree(str(tmp_path)) == (str(tmp_path), ())


def test_a_symbolic_link_to_it_changes_nothing(repo: Path):
    (repo.parent / "link").symlink_to(repo)
    assert find_tree(str(repo.parent / "link" / "sub"))[0] == str(repo)


def test_a_linked_work_tree_brings_the_git_folder_it_shares(repo: Path):
    git(repo, "worktree", "add", "-q", "../linked")
    root, folders = find_tree(str(repo.parent / "linked"))
    assert root == str(repo.parent / "linked")
    assert folders == (str(repo / ".git" / "worktrees" / "linked"), str(repo / ".git"))


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"gitdir: /does/not/exist", b"gitdir:" + b"x" * 9000])
def test_a_git_pointer_that_means_nothing_is_no_repository(tmp_path: Path, content: bytes):
    (tmp_path / ".git").write_bytes(content)
    assert find_tree(str(tmp_path)) == (str(tmp_path), ())


@pytest.mark.parametrize("verb", [Verb.EDIT, Verb.YOLO, Verb.RESEARCH])
def test_a_verb_that_promises_nothing_is_not_watched(tmp_path: Path, verb: Verb):
    settings = Settings.load({}, None)
    assert guard_for(LANE, verb, str(tmp_path), host(tmp_path), settings, Home(tmp_path / "o")) is None


def test_a_wall_of_the_clis_own_is_its_own(tmp_path: Path):
    settings = Settings.load({}, None)
    lane = builtin("codex")
    assert guard_for(lane, Verb.RUN, str(tmp_path), host(tmp_path), settings, Home(tmp_path / "o")) is None


def test_in_a_home_folder_what_others_write_does_not_count(tmp_path: Path):
    found = guard(tmp_path, tmp_path, tmp_path / ".osrc")
    assert found.hidden is False
    assert set(found.skip) == {str(tmp_path / ".cli"), str(tmp_path / ".osrc")}


def test_elsewhere_everything_counts(repo: Path, tmp_path: Path):
    found = guard(repo, tmp_path / "home", tmp_path / "osrc")
    assert (found.hidden, found.skip, found.walled) == (True, (), False)


def test_it_is_kept_whole(repo: Path, tmp_path: Path):
    found = guard(repo, tmp_path, tmp_path / "osrc")
    assert Guard.from_json(found.to_json()) == found


@pytest.mark.parametrize("value", [None, {}, {"root": 3}, {"git_folders": "x"}])
def test_what_is_no_guard_is_none(value):
    assert Guard.from_json(value) is None


def test_a_program_that_can_not_do_it_is_no_wall(tmp_path: Path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    settings = Settings.load({}, None)
    found = guard_for(LANE, Verb.RUN, str(tmp_path), host(tmp_path, str(tmp_path)), settings, Home(tmp_path / "o"))
    assert found is not None
    assert found[1] is None
    assert not stands(Fence(program="/does/not/exist", trees=("/",), cwd="/"))


def test_one_that_can_is_taken_unless_it_is_not_wanted(tmp_path: Path):
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    for word, stands_ in (("auto", True), ("compare", False)):
        settings = Settings.load({"OSRC_WALL": word}, None)
        found = guard_for(LANE, Verb.RUN, str(tmp_path), host(tmp_path, str(tmp_path)), settings, Home(tmp_path / "o"))
        assert found is not None
        assert (found[1] is not None) is stands_
        assert found[0].walled is stands_
    assert os.path.realpath(program) == str(program)
