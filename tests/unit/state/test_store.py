import contextlib
import json
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.state import NOW, FailingDisk, any_fact, facts_of_a_life, job_id, names, record, refusal_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outsourcerer.messages.facts import (
    FACT,
    JobAccepted,
    JobCancelRequested,
    JobEnded,
    JobLaunching,
    JobProgressed,
    JobRemoved,
    SupervisorStarted,
)
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.errors import DamagedStore, StateError
from outsourcerer.state.reader import Reader
from outsourcerer.state.records import apply
from outsourcerer.state.schema import SCHEMA
from outsourcerer.state.store import Store, migrations


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state é.db"


@pytest.fixture
def store(path):
    opened = Store.open(path, now=NOW)
    yield opened
    opened.close()


def test_the_schema_number_is_the_newest_migration():
    numbers = [number for number, _, _ in migrations()]
    assert numbers == list(range(1, SCHEMA + 1))


def test_facts_are_numbered_and_fold_into_jobs(store, path):
    entries = store.append(facts_of_a_life(), NOW)
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5]
    assert store.last_seq() == 5
    store.commit()
    found = store.record(job_id())
    assert found.state is JobState.DONE
    assert found.marker_id == "secret-marker", "an adopted job must still know its markers"
    with Reader(path) as reader:
        rows = reader.entries(0, 100)
        assert [(seq, at, kind) for seq, at, kind, _ in rows] == [(e.seq, e.at, e.fact.kind) for e in entries]
        assert [FACT.validate_json(body) for *_, body in rows] == [entry.fact for entry in entries]


def test_the_journal_never_shows_what_signs_markers(store, path):
    entries = store.append(facts_of_a_life(), NOW)
    store.commit()
    assert "secret-marker" not in "".join(entry.model_dump_json() for entry in entries)
    with Reader(path) as reader:
        assert "secret-marker" not in json.dumps(reader.entries(0, 100))


def test_nothing_is_there_before_the_commit_and_all_of_it_after(store, path):
    store.append(facts_of_a_life(1), NOW)
    with Reader(path) as reader:
        assert reader.entries(0, 10) == []
        store.append(facts_of_a_life(2), NOW)
        store.commit()
        assert reader.last_seq() == 10
    store.append(facts_of_a_life(3), NOW)
    store.rollback()
    store.commit()
    assert store.record(job_id(3)) is None
    assert [entry.seq for entry in store.append([SupervisorStarted(pid=1, version="0")], NOW)] == [11]


def test_a_removed_job_is_gone_and_its_facts_stay(store, path):
    store.append([*facts_of_a_life(), JobRemoved(job_id=job_id())], NOW)
    store.commit()
    assert store.record(job_id()) is None
    assert store.was_removed(job_id())
    with Reader(path) as reader:
        assert reader.jobs() == ([], 0)
        assert len(reader.entries(0, 10, job=job_id())) == 6


def test_numbers_are_never_given_twice(path):
    first = Store.open(path, now=NOW)
    first.append(facts_of_a_life(), NOW)
    first.commit()
    first.close()
    db = sqlite3.connect(path)
    db.execute("DELETE FROM facts")
    db.commit()
    db.close()
    second = Store.open(path, now=NOW)
    assert second.append([SupervisorStarted(pid=1, version="0")], NOW)[0].seq == 6
    second.skip_to(100)
    second.skip_to(50)
    assert second.append([SupervisorStarted(pid=1, version="0")], NOW)[0].seq == 101
    second.close()


@given(st.lists(any_fact(job_id()), max_size=20))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_the_jobs_table_is_the_fold_of_the_journal(tmp_path_factory, facts):
    path = tmp_path_factory.mktemp("fold") / "state.db"
    store = Store.open(path, now=NOW)
    expected = None
    for step, fact in enumerate(facts):
        store.append([fact], NOW + step)
        if getattr(fact, "job_id", None):
            expected = apply(expected, fact, NOW + step)
    store.commit()
    assert store.record(job_id()) == expected
    store.close()
    with Reader(path) as reader:
        found, omitted = reader.jobs()
        assert omitted == 0
        assert len(found) == (expected is not None)
        if expected is not None:
            assert found == [json.loads(expected.model_dump_json())]
            assert reader.jobs(expected.state.value) == (found, 0)
        assert len(reader.live()) == (expected is not None and not expected.state.terminal)


def test_files_are_private_whatever_the_umask(path):
    old = os.umask(0)
    try:
        store = Store.open(path, now=NOW)
        store.append(facts_of_a_life(), NOW)
        store.commit()
        for name in names(path.parent):
            assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600, name
        store.close()
    finally:
        os.umask(old)


