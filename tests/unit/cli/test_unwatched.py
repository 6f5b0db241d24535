"""The hints at a command's end: whatever stands in their files, nothing is raised and no line is forged."""

import json
import os
import time

import pytest
from outsourcerer.cli import unwatched
from outsourcerer.cli.render.bearings import bearings_lines
from outsourcerer.messages.alarm import HeartbeatArmed, HeartbeatStopped
from outsourcerer.state.bearings_reader import last_picture
from outsourcerer.state.identity import identify
from outsourcerer.state.store import Store

ME = identify(os.getpid())
HOSTILE = "\x1b[2J\nunwatched: 0 jobs\u202e" + "A" * 9000


def kept(**changes):
    job = {"job_id": "J-1", "label": "nightly", "since": time.time() - 500}
    return {"at": time.time(), "by": ME, "jobs": [job | changes]}


@pytest.fixture
def hint(tmp_path, capsys):
    def said(data, after="120"):
        os.environ["OSRC_UNWATCHED_AFTER"] = after
        path = tmp_path / "unwatched.json"
        path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        unwatched.mention(str(tmp_path))
        return capsys.readouterr().err

    before = os.environ.get("OSRC_UNWATCHED_AFTER")
    yield said
    os.environ.pop("OSRC_UNWATCHED_AFTER", None)
    if before is not None:
        os.environ["OSRC_UNWATCHED_AFTER"] = before


def test_a_job_that_nobody_looked_at_is_named(hint):
    said = hint(kept())
    assert said.startswith("unwatched: 1 job runs that nobody has looked at: J-1 (nightly, 8m")
    assert said.count("\n") == 1
    assert hint(kept(), after="501") == ""
    assert hint(kept(), after="0") == ""


def test_many_are_counted(hint):
    many = kept()
    many["jobs"] = many["jobs"] * 40
    said = hint(many)
    assert said.startswith("unwatched: 40 jobs run")
    assert said.count("J-1") == 3
    assert " and 37 more" in said


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b'{"jobs": 3}',
        b'{"by": {}, "jobs": [{"since": 0}]}',
        json.dumps(kept(since="yesterday")).encode(),
        json.dumps(kept(since=float("nan"))).encode(),
        json.dumps({**kept(), "by": {**ME, "started": 1}}).encode(),
        json.dumps({**kept(), "by": None}).encode(),
    ],
)
def test_what_makes_no_sense_is_ignored(hint, data):
    assert hint(data) == ""


def test_words_in_it_stay_one_line(hint):
    said = hint(kept(label=HOSTILE, job_id=HOSTILE))
    assert said.count("\n") == 1
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert len(said) < 300


def test_a_fifo_in_its_place_is_not_waited_for(tmp_path, capsys):
    for name in ("unwatched.json", "heartbeat.json", "bearings.json"):
        os.mkfifo(tmp_path / name)
    unwatched.mention(str(tmp_path))
    assert last_picture(str(tmp_path)) is None
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["WAKE", "SINK", "WEBHOOK", "DESKTOP"])
def test_nobody_is_warned_who_will_be_woken(tmp_path, capsys, monkeypatch, name):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    unwatched.supervise(str(tmp_path), quiet=False)
    assert capsys.readouterr().err.startswith("ASYNC SUPERVISION: no wake is armed")
    unwatched.supervise(str(tmp_path), quiet=True)
    (tmp_path / "lines").touch()
    usable = {"SINK": str(tmp_path / "lines"), "WEBHOOK": "https://example.org/x"}
    monkeypatch.setenv(f"OSRC_HEARTBEAT_{name}", usable.get(name, "on"))
    unwatched.supervise(str(tmp_path), quiet=False)
    assert capsys.readouterr().err == ""
    monkeypatch.delenv(f"OSRC_HEARTBEAT_{name}")
    (tmp_path / "heartbeat.json").write_text('{"sinks": ["command"]}')
    unwatched.supervise(str(tmp_path), quiet=False)
    assert capsys.readouterr().err == ""
    (tmp_path / "heartbeat.json").unlink()
    config = tmp_path / ".config" / "outsourcerer"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('heartbeat_wake = "notify"\n')
    unwatched.supervise(str(tmp_path), quiet=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SINK", "/nowhere/at/all"),
        ("SINK", "/"),
        ("SINK", "relative"),
        ("WEBHOOK", "gopher://x"),
        ("WEBHOOK", "http://example.org/"),
        ("WAKE", "  "),
        ("DESKTOP", "0"),
    ],
)
def test_a_sink_that_can_wake_nobody_is_said(tmp_path, capsys, monkeypatch, name, value):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "heartbeat.json").write_text('{"sinks": ["command"]}' if name != "DESKTOP" else "{}")
    monkeypatch.setenv(f"OSRC_HEARTBEAT_{name}", value)
    unwatched.supervise(str(tmp_path), quiet=False)
    said = capsys.readouterr().err
    assert said.startswith("ASYNC SUPERVISION: ")
    assert f"OSRC_HEARTBEAT_{name}" in said or name == "DESKTOP"


def test_a_stopped_heartbeat_is_said_whoever_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HEARTBEAT_WAKE", "notify")
    store = Store.open(tmp_path / "state.db", now=1.0)
    store.append((HeartbeatArmed(upto=0), HeartbeatStopped()), 1.0)
    store.commit()
    store.close()
    unwatched.supervise(str(tmp_path), quiet=False)
    assert capsys.readouterr().err.startswith("ASYNC SUPERVISION: the heartbeat is stopped")


@pytest.mark.parametrize(
    "picture",
    [
        {"counts": {}, "captured_at": 1.0},
        {"counts": {"underway": "many"}, "captured_at": 1.0, "underway": 7},
        {
            "counts": {"underway": 99},
            "captured_at": 1e308,
            "pulse": HOSTILE,
            "underway": [3, {"id": HOSTILE, "at": "x"}],
        },
        {"counts": {"underway": 900}, "captured_at": 1.0, "underway": [{"summary": HOSTILE, "id": "a"}] * 90},
    ],
)
def test_a_picture_is_shown_bounded_and_plain_whatever_it_holds(tmp_path, picture):
    (tmp_path / "bearings.json").write_text(json.dumps(picture))
    lines = bearings_lines(last_picture(str(tmp_path)), time.time())
    assert len(lines) < 80
    assert all(len(line) <= 260 and line.isprintable() for line in lines)
    assert [line.partition(" (")[0] for line in lines if line.endswith(")") and not line.startswith(("-", " "))] == [
        "Captain's Call",
        "Recently Landed",
        "Underway",
        "Charted Next",
    ]
