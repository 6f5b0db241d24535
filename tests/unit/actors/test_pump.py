"""Output from files to actors: all of it, in order, few pieces at a time, whatever happens to the file."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fakes.actors import eventually, mailbox
from outsourcerer.actors.base import Directory, Stop
from outsourcerer.actors.pump import CHUNK, IN_FLIGHT, Pump
from outsourcerer.messages.internal import OutputArrived, OutputDrained


class Bench:
    def __init__(self, folder) -> None:
        self.folder = folder
        self.directory = Directory()
        self.handle, self.got = mailbox(self.directory, "job")
        self.pump = Pump()
        self.acknowledged = 0

    def write(self, name: str, data: bytes) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(data)

    def follow(self, **terms) -> None:
        self.pump.follow("j", self.handle, self.folder, **terms)

    def pieces(self, stream="out") -> list[OutputArrived]:
        return [m for m in self.got if isinstance(m, OutputArrived) and m.stream == stream]

    def text(self, stream="out") -> bytes:
        return b"".join(piece.data for piece in self.pieces(stream))

    def acknowledge_all(self) -> None:
        while self.acknowledged < sum(isinstance(m, OutputArrived) for m in self.got):
            self.acknowledged += 1
            self.pump.acknowledge("j")

    def drained(self) -> OutputDrained | None:
        self.acknowledge_all()
        return next((m for m in self.got if isinstance(m, OutputDrained)), None)


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.pump.close()
    made.handle.tell(Stop("end"))


def test_both_streams_are_told_as_they_grow(bench):
    bench.write("out.log", b"one ")
    bench.write("err.log", b"trouble")
    bench.follow()
    eventually(lambda: bench.text() == b"one " and bench.text("err") == b"trouble")
    bench.acknowledge_all()
    bench.write("out.log", b"two")
    eventually(lambda: bench.text() == b"one two")
    assert bench.pump.offsets("j") == {"out": 7, "err": 7}
    assert all(piece.live for piece in bench.pieces())


def test_a_log_that_is_not_there_yet_is_found_later(bench):
    bench.follow()
    time.sleep(0.05)
    bench.write("out.log", b"late")
    eventually(lambda: bench.text() == b"late")


def test_a_flood_waits_in_the_file_until_it_is_acknowledged(bench):
    size = 20 * CHUNK + 17
    bench.write("out.log", b"x" * size)
    bench.write("err.log", b"y" * size)
    bench.follow()
    eventually(lambda: len(bench.got) >= IN_FLIGHT)
    time.sleep(0.1)
    assert len(bench.got) <= IN_FLIGHT + 1, "one piece of each stream at a time"
    bench.pump.drain("j")
    most = 0
    deadline = time.monotonic() + 120
    while not any(isinstance(m, OutputDrained) for m in bench.got):
        assert time.monotonic() < deadline
        most = max(most, len(bench.got) - bench.acknowledged)
        if bench.acknowledged < len(bench.got):
            bench.acknowledged += 1
            bench.pump.acknowledge("j")
        else:
            time.sleep(0.001)
    assert most <= IN_FLIGHT + 1
    assert (len(bench.text()), len(bench.text("err"))) == (size, size)


def test_the_end_is_told_after_everything_and_only_once_acknowledged(bench):
    bench.write("out.log", b"a" * (3 * CHUNK))
    bench.write("err.log", b"")
    bench.follow()
    bench.pump.drain("j")
    eventually(lambda: len(bench.pieces()) == IN_FLIGHT)
    time.sleep(0.05)
    assert not any(isinstance(m, OutputDrained) for m in bench.got)
    assert eventually(bench.drained).missing is False
    assert len(bench.text()) == 3 * CHUNK
    assert bench.got[-1] == OutputDrained()
    assert bench.pump.offsets("j") == {}


def test_what_comes_after_the_end_was_asked_for_is_not_waited_for(bench):
    bench.write("out.log", b"before")
    bench.write("err.log", b"")
    bench.follow()
    eventually(lambda: bench.text() == b"before")
    bench.pump.drain("j")
    bench.write("out.log", b"a grandchild goes on")
    eventually(bench.drained)
    assert bench.text() == b"before"


def test_bytes_that_were_seen_before_are_not_live(bench):
    bench.write("out.log", b"o" * (CHUNK + 10))
    bench.write("err.log", b"e" * 10)
    bench.follow(seen_before={"out": CHUNK + 5, "err": 10})
    eventually(lambda: bench.acknowledge_all() or (len(bench.text()) == CHUNK + 10 and len(bench.text("err")) == 10))
    assert [piece.live for piece in bench.pieces()] == [False, True]
    assert [piece.live for piece in bench.pieces("err")] == [False]
    bench.write("err.log", b"new")
    eventually(lambda: len(bench.pieces("err")) == 2)
    assert bench.pieces("err")[1].live


@pytest.mark.parametrize("seen", [None, {}, {"nonsense": 3}])
def test_what_is_unknown_of_before_was_not_seen(bench, seen):
    bench.write("out.log", b"x")
    bench.follow(seen_before=seen)
    assert eventually(bench.pieces)[0].live


def test_a_log_removed_under_a_running_job_is_read_to_its_end(bench):
    bench.write("out.log", b"start ")
    bench.write("err.log", b"")
    with (bench.folder / "out.log").open("ab") as held:
        bench.follow()
        eventually(lambda: bench.text() == b"start ")
        bench.acknowledge_all()
        (bench.folder / "out.log").unlink()
        held.write(b"end")
        held.flush()
        bench.pump.drain("j")
        assert eventually(bench.drained).missing is False
    assert bench.text() == b"start end"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows a process's open files as paths")
def test_a_log_removed_before_it_was_opened_is_rescued_from_the_delegate(bench):
    with (bench.folder / "out.log").open("ab") as out, (bench.folder / "err.log").open("ab") as err:
        out.write(b"kept alive")
        out.flush()
        process = subprocess.Popen(["sleep", "60"], stdout=out, stderr=err)
    try:
        (bench.folder / "out.log").unlink()
        (bench.folder / "err.log").unlink()
        bench.follow(rescue_pid=process.pid)
        eventually(lambda: bench.text() == b"kept alive")
        bench.pump.drain("j")
        assert eventually(bench.drained).missing is False
    finally:
        process.kill()
        process.wait()


def test_a_log_that_is_gone_is_said_to_be_missing(bench):
    bench.write("err.log", b"only this")
    bench.follow()
    bench.pump.drain("j")
    assert eventually(bench.drained).missing
    assert bench.text("err") == b"only this"


def test_a_log_cut_short_is_said_to_be_missing(bench):
    """The end is asked for while as many pieces as allowed wait for their acknowledgement: it must still come."""
    bench.write("out.log", b"z" * (4 * CHUNK))
    bench.write("err.log", b"")
    bench.follow()
    eventually(lambda: len(bench.pieces()) == IN_FLIGHT)
    bench.pump.drain("j")
    os.truncate(bench.folder / "out.log", CHUNK)
    assert eventually(bench.drained).missing


def test_a_symbolic_link_is_not_followed(bench, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (bench.folder / "out.log").symlink_to(secret)
    bench.write("err.log", b"")
    bench.follow()
    bench.pump.drain("j")
    assert eventually(bench.drained).missing
    assert bench.text() == b""


def test_a_forgotten_job_is_told_nothing_more(bench):
    bench.write("out.log", b"x")
    bench.follow()
    eventually(bench.pieces)
    bench.pump.forget("j")
    bench.write("out.log", b"y")
    bench.pump.drain("j")
    bench.pump.acknowledge("j")
    time.sleep(0.1)
    assert bench.text() == b"x"
    assert not any(isinstance(m, OutputDrained) for m in bench.got)


def test_following_again_starts_at_the_first_byte(bench):
    bench.write("out.log", b"again")
    bench.follow()
    eventually(lambda: bench.text() == b"again")
    bench.follow()
    eventually(lambda: bench.text() == b"againagain")


def test_a_dead_actor_is_forgotten(bench):
    bench.handle.tell(Stop("x"))
    assert bench.handle.wait_down(30)
    bench.write("out.log", b"x")
    bench.follow()
    eventually(lambda: bench.pump.offsets("j") == {})


def test_closing_lets_go_of_all_files(bench):
    bench.write("out.log", b"x")
    bench.write("err.log", b"x")
    bench.follow()
    eventually(lambda: bench.text("err") == b"x")
    open_files = sum(1 for _ in Path("/proc/self/fd").iterdir()) if sys.platform == "linux" else 0
    bench.pump.close()
    if sys.platform == "linux":
        assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == open_files - 2


def test_a_pipe_in_place_of_a_log_holds_nobody_up(bench):
    os.mkfifo(bench.folder / "out.log")
    bench.write("err.log", b"seen")
    bench.follow()
    eventually(lambda: bench.text("err") == b"seen")
    bench.acknowledge_all()
    bench.pump.drain("j")
    eventually(bench.drained)
    assert bench.drained().missing


def test_a_drain_that_broke_off_leaves_the_reader_no_half_of_an_end(bench, monkeypatch):
    bench.write("out.log", b"all")
    bench.follow()
    eventually(lambda: bench.text() == b"all")

    def fail(_descriptor):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", fail)
        with pytest.raises(MemoryError):
            bench.pump.drain("j")
    bench.write("out.log", b" of it")
    bench.acknowledge_all()
    eventually(lambda: bench.text() == b"all of it")
    bench.pump.drain("j")
    eventually(bench.drained)
