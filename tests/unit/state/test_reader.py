import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from fakes.state import NOW, facts_of_a_life, job_id, names, record
from outsourcerer.messages.facts import JobAccepted, JobStateChanged, SupervisorStarted
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.errors import DamagedStore, StateError
from outsourcerer.state.reader import CANDIDATES, Reader
from outsourcerer.state.store import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "st%te #1?.db"


def filled(path: Path, jobs: int = 60) -> Store:
    store = Store.open(path, now=NOW)
    for number in range(jobs):
        label = {7: "fix", 9: "fix", 11: "20261"}.get(number)
        store.append([JobAccepted(job_id=job_id(number), record=record(number, label=label))], NOW + number)
        if number % 3:
            store.append(facts_of_a_life(number)[1:], NOW + number)
    store.append([SupervisorStarted(pid=1, version="0")], NOW + jobs)
    store.commit()
    return store


def test_a_store_that_is_not_there_reads_as_empty_and_is_not_made(path):
    with Reader(path) as reader:
        assert reader.jobs() == ([], 0)
        assert reader.resolve("x") == []
        assert reader.live() == []
        assert reader.entries(0, 10) == []
        assert reader.last_seq() == 0
    assert not path.exists()
    path.write_bytes(b"")
    with Reader(path) as reader:
        assert reader.jobs() == ([], 0)


@pytest.mark.parametrize("content", [None, b"", b"S"])
def test_jobs_without_a_store_are_not_no_jobs(path, content):
    (path.parent / "jobs" / job_id(1)).mkdir(parents=True)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DamagedStore, match="though there are jobs") as caught:
        Reader(path)
    assert "osrc supervisor restart" in caught.value.hint


def test_numbers_of_any_size_are_taken(path):
    filled(path, 3).close()
    with Reader(path) as reader:
        assert len(reader.jobs(limit=10**22)[0]) == 3
        assert reader.entries(10**22, 10) == []
        assert reader.entries(-(10**22), 10**22)


def test_newest_first_with_an_exact_rest(path):
    store = filled(path)
    with Reader(path) as reader:
        found, omitted = reader.jobs()
        assert [job["job_id"] for job in found] == [job_id(number) for number in range(59, 19, -1)]
        assert omitted == 20
        everything, none = reader.jobs(limit=0)
        assert (len(everything), none) == (60, 0)
        done, more = reader.jobs("done", 5)
        assert (len(done), more) == (5, 35)
        assert reader.jobs("nonsense") == ([], 0)
        assert [job["job_id"] for job in reader.live()] == [job_id(number) for number in range(0, 60, 3)]
        store.append([JobStateChanged(job_id=job_id(0), state=JobState.STALLED)], NOW)
        store.commit()
        assert [job["job_id"] for job in reader.jobs("stalled?")[0]] == [job_id(0)]
        assert reader.jobs("queued", 1)[1] == 18
    store.close()


def test_what_a_person_types(path):
    filled(path).close()
    with Reader(path) as reader:
        assert [job["job_id"] for job in reader.resolve(job_id(5))] == [job_id(5)]
        assert [job["job_id"] for job in reader.resolve("fix")] == [job_id(9), job_id(7)]
        assert [job["job_id"] for job in reader.resolve("20261")] == [job_id(11)], "a label wins over a prefix"
        assert [job["job_id"] for job in reader.resolve(job_id(5)[:-1] + "5")] == [job_id(5)]
        assert len(reader.resolve("2026")) == CANDIDATES
        for nothing in ("", "%", "_", "*", "2026%", "zzz", "\0", "\n", "2" * 5000, "ünï", "2026-'; DROP TABLE jobs"):
            assert reader.resolve(nothing) == []


def test_facts_after_a_number(path):
    filled(path).close()
    with Reader(path) as reader:
        every = reader.entries(0, 10_000)
        assert [row[0] for row in every] == list(range(1, len(every) + 1))
        assert reader.entries(10, 3) == every[10:13]
        assert reader.entries(0, 99, job=job_id(1), type="job.ended") == [
            row for row in every if row[2] == "job.ended" and job_id(1) in row[3]
        ]
        assert [row[2] for row in reader.entries(0, 9, type="supervisor.started")] == ["supervisor.started"]
        assert reader.entries(every[-1][0], 10) == []


