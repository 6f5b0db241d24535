"""Jobs that survive their lane: moved once each, told, crash-safe; or held until the limit ends."""

import json
import subprocess
import time

import pytest
from fakes.files import holding
from fakes.lanes_that_fail import answers, from_then_on, kept_out, lane, lost, spent, starts
from fakes.repos import repository
from fakes.supervised import Supervised, until
from outsourcerer.lanes.advice.failover import STARTS

TEN = 10


@pytest.fixture
def home(tmp_path):
    """A home whose settings name the lane ``first``: nobody named it in a job."""
    made = Supervised(tmp_path, OSRC_PROVIDER="first", OSRC_FALLBACK="1", OSRC_FAILOVER_MAX="2")
    for name in ("fake", "fake-text", "fake-buffered"):
        (made.root / "lanes.d" / f"{name}.toml").unlink()
    with made:
        yield made


def ask(home, *words, task="say hello"):
    return home.ok("bg", *words, "--", task).strip()


def test_ten_jobs_meet_a_limit_together_and_each_is_moved_once(home):
    lane(home.root, "first", {"wait_for": str(home.root / "go")}, spent())
    lane(home.root, "spare", *answers())
    jobs = [ask(home) for _ in range(TEN)]
    for job in jobs:
        home.running(job)
    (home.root / "go").touch()
    for job in jobs:
        record = home.ended(job)
        assert (record["state"], record["lane"], record["attempt"]) == ("done", "spare", 2)
        (over,) = record["hops"]
        assert (over["lane"], over["outcome"], over["cost"]["kind"]) == ("first", "plan-limit", "plan")
        assert "its limit is used up" in over["why"]
        assert home.result(job).strip() == "from the spare one"
        assert (home.folder(job) / "attempts" / "1" / "out.log").stat().st_size
    assert len(home.facts("limits.lane_down")) == 1
    assert len(home.facts("job.hopped")) == TEN
    assert (starts(home.root, "first"), starts(home.root, "spare")) == (TEN, TEN)
    shown = json.loads(home.ok("status", jobs[0], "--json"))
    assert shown["hops"][0]["log_path"].endswith("attempts/1/out.log")
    assert "attempt 1: first its own model, plan-limit" in home.ok("explain", jobs[0])
    home.nothing_left()


def test_a_lane_that_is_down_is_not_gone_to_and_it_is_said(home):
    lane(home.root, "first", spent())
    lane(home.root, "spare", *answers())
    done = home.osrc("run", "--", "hello")
    assert done.returncode == 0, done.stderr
    assert b">>> [moved] first: its limit is used up" in done.stderr
    aside = home.osrc("run", "--", "hello")
    assert b"first is down until" in aside.stderr
    assert starts(home.root, "first") == 1
    refused = home.osrc("run", "--lane", "first", "--json", "--", "hello")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["error"]["code"] == "lane_down"
    (mark,) = json.loads(home.ok("limits", "--json"))["marks"]
    assert (mark["lane"], mark["evidence"]) == ("first", "confirmed")
    home.kill_supervisor()
    assert json.loads(home.ok("limits", "--json"))["marks"] == [mark]
    home.ok("limits", "clear", "first")
    assert home.osrc("run", "--lane", "first", "--", "hello").returncode == 0
    assert starts(home.root, "first") == 2


def test_nowhere_to_go_is_the_end_and_says_what_would_help(home):
    lane(home.root, "first", spent())
    lane(home.root, "cashed", *answers(), kind="metered")
    record = home.ended(ask(home))
    assert (record["state"], record["outcome"], record["hops"]) == ("failed", "plan-limit", [])
    assert "OSRC_FAILOVER_CASH_OK=1 would allow cashed" in record["note"]
    allowed = home.ended(home.ok("bg", "--", "hello", OSRC_PROVIDER="first", OSRC_FAILOVER_CASH_OK="1").strip())
    assert allowed["lane"] == "cashed"


