"""``events --follow --since N`` misses nothing and repeats nothing, whatever happens to the supervisor."""

from __future__ import annotations

import json
import random
import subprocess
import time

import pytest
from fakes.osrc_process import command
from fakes.supervised import Supervised, kill, until
from outsourcerer.state.reader import Reader

pytestmark = pytest.mark.chaos

PROGRESS = {"repeat": 12, "steps": [{"mark": "PROGRESS", "text": "1/2 going"}, {"sleep": 0.15}]}


def numbers(home: Supervised) -> list[int]:
    """Every fact's number, as the store has it."""
    with Reader(home.root / "state.db") as reader:
        return [seq for seq, _, _, _ in reader.entries(0, 100_000)]


def follow(home: Supervised, name: str, *words: str) -> subprocess.Popen[bytes]:
    """A follower that writes into a file."""
    with (home.scratch / name).open("wb") as file:
        return subprocess.Popen(
            command("events", "--follow", "--json", *words),
            stdout=file,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            env=home.environment(),
            start_new_session=True,
        )


def heard(home: Supervised, name: str) -> list[int]:
    """The numbers that a follower has written so far, whole lines only."""
    data = (home.scratch / name).read_bytes()
    return [json.loads(line)["seq"] for line in data[: data.rfind(b"\n") + 1].splitlines()]


def test_followers_through_kills_of_the_supervisor(home: Supervised, chance: random.Random) -> None:
    first = home.bg({"end": "x"})
    home.ended(first)
    since = numbers(home)[-1]
    everything, later = follow(home, "all"), follow(home, "later", "--since", str(since))
    try:
        jobs = [home.bg(PROGRESS, {"mark": "DONE"}, {"end": "x"}) for _ in range(6)]
        for _ in range(4):
            until(home.supervisor, "it listens")
            time.sleep(chance.uniform(0, 0.4))
            home.kill_supervisor()
            home.ok("supervisor", "restart")
        for job_id in jobs:
            assert home.ended(job_id)["state"] == "done"
        home.ok("supervisor", "restart")
        expected = numbers(home)
        until(lambda: heard(home, "all")[-1:] == expected[-1:], "the first heard the last")
        until(lambda: heard(home, "later")[-1:] == expected[-1:], "the second heard the last")
        assert heard(home, "all") == expected
        assert heard(home, "later") == [seq for seq in expected if seq > since]
    finally:
        for follower in (everything, later):
            kill(follower.pid)
            follower.wait()


def test_a_follower_that_was_killed_resumes_where_it_was(home: Supervised, chance: random.Random) -> None:
    job_id = home.bg(PROGRESS, {"mark": "DONE"}, {"end": "x"})
    got: list[int] = []
    for turn in range(5):
        follower = follow(home, f"turn {turn}", "--since", str(got[-1] if got else 0))
        until(lambda turn=turn: heard(home, f"turn {turn}") or home.record(job_id).get("ended"), "it heard something")
        time.sleep(chance.uniform(0, 0.3))
        kill(follower.pid)
        follower.wait()
        got += heard(home, f"turn {turn}")
    home.ended(job_id)
    got += [json.loads(line)["seq"] for line in home.ok("events", "--json", "--since", str(got[-1])).splitlines()]
    assert got == numbers(home)
