"""Jobs that waited: what was true when they were taken is looked at again, and what was known is known again."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.supervised import Supervised, until

HANDED = "zq9-plain-looking-7w"


def test_a_queued_job_starts_only_where_there_is_room_for_it(home: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    home.environ["OSRC_MAX_JOBS"] = "1"
    first = home.bg({"wait_for": str(go)}, {"mark": "DONE", "text": "ok"}, {"end": "one"})
    home.running(first)
    second = home.bg({"mark": "DONE", "text": "ok"}, {"end": "two"})
    home.ok("config", "set", "min_free_memory", "999999999")
    go.touch()
    assert home.ended(first)["state"] == "done"

    def note() -> str:
        return str(json.loads(home.ok("status", second, "--json"))["jobs"][0]["note"])

    until(lambda: "waits for room" in note(), "it is said why it waits", pause=0.5)
    assert home.state(second) == "queued"
    home.ok("config", "set", "min_free_memory", "0")
    assert home.ended(second)["state"] == "done"


def test_a_supervisor_that_comes_later_knows_what_a_delegate_was_given(home: Supervised, tmp_path: Path) -> None:
    """Its value has no form of its own, and the later supervisor's own environment does not name it."""
    go = tmp_path / "go"
    job_id = home.bg(
        {"wait_for": str(go)},
        {"mark": "DONE", "text": f"found {HANDED}"},
        {"end": f"It is {HANDED}."},
        MY_TOKEN=HANDED,
        OSRC_PASS_ENV="MY_TOKEN",
        OSRC_SECRET_ALLOW_VALUE="1",
    )
    home.running(job_id)
    home.kill_supervisor()
    home.osrc("bg", "run", "--lane", "fake", "--", json.dumps([{"end": "hi"}]))  # brings the next one
    until(lambda: home.supervisor() and home.daemons(), "the next supervisor is there")
    go.touch()
    assert home.ended(job_id)["state"] == "done"
    assert home.result(job_id) == "It is [redacted:known]."
    assert HANDED not in json.dumps(home.facts(job=job_id))
