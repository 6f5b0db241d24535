"""The words of ``osrc fanout``: where members come from, and what is refused before anybody is asked."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest
from fakes.osrc_process import osrc, shown
from outsourcerer.cli import submit_group
from outsourcerer.cli.collecting import collect, file_word
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.fanout_sources import members
from outsourcerer.cli.groups import exit_code
from outsourcerer.state.group_views import group_object

NO = {"agents": None, "tasks": None, "preamble": None, "subs": (), "routes": (), "label_prefix": "task"}
NO |= {"model": None, "effort": None, "tier": None, "lane_given": False}


@pytest.fixture
def roles(tmp_path):
    folder = tmp_path / "the agents"
    folder.mkdir()
    (folder / "_house.md").write_text("---\nname: x\n---\nHouse rules.")
    (folder / "reviewer.md").write_text("---\nmodel: opus\ncolor: blue\n---\nYou review {LANG}.\n")
    (folder / "ärger.md").write_text("You worry.")
    (folder / "README.md").write_text("not a role")
    (folder / "notes.txt").write_text("not a role")
    return folder


def test_roles_of_a_folder(roles, capsys):
    (roles / "link.md").symlink_to(roles / "ärger.md")
    made, bad = members({**NO, "agents": str(roles), "subs": ("LANG=Go",)}, (), "Do it.")
    assert bad == []
    assert [one["label"] for one in made] == ["link", "reviewer", "ärger"]
    assert made[1] == {
        "label": "reviewer",
        "task": "House rules.\n\nYou review Go.\n\n## Task\n\nDo it.",
        "model": "opus",
    }
    assert "README.md" in capsys.readouterr().err


def test_files_that_can_not_be_used_are_named_and_the_others_are_not_lost(roles):
    (roles / "latin.md").write_bytes(b"gr\xfc\xdfe")
    (roles / "turbo.md").write_text("---\neffort: turbo\n---\nx")
    os.mkfifo(roles / "pipe.md")
    (roles / "huge.md").write_bytes(b"x" * (1024 * 1024 + 1))
    (roles / "folder.md").mkdir()
    made, bad = members({**NO, "agents": str(roles)}, (), "")
    assert [one["label"] for one in made] == ["reviewer", "ärger"]
    assert [one["label"] for one in bad] == ["folder", "huge", "latin", "pipe", "turbo"]
    said = " ".join(one["message"] for one in bad)
    for words in ("0xfc at offset 2", "'turbo'", "not a regular file", "longer than 1024 KiB"):
        assert words in said


def test_tasks_on_the_command_line_and_in_a_file(tmp_path):
    made, _ = members({**NO, "label_prefix": "job"}, ("one", "--two"), "")
    assert made == [{"label": "job-01", "task": "one"}, {"label": "job-02", "task": "--two"}]
    (tmp_path / "t").write_text('{"task": "a", "label": "x", "model": "m"}\n')
    made, _ = members({**NO, "tasks": str(tmp_path / "t"), "routes": ("x=opus",)}, (), "")
    assert made == [{"label": "x", "task": "a", "model": "opus"}]
    (tmp_path / "t").write_text("# nothing\n")
    with pytest.raises(CliError, match="holds no task"):
        members({**NO, "tasks": str(tmp_path / "t")}, (), "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("a task",), "tasks stand after --"),
        (("--", " "), "task 1 is empty"),
        ((), "Give one of --agents"),
        (("--tasks", "x", "--", "y"), "Give one of --agents"),
        (("--task", "x", "--", "y"), "--task and --task-file go with --agents"),
        (("--max", "0", "--", "y"), "--max is from 1"),
        (("--agents", "/nowhere"), "can't read the folder"),
        (("--route", "x", "--", "y"), "is no route"),
        (("--sub", "x", "--", "y"), "is no substitution"),
        (("-m", "opus", "list"), "--model is of the fan-out itself"),
        (("status", "nobody"), "there is no group 'nobody'"),
        (("wait", "--", "status"), "there is no group 'status'"),
    ],
)
def test_what_can_not_be_meant_is_said_and_nothing_is_started(tmp_path, words, said):
    done = osrc(tmp_path / "osrc", "fanout", *words, cwd=tmp_path)
    assert done.returncode in (1, 64), shown(done)
    assert said in done.stderr.decode(), shown(done)
    assert not (tmp_path / "osrc" / "supervisor.json").exists()


def group(folder, *states, refused=()):
    jobs = []
    for number, state in enumerate(states):
        path = folder / f"{number}.txt"
        if state == "done":
            path.write_text(f"finding {number}")
        ended = None if state == "running" else 1.0
        job = {"job_id": f"j{number}", "label": f"a/{number}", "state": state, "ended": ended, "lane": "x"}
        jobs.append({**job, "reason": "why | not", "result_path": str(path), "age_s": 1.0})
    named = [{"job_id": job["job_id"]} for job in jobs]
    row = {"group_id": "fanout-1", "members": named, "refused": refused, "accepted_at": 0.0}
    return group_object(row, jobs, 5.0)


def test_a_group_is_collected_whole(tmp_path):
    refused = [{"label": "bad", "code": "bad_task", "message": "no text"}]
    out = tmp_path / "new" / "out"
    path, findings = collect(group(tmp_path, "done", "failed", "running", refused=refused), str(out))
    assert [place.stat().st_mode & 0o077 for place in (out.parent, out, out / "findings", out / "COLLECTED.md")] == [
        0
    ] * 4
    assert (out / "findings/01-a-0.md").read_text() == "finding 0\n"
    assert [one["path"] is None for one in findings] == [False, True, True]
    text = (out / "COLLECTED.md").read_text()
    assert path == str(out / "COLLECTED.md")
    for words in (
        "## 1. a/0 (done)\n\nfinding 0",
        "No final message: why | not",
        "1 not ended yet",
        "Not started: no text",
    ):
        assert words in text
    kept = json.loads((out / "COLLECTED.json").read_text())
    assert [one["state"] for one in kept["findings"]] == ["done", "failed", "running"]
    assert collect(group(tmp_path, "done"), str(out))[0] == path
    assert file_word("..") == "member"


@pytest.mark.parametrize(
    ("states", "code"),
    [(("done", "done"), 0), (("done", "done?"), 2), (("done?", "blocked"), 3), (("done", "running"), 124)],
)
def test_the_exit_code_is_that_of_the_gravest(tmp_path, states, code):
    assert exit_code(group(tmp_path, *states)) == code
    refused = [{"label": "bad", "code": "bad_task", "message": "no text"}]
    assert exit_code(group(tmp_path, *states, refused=refused)) == (124 if code == 124 else 1)


@pytest.mark.parametrize("quiet", [False, True])
def test_what_leaves_is_said_once_for_each_that_it_goes_to(quiet, monkeypatch, capsys):
    reach = SimpleNamespace(options=SimpleNamespace(quiet=quiet), root="/nowhere", channel=lambda: None)
    claude, codex = ["cloud: claude", "reads: a"], ["cloud: codex", "reads: b"]
    members = [{"plan": {"disclosure": lines}} for lines in (claude, [], codex, ["cloud: claude", "reads: c"])]
    for reply in ({"disclosures": [claude, codex]}, {"members": members}, {}):
        monkeypatch.setattr(submit_group, "send_once", lambda *_, reply=reply: reply)
        assert submit_group.submit_group(reach, {"members": []}) == reply
        said = capsys.readouterr().err.splitlines()
        whole = ["cloud: claude", "  reads: a", "cloud: codex", "  reads: b"]
        assert said == (whole[:: 2 if quiet else 1] if reply else [])
