"""A delegate whose pipes threads move: what it says and is told, floods, ends, and what its version is."""

import os
import sys
import time

import pytest
from outsourcerer.actors.holder_loop import SelectLoop
from outsourcerer.actors.transports import plain_child
from outsourcerer.actors.transports.engine import EngineError
from outsourcerer.actors.transports.plain_child import PlainChild
from outsourcerer.actors.transports.version import ask_version

ECHO = "import sys\nfor line in sys.stdin: print(line.strip()[::-1], flush=True)\nprint('bye', flush=True)"


class Stage:
    def __init__(self, folder, code, argv=None):
        self.loop, self.folder, self.heard, self.ended = SelectLoop(), str(folder), [], None
        self.launch = {"argv": argv or [sys.executable, "-c", code], "env": dict(os.environ), "cwd": str(folder)}
        self.child = PlainChild(self, self.heard.append)

    def gone(self, code, signal):
        self.ended = (code, signal)

    def run(self, until=None):
        """Serve until something is true; else to its end."""
        until = until or (lambda: self.ended is not None)
        deadline, self.loop.stopped = time.monotonic() + 60, False

        def look():
            assert time.monotonic() < deadline
            self.loop.stopped = until()
            if not self.loop.stopped:
                self.loop.later(0.005, look)

        look()
        self.loop.run()

    def text(self):
        return b"".join(self.heard)


def test_it_is_told_and_heard_in_order_and_leaves_when_its_stdin_closes(tmp_path):
    stage = Stage(tmp_path, ECHO)
    stage.child.start()
    order = []
    stage.child.write(b"abc\n", lambda: order.append(1))
    stage.child.write(b"def\n", lambda: order.append(2))
    stage.run(lambda: stage.text() == b"cba\nfed\n" and order == [1, 2])
    stage.child.write(b"", stage.child.close_stdin)
    stage.run()
    assert (stage.text(), stage.heard[-1], stage.ended) == (b"cba\nfed\nbye\n", b"", (0, None))
    stage.child.write(b"too late\n", lambda: order.append(3))
    assert order == [1, 2]


def test_a_flood_waits_and_is_whole_and_one_that_reads_nothing_holds_up_nobody(tmp_path):
    stage = Stage(tmp_path, "import os\nfor _ in range(400): os.write(1, b'x' * 50000)\nos.kill(os.getpid(), 9)")
    stage.child.start()
    stage.child.write(b"y" * 1_000_000)
    stage.run()
    assert (len(stage.text()), stage.ended) == (20_000_000, (None, 9))


def test_a_grandchild_that_keeps_the_pipe_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(plain_child, "DRAIN_S", 0.05)
    code = "import subprocess\nprint(subprocess.Popen(['sleep', '600']).pid, flush=True)\ninput()"
    stage = Stage(tmp_path, code)
    stage.child.start()
    stage.run(lambda: stage.text().endswith(b"\n"))
    stage.child.write(b"go\n")
    stage.run()
    assert (stage.ended, stage.heard[-1]) == ((0, None), b"")
    os.kill(int(stage.text()), 9)


def test_what_can_not_be_started_is_an_error_with_the_reason(tmp_path):
    with pytest.raises(EngineError, match="/no/such can't be started: No such file"):
        Stage(tmp_path, "", ["/no/such"]).child.start()


@pytest.mark.parametrize(("body", "said"), [("echo 2.1 \xfc", "2.1 \xfc\n"), ("echo 3 >&2", "3\n"), ("exit 1", "")])
def test_a_version_is_asked_by_a_thread(tmp_path, body, said):
    program = tmp_path / "cli"
    program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    program.chmod(0o700)
    loop, told = SelectLoop(), []
    for path in (program, tmp_path / "none"):
        ask_version(
            loop,
            str(path),
            dict(os.environ),
            lambda text: (told.append(text), setattr(loop, "stopped", True)),
            plain=True,
        )
        loop.stopped = False
        loop.run()
    assert told == [said, ""]


def test_a_version_that_is_not_wanted_any_more_is_not_told():
    told = []
    asked = ask_version(SelectLoop(), "/no/such", {}, told.append, plain=True)
    asked.close()
    asked._told("3")
    assert told == []
