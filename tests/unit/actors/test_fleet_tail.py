"""Following files: only what is new is read, whatever happens to the file."""

import json
import os

import pytest
from fakes.transcripts import recorded, written
from outsourcerer.actors import fleet_tail
from outsourcerer.actors.fleet_tail import MOST, TailFile, read_once
from outsourcerer.lanes.transcripts.formats import FORMATS
from outsourcerer.lanes.transcripts.tail import Turn, packed

TASK, SAY = ("user", "fix the build"), ("say", "all is well")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.jsonl"


@pytest.fixture
def reads(monkeypatch):
    """Bytes that were read."""
    seen = []
    real = fleet_tail.read_at

    def read_at(descriptor, length, offset):
        data = real(descriptor, length, offset)
        seen.append(len(data))
        return data

    monkeypatch.setattr(fleet_tail, "read_at", read_at)
    return seen


def follow(path, tool="pi"):
    return TailFile(FORMATS[tool], str(path))


def look(followed, path):
    return followed.look(os.lstat(path))


def test_it_goes_on_from_where_it_was(path, reads):
    path.write_bytes(written("pi", TASK))
    followed = follow(path)
    assert look(followed, path)
    assert followed.tail.turn is Turn.OPEN
    assert not look(followed, path)
    more = written("pi", SAY)
    with path.open("ab") as file:
        file.write(more[:-20])
    assert look(followed, path)
    assert followed.tail.turn is Turn.OPEN
    with path.open("ab") as file:
        file.write(more[-20:])
    assert look(followed, path)
    assert followed.tail.turn is Turn.ENDED
    assert sum(reads) == path.stat().st_size


def test_of_a_large_file_the_beginning_and_the_end_are_read(path, reads):
    filling = written("codex", ("more", "x" * 300)) * 4000
    path.write_bytes(written("codex", TASK) + filling + written("codex", ("call", "c", "shell")))
    followed = follow(path, "codex")
    assert look(followed, path)
    tail = followed.tail
    assert (tail.session_id, tail.cwd, tail.first_user) == ("s-codex", "/w/repo", "fix the build")
    assert (tail.turn, list(tail.tools.values())) == (Turn.OPEN, ["shell"])
    assert sum(reads) < 128 * 1024


def test_a_gigabyte_without_a_line_costs_a_bounded_read(path, reads):
    with path.open("wb") as file:
        file.truncate(1 << 30)
    followed = follow(path)
    assert look(followed, path)
    assert followed.tail.turn is None
    assert sum(reads) < 3 * MOST
    with path.open("ab") as file:
        file.write(b"\n" + written("pi", TASK, SAY))
    assert look(followed, path)
    assert followed.tail.turn is Turn.ENDED


def test_much_at_once_is_not_followed_but_its_end_is(path, reads):
    path.write_bytes(written("pi", TASK))
    followed = follow(path)
    look(followed, path)
    with path.open("ab") as file:
        file.truncate(64 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + written("pi", SAY))
    look(followed, path)
    assert (followed.tail.turn, followed.tail.session_id) == (Turn.ENDED, "s-pi")
    assert sum(reads) < 2 * MOST


def test_a_file_that_was_cut_or_replaced_is_read_anew(path):
    path.write_bytes(written("pi", TASK, SAY))
    followed = follow(path)
    look(followed, path)
    path.write_bytes(written("pi", ("user", "another")))
    look(followed, path)
    assert (followed.tail.turn, followed.tail.first_user) == (Turn.OPEN, "another")
    other = path.with_name("other")
    other.write_bytes(written("pi", ("user", "a third")) + b" " * 4096)
    other.replace(path)
    look(followed, path)
    assert followed.tail.first_user == "a third"


def test_what_vanishes_or_is_no_file_changes_nothing(path, tmp_path):
    path.write_bytes(written("pi", TASK))
    followed = follow(path)
    seen = os.lstat(path)
    path.unlink()
    assert not followed.look(seen)
    os.mkfifo(path)
    assert not look(followed, path)
    path.unlink()
    path.symlink_to(tmp_path)
    assert not look(followed, path)
    assert followed.tail.turn is None
    assert read_once(FORMATS["pi"], str(tmp_path / "none")) is None


@pytest.mark.parametrize("content", [b"\x00\xff" * 5000, b"\x1b[2J" * 100, b"{" * 9000, b"\n" * 9000, b""])
def test_whatever_is_in_it(path, content):
    path.write_bytes(content)
    followed = follow(path)
    look(followed, path)
    assert followed.tail.turn is None
    with path.open("ab") as file:
        file.write(b"\n" + written("pi", TASK))
    look(followed, path)
    assert followed.tail.turn is Turn.OPEN


@pytest.mark.parametrize("tool", ["claude", "codex", "pi"])
def test_another_process_goes_on_from_what_was_remembered(path, tool, reads):
    whole = recorded(tool)
    half = len(whole) // 2
    path.write_bytes(whole[:half])
    first = follow(path, tool)
    look(first, path)
    kept = json.loads(json.dumps(first.remembered()))
    path.write_bytes(whole)
    second = follow(path, tool)
    second.recall(kept)
    reads.clear()
    look(second, path)
    wanted = read_once(FORMATS[tool], str(path))
    assert packed(second.tail, texts=False) == packed(wanted, texts=False)
    assert reads[0] < len(whole) - half + 16_000


def test_what_is_remembered_holds_no_secret(path):
    secret = "sk-ant-api03-" + "Ab3" * 31 + "AA"
    path.write_bytes(written("claude", ("user", f"use {secret} please"), ("fail", f"bad key {secret}")))
    followed = follow(path, "claude")
    look(followed, path)
    assert secret in followed.tail.first_user
    assert secret not in json.dumps(followed.remembered())


@pytest.mark.parametrize(
    "kept",
    [{}, {"mark": [1, 2], "at": 0, "tail": {}}, {"mark": "xyz", "at": 0, "tail": {}}, {"mark": [1, 2, 3], "at": 9,
     "tail": {}}, {"mark": [1, 2, 3], "at": 1, "tail": {"turn": "no"}}, {"mark": [1, 2, 3], "at": 1, "tail": []}],
)  # fmt: skip
def test_a_damaged_memory_is_none(path, kept):
    path.write_bytes(written("pi", TASK, SAY))
    followed = follow(path)
    followed.recall(kept)
    look(followed, path)
    assert followed.tail.turn is Turn.ENDED
