import errno
import os
import stat
from pathlib import Path

import pytest
from fakes.state import FailingDisk, names, refusal_of
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.state import files
from outsourcerer.state.errors import StateError
from outsourcerer.state.files import create_private, open_regular, read_private, set_aside, write_private


def modes(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_written_whole_private_and_without_leftovers(tmp_path):
    target = tmp_path / "a file\nwith ünï"
    write_private(target, b"one")
    write_private(target, b"two", fsync=True)
    assert target.read_bytes() == b"two"
    assert modes(target) == 0o600
    assert names(tmp_path) == [target.name]


def test_a_link_is_replaced_never_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    link = tmp_path / "link"
    link.symlink_to(victim)
    write_private(link, b"new")
    assert victim.read_bytes() == b"mine"
    assert not link.is_symlink()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("fsync", [False, True])
def test_a_failure_at_any_step_leaves_the_old_content_or_the_new(tmp_path, error, fsync):
    target = tmp_path / "f"
    steps = 0
    for nth in range(1, 20):
        write_private(target, b"old content")
        disk = FailingDisk(nth, error)
        said = refusal_of(lambda: write_private(target, b"the new content", fsync=fsync, files=disk))  # noqa: B023 - called at once
        assert (said is not None) == disk.failed
        if said is not None:
            full = error in (errno.ENOSPC, errno.EDQUOT)
            assert said.code == ("state_full" if full else "state_unwritable")
            assert str(target) in str(said)
            assert said.hint
        assert target.read_bytes() in (b"old content", b"the new content")
        assert names(tmp_path) == ["f"], "no temporary file stays, least of all on a full disk"
        if not disk.failed:
            break
        steps += 1
        write_private(target, b"retry", fsync=fsync)
        assert target.read_bytes() == b"retry"
    assert steps >= 4, "open, write, close and rename can each fail"


def test_created_by_one_only(tmp_path):
    target = tmp_path / "claim"
    assert create_private(target, b"a")
    assert not create_private(target, b"b")
    assert target.read_bytes() == b"a"
    assert modes(target) == 0o600


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_creation_that_failed_can_be_tried_again(tmp_path, nth):
    target = tmp_path / "claim"
    with pytest.raises(StateError):
        create_private(target, b"abc", files=FailingDisk(nth))
    assert create_private(target, b"abc")
    assert target.read_bytes() == b"abc"


def test_reading_is_bounded_and_wants_a_regular_file(tmp_path):
    assert read_private(tmp_path / "none", 10) is None
    assert read_private(tmp_path / "none" / "below", 10) is None
    plain = tmp_path / "plain"
    plain.write_bytes(b"0123456789")
    assert read_private(plain, 10) == b"0123456789"
    assert read_private(plain / "below", 10) is None
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    link = tmp_path / "link"
    link.symlink_to(plain)
    for bad, limit in ((plain, 9), (tmp_path, 10), (fifo, 10), (link, 10), (Path("/dev/zero"), 10)):
        with pytest.raises(StateError) as caught:
            read_private(bad, limit)
        assert caught.value.code == "state_damaged"


def test_set_aside_keeps_every_copy(tmp_path):
    path = tmp_path / "x.db-wal"
    assert set_aside(path, ".bad") is None
    names = []
    for number in range(3):
        path.write_text(str(number))
        names.append(set_aside(path, ".bad", "-wal").name)
    assert names == ["x.db.bad-wal", "x.db.bad.2-wal", "x.db.bad.3-wal"]
    assert (tmp_path / "x.db.bad.2-wal").read_text() == "1"


def test_a_refusal_is_the_same_in_words():
    refusal = StateError("state_full", "the disk is full", "make room").refusal
    assert (refusal.code, refusal.message, refusal.hint) == (RefusalCode.STATE_FULL, "the disk is full", "make room")


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC])
@pytest.mark.parametrize("kind", ["fifo", "read fifo", "folder", "link"])
def test_only_a_regular_file_is_opened_and_nothing_is_waited_for(tmp_path, flags, kind):
    path = tmp_path / "x"
    reader = -1
    if kind.endswith("fifo"):
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if kind == "read fifo" else -1
    elif kind == "folder":
        path.mkdir()
    else:
        (tmp_path / "real").write_bytes(b"kept")
        path.symlink_to("real")
    with pytest.raises(OSError):
        open_regular(path, flags)
    if kind == "link":
        assert (tmp_path / "real").read_bytes() == b"kept"
        os.close(open_regular(path, follow=True))
    if reader >= 0:
        os.close(reader)


@pytest.mark.parametrize("held", [0, 2, 3])
def test_a_file_that_somebody_reads_is_replaced_a_moment_later(tmp_path, monkeypatch, held):
    """As on Windows: three tries, and the third's error is the answer."""
    real, tries, slept = os.replace, [], []

    def replace(source, target):
        tries.append(source)
        if len(tries) <= held:
            raise PermissionError(errno.EACCES, "it is being used by another process")
        real(source, target)

    monkeypatch.setattr(files, "_HELD_OPEN_S", (0.1, 0.2))
    monkeypatch.setattr(files.os, "replace", replace)
    monkeypatch.setattr(files.time, "sleep", slept.append)
    if held < 3:
        write_private(tmp_path / "a", b"new")
        assert (tmp_path / "a").read_bytes() == b"new"
    else:
        with pytest.raises(StateError):
            write_private(tmp_path / "a", b"new")
    assert slept == [0.1, 0.2][:held]
    assert len(list(tmp_path.iterdir())) == int(held < 3)
