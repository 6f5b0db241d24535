"""Two hundred members, some of which die, flood, or meet a limit, under a supervisor that is killed: each ends once."""

from __future__ import annotations

import json
import random
import time
from collections import Counter

import pytest
from fakes.osrc_process import shown
from fakes.supervised import Supervised, until

pytestmark = pytest.mark.chaos

MEMBERS = 200
MOST = 12
KILLS = 4
LIMIT = {"end": "You have hit your usage limit.", "ok": False, "error": "plan-limit"}
LIVES: dict[str, tuple[list[dict[str, object]], set[str]]] = {
    "done": ([{"mark": "DONE"}, {"end": "finding {pid}"}], {"done"}),
    "unsigned": ([{"end": "an answer"}], {"done?"}),
    "exits": ([{"exit": 7}], {"failed"}),
    "killed": ([{"say": "one"}, {"kill": 9}], {"failed", "interrupted"}),
    "floods": ([{"flood": 400_000}, {"mark": "DONE"}, {"end": "after it"}], {"done"}),
    "limit": ([LIMIT], {"failed", "blocked"}),
    "blocked": ([{"mark": "BLOCKED", "text": "no key"}, {"end": "blocked"}], {"blocked"}),
}
"""Kind of member → what it does, and the states that are true of it."""


def test_each_of_two_hundred_ends_once(home: Supervised, chance: random.Random) -> None:
    home.environ["OSRC_MAX_JOBS"] = str(MOST + 8)
    proofs = home.scratch / "started"
    proofs.mkdir()
    kinds = {f"m{number:03}": chance.choice(list(LIVES)) for number in range(MEMBERS)}
    lines = []
    for label, kind in kinds.items():
        nap = {"sleep": round(chance.uniform(0, 0.1), 3)}
        script = [{"record": str(proofs / label)}, nap, *LIVES[kind][0]]
        lines.append(json.dumps({"label": label, "task": f"#fake: {json.dumps(script)}"}))
    done = home.osrc("fanout", "--lane", "fake", "--max", str(MOST), "--tasks", "-", stdin="\n".join(lines).encode())
    assert done.returncode == 0, shown(done)
    group_id = done.stdout.decode().strip()

    waiting = home.start("fanout", "wait", group_id, "--json", "-q")
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.5, 2.0))  # any moment will do: it is chance's to choose
        until(lambda: waiting.poll() is not None or listens(home), "somebody supervises it")
        if waiting.poll() is None:
            home.kill_supervisor()
    out, _ = waiting.communicate(timeout=400)
    group = json.loads(out)
    assert waiting.returncode == 1
    assert (group["state"], group["summary"]["total"]) == ("ended", MEMBERS)

    states = {job["label"]: job["state"] for job in group["jobs"]}
    wrong = {label: states[label] for label, kind in kinds.items() if states[label] not in LIVES[kind][1]}
    assert wrong == {}
    started = {path.name: len(path.read_text().splitlines()) for path in proofs.iterdir()}
    assert started == dict.fromkeys(kinds, 1)
    assert Counter(fact["job_id"] for fact in home.facts("job.ended")) == {job["job_id"]: 1 for job in group["jobs"]}
    assert len(home.facts("fanout.ended")) == 1
    assert highest_at_once(home) <= MOST
    home.nothing_left()

    collected = home.osrc("fanout", "collect", group_id, "--json")
    assert collected.returncode == 1
    findings = json.loads(collected.stdout)["findings"]
    assert [one["label"] for one in findings] == sorted(kinds)
    assert all(one["path"] for one in findings if kinds[one["label"]] in ("done", "unsigned", "floods"))


def listens(home: Supervised) -> bool:
    """Whether the supervisor that runs is one that has come up: one that never could is not tried again for ever."""
    return (home.supervisor() or {}).get("pid") in home.daemons()


def highest_at_once(home: Supervised) -> int:
    """The most jobs that were between their launch and their end at one time, as the journal tells it."""
    live: set[str] = set()
    highest = 0
    for fact in home.facts():
        if fact["kind"] == "job.launching":
            live.add(fact["job_id"])
        elif fact["kind"] == "job.ended":
            live.discard(fact["job_id"])
        highest = max(highest, len(live))
    return highest
