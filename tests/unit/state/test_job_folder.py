import stat
import threading

import pytest
from fakes.launches import write_spawn
from fakes.state import FailingDisk, identity, job_id, names, record, refusal_of, scratch_home
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.errors import StateError
from outsourcerer.state.job_folder import END, EXIT, JSON_LIMIT, LAUNCH, META, PROMPT, WATCH, JobFolder


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


@pytest.fixture
def folder(home):
    return JobFolder.create(home, job_id())


def test_a_folder_is_private_and_made_once(home, folder):
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert folder.job_id == job_id()
    with pytest.raises(FileExistsError):
        JobFolder.create(home, job_id())


def test_a_full_disk_is_said(home):
    with pytest.raises(StateError) as caught:
        JobFolder.create(home, job_id(1), FailingDisk(1))
    assert caught.value.code == "state_full"
    JobFolder.create(home, job_id(1))


def test_the_record_comes_back_whole(folder):
    assert folder.read_meta() is None
    promised, ended = record(label="ünï"), record(label="ünï", state=JobState.DONE, exit=0, shim=identity(3))
    folder.begin_meta(promised, {"lane": "x"})
    assert (folder.read_meta(), folder.read_plan()) == (None, {"lane": "x"}), "it was promised to nobody yet"
    folder.promise()
    folder.promise()
    assert (folder.read_meta(), folder.read_plan()) == (promised, {"lane": "x"})
    folder.write_meta(ended)
    assert folder.read_meta() == ended
    assert names(folder.path) == [END, META]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}
    folder.file(END).write_bytes(b"{")
    assert folder.read_meta() == promised, "the older copy is there for that"


def test_one_that_was_launched_was_journalled_whoever_did_not_come_to_promise_it(folder):
    """Else a store that is lost then takes a job along whose delegate ran."""
    folder.begin_meta(record(), {"lane": "x"})
    assert folder.read_meta() is None
    assert folder.claim(1, {"by": "shim"})
    assert folder.read_meta() == record()
    folder.promise()
    assert folder.read_meta() == record()


def test_what_is_begun_is_never_begun_over_something(folder):
    folder.file(PROMPT).symlink_to(folder.path.parent / "elsewhere")
    with pytest.raises(StateError):
        folder.begin(PROMPT, b"x")
    assert not (folder.path.parent / "elsewhere").exists()


def test_emptying_follows_no_link_and_makes_no_file(folder):
    folder.file(LAUNCH).write_bytes(b"keys")
    folder.empty(LAUNCH)
    assert folder.file(LAUNCH).read_bytes() == b""
    other = folder.path.parent / "other"
    other.write_bytes(b"kept")
    folder.file("stdin").symlink_to(other)
    folder.empty("stdin")
    folder.empty("gone")
    assert other.read_bytes() == b"kept"
    assert names(folder.path) == [LAUNCH, "stdin"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[]", b"\xff\xfe", b"{}", b"[" * 100_000, record(5).model_dump_json().encode()]
)
def test_a_record_that_makes_no_sense_is_none(folder, content):
    folder.file(META).write_bytes(content)
    assert folder.read_meta() is None
    assert folder.file(META).read_bytes() == content, "looking changes nothing"


def test_a_record_half_written_at_any_byte_is_none_or_whole(folder):
    whole = record().model_dump_json().encode() + b"\n"
    for length in range(0, len(whole), 7):
        folder.file(META).write_bytes(whole[:length])
        assert folder.read_meta() in (None, record())


def test_a_failure_at_any_step_leaves_the_old_record_or_the_new(folder):
    old, new = record(label="old"), record(label="new")
    for nth in range(1, 12):
        folder.write_meta(old)
        disk = FailingDisk(nth)
        said = refusal_of(lambda: JobFolder(folder.path, disk).write_meta(new))  # noqa: B023 - called at once
        assert said is None or said.code == "state_full"
        assert folder.read_meta() in (old, new)
        assert names(folder.path) == [META]
        if not disk.failed:
            break
    assert nth > 4


def test_no_exit_yet(folder):
    assert folder.read_exit() is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('{"attempt":1,"code":0,"signal":null,"error":null,"at":5.5}', ExitStatus(code=0)),
        ('{"attempt":1,"code":null,"signal":9,"error":null,"at":5.5}', ExitStatus(signal=9)),
        ('{"attempt":1,"code":null,"signal":null,"error":"no such file","at":5.5}', ExitStatus(error="no such file")),
    ],
)
def test_what_the_shim_saw(folder, text, status):
    folder.file(EXIT).write_text(text)
    found = folder.read_exit()
    assert (found.attempt, found.status, found.at, found.damaged) == (1, status, 5.5, False)
    assert folder.file(EXIT).exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0\0\0\0",
        b"{",
        b"[1]",
        b'{"attempt":1}',
        b'{"code":"x"}',
        b'{"code":1e400}',
        b"[" * 50_000,
        b"7" * (JSON_LIMIT + 1),
    ],
)
def test_an_exit_that_makes_no_sense_is_set_aside_and_said(folder, content):
    folder.file(EXIT).write_bytes(content)
    found = folder.read_exit()
    assert found.damaged
    assert found.status.lost
    assert folder.file("exit.json.bad").read_bytes() == content
    assert folder.read_exit() is None


