"""Money budgets over real processes: refused before it begins, ended before it passes, told in the ledger."""

import json

import pytest
from fakes.lanes_that_fail import answers, lane, starts
from fakes.repos import repository
from fakes.supervised import Supervised, until

CATALOGUE = {"data": [{"id": "vendor/m", "pricing": {"prompt": "0.000001", "completion": "0.00001"}}]}


@pytest.fixture
def home(tmp_path):
    made = Supervised(tmp_path, OSRC_FALLBACK="0", OSRC_FAILOVER_MAX="0")
    (made.root / "models.json").write_text(json.dumps(CATALOGUE))
    with made:
        yield made


def usage(output):
    return {"event": {"type": "usage", "input": 0, "output": output}}


def named():
    return {"event": {"type": "start", "model": "vendor/m"}}


def budgets(home):
    return json.loads(home.ok("limits", "budget", "--json"))["budgets"]


def test_a_job_is_ended_before_it_passes_its_budget_and_the_day_is_closed(home):
    home.ok("limits", "budget", "0.10/job")
    home.ok("limits", "budget", "0.20/day")
    lane(home.root, "cash", named(), usage(3000), usage(6000), usage(9000), {"sleep": 600}, *answers(), kind="metered")
    lane(home.root, "plan", *answers())
    ended = home.ended(home.ok("bg", "--lane", "cash", "--", "spend").strip())
    assert (ended["state"], ended["reason"]) == ("failed", "max_usd"), ended
    assert "ended by the budget: ~$0.09 of $0.10 for a job spent" in ended["note"]
    day, one = budgets(home)
    assert (day["usd"], round(day["spent_usd"], 2), day["unknown_runs"], one["usd"]) == (0.2, 0.09, 0, 0.1)
    second = home.ended(home.ok("bg", "--lane", "cash", "--", "spend").strip())
    assert second["reason"] == "max_usd"
    refused = home.osrc("run", "--lane", "cash", "--json", "--", "spend once more", OSRC_BUDGET_DAY="0.15")
    assert refused.returncode == 1
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "budget_spent"
    assert "~$0.18 of $0.15 for today spent" in error["message"]
    loop, tries = ("loop", "verify", "--check", "true", "--verb", "edit"), ("best-of", "2", "--check", "true")
    repo = repository(home.scratch / "repo")
    for words in (("run",), ("fanout",), loop, tries):
        dry = home.osrc(*words, "--dry-run", "--lane", "cash", "--", "spend", cwd=repo, OSRC_BUDGET_DAY="0.15")
        assert dry.returncode == 1, dry
        assert b"~$0.18 of $0.15 for today spent" in dry.stdout + dry.stderr, dry
    assert starts(home.root, "cash") == 2
    assert home.osrc("run", "--lane", "plan", "--", "no cash").returncode == 0
    shown = home.ok("limits")
    assert "cash of a day" in shown and "~$0.18 of $0.20" in shown  # noqa: PT018  one table
    home.kill_supervisor()
    again = home.osrc("fanout", "--lane", "cash", "--json", "--", "a task", "another", OSRC_BUDGET_DAY="0.18")
    assert json.loads(again.stdout)["error"]["code"] == "budget_spent", again
    home.nothing_left()


def test_what_a_job_had_used_before_a_new_supervisor_took_it_up_is_no_step(home):
    home.ok("limits", "budget", "0.10/job")
    step, go = home.scratch / "step", home.scratch / "go"
    first, kept = ({"wait_for": str(path), "timeout_s": 120} for path in (step, go))
    lane(home.root, "cash", named(), usage(3000), first, usage(6000), kept, usage(7000), *answers(), kind="metered")
    lane(home.root, "plan", *answers())
    job = home.ok("bg", "--lane", "cash", "--", "spend").strip()
    seen = home.folder(job) / "events.jsonl"
    until(lambda: seen.exists() and seen.read_bytes().count(b'"usage_reported"') == 1, "a step was seen")
    step.touch()  # two that are seen together are one that is twice as long
    until(lambda: seen.read_bytes().count(b'"usage_reported"') == 2, "two steps were seen")
    home.kill_supervisor()
    assert home.osrc("run", "--lane", "plan", "--", "no cash").returncode == 0
    go.touch()
    ended = home.ended(job)
    assert (ended["state"], round(ended["cost"]["cash_usd"], 4)) == ("done", 0.07), ended
    home.nothing_left()