def test_a_newer_schema_is_refused_and_not_touched(path):
    Store.open(path, now=NOW).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    db.close()
    before = path.read_bytes()
    for opening in (lambda: Store.open(path, now=NOW), lambda: Reader(path)):
        with pytest.raises(StateError) as caught:
            opening()
        assert caught.value.code == "state_newer"
        assert "upgrade" in caught.value.hint
    assert path.read_bytes() == before


def test_what_is_no_store_of_ours_is_damage(tmp_path):
    folder = tmp_path / "folder.db"
    folder.mkdir()
    text = tmp_path / "text.db"
    text.write_text("this is not a database, though it is long enough to be one" * 100)
    foreign = tmp_path / "foreign.db"
    db = sqlite3.connect(foreign)
    db.execute("CREATE TABLE others (x)")
    db.close()
    claiming = tmp_path / "claiming.db"
    db = sqlite3.connect(claiming)
    db.execute("CREATE TABLE others (x)")
    db.execute("PRAGMA user_version = 1")
    db.close()
    for path in (folder, text, foreign, claiming):
        with pytest.raises(DamagedStore) as caught:
            Store.open(path, now=NOW)
        assert str(path) in str(caught.value)


def test_a_link_is_refused(path, tmp_path):
    Store.open(tmp_path / "real.db", now=NOW).close()
    path.symlink_to(tmp_path / "real.db")
    with pytest.raises(StateError) as caught:
        Store.open(path, now=NOW)
    assert caught.value.code == "state_unwritable"
    assert "symbolic link" in str(caught.value)


def test_a_disk_that_is_full_at_the_first_write_is_said(path):
    with pytest.raises(StateError) as caught:
        Store.open(path, now=NOW, files=FailingDisk(1))
    assert caught.value.code == "state_full"
    Store.open(path, now=NOW).close()


def test_full_at_every_page_loses_only_what_was_not_committed(path):
    """SQLite's own page limit fails each successive allocation as a full disk does."""
    store = Store.open(path, now=NOW)
    store.append(facts_of_a_life(0), NOW)
    store.commit()
    committed, failures = 1, 0
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    for number in range(1, 60):
        store._db.execute(f"PRAGMA max_page_count = {pages + failures}")
        said = refusal_of(lambda: (store.append(facts_of_a_life(number), NOW), store.commit()))  # noqa: B023 - called at once
        committed += said is None
        if said is not None:
            assert said.code == "state_full"
            failures += 1
            assert store.record(job_id(number)) is None
            store._db.execute("PRAGMA max_page_count = 1000000")
            store.append(facts_of_a_life(number), NOW)
            store.commit()
            committed += 1
    assert failures > 5
    store.close()
    again = Store.open(path, now=NOW)
    with Reader(path) as reader:
        assert len(reader.jobs(limit=0)[0]) == committed
        assert reader.last_seq() == 5 * committed
    again.close()


def test_another_writer_is_waited_for_then_named(path, store, monkeypatch):
    monkeypatch.setattr("outsourcerer.state.store.BUSY_S", 0.05)
    other = Store.open(path, now=NOW)
    store.append(facts_of_a_life(1), NOW)
    with pytest.raises(StateError) as caught:
        other.append(facts_of_a_life(2), NOW)
    assert "in use" in str(caught.value)
    store.commit()
    other.append(facts_of_a_life(2), NOW)
    other.commit()
    other.close()


def test_what_another_writer_did_meanwhile_is_seen(path, store):
    store.append([JobAccepted(job_id=job_id(), record=record())], NOW)
    store.commit()
    other = Store.open(path, now=NOW)
    other.append([JobCancelRequested(job_id=job_id())], NOW)
    other.commit()
    other.close()
    store.append([JobLaunching(job_id=job_id(), attempt=1)], NOW)
    store.commit()
    found = store.record(job_id())
    assert (found.cancel_requested, found.state, found.attempt) == (True, JobState.LAUNCHING, 1)


def test_the_states_of_what_lives_are_told_without_its_records(path, store):
    for number, until in ((1, 1), (2, None), (3, 2)):
        store.append(facts_of_a_life(number)[:until], NOW)
    store.commit()
    with Reader(path) as reader:
        assert sorted(reader.live_states()) == sorted(row["state"] for row in reader.live())
        assert len(reader.live_states()) == 2


