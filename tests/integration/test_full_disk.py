"""State on a disk that is really full, really read-only: small file systems mounted for the purpose."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from fakes.state import NOW, facts_of_a_life, job_id, record, refusal_of
from outsourcerer.state.home import Home
from outsourcerer.state.job_folder import JobFolder
from outsourcerer.state.reader import Reader
from outsourcerer.state.recovery import open_or_rebuild

SIZE = 2 * 1024 * 1024


def mounted(folder: Path, *options: str) -> bool:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", ",".join(("mode=0700", *options)), "tmpfs", str(folder)]
    return subprocess.run(command, check=False, capture_output=True, timeout=240).returncode == 0


@pytest.fixture
def disk(tmp_path):
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mounted(folder, f"size={SIZE}"):
        pytest.skip("needs root and the right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True, capture_output=True, timeout=240)


def fill(folder: Path, leave: int) -> Path:
    """Take all room but ``leave`` bytes."""
    ballast = folder / "ballast"
    seen = os.statvfs(folder)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, seen.f_bavail * seen.f_frsize - leave))
    return ballast


def test_full_before_anything(disk):
    fill(disk, 0)
    said = refusal_of(Home(disk / "home").preflight)
    assert said.code == "state_full"
    assert "OSRC_HOME" in said.hint


def one_job(store, home, number):
    folder = JobFolder.create(home, job_id(number))
    folder.write("prompt.md", b"p" * 3000)
    store.append(facts_of_a_life(number), NOW)
    store.commit()
    folder.write_meta(record(number, label="new"))


@pytest.mark.parametrize("leave", range(0, 100 * 1024, 8 * 1024))
def test_full_at_some_write_of_a_job(disk, leave):
    """Whichever write meets the end of the disk: a sentence, nothing corrupt, and it works once there is room."""
    home = Home(disk / "home")
    home.preflight()
    store, _ = open_or_rebuild(home, NOW)
    one_job(store, home, 0)
    ballast = fill(disk, leave)
    done = 1
    said = None
    while said is None:
        said = refusal_of(partial(one_job, store, home, done))
        assert said is None or said.code == "state_full"
        done += said is None
    kept = store.job_ids()
    assert {job_id(number) for number in range(done)} <= kept <= {job_id(number) for number in range(done + 1)}
    with Reader(home.database) as reader:
        assert {job["job_id"] for job in reader.jobs(limit=0)[0]} == kept
        assert reader.last_seq() == 5 * len(kept)
    for path in home.jobs_dir.iterdir():
        assert JobFolder(path).read_meta() in (None, record(int(path.name[-12:], 16), label="new"))
        assert not [entry.name for entry in path.iterdir() if entry.name.endswith(".tmp")]
    ballast.unlink()
    one_job(store, home, 500)
    store.close()
    store, warnings = open_or_rebuild(home, NOW)
    assert warnings == []
    assert store.job_ids() == kept | {job_id(500)}
    store.close()


def test_full_when_the_store_is_opened_after_a_kill(disk):
    """A supervisor that comes up on a full disk refuses, and loses nothing."""
    home = Home(disk / "home")
    home.preflight()
    store, _ = open_or_rebuild(home, NOW)
    for number in range(20):
        store.append(facts_of_a_life(number), NOW)
        store.commit()
    main, log = home.database.read_bytes(), Path(f"{home.database}-wal").read_bytes()
    store.close()
    for path in home.root.glob("state.db*"):
        path.unlink()
    home.database.write_bytes(main)
    Path(f"{home.database}-wal").write_bytes(log)
    ballast = fill(disk, 0)

    def opened():
        found, _ = open_or_rebuild(home, NOW)
        try:
            found.append(facts_of_a_life(99), NOW)
            found.commit()
        finally:
            found.close()

    said = refusal_of(opened)
    assert said is None or said.code in ("state_full", "state_unwritable")
    ballast.unlink()
    store, _ = open_or_rebuild(home, NOW)
    assert store.job_ids() >= {job_id(number) for number in range(20)}
    store.close()


def test_a_damaged_store_on_a_full_disk_waits_for_room(disk):
    home = Home(disk / "home")
    home.preflight()
    store, _ = open_or_rebuild(home, NOW)
    for number in range(5):
        one_job(store, home, number)
    store.close()
    home.database.write_bytes(b"broken" * 1000)
    ballast = fill(disk, 4096)
    assert refusal_of(partial(open_or_rebuild, home, NOW)).code in ("state_full", "state_unwritable")
    assert home.database.read_bytes() == b"broken" * 1000
    ballast.unlink()
    store, warnings = open_or_rebuild(home, NOW)
    assert "5 jobs were restored from their folders" in warnings
    store.close()


def test_a_read_only_file_system_can_be_looked_at_and_is_refused_for_work(disk):
    home = Home(disk / "home")
    home.preflight()
    store, _ = open_or_rebuild(home, NOW)
    one_job(store, home, 0)
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True, capture_output=True, timeout=240)
    said = refusal_of(home.preflight)
    assert said.code == "state_unwritable"
    assert "read-only" in str(said)
    assert "allow-write" in said.hint
    assert refusal_of(partial(open_or_rebuild, home, NOW)).code == "state_unwritable"
    with Reader(home.database) as reader:
        assert [job["job_id"] for job in reader.jobs()[0]] == [job_id(0)]
