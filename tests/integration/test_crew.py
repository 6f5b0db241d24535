"""Crews and best-of over fake lanes, as a person runs them."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from fakes.lanes import READ_VERBS, fake_argv, lane_toml, steps, write_lane
from fakes.osrc_process import parsed, shown
from fakes.repos import repository, run_git
from fakes.supervised import Supervised, alive, until

END = ({"mark": "DONE"}, {"end": "did it"})
CHECK = "! grep -q bad a.txt b.txt"


def writes(name: str, text: str, *more: dict[str, object]) -> str:
    return f"Change {name}.\n" + steps(*more, {"write": name, "content": text}, *END)


def test_a_crew_keeps_what_keeps_the_check_green(home: Supervised) -> None:
    repo = repository(home.scratch / "a repo", files={"a.txt": "one\n", "b.txt": "one\n"})
    (repo / "sub").mkdir()
    base = run_git(repo, "rev-parse", "HEAD")
    tasks = [writes("a.txt", "two\n"), writes("b.txt", "bad\n"), writes("b.txt", "two\n")]
    red = home.osrc("crew", "--check", "exit 3", "--lane", "fake", "--", *tasks, cwd=repo)
    assert (red.returncode, red.stdout) == (3, b""), shown(red)
    assert b"red before anybody began (exit 3)" in red.stderr
    assert home.records() == []
    assert not list((home.root / "fanout").iterdir())
    assert run_git(repo, "branch", "--list", "outsourcerer/*") == ""
    usage = home.osrc("crew", "--lane", "fake", "--", *tasks, cwd=repo)
    assert (usage.returncode, b"--check CMD" in usage.stderr) == (64, True), shown(usage)

    done = home.osrc("crew", "--check", CHECK, "--lane", "fake", "--", *tasks, cwd=repo)
    assert done.returncode == 1, shown(done)
    crew_id = done.stdout.decode().strip()
    assert b"2 of 3 kept; main is at " in done.stderr, shown(done)
    assert b"task-02: NOT kept (red): the check exit 1" in done.stderr
    assert run_git(repo, "log", "--format=%s", f"{base}..HEAD") == "task-03: Change b.txt.\ntask-01: Change a.txt."
    assert (repo / "a.txt").read_text() + (repo / "b.txt").read_text() == "two\ntwo\n"
    assert run_git(repo, "status", "--porcelain") == ""

    told = json.loads(home.ok("crew", "status", crew_id, "--json"))
    assert [row["verdict"] for row in told["members"]] == ["kept", "red", "kept"]
    assert home.osrc("crew", "resume", crew_id, "--json").returncode == 1
    outcomes = {fact["job_id"]: (fact["outcome"], fact["source"]) for fact in home.facts("job.outcome")}
    assert [outcomes[row["job_id"]] for row in told["members"]] == [
        ("passed", "check"),
        ("failed", "check"),
        ("passed", "check"),
    ]
    assert len(home.facts("job.outcome")) == len(outcomes), "told once each"
    cleaned = home.osrc("cleanup", crew_id)
    assert (cleaned.stdout.count(b" removed"), cleaned.stdout.count(b" stays")) == (2, 1), shown(cleaned)


def test_a_crew_outlives_its_command_and_the_supervisor(home: Supervised) -> None:
    repo = repository(home.scratch / "repo")
    gate = home.scratch / "go"
    tasks = [writes("a.txt", "two\n", {"wait_for": str(gate)})]
    started = home.start("crew", "--check", "test -s a.txt", "--lane", "fake", "--cwd", str(repo), "--", *tasks)
    try:
        crew_id = started.stdout.readline().decode().strip()
        until(lambda: home.records() and home.records()[0]["delegate"], "it runs")
        started.kill()
    finally:
        started.communicate()
    home.kill_supervisor()
    gate.touch()
    done = home.osrc("crew", "resume", crew_id, "--json")
    found = parsed(done)
    assert (done.returncode, found["landed"]) == (0, run_git(repo, "rev-parse", "HEAD")), shown(done)
    assert (repo / "a.txt").read_text() == "two\n"


def test_a_crew_that_is_ended_before_it_began_leaves_nothing(home: Supervised) -> None:
    repo = repository(home.scratch / "repo")
    pid_file = home.scratch / "pid"
    check = f"echo $$ > '{pid_file}'; sleep 600"
    started = home.start("crew", "--check", check, "--lane", "fake", "--cwd", str(repo), "--", "x")
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text().strip(), "the check runs"))
    started.send_signal(signal.SIGTERM)
    assert started.wait(240) == 143
    assert not Path(f"/proc/{pid}").exists()
    assert run_git(repo, "branch", "--list", "outsourcerer/*") == ""
    assert not list((home.root / "fanout").iterdir())


JUDGE = """\
import re, sys
prompt = sys.stdin.read()
mark = re.search(r"RULING (\\w+): and one of", prompt)[1]
shown = dict(re.findall(mark + r" CHANGE (\\w)\\n(.*?)\\n----- " + mark, prompt, re.S))
best = next(letter for letter, text in shown.items() if "+large" in text)
print("RULING %s: %s\\nIt is the most complete." % (mark, best))
"""


def test_what_a_command_left_that_was_killed_before_its_jobs(home: Supervised) -> None:
    repo = repository(home.scratch / "repo", files={"a.txt": "one\n"})
    begun = home.scratch / "begun"
    check = f"echo $$ >> {begun}; sleep 60"
    for words in (("crew",), ("best-of", "2")):
        begun.unlink(missing_ok=True)
        command = home.start(*words, "--check", check, "--lane", "fake", "--cwd", str(repo), "--", "x")
        pid = int(until(lambda: begun.exists() and begun.read_text().strip(), "the check runs"))
        command.kill()
        command.wait(20)
        folder = until(lambda: list((home.root / "fanout").glob("fanout-*")), "its folder")[0]
        for path in folder.iterdir():
            os.utime(path, (1, 1))
        home.ok("supervisor", "restart")
        until(lambda folder=folder: not folder.exists(), "it is taken away")
        assert not alive(pid)
        assert len(run_git(repo, "worktree", "list").splitlines()) == 1
        assert run_git(repo, "branch", "--list", "outsourcerer*") == ""
    home.nothing_left()


def test_the_best_of_several_tries(home: Supervised) -> None:
    repo = repository(home.scratch / "repo", files={"a.txt": "one\n", "b.txt": "one\n"})
    program = home.scratch / "judge.py"
    program.write_text(JUDGE)
    argv: list[str | list[str]] = [sys.executable, "-I", "-S", str(program), ["--model", "{model}"]]
    write_lane(home.root, "judge", lane_toml(argv=argv, output="text", agentic=False, verbs=READ_VERBS))
    by_model = {"small": "small\n", "large": "large\n" * 3, "bad": "bad\n", "sly": "x\n"}
    for name, text in by_model.items():
        script = home.scratch / f"{name}.json"
        written = {"write": "conftest.py" if name == "sly" else "a.txt", "content": text}
        script.write_text(json.dumps([written, *END]))
        write_lane(home.root, name, lane_toml(argv=[*fake_argv("osrc-jsonl"), "--script", str(script)]))
    models = ("-m", "large:m,bad:m,small:m")
    words = ("best-of", "3", "--allow-green", "--check", CHECK, *models)
    green = home.osrc("best-of", "3", "--check", CHECK, *models, "Change a.txt.", cwd=repo)
    assert (green.returncode, b"--allow-green" in green.stderr, home.records()) == (3, True, []), shown(green)
    assert "outsourcerer" not in run_git(repo, "branch", "--list")

    found = home.osrc(*words, "Change a.txt.", "--json", cwd=repo)
    told = parsed(found)
    assert (found.returncode, told["why"]) == (0, "the smallest change that passes"), shown(found)
    assert [(row["verdict"], row["lines"]) for row in told["tries"]] == [("passed", 4), ("red", 2), ("passed", 2)]
    assert told["winner"]["label"] == "try-3-small:m"
    assert run_git(repo, "show", f"{told['winner']['branch']}:a.txt") == "small"
    assert run_git(repo, "status", "--porcelain") == ""

    judged = home.osrc("best-of", "--resume", told["group_id"], cwd=repo)
    assert judged.stdout.decode().strip() == told["winner"]["branch"], shown(judged)
    judged = home.osrc(*words, "--judge", "judge:it", "Change a.txt.", "--json", cwd=repo)
    told = parsed(judged)
    assert (judged.returncode, told["winner"]["label"]) == (0, "try-1-large:m"), shown(judged)
    assert told["why"] == "the judge's choice: It is the most complete."
    plan = parsed(home.osrc(*words, "Change a.txt.", "--json", "--dry-run", cwd=repo))
    assert plan["tries"] == ["try-1-large:m", "try-2-bad:m", "try-3-small:m"]
    assert [one["plan"]["gate_open"] for one in plan["members"]] == [True, True, True]
    sly = parsed(
        home.osrc("best-of", "2", "--allow-green", "--check", CHECK, "-m", "sly:m,large:m", "x", "--json", cwd=repo)
    )
    assert [row["verdict"] for row in sly["tries"]] == ["check_changed", "passed"], sly
    none = home.osrc("best-of", "2", "--check", "false", *models, "Change a.txt.", cwd=repo)
    assert (none.returncode, none.stdout) == (1, b""), shown(none)