@given(st.binary(max_size=200))
def test_no_exit_record_raises(tmp_path_factory, content):
    folder = JobFolder(tmp_path_factory.mktemp("x") / job_id())
    folder.path.mkdir()
    folder.file(EXIT).write_bytes(content)
    assert folder.read_exit() is not None


def test_an_attempt_is_claimed_once_whoever_races(folder):
    winners = []
    barrier = threading.Barrier(8)

    def race(number: int) -> None:
        barrier.wait(120)
        if folder.claim(1, {"by": "shim", **identity(number + 1).model_dump()}):
            winners.append(number + 1)

    threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(winners) == 1
    claim = folder.read_claim(1)
    assert (claim.by, claim.process.pid) == ("shim", winners[0])
    assert folder.read_claim(2) is None
    assert folder.claim(2, {"by": "supervisor"})
    assert folder.read_claim(2).process is None


def test_an_empty_claim_is_a_claim(folder):
    folder.file("claim.1").write_bytes(b"")
    claim = folder.read_claim(1)
    assert (claim.by, claim.process) == ("unknown", None)
    assert not folder.claim(1, {"by": "shim"})


def test_a_claim_that_could_not_be_written_can_be_taken(folder):
    for nth in (1, 2, 3):
        with pytest.raises(StateError):
            JobFolder(folder.path, FailingDisk(nth)).claim(1, {"by": "shim"})
    assert folder.claim(1, {"by": "shim"})


def test_processes_of_an_attempt(folder):
    assert folder.read_spawn(1) is None
    spawn = {"attempt": 1, "shim": identity(2).model_dump(), "delegate": identity(3).model_dump(), "at": 4}
    write_spawn(folder.path, 1, spawn)
    found = folder.read_spawn(1)
    assert (found.shim, found.delegate, found.at) == (identity(2), identity(3), 4.0)
    write_spawn(folder.path, 2, {"attempt": 2, "shim": None, "delegate": {"pid": -1}})
    found = folder.read_spawn(2)
    assert (found.shim, found.delegate, found.at) == (None, None, None)
    for content in (b"", b"{", b"{}\n", b"{}\n{", b"{}\n[]\n", b"\xff\n\xff\n"):
        folder.file("claim.3").write_bytes(content)
        assert folder.read_spawn(3) is None


def test_a_spawn_record_cut_at_any_byte_is_none(folder):
    """The gate opens after the whole line was written: half of it means that no prompt was sent."""
    write_spawn(folder.path, 1, {"attempt": 1, "shim": None, "delegate": identity(3).model_dump(), "at": 4})
    whole = folder.file("claim.1").read_bytes()
    assert folder.read_spawn(1) is not None
    for length in range(len(whole)):
        folder.file("claim.1").write_bytes(whole[:length])
        assert folder.read_spawn(1) is None


def test_the_last_attempt(folder):
    assert folder.last_attempt() == 0
    for name in (
        "claim.1",
        "claim.x",
        "claim.99999999999",
        "claim.12",
        "claim.13.tmp",
        ".claim.50",
        "claim.3\n",
    ):
        folder.file(name).write_bytes(b"")
    assert folder.last_attempt() == 12
    assert JobFolder(folder.path / "gone").last_attempt() == 0


def test_any_json_object(folder):
    assert folder.read_json(WATCH) is None
    folder.write_json(WATCH, {"a": [1, "ü"]})
    assert folder.read_json(WATCH) == {"a": [1, "ü"]}
    folder.file(WATCH).write_text("[1]")
    assert folder.read_json(WATCH) is None


def test_removed_without_following_links(home, folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("kept")
    folder.file("link").symlink_to(outside)
    folder.remove()
    folder.remove()
    assert not folder.path.exists()
    assert (outside / "f").read_text() == "kept"
