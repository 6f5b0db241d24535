"""Signals reach the process of our records, with and without pidfds, and never the next owner of its pid."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from fakes.actors import eventually
from outsourcerer.actors import host, signals
from outsourcerer.state import files
from outsourcerer.state.processes import read_process


@pytest.fixture
def sleeper():
    made = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"], start_new_session=True)
    yield made
    made.kill()
    made.wait()


@pytest.fixture(params=["with pidfds", "without"])
def system(request, monkeypatch):
    if request.param == "without":
        monkeypatch.delattr(os, "pidfd_open", raising=False)


@pytest.mark.usefixtures("system")
def test_a_process_is_stopped_let_go_on_and_ended(sleeper):
    row = read_process(sleeper.pid)
    signals.send(row._replace(started=row.started - 100), signals.KILL)
    signals.send(row._replace(pid=(1 << 30) + 7), signals.KILL)
    os.kill(sleeper.pid, 19)
    eventually(lambda: read_process(sleeper.pid).state == "T")
    signals.send(row, signals.CONT)
    eventually(lambda: read_process(sleeper.pid).state in ("S", "R"))
    signals.send(row, signals.TERM)
    assert sleeper.wait(120) == -15, "and not by KILL: those two were for others"


def test_where_nothing_can_be_let_go_on_by_a_signal_it_is_resumed(sleeper, monkeypatch):
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    os.kill(sleeper.pid, 19)
    eventually(lambda: read_process(sleeper.pid).state == "T")
    signals.send(read_process(sleeper.pid), 0)
    eventually(lambda: read_process(sleeper.pid).state in ("S", "R"))


def test_a_log_is_read_at_a_place_without_pread_too(tmp_path, monkeypatch):
    (tmp_path / "log").write_bytes(b"0123456789")
    descriptor = os.open(tmp_path / "log", os.O_RDONLY)
    try:
        expected = [files.read_at(descriptor, 4, offset) for offset in (0, 8, 20, 3)]
        monkeypatch.delattr(os, "pread")
        assert [files.read_at(descriptor, 4, offset) for offset in (0, 8, 20, 3)] == expected
        assert expected == [b"0123", b"89", b"", b"3456"]
    finally:
        os.close(descriptor)


def test_on_windows_a_program_is_the_file_that_its_name_means_there(monkeypatch):
    windows = SimpleNamespace(
        name="nt", path=SimpleNamespace(isfile=lambda file: file.lower() == "c:\\npm\\claude.cmd")
    )
    monkeypatch.setattr(host, "os", windows)
    assert host._which("claude", "C:\\npm", {"PATHEXT": ".EXE;.CMD"}) == "C:\\npm\\claude.cmd"
    assert host._which("claude", "C:\\npm", {"PATHEXT": ".EXE"}) is None
