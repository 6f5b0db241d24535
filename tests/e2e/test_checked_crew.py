"""A crew of two real CLIs, brought together under a check; and a second opinion of the same two, as advice has it.

Seen on Claude Code 2.1.332, which commits nothing here, and Codex 0.171.0, for which it is committed.
"""

from __future__ import annotations

import json

import pytest
from fakes.cli_jobs import ANSWER
from fakes.repos import repository, run_git
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e


def test_two_clis_make_one_branch(make_world) -> None:
    own = {"text": "I write.", "calls": [{"shell": 'echo done > "by-$(basename "$PWD").txt"'}]}
    world = make_world([own, ANSWER, own, ANSWER])
    environ = sign_in(world, "claude") | sign_in(world, "codex")
    repo = repository(world.repo, files={"a.txt": "one\n"})
    base = run_git(repo, "rev-parse", "HEAD")
    tasks = world.root / "tasks.jsonl"
    rows = [
        {"task": "Write your file.", "label": lane, "lane": lane, "model": MODELS[lane]} for lane in ("claude", "codex")
    ]
    tasks.write_text("\n".join(map(json.dumps, rows)))
    words = ("crew", "--check", "grep -q one a.txt", "--tasks", str(tasks), "--max", "1", "--cwd", str(repo), "--json")
    done = world.osrc(*words, timeout_s=400, **environ)
    told = json.loads(done.stdout)
    assert [row["verdict"] for row in told["members"]] == ["kept", "kept"], (told, done.stderr)
    assert (done.returncode, told["landed"]) == (0, run_git(repo, "rev-parse", "HEAD")), done.stderr
    said = run_git(repo, "log", "--format=%s", f"{base}..HEAD").split("\n")
    assert said == ["codex: Write your file.", "claude: Write your file."]
    assert sorted(path.name for path in repo.glob("by-*.txt")) == sorted(
        f"by-{row['job_id']}.txt" for row in told["members"]
    )
    assert run_git(repo, "status", "--porcelain") == ""

    world.server.forget()
    world.server.steps = [{"text": "The answer is 42.", "mark": "DONE", "repeat": 0}]
    environ["OSRC_FAILOVER_CASH_OK"] = "1"  # they are signed in by keys, which cost cash
    asked = world.osrc("second-opinion", "--cwd", str(repo), "--json", "What is 6 times 7?", timeout_s=400, **environ)
    found = json.loads(asked.stdout)
    assert (asked.returncode, found["outcome"]) == (0, "consensus"), (found["members"], asked.stderr)
    answered = {one["lane"] for one in found["members"] if one["fault"] is None}
    assert len(answered) == 2, "of two makers, as advice has them; others here are not signed in"
    assert found["answer"] == "The answer is 42."
