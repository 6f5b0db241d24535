"""``osrc continue`` up to the lane: which job is meant, and what is refused before anything exists."""

from __future__ import annotations

from fakes.supervised import Supervised


def refused(home: Supervised, *words: str) -> str:
    before = len(home.records())
    done = home.osrc("continue", *words)
    assert done.returncode != 0, done
    assert b"Traceback" not in done.stderr
    assert done.stdout == b""
    assert len(home.records()) == before
    return done.stderr.decode()


def test_what_is_said_where_it_can_not_be_done(home: Supervised):
    home.run({"end": "hello"}, words=("--label", "first"))
    said = refused(home, "first", "and now?")
    assert "the fake lane can't continue a conversation" in said
    assert "claude" in said
    assert "can't continue a conversation" in refused(home, "and now?"), "the newest job of the folder is meant"
    assert "nonesuch" in refused(home, "nonesuch", "and now?")
    assert "can't go on on codex" in refused(home, "--lane", "codex", "first", "and now?")
    assert "at most a job and a task" in refused(home, "first", "and", "now")
    assert "can be continued" in refused(home, "--cwd", "/", "and now?")


def test_a_job_that_still_runs_is_not_continued(home: Supervised):
    job_id = home.bg({"sleep": 600})
    home.running(job_id)
    assert "osrc wait" in refused(home, job_id, "and now?")
