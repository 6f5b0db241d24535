"""Work trees of jobs' own, with the real git in every kind of repository."""

import os
import shutil
import threading
from pathlib import Path

import pytest
from fakes.repos import repository, run_git
from fakes.state import job_id, record
from outsourcerer.actors.git import GitError, ask_git, git
from outsourcerer.actors.worktree_removal import own_tree_of, remove_worktree, size_of, tree_of_record, would_be_lost
from outsourcerer.actors.worktrees import (
    Planned,
    locked,
    look_into,
    make_worktree,
    plan_worktree,
    sentences,
    settle_worktree,
)
from outsourcerer.messages.refusals import Refused

JOB = job_id(1)


@pytest.fixture
def repo(tmp_path):
    return repository(tmp_path / "a 'quoted' ünï repo", files={"a.txt": "one\n", "sub/b.txt": "two\n"})


def planned(folder, job=JOB, base="HEAD"):
    found = plan_worktree(str(folder), job, base)
    assert isinstance(found, Planned), found
    return found


def made(folder, job=JOB):
    tree = planned(folder, job).tree
    make_worktree(tree, 60)
    return tree


def refused(folder, base="HEAD"):
    found = plan_worktree(str(folder), JOB, base)
    assert isinstance(found, Refused), found
    assert found.code == "no_worktree"
    return found.message


def write(tree, name, text="left\n"):
    Path(tree.path, name).write_text(text, encoding="utf-8")


def commit(tree, name, text="new\n"):
    write(tree, name, text)
    run_git(tree.path, "add", "--all")
    run_git(tree.path, "commit", "--quiet", "-m", name)


# --- making


def test_it_lies_in_the_repository_on_its_own_branch_and_git_status_does_not_show_it(repo):
    plan = planned(repo / "sub")
    make_worktree(plan.tree, 60)
    assert plan.cwd == f"{repo}/.outsourcerer/worktrees/{JOB}/sub"
    assert Path(plan.cwd, "b.txt").read_text() == "two\n"
    assert run_git(plan.tree.path, "branch", "--show-current") == f"outsourcerer/{JOB}"
    assert run_git(repo, "status", "--porcelain") == ""
    made(repo, job_id(2))
    lines = (repo / ".git/info/exclude").read_text().splitlines()
    assert lines.count("/.outsourcerer/") == 1
    assert not (repo / ".gitignore").exists()


def test_it_begins_at_the_pinned_commit_whatever_comes_meanwhile(repo):
    tree = planned(repo).tree
    (repo / "late.txt").write_text("late")
    run_git(repo, "add", ".")
    run_git(repo, "commit", "--quiet", "-m", "late")
    make_worktree(tree, 60)
    assert not Path(tree.path, "late.txt").exists()
    assert run_git(tree.path, "rev-parse", "HEAD") == tree.base


def test_another_base_can_be_set_and_what_is_none_is_refused(repo):
    run_git(repo, "tag", "v1")
    assert planned(repo, base="v1").tree.base == run_git(repo, "rev-parse", "v1")
    assert "--upload-pack=x" in refused(repo, base="--upload-pack=x")


def test_changes_that_are_not_committed_are_mentioned(repo):
    assert not any("not committed" in said for said in planned(repo).notices)
    (repo / "a.txt").write_text("changed")
    assert any("not committed" in said for said in planned(repo).notices)


def test_a_folder_that_no_commit_has_is_refused(repo):
    (repo / "new one" / "deep").mkdir(parents=True)
    (repo / "new one" / "deep" / "x.txt").write_text("not committed")
    assert "new one/deep is not in " in refused(repo / "new one" / "deep")
    assert planned(repo / "sub").cwd.endswith("/sub")


def test_a_detached_head_works(repo):
    run_git(repo, "checkout", "--quiet", "--detach")
    assert Path(made(repo).path, "a.txt").exists()


def test_a_submodule_and_a_repository_that_has_some(repo, tmp_path):
    other = repository(tmp_path / "other", files={"inner.txt": "inner\n"})
    run_git(repo, "submodule", "--quiet", "add", str(other), "module")
    run_git(repo, "commit", "--quiet", "-m", "module")
    plan = planned(repo)
    assert any("submodules" in said for said in plan.notices)
    make_worktree(plan.tree, 60)
    assert Path(plan.tree.path, "module").is_dir()
    inside = made(repo / "module", job_id(2))
    assert inside.path.startswith(f"{repo}/module/.outsourcerer/")
    assert Path(inside.path, "inner.txt").exists()
    assert run_git(repo, "status", "--porcelain") == ""


