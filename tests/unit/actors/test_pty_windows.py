"""The console process against a fake of wexpect: what is read, typed and told. It was never run on Windows."""

import queue
import sys
import time
import types

import pytest
from outsourcerer.actors.transports.engine import EngineError
from outsourcerer.actors.transports.pty_windows import WindowsProcess


class FakeChild:
    """Says what a test puts into ``says`` (None: the end of its output)."""

    def __init__(self, command, args, **terms):
        if command == "missing":
            raise FAKE.ExceptionPexpect("not found")
        self.command, self.args, self.terms = command, args, terms
        self.pid, self.flag_eof, self.exitstatus = 42, False, None
        self.says, self.typed, self.killed = queue.SimpleQueue(), [], False

    def read_nonblocking(self, size):
        said = self.says.get(timeout=60)  # as the real one: it blocks
        if said is None:
            self.flag_eof = True
            raise FAKE.EOF("the end")
        return said[:size]

    def send(self, text):
        self.typed.append(text)

    def isalive(self, *, trust_console):
        assert trust_console is False
        return self.exitstatus is None

    def terminate(self):
        self.killed = True


FAKE = types.ModuleType("wexpect")
FAKE.ExceptionPexpect = type("ExceptionPexpect", (Exception,), {})
FAKE.EOF = type("EOF", (FAKE.ExceptionPexpect,), {})
FAKE.spawn = FakeChild


@pytest.fixture
def console(monkeypatch):
    monkeypatch.setitem(sys.modules, "wexpect", FAKE)
    made = WindowsProcess(["claude.exe", "--model", "fable"], {"A": "b"}, "C:/work", (200, 50))
    yield made
    made._child.says.put(None)


def read(console, size=65536):
    deadline = time.monotonic() + 30
    while (piece := console.read_nonblocking(size)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return piece


def test_it_is_read_without_waiting_in_pieces_and_to_its_end(console):
    child = console._child
    assert (child.command, child.args, child.terms["cwd"]) == ("claude.exe", ["--model", "fable"], "C:/work")
    assert console.read_nonblocking(10) is None
    child.says.put("Grüße")
    assert read(console, 4) == "Grüße".encode()[:4]
    assert read(console) == "Grüße".encode()[4:]
    child.says.put(None)
    assert (read(console), console.read_nonblocking(1)) == (b"", b"")


def test_it_is_typed_into_sized_waited_for_and_ended(console):
    child = console._child
    console.write("漢\r".encode())
    assert child.typed == ["漢\r"]
    console.resize(100, 30)
    assert console.size == (100, 30)
    assert console.ended() is None
    child.exitstatus = 3
    assert console.ended() == (3, None)
    console.terminate()
    assert child.killed


def test_what_can_not_be_started_is_an_error_with_the_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "wexpect", FAKE)
    with pytest.raises(EngineError, match="missing: not found"):
        WindowsProcess(["missing"], {}, "C:/", (80, 24))
