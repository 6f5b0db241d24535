"""Damage to what is kept: the next command still works or refuses with a sentence, and nothing else is lost."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fakes.osrc_process import shown
from fakes.supervised import Supervised, kill, until

DONE: tuple[dict[str, object], ...] = ({"mark": "DONE", "text": "ok"}, {"end": "the answer"})
LONG_S = 600


def one_done_one_running(home: Supervised) -> tuple[str, str, Path]:
    """A finished job, and one whose delegate waits for a file; the supervisor is killed."""
    finished = home.bg(*DONE)
    home.ended(finished)
    go = home.scratch / "go"
    live = home.bg({"record": str(home.scratch / "started")}, {"say": "hi"}, {"wait_for": str(go)}, *DONE)
    home.running(live)
    until(lambda: b"hi" in (home.folder(live) / "out.log").read_bytes(), "it is at work")
    home.kill_supervisor()
    return finished, live, go


def check_all_is_well(home: Supervised, finished: str, live: str, go: Path) -> None:
    """Both jobs are known, the running one comes to its true end and was started once; new ones work."""
    new = home.bg(*DONE)
    assert home.ended(new)["state"] == "done"
    assert home.record(finished)["state"] == "done"
    assert home.ok("result", finished) == "the answer\n"
    go.touch()
    record = home.ended(live)
    assert (record["state"], record["exit_status"]["code"]) == ("done", 0), record
    assert len((home.scratch / "started").read_text().splitlines()) == 1
    assert {job["job_id"] for job in json.loads(home.ok("status", "--all", "--json"))["jobs"]} == {finished, live, new}


def take_in_the_log(home: Supervised) -> None:
    """Play the write-ahead log into the database: else it would mend what is damaged here."""
    with closing(sqlite3.connect(home.root / "state.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def damage_header(home: Supervised) -> None:
    take_in_the_log(home)
    with (home.root / "state.db").open("r+b") as file:
        file.write(b"this is no database, whatever its name says" * 4)


def damage_middle(home: Supervised) -> None:
    take_in_the_log(home)
    path = home.root / "state.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        for place in range(4096, size, 4096):
            file.seek(place)
            file.write(b"\xde\xad\xbe\xef" * 256)


def truncate_database(home: Supervised) -> None:
    take_in_the_log(home)
    with (home.root / "state.db").open("r+b") as file:
        file.truncate(5000)


def empty_database(home: Supervised) -> None:
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (home.root / name).unlink(missing_ok=True)
    (home.root / "state.db").touch(mode=0o600)


def remove_database(home: Supervised) -> None:
    for name in ("state.db", "state.db-wal", "state.db-shm"):
        (home.root / name).unlink(missing_ok=True)


def truncate_wal(home: Supervised) -> None:
    path = home.root / "state.db-wal"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2 + 17)
    (home.root / "state.db-shm").unlink(missing_ok=True)


def garble_wal(home: Supervised) -> None:
    path = home.root / "state.db-wal"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 3)
        file.write(b"\xff" * (size // 3))
    (home.root / "state.db-shm").unlink(missing_ok=True)


@pytest.mark.parametrize(
    "damage",
    [damage_header, damage_middle, truncate_database, empty_database, remove_database, truncate_wal, garble_wal],
)
def test_a_damaged_database_is_rebuilt_and_a_running_job_goes_on(home: Supervised, damage) -> None:
    finished, live, go = one_done_one_running(home)
    damage(home)
    looked = home.osrc("status", "--json")
    assert b"Traceback" not in looked.stderr + looked.stdout, shown(looked)
    check_all_is_well(home, finished, live, go)


def test_what_was_damaged_is_kept_and_said(home: Supervised) -> None:
    finished, live, go = one_done_one_running(home)
    damage_header(home)
    check_all_is_well(home, finished, live, go)
    assert [path.name for path in home.root.iterdir() if path.name.startswith("state.db.damaged-")]
    assert "jobs were restored from their folders" in home.log()


def test_numbers_of_facts_go_on_rising_after_a_rebuild(home: Supervised) -> None:
    finished, live, go = one_done_one_running(home)
    before = json.loads(home.ok("events", "--json").splitlines()[-1])["seq"]
    damage_header(home)
    check_all_is_well(home, finished, live, go)
    after = [json.loads(line)["seq"] for line in home.ok("events", "--json", "--since", str(before)).splitlines()]
    assert after
    assert after == sorted(set(after))


@pytest.mark.parametrize("damage", [remove_database, empty_database])
def test_jobs_without_their_database_are_never_no_jobs(home: Supervised, damage) -> None:
    finished, live, go = one_done_one_running(home)
    damage(home)
    for words in (("status",), ("result", finished), ("doctor",)):
        looked = home.osrc(*words)
        said = looked.stdout + looked.stderr
        assert looked.returncode == 1, shown(looked)
        assert b"though there are jobs" in said, shown(looked)
        assert b"osrc supervisor restart" in said, shown(looked)
    home.ok("supervisor", "restart")
    check_all_is_well(home, finished, live, go)


def test_a_database_removed_under_a_live_supervisor_is_rebuilt_with_the_next_decision(home: Supervised) -> None:
    finished = home.bg(*DONE)
    home.ended(finished)
    assert home.facts("job.ended", finished)
    remove_database(home)
    home.osrc("bg", "run", "--lane", "fake", "anything")  # may be refused: its decision is what meets the loss
    until((home.root / "state.db").exists, "it is rebuilt")
    new = home.bg(*DONE)
    assert home.ended(new)["state"] == "done"
    assert home.record(finished)["state"] == "done"
    (rebuilt,) = home.facts("store.rebuilt")
    assert rebuilt
    assert not home.facts("job.ended", finished), "what was told once is not told again"


def test_a_newer_schema_is_refused_and_left_alone(home: Supervised) -> None:
    finished = home.bg(*DONE)
    home.ended(finished)
    home.ok("supervisor", "stop")
    path = home.root / "state.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    for words in (
        ("bg", "--json", "--lane", "fake", "x"),
        ("run", "--no-daemon", "--json", "--lane", "fake", "x"),
        ("status", "--json"),
    ):
        done = home.osrc(*words)
        assert done.returncode == 1, shown(done)
        assert json.loads(done.stdout)["error"]["code"] == "state_newer", shown(done)
        assert b"Traceback" not in done.stderr
    assert path.read_bytes() == content
    assert not [name for name in home.root.iterdir() if ".damaged" in name.name]
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
        db.commit()
    assert home.osrc("result", finished).stdout == b"the answer\n"


@pytest.mark.parametrize("content", [b"", b'{"job_id": "2026'], ids=["empty", "cut"])
def test_a_half_written_meta_costs_at_most_its_own_job(home: Supervised, content: bytes) -> None:
    """Alone it costs nothing: it is the second copy."""
    finished, live, go = one_done_one_running(home)
    for name in ("meta.json", "end.json"):
        (home.folder(finished) / name).write_bytes(content)
    check_all_is_well(home, finished, live, go)


def test_a_half_written_meta_and_a_lost_database(home: Supervised) -> None:
    finished, live, go = one_done_one_running(home)
    other = home.bg(*DONE)
    home.ended(other)
    home.kill_supervisor()
    for name in ("meta.json", "end.json"):
        (home.folder(other) / name).write_bytes(b'{"job_')
    damage_header(home)
    new = home.bg(*DONE)
    home.ended(new)
    go.touch()
    assert home.ended(live)["state"] == "done"
    assert home.record(finished)["state"] == "done"
    assert home.record(other) == {}
    assert (home.folder(other) / "last.txt").read_text() == "the answer", "its folder is kept"
    assert other in home.log()


@pytest.mark.parametrize("content", [b"", b'{"code": "x"}'], ids=["empty", "type"])
def test_a_damaged_exit_record_is_set_aside_and_said(home: Supervised, content: bytes) -> None:
    """The final event is evidence enough; the exit status is unknown and not 0."""
    finished, live, go = one_done_one_running(home)
    delegate, shim = (home.record(live)[name]["pid"] for name in ("delegate", "shim"))
    kill(shim)
    go.touch()
    until(lambda: not Path(f"/proc/{delegate}").exists(), "the delegate ended")
    (home.folder(live) / "exit.json").write_bytes(content)
    home.ok("supervisor", "restart")
    record = home.ended(live)
    assert record["state"] == "done"
    assert (record["exit_status"]["code"], record["exit_status"]["lost"]) == (None, True)
    assert "set aside" in record["note"], record["note"]
    assert (home.folder(live) / "exit.json.bad").read_bytes() == content
    assert home.record(finished)["state"] == "done"


def test_a_damaged_exit_record_without_a_final_event_is_an_unknown_end(home: Supervised) -> None:
    job_id = home.bg({"say": "hm"}, {"sleep": LONG_S})
    record = home.running(job_id)
    home.kill_supervisor()
    kill(record["shim"]["pid"])
    kill(record["delegate"]["pid"])
    (home.folder(job_id) / "exit.json").touch()
    home.ok("supervisor", "restart")
    assert (home.ended(job_id)["state"], home.record(job_id)["exit"]) == ("interrupted", 130)


@pytest.mark.parametrize(
    "content",
    [b"\xff\x00{", b'{"machine": {"watch": {"age_s": "x"}}, "read": [1], "delegate": {}}'],
    ids=["bytes", "types"],
)
def test_all_other_files_of_a_running_job_are_damaged(home: Supervised, content: bytes) -> None:
    _, live, go = one_done_one_running(home)
    for name in ("watch.json", "claim.1", "meta.json", "prompt.md", "events.jsonl"):
        (home.folder(live) / name).write_bytes(content)
    home.ok("supervisor", "restart")
    go.touch()
    record = home.ended(live)
    assert record["state"] == "done", record
    assert "crashed" not in home.log()


def test_a_canceled_job_does_not_come_back_with_a_rebuilt_database(home: Supervised) -> None:
    """It was queued when it was canceled: no prompt of it may ever be sent."""
    home.environ["OSRC_MAX_JOBS"] = "1"
    first = home.bg({"sleep": LONG_S})
    home.running(first)
    second = home.bg({"record": str(home.scratch / "started")}, *DONE)
    assert home.state(second) == "queued"
    home.ok("cancel", second)
    assert home.ended(second)["state"] == "canceled"
    launch = home.folder(second) / "launch.json"
    until(lambda: launch.read_bytes() == b"", "the caller's environment in it was put away")
    home.ok("cancel", "--now", first)
    home.ended(first)
    home.kill_supervisor()
    damage_header(home)
    home.ok("supervisor", "restart")
    assert home.ended(home.bg(*DONE))["state"] == "done"
    assert home.record(second)["state"] == "canceled"
    assert not (home.scratch / "started").exists()


def test_a_lane_that_is_gone_when_its_job_is_adopted(home: Supervised) -> None:
    """Nobody can read its output any more: it is ended and said, and nothing runs on unwatched."""
    finished, live, _ = one_done_one_running(home)
    (home.root / "lanes.d" / "fake.toml").unlink()
    home.ok("supervisor", "restart")
    record = home.ended(live)
    assert (record["state"], record["exit"]) == ("failed", 1)
    assert "no lane is called fake" in record["reason"]
    home.nothing_left()
    assert home.record(finished)["state"] == "done"


def test_the_configuration_is_damaged_while_a_supervisor_is_needed(home: Supervised) -> None:
    config = home.scratch / ".config" / "outsourcerer" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("max_jobs = [not toml")
    done = home.osrc("bg", "--json", "--lane", "fake", "x")
    assert done.returncode == 1, shown(done)
    assert json.loads(done.stdout)["error"]["code"] == "bad_config", shown(done)
    assert b"Traceback" not in done.stderr
