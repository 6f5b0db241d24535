"""Whom a shim takes for what its delegate left: nobody whose leader has the delegate's pid after it was waited for."""

import os

import pytest
from outsourcerer.actors import shim

DELEGATE, MEMBER, CHILD = 4_100_001, 4_100_002, 4_100_003

pytestmark = pytest.mark.skipif(not shim.LINUX, reason="elsewhere there is no /proc")


def row(ppid, session, state=b"S"):
    return [state, b"%d" % ppid, b"%d" % session, b"%d" % session, *[b"0"] * 15, b"7"]


@pytest.fixture
def processes(monkeypatch):
    """A machine with these processes alone."""
    table = {os.getpid(): row(1, os.getpid())}
    monkeypatch.setattr(shim.os, "listdir", lambda _folder: [str(pid) for pid in table])
    monkeypatch.setattr(shim, "stat_of", table.get)
    monkeypatch.setattr(shim, "session_alive", lambda _pid: True)
    monkeypatch.setattr(shim.os, "waitpid", lambda *_given: (0, 0))
    return table


def test_what_it_left_is_found(processes):
    processes[MEMBER] = row(1, DELEGATE)
    processes[CHILD] = row(os.getpid(), CHILD)
    assert sorted(shim.any_left(DELEGATE)) == [MEMBER, CHILD]


@pytest.mark.parametrize("state", [b"S", b"Z"])
def test_a_stranger_with_its_pid_and_that_session_are_left_alone(processes, state):
    processes[DELEGATE] = row(1, DELEGATE, state)
    processes[MEMBER] = row(DELEGATE, DELEGATE)
    processes[CHILD] = row(os.getpid(), CHILD)
    assert shim.any_left(DELEGATE) == [CHILD]