def test_a_lost_connection_moves_what_only_reads_and_a_named_model_stays(home):
    lane(home.root, "first", lost())
    lane(home.root, "spare", *answers())
    assert home.ended(ask(home))["lane"] == "spare"
    wrote = home.ended(ask(home, "edit"))
    assert (wrote["state"], wrote["outcome"], wrote["hops"]) == ("failed", "transport", [])
    assert "edit may have changed something" in wrote["note"]
    named = home.ended(ask(home, "-m", "m1"))
    assert (named["lane"], named["state"]) == ("first", "failed")
    assert "m1 was named (-m) and is not replaced" in named["note"]


def test_a_cli_that_another_start_of_it_was_in_the_way_of_is_started_again(home):
    lane(home.root, "spare", *answers())
    lane(home.root, "first", from_then_on(home.root, "first", {"echo": True}, *answers("at last")), kept_out())
    done = home.osrc("edit", "--", "write the whole file", OSRC_FALLBACK="0", OSRC_FAILOVER_MAX="0")
    assert done.returncode == 0, done.stderr
    assert b">>> [again] first: another start of it was in the way" in done.stderr
    record = home.newest()
    assert (record["lane"], record["attempt"], starts(home.root, "first")) == ("first", 2, 2)
    assert [over["outcome"] for over in record["hops"]] == ["contended"]
    prompts = [home.folder(record["job_id"]) / name / "prompt.md" for name in (".", "attempts/1")]
    assert len({len(path.read_text()) for path in prompts}) == 1, "nothing was begun that could be handed over"

    lane(home.root, "first", kept_out())
    record = home.ended(ask(home))
    assert (record["state"], record["outcome"], record["attempt"]) == ("failed", "contended", STARTS)
    assert f"others were in its way at {STARTS} starts" in record["note"]


def test_mutating_work_is_handed_over_with_a_note(home):
    lane(home.root, "first", {"write": "half.txt", "content": "half"}, spent())
    lane(home.root, "spare", {"echo": True}, *answers())
    record = home.ended(ask(home, "edit", task="write the whole file"))
    assert record["state"] == "done"
    told = (home.folder(record["job_id"]) / "prompt.md").read_text()
    assert "[handoff]" in told
    assert "the plan's limit is used up" in told
    assert "[handoff]" not in (home.folder(record["job_id"]) / "attempts" / "1" / "prompt.md").read_text()


def test_a_job_that_is_moved_goes_on_in_its_own_work_tree(home):
    repo = repository(home.scratch / "repo")
    lane(home.root, "first", {"write": "half.txt", "content": "half"}, spent())
    lane(home.root, "spare", {"write": "whole.txt", "content": "whole"}, *answers())
    record = home.ended(home.ok("bg", "edit", "--worktree", "--", "write it", cwd=repo).strip())
    assert (record["state"], record["lane"], len(record["hops"])) == ("done", "spare", 1)
    assert record["cwd"] == record["worktree"] == f"{repo}/.outsourcerer/worktrees/{record['job_id']}"
    assert "half.txt, whole.txt" in record["note"]
    assert not (repo / "half.txt").exists()
    assert len(list((repo / ".outsourcerer/worktrees").iterdir())) == 1


def test_no_key_is_kept_with_a_job_and_a_later_supervisor_moves_it_all_the_same(home):
    lane(home.root, "first", {"wait_for": str(home.root / "go")}, spent())
    lane(home.root, "spare", *answers())
    secret = "-".join(["sk", "or", "v1", "0123456789abcdef" * 2])
    job = home.ok("bg", "--", "hello", MY_TOKEN=secret, COPY_OF_IT=f"x{secret}y").strip()
    home.running(job)
    kept = (home.folder(job) / "meta.json").read_text()
    assert '"environment"' in kept
    home.kill_supervisor()
    assert holding(home.folder(job), secret) == []
    (home.root / "go").touch()
    home.ok("wait", job, "--for", "300")
    assert (home.record(job)["lane"], home.record(job)["state"]) == ("spare", "done")