def test_while_a_writer_writes(path):
    """Every view is of whole decisions: a job and its facts, never one without the other."""
    store = Store.open(path, now=NOW)
    stop = threading.Event()
    broken: list[str] = []

    def look() -> None:
        with Reader(path) as reader:
            while not stop.is_set():
                facts = reader.last_seq()
                jobs = len(reader.jobs(limit=0)[0])
                if facts % 5 or jobs * 5 < facts:
                    broken.append(f"{facts} facts, {jobs} jobs")

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(150):
        store.append(facts_of_a_life(number), NOW)
        store.commit()
    stop.set()
    for thread in threads:
        thread.join(120)
    store.close()
    assert broken == []


def test_it_never_writes(path):
    filled(path).close()
    with Reader(path) as reader, pytest.raises(sqlite3.OperationalError):
        reader._db.execute("DELETE FROM jobs")


def test_damage_is_said_in_words(tmp_path):
    text = tmp_path / "t.db"
    text.write_text("no database " * 1000)
    folder = tmp_path / "f.db"
    folder.mkdir()
    for path in (text, folder):
        with pytest.raises(DamagedStore):
            Reader(path)


READ_ONLY = """
import os, sys
from outsourcerer.state.reader import Reader
os.setgid(65534); os.setuid(65534)
with Reader(sys.argv[1]) as reader:
    print(len(reader.jobs(limit=0)[0]), len(reader.notes))
"""


def run_as_somebody(path: Path) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(path)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def look_as_somebody_who_may_not_write(path: Path) -> tuple[int, int]:
    found = run_as_somebody(path)
    assert found.returncode == 0, found.stderr
    jobs, notes = found.stdout.split()
    return int(jobs), int(notes)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root to become somebody else")
def test_in_a_folder_that_may_not_be_written():
    # not under pytest's own folder: any other run of pytest makes that private again
    with tempfile.TemporaryDirectory(prefix="osrc-ro-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        look_at_it_read_only(folder)


def look_at_it_read_only(folder: Path) -> None:
    path = folder / "state.db"
    store = filled(path, 30)
    for name in names(folder):
        (folder / name).chmod(0o444)
    assert look_as_somebody_who_may_not_write(path) == (30, 0), "beside an active writer"
    main, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    store.close()
    path.chmod(0o444)
    assert look_as_somebody_who_may_not_write(path) == (30, 0), "after an orderly end"
    killed = folder / "killed.db"
    killed.write_bytes(main)
    Path(f"{killed}-wal").write_bytes(log)
    for name in names(folder):
        (folder / name).chmod(0o444)
    jobs, notes = look_as_somebody_who_may_not_write(killed)
    assert (jobs, notes) in ((30, 0), (0, 1)), "all of it, or a note that something is missing"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_folder_that_may_not_be_searched_is_not_an_empty_one():
    with tempfile.TemporaryDirectory(prefix="osrc-shut-") as name:
        filled(Path(name) / "state.db", 1).close()
        found = run_as_somebody(Path(name) / "state.db")
    assert found.returncode == 1
    assert "StateError" in found.stderr
    assert "state.db" in found.stderr.splitlines()[-1]


def test_a_newer_store_is_refused(path):
    filled(path, 1).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StateError) as caught:
        Reader(path)
    assert caught.value.code == "state_newer"


def test_no_query_of_a_looking_command_reads_the_whole_table(path):
    """Ten thousand finished jobs must cost what ten do: every statement uses an index and sorts nothing."""
    filled(path, 3).close()
    with Reader(path) as reader:
        statements: list[str] = []
        reader._db.set_trace_callback(statements.append)
        reader.jobs()
        reader.jobs("done")
        reader.live()
        reader.resolve("fix")
        reader.resolve("20")
        reader.entries(0, 10)
        reader.entries(0, 10, job=job_id(1))
        reader.entries(0, 10, type="job.ended")
        reader.last_seq()
        reader._db.set_trace_callback(None)
        assert len(statements) >= 10
        for statement in statements:
            plan = " | ".join(row[3] for row in reader._db.execute(f"EXPLAIN QUERY PLAN {statement}"))
            assert "TEMP B-TREE" not in plan, (statement, plan)
            whole = "SCAN" in plan and "USING INDEX" not in plan
            assert not whole or "job_counts" in plan or "max(seq)" in statement, (statement, plan)
