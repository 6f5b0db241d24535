"""The supervisor is killed while jobs are on their way to another lane: each ends once, and no lane is asked twice."""

import time

from fakes.lanes_that_fail import answers, lane, spent, starts
from fakes.supervised import Supervised, until

JOBS = 4
KILLS = 5


def test_a_hop_that_is_killed_at_any_moment_ends_once(tmp_path, chance):
    home = Supervised(tmp_path, OSRC_PROVIDER="first", OSRC_FAILOVER_MAX="2")
    for name in ("fake", "fake-text", "fake-buffered"):
        (home.root / "lanes.d" / f"{name}.toml").unlink()
    lane(home.root, "first", {"wait_for": str(home.root / "go"), "timeout_s": 120}, spent())
    lane(home.root, "spare", *answers())
    with home:
        jobs = [home.ok("bg", "--", f"hello {number}").strip() for number in range(JOBS)]
        for job in jobs:
            home.running(job)
        (home.root / "go").touch()
        for _ in range(KILLS):
            time.sleep(chance.uniform(0.0, 0.6))
            home.kill_supervisor()
            home.osrc("wait", jobs[0], "--for", "0.1")  # starts the next one
        done = home.osrc("wait", *jobs, "--for", "300", timeout=400)
        assert done.returncode == 0, done.stderr
        for job in jobs:
            record = home.record(job)
            assert (record["state"], record["lane"]) == ("done", "spare")
            assert [over["lane"] for over in record["hops"]] == ["first"]
            assert len(home.facts("job.hopped", job)) == 1
            assert len(home.facts("job.ended", job)) == 1
            until(lambda job=job: not list(home.folder(job).glob("next.*")), "nothing is left of what was made ready")
        assert (starts(home.root, "first"), starts(home.root, "spare")) == (JOBS, JOBS)
        home.nothing_left()