def test_a_job_is_held_until_its_limit_ends_without_a_slot_and_through_a_killed_supervisor(home):
    lane(home.root, "first", spent())
    lane(home.root, "spare", *answers())
    job = ask(home, "--wait-limit")
    until(lambda: home.record(job).get("wake_at"), "it is held")
    held = home.record(job)
    assert (held["state"], held["delegate"], held["hops"][0]["lane"]) == ("waiting-limit", None, "first")
    assert json.loads(home.ok("status", job, "--json"))["wake_at"] == held["wake_at"]
    later = ask(home, "--wait-limit", "--lane", "first")
    assert (home.record(later)["state"], home.record(later)["attempt"]) == ("waiting-limit", 0)
    home.kill_supervisor()
    home.ok("cancel", later)
    assert home.ended(later)["state"] == "canceled"
    assert home.record(job)["wake_at"] == held["wake_at"] > time.time()
    assert starts(home.root, "spare") == 0


def test_a_held_job_goes_on_on_its_own_lane(home):
    lane(home.root, "first", spent(1.0))
    job = home.ok("bg", "edit", "--wait-limit", "--", "hello", OSRC_LANE_PLAN_DOWN_TTL="1").strip()
    until(lambda: home.record(job).get("wake_at"), "it is held")
    lane(home.root, "first", *answers("at last"))
    home.ok("supervisor", "stop")
    shorten(home, job)
    record_of_end = home.osrc("wait", job, "--for", "300")
    assert record_of_end.returncode == 0, record_of_end.stderr
    record = home.record(job)
    assert (record["lane"], record["state"], record["attempt"]) == ("first", "done", 2)
    assert home.result(job).strip() == "at last"
    assert "[handoff]" in (home.folder(job) / "prompt.md").read_text()


def shorten(home, job):
    """Let the mark and the job's time be over, as if it had passed."""
    script = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE lane_marks SET until = 1")
(body,) = db.execute("SELECT record FROM jobs WHERE job_id = ?", (sys.argv[2],)).fetchone()
record = json.loads(body)
record["wake_at"] = 1.0
db.execute("UPDATE jobs SET record = ? WHERE job_id = ?", (json.dumps(record), sys.argv[2]))
db.commit()
"""
    subprocess.run(["python3", "-c", script, str(home.root / "state.db"), job], check=True)


def test_a_quota_refuses_a_named_model_and_others_step_aside(home):
    lane(home.root, "first", *answers("first"))
    lane(home.root, "spare", *answers())
    home.ok("limits", "set", "first", "default", "1/day")
    assert home.osrc("run", "--", "hello").stdout.strip() == b"first"
    aside = home.osrc("run", "--", "hello")
    assert (aside.returncode, aside.stdout.strip()) == (0, b"from the spare one")
    assert b"its daily quota is at 1/1 for today, resets" in aside.stderr
    named = home.osrc("run", "--lane", "first", "--json", "--", "hello")
    assert json.loads(named.stdout)["error"]["code"] == "quota_full"


def test_retry_asks_anew_on_the_same_terms_or_on_others(home):
    lane(home.root, "first", {"end": "it broke", "ok": False})
    lane(home.root, "spare", {"echo": True}, *answers())
    job = ask(home, "edit", "--label", "mine", task="the task itself")
    assert home.ended(job)["state"] == "failed"
    assert home.osrc("retry", job, "-q").returncode == 1
    done = home.osrc("retry", job, "--lane", "spare")
    assert done.returncode == 0, done.stderr
    again = home.newest()
    assert (again["lane"], again["verb"], again["label"]) == ("spare", "edit", "mine")
    assert "the task itself" in (home.folder(again["job_id"]) / "prompt.md").read_text()
    assert home.osrc("retry", "no-such").returncode == 1


def test_a_queued_job_is_not_started_on_a_lane_that_was_marked_down_meanwhile(home):
    home.environ["OSRC_MAX_JOBS"] = "1"
    lane(home.root, "first", {"wait_for": str(home.root / "go")}, spent())
    lane(home.root, "spare", *answers())
    jobs = [ask(home) for _ in range(3)]
    held = ask(home, "--wait-limit")
    assert home.state(jobs[2]) == "queued"
    (home.root / "go").touch()
    records = [home.ended(job) for job in jobs]
    assert [(record["state"], record["lane"]) for record in records] == [("done", "spare")] * 3
    assert [record["hops"][0]["attempt"] for record in records] == [1, 0, 0]
    until(lambda: home.record(held).get("wake_at"), "the last one is held")
    assert starts(home.root, "first") == 1