def test_a_linked_work_tree_and_one_of_another_job(repo, tmp_path):
    run_git(repo, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    assert made(tmp_path / "linked").path.startswith(str(tmp_path / "linked"))
    outer = made(repo, job_id(2))
    commit(outer, "outer.txt")
    inner = made(outer.path, job_id(3))
    assert inner.path == f"{repo}/.outsourcerer/worktrees/{job_id(3)}"
    assert Path(inner.path, "outer.txt").exists()


def test_what_can_have_none_is_refused_with_the_reason(repo, tmp_path):
    (tmp_path / "plain").mkdir()
    assert "no git repository" in refused(tmp_path / "plain")
    (tmp_path / "empty").mkdir()
    run_git(tmp_path / "empty", "init", "--quiet", ".")
    assert "no commit yet" in refused(tmp_path / "empty")
    run_git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare.git")
    assert "bare repository" in refused(tmp_path / "bare.git")
    assert "inside of a git folder" in refused(repo / ".git")


def test_a_tracked_link_in_our_place_leads_nowhere(repo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (repo / ".outsourcerer").symlink_to(tmp_path / "elsewhere")
    assert "no folder" in refused(repo)
    with pytest.raises(GitError, match="no folder"), locked(str(repo), 0.0):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_one_that_was_left_half_made_is_made_anew(repo):
    tree = planned(repo).tree
    git(tree.root, "worktree", "add", "--quiet", "--no-checkout", "-b", tree.branch, tree.path, tree.base)
    make_worktree(tree, 60)
    assert Path(tree.path, "a.txt").exists()
    shutil.rmtree(tree.path)
    make_worktree(tree, 60)
    assert Path(tree.path, "a.txt").exists()
    assert run_git(tree.path, "status", "--porcelain") == ""


def test_a_branch_of_that_name_with_commits_is_never_overwritten(repo):
    tree = planned(repo).tree
    run_git(repo, "checkout", "--quiet", "-b", tree.branch)
    run_git(repo, "commit", "--quiet", "--allow-empty", "-m", "theirs")
    with pytest.raises(GitError, match="commits of its own"):
        make_worktree(tree, 60)


def test_no_hook_and_no_monitor_of_the_repository_runs_and_no_caller_misleads_git(repo, tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    for place in (repo / ".git/hooks/post-checkout", repo / ".git/hooks/pre-commit", tmp_path / "monitor"):
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"#!/bin/sh\necho $0 >> '{ran}'\n")
        place.chmod(0o755)
    run_git(repo, "config", "core.fsmonitor", str(tmp_path / "monitor"))
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    tree = made(repo)
    write(tree, "new.txt", "x")
    assert settle_worktree(tree, "message").committed
    assert not ran.exists()


# --- seeing to


def test_what_was_left_is_committed_where_that_is_wanted(repo):
    tree = made(repo)
    commit(tree, "own.txt")
    write(tree, "left ü.txt")
    seen = settle_worktree(tree, None)
    assert (seen.ahead, seen.dirty, seen.committed) == (1, ("left ü.txt",), False)
    assert "left" in sentences(tree, seen)[1]
    done = settle_worktree(tree, f"{JOB}: what it is\n\nOutsourcerer-Job: {JOB}\n")
    assert (done.ahead, done.dirty, done.committed) == (2, (), True)
    assert JOB in run_git(repo, "log", "-1", "--format=%B", tree.branch)
    assert run_git(repo, "log", "-1", "--format=%an", tree.branch) == "outsourcerer-delegate"
    assert settle_worktree(tree, "again") == look_into(tree)
    assert run_git(repo, "log", "--format=%s") == "first"


def test_a_git_folder_that_a_delegate_planted_is_not_read(repo, tmp_path):
    tree = made(repo)
    ran = tmp_path / "ran"
    evil = repository(tmp_path / "evil")
    run_git(evil, "config", "filter.x.clean", f"sh -c 'echo ran > {ran}; cat'")
    write(tree, ".git", f"gitdir: {evil}/.git\n")
    write(tree, ".gitattributes", "* filter=x\n")
    assert settle_worktree(tree, "message").committed
    assert run_git(repo, "log", "-1", "--format=%s", tree.branch) == "message"
    assert not ran.exists()


def test_another_repository_inside_is_not_swallowed(repo):
    tree = made(repo)
    nested = repository(Path(tree.path, "nested"))
    seen = settle_worktree(tree, "message")
    assert not seen.committed
    assert seen.dirty == ("nested/",)
    assert "other repositories" in (seen.why or "")
    assert (nested / "a.txt").exists()
    assert would_be_lost(tree) is not None


# --- removing


def test_uncommitted_and_unmerged_work_is_named(repo):
    tree = made(repo)
    assert would_be_lost(tree) is None
    write(tree, "left.txt")
    assert "left.txt" in (would_be_lost(tree) or "")
    run_git(tree.path, "add", ".")
    run_git(tree.path, "commit", "--quiet", "-m", "work")
    assert would_be_lost(tree) == f"1 commit on {tree.branch} that no other branch has"
    run_git(tree.path, "checkout", "--quiet", "--detach")
    run_git(tree.path, "commit", "--quiet", "--allow-empty", "-m", "more")
    assert (would_be_lost(tree) or "").startswith("1 commit")


@pytest.mark.parametrize("how", ["merge", "squash", "pick", "tag"])
def test_work_that_is_elsewhere_is_not_lost(repo, how):
    tree = made(repo)
    commit(tree, "work.txt")
    run_git(repo, "commit", "--quiet", "--allow-empty", "-m", "meanwhile")
    if how == "merge":
        run_git(repo, "merge", "--quiet", "--no-edit", tree.branch)
    elif how == "squash":
        run_git(repo, "merge", "--quiet", "--squash", tree.branch)
        run_git(repo, "commit", "--quiet", "-m", "squashed")
    elif how == "pick":
        run_git(repo, "cherry-pick", tree.branch)
    else:
        run_git(repo, "tag", "kept", tree.branch)
    assert would_be_lost(tree) is None


def test_removing_touches_its_own_path_and_branch_and_nothing_else(repo):
    tree, sibling = made(repo), made(repo, job_id(2))
    commit(tree, "mine.txt")
    commit(sibling, "theirs.txt")
    write(sibling, "open.txt")
    (repo / "own.txt").write_text("the person's")
    run_git(repo, "branch", "their-branch")
    assert remove_worktree(tree) == []
    assert not os.path.lexists(tree.path)
    assert run_git(repo, "branch", "--format=%(refname:short)").splitlines() == [
        "main",
        f"outsourcerer/{job_id(2)}",
        "their-branch",
    ]
    assert look_into(sibling).dirty == ("open.txt",)
    assert run_git(repo, "status", "--porcelain") == "?? own.txt"
    assert remove_worktree(tree) == []


def test_one_whose_git_file_is_broken_or_gone_is_removed_too(repo):
    tree, other = made(repo), made(repo, job_id(2))
    Path(tree.path, ".git").unlink()
    shutil.rmtree(other.path)
    for one in (tree, other):
        assert remove_worktree(one) == []
        assert not os.path.lexists(one.path)
    assert len(run_git(repo, "worktree", "list").splitlines()) == 1


def test_a_branch_that_somebody_works_on_is_kept_and_said(repo):
    tree = made(repo)
    run_git(tree.path, "checkout", "--quiet", "--detach")
    run_git(repo, "checkout", "--quiet", tree.branch)
    (said,) = remove_worktree(tree)
    assert "kept" in said
    assert run_git(repo, "branch", "--show-current") == tree.branch


def test_a_record_that_names_another_place_has_no_tree_of_ours(repo):
    tree = planned(repo).tree
    terms = {"worktree": tree.path, "branch": tree.branch, "base": tree.base}
    assert tree_of_record(record(1, **terms)) == tree
    assert tree_of_record(record(1, **{**terms, "worktree": str(repo)})) is None
    assert tree_of_record(record(2, **terms)) == tree  # it goes on with the other's conversation
    assert own_tree_of(record(2, **terms)) is None
    assert own_tree_of(record(1, **terms)) == tree
    assert tree_of_record(record(1, **{**terms, "branch": "main"})) is None
    assert tree_of_record(record(1)) is None


def test_a_size_is_what_it_takes_on_the_disk(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/")
    assert 100_000 <= size_of(str(tmp_path)) < 400_000
    assert size_of(str(tmp_path / "none")) == 0


# --- the lock, and git itself


def test_the_lock_is_held_by_one_at_a_time(repo):
    held, entered = threading.Event(), []

    def second():
        held.wait(120)
        with locked(str(repo), 1e12):
            entered.append("second")

    other = threading.Thread(target=second)
    other.start()
    with locked(str(repo), 1e12):
        held.set()
        with pytest.raises(GitError, match="held by another"), locked(str(repo), 0.0):
            pass
        entered.append("first")
    other.join(120)
    assert entered == ["first", "second"]


def test_what_git_says_is_one_sentence(repo):
    with pytest.raises(GitError, match=r"^ambiguous argument 'nothing"):
        git(str(repo), "rev-parse", "nothing^{commit}")
    with pytest.raises(GitError, match="can't be run"):
        git(str(repo / "none"), "status")
    with pytest.raises(GitError, match="not installed"):
        ask_git(str(repo), ("status",), environment={"PATH": "/nowhere"})
