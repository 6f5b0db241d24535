"""``supervisor stop --cancel`` ends what runs, whoever looks after it: a supervisor, one that just comes, or nobody."""

from __future__ import annotations

from fakes.osrc_process import parsed, shown
from fakes.sessions import Sessions
from fakes.supervised import Supervised, until


def test_without_a_supervisor_all_that_runs_is_ended(home: Supervised) -> None:
    """A job, a session and a loop's check whose supervisor was killed; a job that only waits is not begun."""
    sessions = Sessions(home)
    home.environ["OSRC_MAX_JOBS"] = "1"
    talk = sessions.start("--name", "talk")
    sessions.until_state(talk, "idle")
    home.ok("loop", "verify", "--bg", "--lane", "fake", "--max", "1", "--check", "sleep 600", "--", "x")
    until(lambda: list((home.root / "loops").glob("*/check-*/claim.1")), "the check was begun")
    running = home.bg({"sleep": 600})
    home.running(running)
    waiting = home.bg({"end": "never begun"})
    home.kill_supervisor()

    done = home.osrc("supervisor", "stop", "--cancel", "--json")

    assert done.returncode == 0, shown(done)
    assert parsed(done) == {"schema_version": "1", "stopped": False, "pid": None}
    assert b"ended what no supervisor looked after: 1 job " in done.stderr
    assert b"1 session (talk)" in done.stderr
    until(lambda: not home.processes(), "nothing of it runs")
    assert home.record(running)["state"] == "canceled"
    assert home.record(waiting)["state"] == "queued"
    assert home.facts("job.launching", waiting) == []
    assert sessions.record(talk)["state"] == "exited"
    assert b"Traceback" not in done.stderr
    assert home.daemons() == []
    # Nothing is left: the same again says so, and does nothing.
    facts = len(home.facts())
    again = home.osrc("supervisor", "stop", "--cancel")
    assert (again.returncode, again.stdout) == (0, b"not running\n"), shown(again)
    assert len(home.facts()) == facts
