"""What a read-only job changed, file by file: never more than it did, never less."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outsourcerer.actors import tree_snapshot
from outsourcerer.actors.tree_snapshot import Snapshot, changes, dump, load, take
from outsourcerer.actors.work_tree import Guard, find_tree


def git(where: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(("git", *identity, *words), cwd=where, check=True, capture_output=True)


def guard_of(place: Path) -> Guard:
    root, folders = find_tree(str(place))
    return Guard(root=root, git_folders=folders)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    place = tmp_path / "repo"
    (place / "src").mkdir(parents=True)
    git(place, "init", "-q", "-b", "main")
    (place / "a.txt").write_text("a\n")
    (place / "src" / "b.txt").write_text("b\n")
    (place / ".gitignore").write_text(".env\nbuild/\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    (place / "loose.txt").write_text("loose\n")
    (place / ".env").write_text("KEY=1\n")
    (place / "build").mkdir()
    (place / "build" / "out.o").write_text("o\n")
    return place


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    place = tmp_path / "plain"
    (place / "sub").mkdir(parents=True)
    (place / "a.txt").write_text("a\n")
    (place / "sub" / "b.txt").write_text("b\n")
    return place


def difference(place: Path, before: Snapshot) -> list[str]:
    """As a job does it: what was kept on disk against a look that reads only what differs."""
    kept = load(dump(before))
    assert kept == before
    assert kept.why is None
    after = take(guard_of(place), kept)
    assert after.why is None
    return changes(kept, after)


@pytest.mark.parametrize("kind", ["repo", "plain"])
def test_each_kind_of_change_is_named(kind: str, request: pytest.FixtureRequest):
    place: Path = request.getfixturevalue(kind)
    sub = "src" if kind == "repo" else "sub"
    before = take(guard_of(place))
    assert difference(place, before) == []
    (place / "new é.txt").write_text("new")
    (place / "a.txt").write_text("A\n")
    (place / sub / "b.txt").unlink()
    assert difference(place, before) == ["modified a.txt", "added new é.txt", f"deleted {sub}/b.txt"]


@pytest.mark.parametrize("kind", ["repo", "plain"])
def test_reading_and_touching_is_no_change(kind: str, request: pytest.FixtureRequest):
    place: Path = request.getfixturevalue(kind)
    before = take(guard_of(place))
    (place / "a.txt").read_text()
    (place / "a.txt").write_text("a\n")
    os.utime(place / "a.txt", (1, 1))
    assert difference(place, before) == []


def test_a_change_can_not_be_hidden_behind_its_time_and_size(plain: Path):
    before = take(guard_of(plain))
    status = (plain / "a.txt").stat()
    (plain / "a.txt").write_text("x\n")
    os.utime(plain / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert difference(plain, before) == ["modified a.txt"]


def test_modes_links_and_folders_count(plain: Path):
    (plain / "link").symlink_to("a.txt")
    before = take(guard_of(plain))
    (plain / "a.txt").chmod(0o755)
    (plain / "link").unlink()
    (plain / "link").symlink_to("sub/b.txt")
    (plain / "empty").mkdir()
    assert difference(plain, before) == ["modified a.txt", "added empty/", "modified link"]


def test_what_git_does_when_it_is_read_is_no_change(repo: Path):
    before = take(guard_of(repo))
    os.utime(repo / "a.txt", (1, 1))
    git(repo, "status")  # rewrites the index: the file's time was changed
    git(repo, "log")
    assert difference(repo, before) == []


def test_an_ignored_file_counts_beside_others_and_not_in_an_ignored_folder(repo: Path):
    before = take(guard_of(repo))
    (repo / ".env").write_text("KEY=2\n")
    (repo / "build" / "out.o").write_text("p\n")
    assert difference(repo, before) == ["modified .env"]


def test_what_only_git_holds_counts(repo: Path):
    before = take(guard_of(repo))
    git(repo, "add", "loose.txt")
    assert difference(repo, before) == ["modified .git/index"]
    git(repo, "commit", "-qm", "sneaked in")
    assert "modified .git/refs/heads/main" in difference(repo, before)
    git(repo, "checkout", "-qb", "other")
    git(repo, "config", "core.pager", "evil")
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    found = difference(repo, before)
    assert {"modified .git/HEAD", "added .git/refs/heads/other", "modified .git/config"} < set(found)
    assert "added .git/hooks/pre-commit" in found


def test_from_a_linked_work_tree_a_hook_of_the_shared_folder_is_seen(repo: Path):
    git(repo, "worktree", "add", "-q", "../linked")
    linked = repo.parent / "linked"
    before = take(guard_of(linked))
    (repo / ".git" / "hooks").mkdir(exist_ok=True)
    (repo / ".git" / "hooks" / "pre-push").write_text("x")
    (linked / "a.txt").write_text("A\n")
    assert difference(linked, before) == ["added .git/hooks/pre-push", "modified a.txt"]


def test_a_repository_within_is_looked_into(repo: Path):
    (repo / "inner").mkdir()
    git(repo / "inner", "init", "-q")
    (repo / "inner" / "c.txt").write_text("c\n")
    before = take(guard_of(repo))
    (repo / "inner" / "c.txt").write_text("C\n")
    assert difference(repo, before) == ["modified inner/c.txt"]


def test_what_others_write_to_is_left_out(plain: Path):
    (plain / ".state").mkdir()
    (plain / ".history").write_text("")
    guard = Guard(root=str(plain), skip=(str(plain / "sub"),), hidden=False)
    before = take(guard)
    (plain / "sub" / "b.txt").write_text("B\n")
    (plain / ".state" / "x").write_text("x")
    (plain / ".history").write_text("ls\n")
    (plain / "a.txt").write_text("A\n")
    assert changes(before, take(guard, before)) == ["modified a.txt"]


def test_configuration_of_the_tree_runs_nothing(repo: Path, tmp_path: Path):
    proof = tmp_path / "proof"
    git(repo, "config", "core.fsmonitor", f"touch {proof}; false")
    assert take(guard_of(repo)).why is None
    assert not proof.exists()


@pytest.mark.parametrize("kind", ["repo", "plain"])
def test_beyond_a_bound_nothing_is_claimed(kind: str, request: pytest.FixtureRequest, monkeypatch):
    place: Path = request.getfixturevalue(kind)
    monkeypatch.setattr(tree_snapshot, "MOST_FILES", 2)
    found = take(guard_of(place))
    assert found.entries == {}
    assert found.why is not None
    assert found.why.startswith("too large: it has more than 2 files")
    assert load(dump(found)) == found


def test_out_of_time_nothing_is_claimed(plain: Path, monkeypatch):
    monkeypatch.setattr(tree_snapshot, "MOST_S", 0.0)
    assert "takes longer" in (take(guard_of(plain)).why or "")


def test_a_file_too_large_to_read_is_known_by_its_times(plain: Path, monkeypatch):
    monkeypatch.setattr(tree_snapshot, "HASHED_FILE", 1)
    before = take(guard_of(plain))
    assert before.entries["a.txt"].digest is None
    assert difference(plain, before) == []
    (plain / "a.txt").write_text("b\n")
    assert difference(plain, before) == ["modified a.txt"]


def test_names_that_are_no_text_are_shown(plain: Path):
    before = take(guard_of(plain))
    os.close(os.open(os.fsencode(plain) + b"/\xff\n\x1b[31m", os.O_CREAT | os.O_WRONLY))
    (found,) = difference(plain, before)
    assert found.isprintable()
    assert found.startswith("added ")


@given(st.binary(max_size=200))
def test_what_was_not_saved_here_is_no_snapshot(data: bytes):
    assert load(data) is None


ACTS = st.lists(st.tuples(st.sampled_from(["write", "delete", "touch", "same"]), st.integers(0, 3)), max_size=6)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(acts=ACTS)
def test_it_is_exactly_what_differs(tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int]]):
    place = tmp_path_factory.mktemp("tree")
    for number in (0, 1):
        (place / f"f{number}").write_text("start")
    expected = {path.name: path.read_text() for path in place.iterdir()}
    guard = Guard(root=str(place))
    before = take(guard)
    for step, (act, number) in enumerate(acts):
        path = place / f"f{number}"
        if act == "write":
            path.write_text(f"step {step}")
        elif act == "delete":
            path.unlink(missing_ok=True)
        elif path.exists():
            path.touch() if act == "touch" else path.write_text(path.read_text())
    now = {path.name: path.read_text() for path in place.iterdir()}
    told = {word.split(" ", 1)[1]: word.split(" ", 1)[0] for word in changes(before, take(guard, before))}
    assert {name for name, kind in told.items() if kind == "added"} == now.keys() - expected.keys()
    assert {name for name, kind in told.items() if kind == "deleted"} == expected.keys() - now.keys()
    both = now.keys() & expected.keys()
    assert {name for name, kind in told.items() if kind == "modified"} == {n for n in both if now[n] != expected[n]}
