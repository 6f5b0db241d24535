"""Hints from shims, through a pipe that any process of the user can write to."""

import json
import os
import stat

import pytest
from fakes.actors import eventually, mailbox
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors.base import Directory, Stop
from outsourcerer.actors.notices import LINE_CAP, Notices, job_actor
from outsourcerer.messages.internal import ShimNoticed

JOB = "20270115-080000-0123456789ab"


class Bench:
    def __init__(self, folder) -> None:
        self.path = folder / "notices"
        self.directory = Directory()
        self.handle, self.got = mailbox(self.directory, job_actor(JOB))
        self.notices = Notices(self.path, self.directory)

    def write(self, *lines: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY)
        for line in lines:
            os.write(descriptor, line)
        os.close(descriptor)

    def hint(self, **more) -> bytes:
        return json.dumps({"job": JOB, "attempt": 1, "what": "exited", "survivors": [], **more}).encode() + b"\n"


@pytest.fixture
def bench(tmp_path):
    made = Bench(tmp_path)
    yield made
    made.notices.close(remove=True)
    made.handle.tell(Stop("end"))
    assert not made.path.exists()


def test_a_hint_reaches_the_jobs_actor(bench):
    bench.write(bench.hint(what="spawned"), bench.hint(), bench.hint(what="gone", survivors=[7, 8]))
    eventually(lambda: len(bench.got) == 3)
    assert bench.got == [
        ShimNoticed(what="spawned"),
        ShimNoticed(what="exited"),
        ShimNoticed(what="gone", survivors=(7, 8)),
    ]
    assert stat.S_IMODE(bench.path.lstat().st_mode) == 0o600


def test_a_line_may_come_in_pieces(bench):
    line = bench.hint()
    bench.write(line[:10], line[10:25], line[25:])
    assert eventually(lambda: bench.got) == [ShimNoticed(what="exited")]


GARBAGE = [
    b"\n",
    b"not json\n",
    b"[]\n",
    b"null\n",
    b"{}\n",
    b"\xff\xfe\x00\n",
    b"[" * 4000 + b"\n",
    b"x" * (3 * LINE_CAP) + b"\n",
    json.dumps({"job": "../../etc", "what": "exited"}).encode() + b"\n",
    json.dumps({"job": ["x"], "what": "exited"}).encode() + b"\n",
    json.dumps({"job": JOB, "what": "flown"}).encode() + b"\n",
    json.dumps({"job": JOB, "what": ["exited"]}).encode() + b"\n",
    json.dumps({"job": JOB, "what": "gone", "survivors": 5}).encode() + b"\n",
    json.dumps({"job": JOB, "what": "gone", "survivors": ["x"]}).encode() + b"\n",
    json.dumps({"job": JOB, "what": "gone", "survivors": "abc"}).encode() + b"\n",
    json.dumps({"job": {"a": 1}, "what": "cancel"}).encode() + b"\n",
    json.dumps({"job": "20270115-080000-ffffffffffff", "what": "exited"}).encode() + b"\n",
]


@pytest.mark.parametrize("line", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_ignored_and_the_next_hint_is_heard(bench, line):
    bench.write(line)
    bench.write(bench.hint(what="gone"))
    eventually(lambda: bench.got)
    assert bench.got == [ShimNoticed(what="gone")]


@given(st.lists(st.binary(max_size=200), max_size=20))
@settings(max_examples=30, deadline=None)
def test_no_bytes_stop_the_reader(tmp_path_factory, chunks):
    bench = Bench(tmp_path_factory.mktemp("notices"))
    try:
        bench.write(*[chunk for chunk in chunks if chunk], b"\n", bench.hint(what="gone"))
        eventually(lambda: ShimNoticed(what="gone") in bench.got)
    finally:
        bench.notices.close(remove=True)
        bench.handle.tell(Stop("end"))


def test_what_stands_in_the_way_of_the_pipe_is_replaced(tmp_path):
    (tmp_path / "notices").write_text("a file")
    bench = Bench(tmp_path)
    bench.write(bench.hint())
    assert eventually(lambda: bench.got)
    bench.notices.close()
    assert bench.path.exists(), "shims of now must find a later supervisor's pipe"
    again = Bench(tmp_path)
    again.write(again.hint())
    assert eventually(lambda: again.got)
    for one in (bench, again):
        one.handle.tell(Stop("end"))
    again.notices.close(remove=True)
