"""Large prompts, strange folders, and disks that are full or read-only, through the real program."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.osrc_process import environment, shown
from fakes.supervised import Supervised, until

DONE: tuple[dict[str, object], ...] = ({"mark": "DONE", "text": "ok"}, {"end": "the answer"})
KIBIBYTE = 1024
SMALL_DISK = 4 * 1024 * KIBIBYTE


# --- prompts


@pytest.mark.parametrize("size", [200 * KIBIBYTE, 2 * 1024 * KIBIBYTE], ids=["200KiB", "2MiB"])
@pytest.mark.parametrize("way", ["stdin", "file", "bg"])
def test_a_large_prompt_arrives_whole(shared: Supervised, tmp_path: Path, size: int, way: str) -> None:
    proof = tmp_path / "proof"
    script = f'#fake: [{{"record": "{proof}"}}, {{"mark": "DONE"}}, {{"end": "the answer"}}]\n'
    task = script + "ä line of the prompt — ✓\n" * (size // 28)
    file = tmp_path / "task.md"
    file.write_text(task)
    if way == "stdin":
        done = shared.osrc("run", "--lane", "fake", "-", stdin=task.encode())
    elif way == "file":
        done = shared.osrc("run", "--lane", "fake", "--task-file", str(file))
    else:
        done = shared.osrc("bg", "--lane", "fake", "--task-file", str(file))
        shared.ended(done.stdout.decode().strip())
    assert done.returncode == 0, shown(done)
    record = shared.newest()
    assert record["state"] == "done"
    prompt = (shared.folder(record["job_id"]) / "prompt.md").read_bytes()
    assert task.strip().encode() in prompt
    (line,) = proof.read_text().splitlines()
    assert line.split()[1] == hashlib.sha256(prompt).hexdigest(), "the delegate read exactly what was kept"
    assert not list((shared.root / "spool").iterdir())


@pytest.mark.parametrize(
    "task", ["-x --help", "--", "'\"$(touch pwned)`touch pwned`", "\u202ertl \u2028 end", "🎉" * 1000]
)
def test_a_prompt_is_only_text(shared: Supervised, task: str) -> None:
    done = shared.osrc("run", "--lane", "fake", "--", task + '\n#fake: [{"mark": "DONE"}, {"end": "the answer"}]')
    assert (done.returncode, done.stdout) == (0, b"the answer\n"), shown(done)
    prompt = (shared.folder(shared.newest()["job_id"]) / "prompt.md").read_text(encoding="utf-8")
    assert task in prompt
    assert not (shared.work / "pwned").exists()


# --- folders


@pytest.mark.parametrize(
    "name",
    ["a b", 'it\'s "quoted"', "new\nline", "grüße 你好 🎉", "-rf", "$HOME`x`", "a" * 200, "tab\tbell\x07"],
    ids=["space", "quotes", "newline", "unicode", "dash", "shell", "long", "control"],
)
def test_a_strange_working_folder(shared: Supervised, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    record, done = shared.run({"write": "made here", "content": "x"}, *DONE, verb="edit", cwd=folder)
    assert (record["state"], done.returncode) == ("done", 0), shown(done)
    assert (folder / "made here").read_text() == "x"
    assert record["cwd"] == str(folder)
    assert json.loads(shared.ok("status", record["job_id"], "--json"))["cwd"] == str(folder)
    table = shared.ok("status", "--all").splitlines()
    assert len(table) == 1 + len(shared.records()), "a folder's name is no second line of the table"


def test_a_working_folder_given_by_a_dash_name(shared: Supervised) -> None:
    (shared.work / "-rf").mkdir()
    record, done = shared.run(*DONE, words=("--cwd=-rf",))
    assert (record["state"], record["cwd"]) == ("done", str(shared.work / "-rf")), shown(done)


def test_a_temporary_folder_of_120_bytes(home: Supervised) -> None:
    """Also where the state home is too deep for a socket path."""
    deep = home.scratch / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    odd = Supervised(deep)
    try:
        record, done = odd.run(*DONE, TMPDIR=str(deep))
        assert (record["state"], done.returncode) == ("done", 0), shown(done)
        assert len(odd.daemons()) == 1
    finally:
        odd.close()


def test_a_deleted_working_folder_is_refused_before_anything(home: Supervised) -> None:
    folder = home.scratch / "gone"
    folder.mkdir()
    script = 'rmdir "$1"; exec "$2" -m outsourcerer run --json --lane fake hello'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(folder), sys.executable],
        cwd=folder,
        env=environment(home.root, **home.environ),
        capture_output=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 1, shown(done)
    assert json.loads(done.stdout)["error"]["code"] == "bad_cwd"


def test_the_working_folder_vanishes_under_a_running_job(home: Supervised) -> None:
    folder = home.scratch / "here"
    folder.mkdir()
    go = home.scratch / "go"
    job_id = home.bg({"say": "in it"}, {"wait_for": str(go)}, *DONE, verb="edit", cwd=folder, OSRC_STALL_WARN="0.3")
    until(lambda: "in it" in _text(home.folder(job_id) / "out.log"), "the delegate has entered it")
    shutil.rmtree(folder)
    until(lambda: home.state(job_id) == "stalled?", "it is looked at closely")
    go.touch()
    assert home.ended(job_id)["state"] == "done"


def test_the_working_folder_vanishes_before_a_queued_job_starts(home: Supervised) -> None:
    folder = home.scratch / "here"
    folder.mkdir()
    go = home.scratch / "go"
    home.environ["OSRC_MAX_JOBS"] = "1"
    home.bg({"wait_for": str(go)}, {"end": "x"})
    job_id = home.bg(*DONE, cwd=folder)
    assert home.state(job_id) == "queued"
    folder.rmdir()
    go.touch()
    record = home.ended(job_id)
    assert (record["state"], record["outcome"]) == ("failed", "launch"), record
    assert "No such file or directory" in record["reason"]


# --- logs


def test_the_log_is_removed_under_a_running_job(home: Supervised) -> None:
    """The open file is read to its end; nothing of the answer is lost."""
    go = home.scratch / "go"
    job_id = home.bg({"say": "early words"}, {"wait_for": str(go)}, *DONE)
    until(lambda: "early words" in _text(home.folder(job_id) / "out.log"), "it spoke")
    (home.folder(job_id) / "out.log").unlink()
    (home.folder(job_id) / "err.log").unlink()
    go.touch()
    assert home.ended(job_id)["state"] == "done"
    assert home.result(job_id) == "the answer"
    assert home.osrc("logs", job_id).returncode in (0, 1)


def test_the_log_is_removed_and_the_supervisor_killed(home: Supervised) -> None:
    """The next supervisor reads the removed log through the process that still has it open."""
    go = home.scratch / "go"
    job_id = home.bg({"say": "early words"}, {"wait_for": str(go)}, *DONE)
    until(lambda: "early words" in _text(home.folder(job_id) / "out.log"), "it spoke")
    home.kill_supervisor()
    (home.folder(job_id) / "out.log").unlink()
    (home.folder(job_id) / "events.jsonl").unlink()
    home.ok("supervisor", "restart")
    until(lambda: "early words" in _text(home.folder(job_id) / "events.jsonl"), "the next one read it anew")
    go.touch()
    record = home.ended(job_id)
    assert record["state"] == "done", record
    assert home.result(job_id) == "the answer"


def test_a_whole_job_folder_is_removed_under_a_running_job(home: Supervised) -> None:
    job_id = home.bg({"sleep": 1.0}, *DONE)
    home.running(job_id)
    shutil.rmtree(home.folder(job_id))
    record = home.ended(job_id)
    assert record["state"] in ("done", "interrupted", "failed"), record
    home.ok("status")
    home.nothing_left()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# --- disks


def mounted(folder: Path, *options: str) -> bool:
    """Mount a small file system of its own."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", ",".join(("mode=0700", *options)), "tmpfs", str(folder)]
    return subprocess.run(command, check=False, capture_output=True, timeout=240).returncode == 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Supervised]:
    """A state home on a disk of four megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mounted(disk, f"size={SMALL_DISK}"):
        pytest.skip("needs root and the right to mount a tmpfs")
    made = Supervised(disk, OSRC_MIN_FREE_DISK="0")
    try:
        yield made
        made.close()
    finally:
        made.kill_all()
        subprocess.run(["umount", "-l", str(disk)], check=True, capture_output=True, timeout=240)


def fill(home: Supervised, leave: int) -> Path:
    """Take all room of the small disk but ``leave`` bytes."""
    ballast = home.scratch / "ballast"
    size = 0
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            size += file.write(b"b" * 4096)
    os.truncate(ballast, max(0, size - leave))
    return ballast


def test_a_disk_that_fills_up_stops_no_delegate_and_takes_no_new_job(small: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job_id = small.bg({"say": "early"}, {"wait_for": str(go)}, *DONE)
    until(lambda: "early" in _text(small.folder(job_id) / "out.log"), "it is at work")
    delegate = small.running(job_id)["delegate"]["pid"]
    ballast = fill(small, 0)
    refused = small.osrc("bg", "--json", "--lane", "fake", "hello")
    assert refused.returncode == 1, shown(refused)
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "state_full"
    assert "full" in error["message"]
    assert len(list((small.root / "jobs").iterdir())) == 1, "what was refused leaves nothing"
    small.ok("status", job_id)
    assert Path(f"/proc/{delegate}").exists()
    ballast.unlink()
    go.touch()
    assert small.ended(job_id)["state"] == "done"
    second = small.bg(*DONE)
    assert small.ended(second)["state"] == "done"


def test_a_submission_meets_the_end_of_the_disk_at_any_of_its_writes(small: Supervised) -> None:
    """Refused with the sentence and nothing left, or taken and brought to one end; and all is well afterwards."""
    small.ended(small.bg(*DONE))
    outcomes = []
    for leave in range(0, 288 * KIBIBYTE, 16 * KIBIBYTE):
        folders = {path.name for path in (small.root / "jobs").iterdir()}
        ballast = fill(small, leave)
        done = small.osrc("bg", "--json", "--lane", "fake", "--", "hello")
        left = {path.name for path in (small.root / "jobs").iterdir()} - folders
        ballast.unlink()
        said = json.loads(done.stdout)
        outcomes.append(done.returncode)
        if done.returncode == 0:
            assert left == {said["job_id"]}
            small.ended(said["job_id"])
        else:
            assert (said["error"]["code"], left) == ("state_full", set()), (said, left)
        assert small.osrc("status").returncode == 0
    assert set(outcomes) == {0, 1}, outcomes
    ends = [fact["job_id"] for fact in small.facts("job.ended")]
    assert len(ends) == len(set(ends)) == outcomes.count(0) + 1
    assert small.ended(small.bg(*DONE))["state"] == "done"


@pytest.mark.parametrize("leave", [0, 4096, 16384, 40960])
def test_a_job_that_ends_on_a_full_disk_ends_once_there_is_room(small: Supervised, tmp_path: Path, leave: int) -> None:
    go = tmp_path / "go"
    job_id = small.bg({"say": "early"}, {"wait_for": str(go)}, *DONE)
    until(lambda: "early" in _text(small.folder(job_id) / "out.log"), "it is at work")
    small.running(job_id)
    ballast = fill(small, leave)
    go.touch()
    until(lambda: not small.delegates(), "the delegate ended")
    small.ok("status", job_id)
    ballast.unlink()
    record = small.ended(job_id)
    # its last words met the full disk, so that they may be lost: but that is what is said then
    assert record["state"] in ("done", "failed", "interrupted", "done?"), record
    if record["state"] == "done":
        until(lambda: small.osrc("result", job_id).returncode == 0, "its final message was written once there was room")
    assert len(small.facts("job.ended")) == 1
    assert small.ended(small.bg(*DONE))["state"] == "done"


def test_an_exit_that_met_a_full_disk_for_long_is_known_in_the_end(small: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job_id = small.bg({"mark": "PROGRESS", "text": "half way"}, {"wait_for": str(go)}, {"exit": 5}, OSRC_POLL="0.2")
    until(lambda: "half way" in _text(small.folder(job_id) / "out.log"), "it is at work")
    small.running(job_id)
    ballast = fill(small, 0)
    go.touch()
    until(lambda: "can't be written" in small.ok("status"), "its end waits for room")
    ballast.unlink()
    small.ended(job_id)
    until(lambda: small.record(job_id)["exit_status"]["code"] == 5, "the true exit was found")
    assert small.record(job_id)["state"] == "failed"


def test_a_job_is_canceled_on_a_full_disk_and_it_is_said_that_this_is_not_recorded_yet(small: Supervised) -> None:
    job_id = small.bg({"say": "early"}, {"sleep": 600})
    until(lambda: "early" in _text(small.folder(job_id) / "out.log"), "it is at work")
    small.running(job_id)
    ballast = fill(small, 0)
    refused = small.osrc("cancel", "--json", job_id)
    assert refused.returncode == 1, shown(refused)
    error = json.loads(refused.stdout)["error"]
    assert (error["code"], "being ended" in error["message"]) == ("state_full", True)
    until(lambda: not small.delegates(), "the delegate was ended")
    seen = json.loads(small.ok("status", job_id, "--json"))
    assert "can't be written" in seen["note"]
    ballast.unlink()
    record = small.ended(job_id)
    assert record["state"] == "canceled"
    assert len(small.facts("job.ended")) == 1


def test_a_supervisor_killed_on_a_full_disk_comes_back_once_there_is_room(small: Supervised, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job_id = small.bg({"say": "early"}, {"wait_for": str(go)}, *DONE)
    until(lambda: "early" in _text(small.folder(job_id) / "out.log"), "it is at work")
    small.running(job_id)
    ballast = fill(small, 0)
    small.kill_supervisor()
    done = small.osrc("supervisor", "restart")
    assert b"Traceback" not in done.stderr, shown(done)
    ballast.unlink()
    small.ok("supervisor", "restart")
    go.touch()
    assert small.ended(job_id)["state"] == "done"


def test_a_read_only_home_is_refused_and_can_be_looked_at(small: Supervised) -> None:
    job_id = small.bg(*DONE)
    small.ended(job_id)
    small.ok("supervisor", "stop")
    subprocess.run(["mount", "-o", "remount,ro", str(small.scratch)], check=True, capture_output=True)
    try:
        refused = small.osrc("run", "--json", "--lane", "fake", "hello", cwd="/")
        assert refused.returncode == 1, shown(refused)
        error = json.loads(refused.stdout)["error"]
        assert error["code"] == "state_unwritable"
        assert "OSRC_HOME" in error["hint"]
        assert job_id in small.ok("status", cwd="/")
        assert small.ok("result", job_id, cwd="/") == "the answer\n"
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(small.scratch)], check=True, capture_output=True)
