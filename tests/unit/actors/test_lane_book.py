"""Lane files that may not be believed are named, never used, and hide no other lane."""

from __future__ import annotations

import errno
import os

import pytest
from fakes.lanes import lane_toml, write_lane
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home")
    made.preflight()
    write_lane(made.root, "good", lane_toml(argv=["/bin/true"]))
    return made


def group_may_write(path):
    path.chmod(0o620)


def others_may_write(path):
    path.chmod(0o602)


def pipe(path):
    path.unlink()
    os.mkfifo(path, 0o600)


def folder(path):
    path.unlink()
    path.mkdir()


def link(path):
    path.rename(path.with_suffix(".real"))
    path.symlink_to(path.with_suffix(".real"))


def dangling(path):
    path.unlink()
    path.symlink_to("nowhere")


def too_long(path):
    path.write_bytes(b"#" * 300_000)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (group_may_write, "other users may write"),
        (others_may_write, "other users may write"),
        (pipe, "not a regular file"),
        (folder, "not a regular file"),
        (link, "symbolic link"),
        (dangling, "symbolic link"),
        (too_long, "larger than"),
    ],
)
def test_what_may_not_be_believed_is_named_and_not_used(home, change, said):
    path = write_lane(home.root, "odd", lane_toml(argv=["/bin/true"]))
    book = LaneBook(home)
    assert book.lane("odd") is not None
    assert not book.registry().problems
    change(path)
    assert book.lane("odd") is None
    assert book.lane("good") is not None
    (problem,) = book.registry().problems
    assert problem.message.startswith(f"{path}: ")
    assert said in problem.message


def test_a_file_made_safe_again_is_used_at_once(home):
    path = write_lane(home.root, "odd", lane_toml(argv=["/bin/true"]))
    path.chmod(0o666)
    book = LaneBook(home)
    assert book.lane("odd") is None
    assert "chmod go-w" in (book.registry().problems[0].hint or "")
    path.chmod(0o600)
    assert book.lane("odd") is not None
    assert not book.registry().problems


def test_a_file_of_another_user_is_not_used(home, monkeypatch):
    path = home.lanes_dir / "good.toml"
    if os.getuid() == 0:
        os.chown(path, 4242, 4242)
    else:
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    book = LaneBook(home)
    assert book.lane("good") is None
    assert "another user" in book.registry().problems[0].message


@pytest.mark.parametrize("name", ["open", "scandir"])
def test_a_lane_that_can_not_be_read_for_now_is_not_gone(home, monkeypatch, name):
    """No descriptors are left: what was known holds, what nobody knows yet is trouble, and neither outlasts the want."""
    new, old = LaneBook(home), LaneBook(home)
    assert old.lane("good") is not None
    write_lane(home.root, "later", lane_toml(argv=["/bin/true"]))
    real = getattr(os, name)

    def fails(path, *given, **named):
        if "lanes.d" in os.fsdecode(path):
            raise OSError(errno.EMFILE, "Too many open files", path)
        return real(path, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, name, fails)
        assert old.lane("good") is not None
        for book in (new, old):
            with pytest.raises(StateError, match="Too many open files"):
                book.lane("later")
    for book in (new, old):
        assert book.lane("good") is not None
        assert book.lane("later") is not None
        assert book.lane("gone") is None
