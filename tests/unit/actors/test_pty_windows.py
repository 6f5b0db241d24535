"""The console process against a fake of wexpect 4.0.0: what is read, typed and told. It was never run on Windows."""

import os
import queue
import sys
import time
import types

import pytest
from outsourcerer.actors.transports import pty_windows
from outsourcerer.actors.transports.engine import EngineError
from outsourcerer.actors.transports.pty_windows import WindowsProcess, demand_sayable


class FakeChild:
    """Says what a test puts into ``says`` (None: the end of its output). Names and terms as in wexpect's own class."""

    def __init__(self, command, args, *, timeout, cwd, env=None, safe_exit=True):
        if command == "missing":
            raise FAKE.ExceptionPexpect("not found")
        if command == "broken":
            raise FAKE.error(2, "CreateProcess", "no such file")
        assert (timeout, env, safe_exit) == (None, None, False)
        self.command, self.args, self.cwd, self.environ = command, args, cwd, dict(os.environ)
        self.child_pid, self.flag_eof, self.exitstatus, self.delaybeforesend = 42, False, None, 0.1
        self.says, self.typed, self.killed = queue.SimpleQueue(), [], False

    def read_nonblocking(self, size=1):
        said = self.says.get(timeout=60)  # as the real one: it blocks
        if said is None:
            self.flag_eof = True
            raise FAKE.EOF("the end")
        return said[:size]

    def send(self, s):
        if s == "gone":
            raise FAKE.error(109, "WriteFile", "broken pipe")
        self.typed.append(s)

    def isalive(self, trust_console=True, timeout=0):
        assert (trust_console, timeout) == (False, 0)
        return self.exitstatus is None

    def terminate(self, force=False):
        self.killed = True
        raise FAKE.ExceptionPexpect("Child has not been terminated even after it was killed.")


class Sizable(FakeChild):
    """One of a wexpect that can change a console's size."""

    def setwinsize(self, rows, columns):
        self.size = (rows, columns)


FAKE = types.ModuleType("wexpect")
FAKE.ExceptionPexpect = type("ExceptionPexpect", (Exception,), {})
FAKE.EOF = type("EOF", (FAKE.ExceptionPexpect,), {})
FAKE.error = type("error", (Exception,), {})  # pywintypes.error: no OSError


@pytest.fixture
def spawned(monkeypatch):
    """Start one; its environment is this process's only for the test."""
    monkeypatch.setitem(sys.modules, "wexpect", FAKE)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    made = []

    def spawn(*words, kind=FakeChild, size=(200, 50)):
        FAKE.spawn = kind
        made.append(WindowsProcess(list(words), {"A": "b"}, "C:/work", size))
        return made[-1]

    yield spawn
    for one in made:
        one._child.says.put(None)


def read(console, size=65536):
    deadline = time.monotonic() + 30
    while (piece := console.read_nonblocking(size)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return piece


def test_it_is_read_without_waiting_in_pieces_and_to_its_end(spawned):
    console = spawned("claude.exe", "--model", "fable")
    child = console._child
    assert (child.command, child.args, child.cwd) == ("claude.exe", ["--model", "fable"], "C:/work")
    assert (child.environ, child.delaybeforesend, console.pid) == ({"A": "b"}, 0, 42)
    assert console.read_nonblocking(10) is None
    child.says.put("Grüße")
    assert read(console, 4) == "Grüße".encode()[:4]
    assert read(console) == "Grüße".encode()[4:]
    child.says.put(None)
    assert (read(console), console.read_nonblocking(1)) == (b"", b"")


def test_it_is_typed_into_waited_for_and_ended(spawned):
    console = spawned("claude.exe")
    child = console._child
    for piece in ("漢".encode()[:2], "漢\r".encode()[2:], b"gone"):
        console.write(piece)
    assert child.typed == ["漢\r"]
    assert console.ended() is None
    child.exitstatus = 3
    assert console.ended() == (3, None)
    child.exitstatus = pty_windows.STILL_ACTIVE
    assert console.ended() == (None, None)
    console.terminate()
    assert child.killed


def test_its_size_is_what_it_is_but_where_it_can_be_changed(spawned):
    console = spawned("claude.exe")
    console.resize(100, 30)
    assert console.fixed == (80, 25)
    console = spawned("claude.exe", kind=Sizable)
    assert (console.fixed, console._child.size) == (None, (50, 200))
    console.resize(100, 30)
    assert console._child.size == (30, 100)


@pytest.mark.parametrize(("program", "words"), [("missing", "missing: not found"), ("broken", "CreateProcess")])
def test_what_can_not_be_started_is_an_error_with_the_reason(spawned, program, words):
    with pytest.raises(EngineError, match=words):
        spawned(program)


def test_without_wexpect_or_a_console_it_says_so(spawned, monkeypatch):
    monkeypatch.setattr(pty_windows, "START_S", 0.0)
    with pytest.raises(EngineError, match="no console was had within 0 s"):
        spawned("claude.exe", kind=lambda *_, **__: time.sleep(0.2))
    monkeypatch.setitem(sys.modules, "wexpect", None)
    with pytest.raises(EngineError, match="wexpect can't be used"):
        spawned("claude.exe")


@pytest.mark.parametrize("word", ['say "x"', "two\nlines", "", "C:\\dir\\", "a\0b"])
def test_a_word_that_would_arrive_as_another_is_refused(word):
    demand_sayable(["C:/x/claude.exe", "--model", "a b", "50%"])
    with pytest.raises(EngineError, match="can't be said"):
        demand_sayable(["C:/x/claude.exe", word])


@pytest.mark.parametrize("word", ["50%", "a&b", "a|b", "<a", "a!"])
def test_a_batch_file_is_told_less(word):
    with pytest.raises(EngineError, match="can't be said"):
        demand_sayable(["C:/x/Claude.CMD", word])
