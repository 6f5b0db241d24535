"""Fan-outs over fake lanes, as a person runs them: whole or not at all, bounded, canceled, collected, without a daemon."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from fakes.lanes import lane_toml, steps, write_lane
from fakes.osrc_process import shown
from fakes.supervised import Supervised, until

DONE = ({"mark": "DONE"}, {"end": "finding of {cwd}"})


def jobs(home: Supervised) -> list[str]:
    folder = home.root / "jobs"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def role(folder: Path, name: str, front: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"---\n{front}\n---\n{text}\n" if front else text)


def test_a_folder_of_roles_from_refusal_to_collection(home: Supervised) -> None:
    write_lane(home.root, "other", (home.root / "lanes.d" / "fake.toml").read_text())
    agents = home.scratch / "agents"
    role(agents, "_house.md", "", "House rules for {WHO}.")
    role(agents, "first.md", "name: x\ntools: Read\nlane: other\neffort: low", "You are the first.")
    role(agents, "second.md", "", "You are the second.")
    role(agents, "turbo.md", "effort: turbo", "You are too fast.")
    role(agents, "lost.md", "lane: nowhere", "You are lost.")
    words = ("fanout", "--agents", str(agents), "--task", steps({"echo": True}, *DONE), "--sub", "WHO=us")
    words += ("--route", "second=fake:m1")

    refused = home.osrc(*words)
    assert (refused.returncode, refused.stdout) == (1, b""), shown(refused)
    assert b"turbo: its effort is 'turbo'" in refused.stderr
    (agents / "turbo.md").unlink()
    refused = home.osrc(*words)
    assert refused.returncode == 1
    assert b"1 of 3 members are refused, nothing was started. lost: There is no lane 'nowhere'." in refused.stderr
    assert jobs(home) == []

    started = home.osrc(*words, "--skip-refused", "--label", "the crew")
    group_id = started.stdout.decode().strip()
    assert started.returncode == 1, shown(started)
    assert f"osrc fanout wait {group_id}" in started.stderr.decode()
    waited = home.osrc("fanout", "wait", "the crew", "--json")
    group = json.loads(waited.stdout)
    assert (waited.returncode, group["state"]) == (1, "ended"), shown(waited)
    assert [(job["label"], job["lane"], job["effort"], job["state"]) for job in group["jobs"]] == [
        ("first", "other", "low", "done"),
        ("second", "fake", None, "done"),
    ]
    assert group["jobs"][1]["model"] == "m1"
    assert [one["label"] for one in group["refused"]] == ["lost"]
    prompt = (home.folder(group["jobs"][0]["job_id"]) / "prompt.md").read_text()
    assert "House rules for us.\n\nYou are the first.\n\n## Task\n\n#fake:" in prompt

    out = home.scratch / "found"
    collected = home.osrc("fanout", "collect", group_id, "--out", str(out))
    assert collected.stdout.decode().strip() == str(out / "COLLECTED.md")
    assert (out / "findings" / "01-first.md").read_text() == f"finding of {home.work}\n"
    assert "## lost (refused)" in (out / "COLLECTED.md").read_text()
    listed = json.loads(home.ok("fanout", "list", "--json"))
    assert [(one["label"], one["summary"]["done"]) for one in listed["groups"]] == [("the crew", 2)]
    assert group_id.encode() in home.osrc("fanout", "list").stdout


def test_a_group_is_canceled_whole(home: Supervised) -> None:
    tasks = [steps({"sleep": 600}, *DONE)] * 5
    group_id = home.ok("fanout", "--lane", "fake", "--max", "2", "--", *tasks).strip()
    until(lambda: len([one for one in home.records() if one["delegate"]]) == 2, "two run")
    assert home.osrc("fanout", "wait", group_id, "--for", "0").returncode == 124
    assert home.osrc("fanout", "collect", group_id).returncode == 124
    parked = next(one["job_id"] for one in home.records() if one["parked"])
    home.ok("cancel", parked)  # one that never had its turn, as any job
    home.kill_supervisor()
    canceled = json.loads(home.ok("fanout", "cancel", group_id, "--now", "--json"))
    assert canceled["state"] == "canceling"
    waited = home.osrc("fanout", "wait", group_id, "--json")
    group = json.loads(waited.stdout)
    assert waited.returncode == 130, shown(waited)
    assert [job["state"] for job in group["jobs"]] == ["canceled"] * 5
    assert len([one for one in home.records() if one["started"]]) == 2
    assert home.osrc("fanout", "cancel", group_id).returncode == 0
    home.nothing_left()


def test_a_lane_bears_so_many_over_all_groups(home: Supervised) -> None:
    """Two groups share a lane that bears one at a time; another lane is not held up by it."""
    home.environ["OSRC_LANE_MAX"] = "fake=1"
    write_lane(home.root, "quick", lane_toml(argv=["/bin/true"], output="text", agentic=False))
    slow = [{"task": steps({"sleep": 0.2}, *DONE), "lane": "fake"}] * 3 + [{"task": "x", "lane": "quick"}]
    lines = "\n".join(json.dumps(one) for one in slow).encode()
    groups = [home.ok("fanout", "--tasks", "-", "--max", "4", stdin=lines).strip() for _ in range(2)]
    for group_id in groups:
        assert home.osrc("fanout", "wait", group_id, "-q").returncode != 124
    live: set[str] = set()
    lanes = {one["job_id"]: one["lane"] for one in home.records()}
    for fact in home.facts():
        if fact["kind"] == "job.launching" and lanes[fact["job_id"]] == "fake":
            live.add(fact["job_id"])
        live -= {fact["job_id"]} if fact["kind"] == "job.ended" else set()
        assert len(live) <= 1
    released = [fact["group_id"] for fact in home.facts("fanout.member_released") if lanes[fact["job_id"]] == "fake"]
    assert sorted(released) == sorted(groups * 3)


def test_without_a_supervisor_the_command_stays(home: Supervised) -> None:
    done = home.osrc(
        "fanout", "--no-daemon", "--lane", "fake", "--max", "1", "--wait", "--json", "--", *[steps(*DONE)] * 3
    )
    group = json.loads(done.stdout)
    assert (done.returncode, group["summary"]["done"], home.daemons()) == (0, 3, []), shown(done)


def test_members_edit_in_work_trees_of_their_own(home: Supervised) -> None:
    repo = home.scratch / "a repo"
    repo.mkdir()
    git = ("git", "-C", str(repo), "-c", "user.name=x", "-c", "user.email=x@x.invalid")
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "a").write_text("a\n")
    subprocess.run([*git, "add", "a"], check=True)
    subprocess.run([*git, "commit", "-qm", "one"], check=True)
    tasks = [steps({"write": "a", "content": f"{number}\n"}, *DONE) for number in range(3)]
    done = home.osrc(
        "fanout", "--lane", "fake", "--verb", "edit", "--worktree", "--wait", "--json", "--", *tasks, cwd=repo
    )
    group = json.loads(done.stdout)
    trees = [job["worktree"] for job in group["jobs"]]
    assert [Path(tree, "a").read_text() for tree in trees] == ["0\n", "1\n", "2\n"], shown(done)
    assert (repo / "a").read_text() == "a\n"
    home.osrc("fanout", "collect", group["group_id"])
    assert (home.root / "fanout" / group["group_id"] / "COLLECTED.md").exists()
    home.ok("cleanup", group["jobs"][0]["job_id"], "--force")
    after = json.loads(home.ok("fanout", "status", group["group_id"], "--json"))
    assert (after["summary"]["removed"], len(after["jobs"])) == (1, 2)
    home.ok("cleanup", group["group_id"], "--force")
    assert json.loads(home.ok("fanout", "list", "--json"))["groups"] == []
    assert list((home.root / "fanout").iterdir()) == []
