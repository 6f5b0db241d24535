import itertools
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from fakes.launches import write_spawn
from fakes.state import (
    NOW,
    FailingDisk,
    facts_of_a_life,
    identity,
    job_id,
    names,
    record,
    refusal_of,
    scratch_home,
    scribble,
)
from outsourcerer.messages.facts import FACT, JobAccepted, JobEnded, JobLaunching, JobRemoved, StoreRebuilt
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.errors import DamagedStore, StateError
from outsourcerer.state.home import Home
from outsourcerer.state.job_folder import END, META, JobFolder
from outsourcerer.state.reader import Reader
from outsourcerer.state.records import apply
from outsourcerer.state.recovery import REBUILT, open_or_rebuild
from outsourcerer.state.store import Store

ENDS = (JobState.DONE, JobState.FAILED, JobState.WEDGED, JobState.CANCELED)


def lived_in(home, jobs=30):
    """A home with jobs, most ended, as a supervisor leaves it; their records."""
    store, warnings = open_or_rebuild(home, NOW)
    assert warnings == []
    for number in range(jobs):
        folder = JobFolder.create(home, job_id(number))
        facts = facts_of_a_life(number, ENDS[number % len(ENDS)])
        store.append(facts if number % 5 else facts[:1], NOW + number)
        store.commit()
        folder.write_meta(store.record(job_id(number)))
    records = {job_id(number): store.record(job_id(number)) for number in range(jobs)}
    store.close()
    return records


def agrees_with_itself(home, store):
    """The jobs table must be the fold of the journal, a rebuild being where the folders' records come in."""
    found = {}
    with Reader(home.database) as reader:
        for _, at, _, body in reader.entries(0, 1_000_000):
            fact = FACT.validate_json(body)
            name = getattr(fact, "job_id", None)
            if isinstance(fact, StoreRebuilt):
                metas = (JobFolder(path).read_meta() for path in home.jobs_dir.iterdir())
                found.update({meta.job_id: meta for meta in metas if meta is not None})
            if name:
                found[name] = apply(found.get(name), fact, at)
        shown, omitted = reader.jobs(limit=0)
    assert omitted == 0
    assert {job["job_id"] for job in shown} == {name for name, kept in found.items() if kept}
    for job in shown:
        assert found[job["job_id"]].model_copy(update={"marker_id": job["marker_id"]}) == store.record(job["job_id"])


def test_a_fresh_home_needs_nothing(tmp_path):
    home = scratch_home(tmp_path)
    store, warnings = open_or_rebuild(home, NOW)
    assert warnings == []
    store.close()


def test_an_undamaged_store_is_opened_as_it_is(tmp_path):
    home = scratch_home(tmp_path)
    records = lived_in(home)
    before = names(home.root)
    store, warnings = open_or_rebuild(home, NOW)
    assert warnings == []
    assert {name: store.record(name) for name in records} == records
    store.close()
    assert names(home.root) == before


