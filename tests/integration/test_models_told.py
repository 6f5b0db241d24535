"""Which model really ran is told of every job, in the foreground and in the background alike."""

from __future__ import annotations

from fakes.supervised import Supervised

OTHER = {"event": {"type": "start", "model": "small-2"}}


def test_the_model_that_was_asked_for_ran(home: Supervised):
    job, done = home.run({"end": "ok"}, words=("--model", "big-1"))
    assert job["note"] == "[verified] big-1 ran"
    assert b"\n[verified] big-1 ran\n" in done.stderr


def test_another_one_ran_too(home: Supervised):
    told = "[MODEL DRIFT] big-1 was asked for: big-1 ran, and so did small-2"
    job, done = home.run(OTHER, {"end": "ok"}, words=("--model", "big-1"))
    assert job["note"] == told
    assert f"\n{told}\n".encode() in done.stderr
    job_id = home.bg(OTHER, {"end": "ok"}, words=("--model", "big-1"))
    assert home.ended(job_id)["note"] == told


def test_nothing_is_claimed_where_no_model_was_named(home: Supervised):
    assert home.run({"end": "ok"})[0]["note"] is None
