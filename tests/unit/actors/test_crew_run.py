"""A crew's work: each member's kept only where the check stays green, in order, and brought home forward only."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from fakes.repos import repository, run_git
from outsourcerer.actors.crew_run import Candidate, Crew, alone, words_of
from outsourcerer.actors.worktrees import Worktree, make_worktree
from outsourcerer.cli import exit_codes
from outsourcerer.messages.refusals import Refused

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="checks look at processes through /proc")

CREW = "fanout-20261130-120000-0123456789ab"
TERMS = {"check_timeout_s": 60.0, "red": False, "may_change_check": False}


class Stage:
    """A repository, a crew in it, and members as their jobs would leave them."""

    def __init__(self, folder: Path) -> None:
        self.repo = repository(
            folder / "a repo", files={"a.txt": "one\n", "b.txt": "one\n", "check.sh": "test -f a.txt\n"}
        )
        self.folder = folder / "home" / "fanout" / CREW
        self.folder.mkdir(parents=True)
        self.base = run_git(self.repo, "rev-parse", "HEAD")
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
        self.count = 0

    def crew(self, check: str = "! grep -rq bad a.txt b.txt", **more: object) -> Crew:
        found = Crew.plan(str(self.folder), str(self.repo), {**TERMS, "check": check, **more})
        assert isinstance(found, Crew), found
        return found

    def member(self, files: dict[str, str | None], *, state: str = "done", commit: str | None = "work") -> Candidate:
        self.count += 1
        job_id = f"20261130-12000{self.count}-0123456789ab"
        path = f"{self.repo}/.outsourcerer/worktrees/{job_id}"
        tree = Worktree(path=path, branch=f"outsourcerer/{job_id}", base=self.base)
        make_worktree(tree, 60.0)
        for name, text in files.items():
            if text is None:
                Path(path, name).unlink()
            else:
                Path(path, name).write_text(text)
        if commit and files:
            run_git(Path(path), "add", "--all")
            run_git(Path(path), "commit", "--quiet", "-m", commit)
        label = f"m{self.count}"
        return Candidate(job_id, label, state, path, tree.branch, f"{label}: change things")

    def integrate(self, crew: Crew, *members: Candidate) -> list[str]:
        said: list[str] = []
        crew.integrate(members, self.environment, said.append)
        assert len(said) <= len(members)
        return [row["verdict"] for row in crew.kept["members"]]


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


def test_what_stays_green_is_kept_in_order_and_brought_home(stage):
    crew = stage.crew()
    assert crew.baseline(stage.environment) is None
    members = [
        stage.member({"a.txt": "two\n"}, commit="first\n\nCo-Authored-By: A Person <a@b.invalid>"),
        stage.member({"b.txt": "bad\n"}),
        stage.member({"a.txt": "three\n"}),
        stage.member({"c.txt": "new\n"}, commit=None),  # left uncommitted
        stage.member({}),
        stage.member({"d.txt": "x\n"}, state="failed"),
        stage.member({"e.txt": "token = ghp_" + "a1B2" * 9 + "\n"}),
    ]
    verdicts = stage.integrate(crew, *members)
    assert verdicts == ["kept", "red", "conflict", "kept", "nothing", "not_done", "secret"]
    rows = crew.kept["members"]
    assert rows[2]["conflicts"] == [{"path": "a.txt", "ours": "two", "theirs": "three"}]
    assert rows[2]["why"] == "it conflicts with m1 in a.txt"
    assert rows[1]["check"]["verdict"] == "failed"
    assert "NOT kept (red): the check exit 1" in words_of(rows[1])
    assert run_git(stage.repo, "rev-parse", "HEAD") == stage.base
    crew.land()
    crew.close()
    assert crew.kept["landed"] == run_git(stage.repo, "rev-parse", "HEAD")
    assert run_git(stage.repo, "log", "--format=%s", f"{stage.base}..HEAD").split("\n") == [
        "m4: change things",
        "m1: change things",
    ]
    assert "Co-Authored-By: A Person <a@b.invalid>" in run_git(stage.repo, "log", "-1", "--format=%B", "HEAD~1")
    assert (stage.repo / "c.txt").read_text() == "new\n"
    assert run_git(stage.repo, "status", "--porcelain") == ""
    assert not Path(crew.tree.path).exists()
    assert Path(members[1].worktree).exists()
    assert crew.kept["branch"] not in run_git(stage.repo, "branch", "--list", crew.kept["branch"])


def test_it_goes_on_where_it_was_killed(stage):
    crew = stage.crew(check="echo ran >> ../../../ran; true")
    assert crew.baseline(stage.environment) is None
    first, second = stage.member({"a.txt": "two\n"}), stage.member({"b.txt": "two\n"})
    assert stage.integrate(crew, first) == ["kept"]
    Path(crew.tree.path, "a.txt").write_text("half of something")  # as a kill in the middle leaves it
    again = Crew.load(str(stage.folder))
    assert stage.integrate(again, first, second) == ["kept", "kept"]
    assert (stage.repo / "ran").read_text() == "ran\n" * 3
    again.land()
    assert (stage.repo / "a.txt").read_text() == "two\n"
    with alone(stage.folder) as mine, alone(stage.folder) as other:
        assert (mine, other) == (True, False)


def test_who_changes_the_check_itself_is_not_kept(stage):
    crew = stage.crew(check="sh check.sh")
    assert crew.baseline(stage.environment) is None
    cheat, honest = stage.member({"check.sh": "true\n", "a.txt": None}), stage.member({"tests.sh": "true\n"})
    assert stage.integrate(crew, cheat, honest) == ["check_changed", "kept"]
    assert crew.kept["members"][0]["why"] == "it changes what the check consists of: check.sh"


def test_a_base_that_says_nothing_is_refused(stage):
    red = stage.crew(check="echo no; exit 3").baseline(stage.environment)
    assert isinstance(red, Refused)
    assert "red before anybody began (exit 3)" in red.message
    assert red.message.endswith(": no")
    assert (red.code, exit_codes.of_refusal(red.code.value)) == ("check_unfit", exit_codes.BLOCKED)
    crew = stage.crew(check="exit 3", red=True)
    crew.folder = stage.folder.with_name(CREW[:-1] + "c")
    assert crew.baseline(stage.environment) is None
    assert crew.kept["baseline"]["verdict"] == "failed"
    other = stage.crew(check="no-such-program-here", red=True)
    other.folder = stage.folder.with_name(CREW[:-1] + "d")
    assert "it would say nothing" in other.baseline(stage.environment).message


def test_a_branch_that_moved_is_not_touched(stage):
    crew = stage.crew(check="true")
    assert crew.baseline(stage.environment) is None
    assert stage.integrate(crew, stage.member({"a.txt": "two\n"})) == ["kept"]
    (stage.repo / "b.txt").write_text("mine\n")
    run_git(stage.repo, "commit", "--quiet", "-am", "meanwhile")
    crew.land()
    assert (crew.kept["landed"], crew.kept["why"]) == (None, "main has moved on meanwhile")
    crew.close()
    assert not Path(crew.tree.path).exists()
    assert run_git(stage.repo, "log", "-1", "--format=%s") == "meanwhile"
    run_git(stage.repo, "merge", "--quiet", "--no-edit", crew.kept["branch"])
    assert (stage.repo / "a.txt").read_text() == "two\n"


def test_where_no_crew_can_begin(stage, tmp_path):
    def refused(cwd: Path) -> str:
        found = Crew.plan(str(stage.folder), str(cwd), {**TERMS, "check": "true"})
        assert isinstance(found, Refused)
        return found.message

    (stage.repo / "a.txt").write_text("changed\n")
    assert "changes here that are not committed" in refused(stage.repo)
    run_git(stage.repo, "checkout", "--quiet", "--force", "--detach")
    assert "HEAD is on no branch" in refused(stage.repo)
    assert "in no git repository" in refused(tmp_path)


def test_a_record_that_is_damaged_is_none(stage):
    for text in ("", "[]", "{", json.dumps({"group_id": "another"})):
        (stage.folder / "crew.json").write_text(text)
        (stage.folder / "crew.json").chmod(0o600)
        assert Crew.load(str(stage.folder)) is None