DAMAGES = {
    "zero length": lambda path: path.write_bytes(b""),
    "missing": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir(), (path / "x").write_text("")),
    "text": lambda path: path.write_bytes(b"hello " * 5000),
    "header": lambda path: path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:]),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 3]),
    "one byte": lambda path: path.write_bytes(b"S"),
    "tables dropped": lambda path: sqlite3.connect(path).executescript("DROP TABLE jobs;").close(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_set_aside_and_every_job_comes_back(tmp_path, damage):
    home = scratch_home(tmp_path)
    records = lived_in(home)
    with Reader(home.database) as reader:
        old_seq = reader.last_seq()
    DAMAGES[damage](home.database)
    store, warnings = open_or_rebuild(home, NOW + 1000)
    assert "30 jobs were restored from their folders" in warnings
    assert {name: store.record(name) for name in records} == records
    agrees_with_itself(home, store)
    with Reader(home.database) as reader:
        numbers = [row[0] for row in reader.entries(0, 10_000)]
    assert min(numbers) > old_seq, "a follower that resumes after the last number it saw must see what comes now"
    kept = [name for name in names(home.root) if ".damaged-" in name]
    assert any(not name.endswith(("-wal", "-shm")) for name in kept) == (damage != "missing")
    store.close()
    store, warnings = open_or_rebuild(home, NOW + 2000)
    assert warnings == []
    store.close()


def test_random_bytes_at_random_places(tmp_path):
    """Whatever the bytes: a store that opens, agrees with itself, and has every job of the folders."""
    home = scratch_home(tmp_path)
    records = lived_in(home, 12)
    good = home.database.read_bytes()
    rebuilt = 0
    for seed in range(60):
        for name in names(home.root):
            if name.startswith("state.db"):
                (home.root / name).unlink()
        home.database.write_bytes(scribble(good, seed))
        store, warnings = open_or_rebuild(home, NOW + 1000)
        rebuilt += bool(warnings)
        assert store.job_ids() >= set(records)
        assert {kept.job_id for kept in store.live()} <= store.job_ids()
        store.append(facts_of_a_life(500), NOW)
        store.commit()
        store.close()
        with Reader(home.database) as reader:
            assert len(reader.jobs(limit=0)[0]) >= 13
            for name in records:
                assert reader.record(name)["job_id"] == name
            reader.entries(0, 10_000)
    assert rebuilt > 30


def test_a_log_of_garbage_or_cut_short_loses_no_job(tmp_path):
    home = scratch_home(tmp_path)
    records = lived_in(home, 10)
    store = Store.open(home.database, now=NOW)
    for number in range(10, 20):
        folder = JobFolder.create(home, job_id(number))
        store.append(facts_of_a_life(number), NOW + number)
        store.commit()
        folder.write_meta(store.record(job_id(number)))
        records[job_id(number)] = store.record(job_id(number))
    main, log = home.database.read_bytes(), Path(f"{home.database}-wal").read_bytes()
    store.close()
    for broken in (b"", log[: len(log) // 2], log[:-1000], b"\xff" * len(log), scribble(log, 1), scribble(log, 2)):
        for name in names(home.root):
            if name.startswith("state.db"):
                (home.root / name).unlink()
        home.database.write_bytes(main)
        Path(f"{home.database}-wal").write_bytes(broken)
        store, _ = open_or_rebuild(home, NOW + 1000)
        found = {name: store.record(name) for name in records}
        assert found == records
        agrees_with_itself(home, store)
        store.close()


def test_a_rebuild_that_was_killed_before_the_swap_never_meets_the_old_log(tmp_path):
    """SQLite would play the damaged store's log into the new file, were it left beside it."""
    home = scratch_home(tmp_path)
    records = lived_in(home, 3)
    rebuilt = home.database.read_bytes()
    store, _ = open_or_rebuild(home, NOW)
    store.append(facts_of_a_life(99), NOW)
    store.commit()
    log = Path(f"{home.database}-wal").read_bytes()
    store.close()
    Path(f"{home.database}{REBUILT}").write_bytes(rebuilt)
    home.database.write_bytes(b"broken" * 1000)
    Path(f"{home.database}-wal").write_bytes(log)
    store, _ = open_or_rebuild(home, NOW)
    assert {name: store.record(name) for name in store.job_ids()} == records
    main, old_log = (name for name in names(home.root) if ".damaged-" in name and not name.endswith("-shm"))
    assert (home.root / main).read_bytes() == b"broken" * 1000
    assert (home.root / old_log).read_bytes() == log
    assert old_log == f"{main}-wal", "so that the pair can be opened for a closer look"
    store.close()


def test_an_end_that_the_log_lost_comes_back_and_a_removed_job_does_not(tmp_path):
    home = scratch_home(tmp_path)
    store, _ = open_or_rebuild(home, NOW)
    store.append([JobAccepted(job_id=job_id(1), record=record(1))], NOW)
    store.append([*facts_of_a_life(2), JobRemoved(job_id=job_id(2))], NOW)
    store.commit()
    store.close()
    ended = record(
        1, state=JobState.FAILED, exit=1, ended=NOW + 5, reason="exit-nonzero:rc=7", exit_status=ExitStatus(code=7)
    )
    JobFolder.create(home, job_id(1)).write_meta(ended)
    JobFolder.create(home, job_id(2)).write_meta(record(2, state=JobState.DONE, exit=0, ended=NOW))
    store, warnings = open_or_rebuild(home, NOW)
    assert len(warnings) == 1
    assert "1 jobs were restored" in warnings[0]
    assert store.record(job_id(1)) == ended
    assert store.record(job_id(2)) is None
    store.close()


def test_a_folder_without_a_record_is_kept_and_reported(tmp_path):
    home = scratch_home(tmp_path)
    lived_in(home, 3)
    for number in range(3):
        (home.jobs_dir / job_id(number) / META).write_bytes(record(number).model_dump_json().encode())
    (home.jobs_dir / job_id(1) / END).write_bytes(b"{")
    (home.jobs_dir / job_id(1) / META).write_bytes(b'{"job_id": "2026')
    for name in (END, META):
        (home.jobs_dir / job_id(2) / name).unlink()
    (home.jobs_dir / "not a job").mkdir()
    (home.jobs_dir / job_id(9)).symlink_to(home.jobs_dir / job_id(0))
    home.database.write_bytes(b"broken" * 1000)
    store, warnings = open_or_rebuild(home, NOW)
    assert store.job_ids() == {job_id(0)}
    for number in (1, 2):
        assert any(job_id(number) in warning and "kept" in warning for warning in warnings)
        assert (home.jobs_dir / job_id(number)).is_dir()
    assert (home.jobs_dir / job_id(1) / f"{META}.bad").read_bytes() == b'{"job_id": "2026'
    store.close()


def test_a_live_job_comes_back_as_far_as_its_folder_proves(tmp_path):
    """A rebuilt job must never be started a second time: claims say what meta.json did not live to say."""
    home = scratch_home(tmp_path)
    store, _ = open_or_rebuild(home, NOW)
    for number in range(4):
        folder = JobFolder.create(home, job_id(number))
        folder.write_meta(record(number))
        if number >= 1:
            folder.claim(1, {"by": "shim", **identity(7).model_dump()})
        if number >= 2:
            spawn = {
                "attempt": 1,
                "shim": identity(7).model_dump(),
                "delegate": identity(8).model_dump(),
                "at": NOW + 3,
            }
            write_spawn(folder.path, 1, spawn)
        if number >= 3:
            folder.claim(2, {"by": "shim", **identity(9).model_dump()})
    store.close()
    home.database.write_bytes(b"")
    store, _ = open_or_rebuild(home, NOW)
    queued, claimed, spawned, again = (store.record(job_id(number)) for number in range(4))
    assert (queued.state, queued.attempt) == (JobState.QUEUED, 0)
    assert (claimed.state, claimed.attempt, claimed.delegate) == (JobState.LAUNCHING, 1, None)
    assert (spawned.state, spawned.delegate, spawned.started) == (JobState.RUNNING, identity(8), NOW + 3)
    assert (again.state, again.attempt, again.delegate) == (JobState.LAUNCHING, 2, None)
    assert {kept.job_id for kept in store.live()} == {job_id(number) for number in range(4)}
    store.close()


def test_a_newer_schema_is_refused_not_rebuilt(tmp_path):
    home = scratch_home(tmp_path)
    lived_in(home, 2)
    db = sqlite3.connect(home.database)
    db.execute("PRAGMA user_version = 77")
    db.close()
    before = home.database.read_bytes()
    with pytest.raises(StateError) as caught:
        open_or_rebuild(home, NOW)
    assert caught.value.code == "state_newer"
    assert home.database.read_bytes() == before


def opened_and_closed(home, disk):
    store, _ = open_or_rebuild(home, NOW, files=disk)
    store.close()


def test_a_full_disk_during_the_rebuild_leaves_everything_for_the_next_try(tmp_path):
    home = scratch_home(tmp_path)
    records = lived_in(home, 3)
    home.database.write_bytes(b"broken" * 1000)
    for nth in itertools.count(1):
        disk = FailingDisk(nth)
        said = refusal_of(partial(opened_and_closed, home, disk))
        if said is None:
            break
        assert said.code == "state_full"
        kept = [path for path in home.root.iterdir() if path.name.startswith("state.db")]
        assert b"broken" * 1000 in [path.read_bytes() for path in kept]
        if len(kept) > 1:  # the rebuild was whole before the disk was: start over
            assert home.database.read_bytes().startswith(b"SQLite")
            home.database.write_bytes(b"broken" * 1000)
    store, _ = open_or_rebuild(home, NOW)
    assert nth > 2
    assert {name: store.record(name) for name in records} == records
    store.close()


KILL_AT = """
import os, sys
from pathlib import Path
from fakes.state import NOW
from outsourcerer.state import recovery, store
from outsourcerer.state.home import Home

def run(folder, left):
    def step(frame, event, argument):
        nonlocal left
        code = frame.f_code.co_filename
        if event == "line" and ("/state/recovery.py" in code or "/state/files.py" in code or "/state/store.py" in code):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), 9)
        return step
    sys.settrace(step)
    opened, _ = recovery.open_or_rebuild(Home(Path(folder)), NOW)
    sys.settrace(None)
    opened.close()

for word in sys.argv[1:]:
    left, _, folder = word.partition(":")
    pid = os.fork()
    if pid == 0:
        run(folder, int(left))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def test_killed_at_any_instant_of_a_rebuild(tmp_path):
    """Kill -9 before random lines of the rebuild, twice in a row: the next start has every job."""
    source = scratch_home(tmp_path / "source")
    records = lived_in(source, 4)
    source.database.write_bytes(b"broken" * 1000)
    chance = random.Random(5)
    homes = [Home(tmp_path / f"r{number}") for number in range(30)]
    for home in homes:
        shutil.copytree(source.root, home.root)
    words = [f"{chance.randrange(1, 600)}:{home.root}" for home in homes for _ in range(2)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(
        [sys.executable, "-c", KILL_AT, *words], env=environ, check=False, capture_output=True, text=True, timeout=120
    )
    results = ended.stdout.split()
    assert len(results) == len(words), ended.stderr
    assert set(results) == {"0", "-9"}, ended.stderr
    assert results.count("-9") >= 15
    for home in homes:
        store, _ = open_or_rebuild(home, NOW)
        assert {name: store.record(name) for name in records} == records
        assert b"broken" * 1000 in [path.read_bytes() for path in home.root.iterdir() if ".damaged-" in path.name]
        store.close()


def test_a_rebuild_is_one_fact_and_the_jobs_go_on_from_there(tmp_path):
    home = scratch_home(tmp_path)
    lived_in(home, 6)
    home.database.unlink()
    store, _ = open_or_rebuild(home, NOW + 99)
    with Reader(home.database) as reader:
        rows = reader.entries(0, 100)
    assert [row[2] for row in rows] == ["store.rebuilt"]
    fact = FACT.validate_json(rows[0][3])
    assert fact.jobs == 6
    assert "missing" in fact.cause
    store.append([JobLaunching(job_id=job_id(0), attempt=1)], NOW)
    store.append([JobEnded(job_id=job_id(0), state=JobState.DONE, exit=0)], NOW)
    assert store.record(job_id(0)).state is JobState.DONE
    store.close()


def test_a_lost_end_repeats_no_number_that_may_have_been_given(tmp_path):
    home = scratch_home(tmp_path)
    store, _ = open_or_rebuild(home, NOW)
    store.append([JobAccepted(job_id=job_id(1), record=record(1))], NOW)
    store.commit()
    kept = store.last_seq()
    store.close()
    JobFolder.create(home, job_id(1)).write_meta(record(1, state=JobState.DONE, exit=0, ended=NOW + 5))
    store, _ = open_or_rebuild(home, NOW)
    assert store.last_seq() > kept + 1000
    with Reader(home.database) as reader:
        assert [row[2] for row in reader.entries(kept, 100)] == ["store.rebuilt"]
        assert [row[0] for row in reader.entries(kept, 100)] == [store.last_seq()]
    store.close()


def test_when_an_ended_job_began_comes_back_from_its_first_attempt(tmp_path):
    home = scratch_home(tmp_path)
    folder = JobFolder.create(home, job_id(1))
    folder.write_meta(record(1, state=JobState.DONE, exit=0, ended=NOW + 9, attempt=2))
    for attempt in (1, 2):
        spawn = {"attempt": attempt, "shim": None, "delegate": identity(8).model_dump(), "at": NOW + attempt}
        write_spawn(folder.path, attempt, spawn)
    store, _ = open_or_rebuild(home, NOW + 20)
    assert store.record(job_id(1)).started == NOW + 1
    assert store.record(job_id(1)).ended == NOW + 9
    store.close()


@pytest.mark.parametrize("name", ["state.db", "state.db-wal", "state.db-shm"])
def test_a_pipe_in_place_of_a_file_is_set_aside_and_never_waited_for(tmp_path, name):
    home = scratch_home(tmp_path)
    records = lived_in(home, 3)
    (home.root / name).unlink(missing_ok=True)
    os.mkfifo(home.root / name)
    with pytest.raises(StateError, match=f"{name} is not a regular file") as caught:
        Reader(home.database)
    assert "osrc supervisor restart" in caught.value.hint
    store, _ = open_or_rebuild(home, NOW)
    assert {name: store.record(name) for name in records} == records
    store.close()


def test_a_store_that_was_removed_under_its_writer_says_so_before_it_commits(tmp_path):
    home = scratch_home(tmp_path)
    records = lived_in(home, 2)
    store, _ = open_or_rebuild(home, NOW)
    for path in home.root.glob("state.db*"):
        path.unlink()
    store.append(facts_of_a_life(50), NOW)
    with pytest.raises(DamagedStore, match="removed or replaced"):
        store.commit()
    store.close()
    store, _ = open_or_rebuild(home, NOW)
    assert store.job_ids() == set(records)
    store.close()