def test_what_was_rolled_back_is_not_known_any_more(store):
    store.append([JobAccepted(job_id=job_id(), record=record())], NOW)
    store.commit()
    store.append([JobCancelRequested(job_id=job_id())], NOW)
    store.rollback()
    store.append([JobLaunching(job_id=job_id(), attempt=1)], NOW)
    assert store.record(job_id()).cancel_requested is False


def test_one_unreadable_record_is_damage_while_it_is_live_and_a_note_after(path):
    store = Store.open(path, now=NOW)
    store.append(facts_of_a_life(1), NOW)
    store.append([JobAccepted(job_id=job_id(2), record=record(2))], NOW)
    store.commit()
    store._db.execute("UPDATE jobs SET record = '{' WHERE job_id = ?", (job_id(1),))
    assert store.record(job_id(1)) is None
    store.append([JobEnded(job_id=job_id(1), state=JobState.DONE, exit=0, revises=True)], NOW)
    store.commit()
    with Reader(path) as reader:
        found = reader.record(job_id(1))
        assert found["state"] == "done"
        assert "damaged" in found["note"]
    store.append([JobRemoved(job_id=job_id(1))], NOW)
    store.commit()
    store._db.execute("UPDATE jobs SET record = '{' WHERE job_id = ?", (job_id(2),))
    with pytest.raises(DamagedStore):
        store.live()
    store.close()
    with pytest.raises(DamagedStore):
        Store.open(path, now=NOW)


KILLED = """
import os, sys
from pathlib import Path
from fakes.state import NOW, facts_of_a_life
from outsourcerer.state.store import Store
store = Store.open(Path(sys.argv[1]), now=NOW)
for number in range(40):
    store.append(facts_of_a_life(number), NOW)
    store.commit()
store.append(facts_of_a_life(1000), NOW)
os.kill(os.getpid(), 9)
"""


def killed_writer(path: Path) -> None:
    """Leave a store behind as a writer does that was killed in the middle of a decision."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environ, check=False, timeout=60)
    assert ended.returncode == -9


def test_a_killed_writer_keeps_every_commit_and_nothing_else(path):
    killed_writer(path)
    assert Path(f"{path}-wal").stat().st_size > 0
    with Reader(path) as reader:
        assert len(reader.jobs(limit=0)[0]) == 40
        assert reader.notes == []
    store = Store.open(path, now=NOW)
    assert store.last_seq() == 200
    assert store.record(job_id(1000)) is None
    store.close()


def test_a_log_cut_anywhere_is_a_shorter_history_never_a_broken_one(path, tmp_path):
    killed_writer(path)
    main, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    lengths = sorted({0, 1, 31, 32, 33, len(log) - 1, *range(0, len(log), max(1, len(log) // 23))})
    jobs_seen = set()
    for length in lengths:
        cut = tmp_path / f"cut{length}.db"
        cut.write_bytes(main)
        Path(f"{cut}-wal").write_bytes(log[:length])
        store = Store.open(cut, now=NOW)
        with Reader(cut) as reader:
            found, _ = reader.jobs(limit=0)
            jobs_seen.add(len(found))
            assert {job["job_id"] for job in found} == {job_id(number) for number in range(len(found))}
            assert all(job["state"] == "done" for job in found)
            assert reader.last_seq() == 5 * len(found)
        store.append(facts_of_a_life(2000), NOW)
        store.commit()
        store.close()
    assert len(jobs_seen) > 5


def test_progress_of_an_unknown_job_is_journalled_and_makes_none(store, path):
    store.append([JobProgressed(job_id=job_id(9), progress=record().progress)], NOW)
    store.commit()
    with Reader(path) as reader:
        assert reader.record(job_id(9)) is None
        assert reader.last_seq() == 1


def test_a_job_ends_once_unless_its_end_is_revised(tmp_path):
    """An actor may crash right after it told its verdict; its successor finds the job live and judges anew."""
    with contextlib.closing(Store.open(tmp_path / "state.db", now=NOW)) as store:
        store.append(facts_of_a_life(1), NOW)
        again = JobEnded(job_id=job_id(1), state=JobState.FAILED, exit=1)
        assert store.append([again], NOW + 1) == [], "in the same transaction"
        store.commit()
        assert store.append([again], NOW + 2) == []
        assert store.record(job_id(1)).state is JobState.DONE
        revised = again.model_copy(update={"revises": True})
        assert [entry.fact for entry in store.append([revised], NOW + 3)] == [revised]
        assert store.record(job_id(1)).state is JobState.FAILED
