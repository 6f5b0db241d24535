"""A supervisor whose own files are taken away, or that is stopped: it is still found, and said how it is."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from fakes.osrc_process import shown
from fakes.supervised import Supervised

SAID = ({"end": "the answer"},)


def _started(home: Supervised) -> int:
    home.bg(*SAID)
    return home.daemon()


def _socket(home: Supervised) -> str:
    return json.loads((home.root / "supervisor.json").read_text())["socket"]


@pytest.mark.parametrize("instead", ["nothing", "folder", "pipe"])
def test_without_its_file_it_is_found_by_its_lock(home: Supervised, instead: str) -> None:
    pid = _started(home)
    place = home.root / "supervisor.json"
    place.unlink()
    if instead == "folder":
        place.mkdir()
    elif instead == "pipe":
        os.mkfifo(place, 0o600)
    assert f"running: pid {pid}," in home.ok("supervisor", "status")
    assert f"running: pid {pid}," in home.ok("doctor")
    home.bg(*SAID)
    assert list(home.daemons()) == [pid]
    if instead != "nothing":
        place.rmdir() if instead == "folder" else place.unlink()
    assert home.ok("supervisor", "stop") == f"stopped: pid {pid}\n"
    assert not list(home.daemons())
    assert (home.root / "supervisor.lock").read_bytes() == b""


def test_without_its_socket_another_takes_over(home: Supervised) -> None:
    pid = _started(home)
    Path(_socket(home)).unlink()
    status = home.osrc("supervisor", "status")
    assert status.returncode == 1
    assert f"it runs (pid {pid}) but can't be reached" in status.stderr.decode(), shown(status)
    assert home.ended(home.bg(*SAID))["exit"] in (0, 2)
    other = home.daemon()
    assert other != pid


def test_a_stopped_supervisor_is_said_to_be_stopped(home: Supervised) -> None:
    pid = _started(home)
    os.kill(pid, signal.SIGSTOP)
    try:
        for words in (("status",), ("supervisor", "status"), ("supervisor", "restart"), ("bg", "--lane", "fake", "x")):
            done = home.osrc(*words)
            assert done.returncode == 1, shown(done)
            said = done.stderr.decode()
            assert f"(pid {pid}) is stopped (SIGSTOP" in said
            assert f"kill -CONT {pid}" in said
    finally:
        os.kill(pid, signal.SIGCONT)
    assert home.ended(home.bg(*SAID))["exit"] in (0, 2)  # of it, or of another: the restart was asked for


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_lock_that_is_no_file_is_named(home: Supervised, kind: str) -> None:
    place = home.root / "supervisor.lock"
    place.mkdir() if kind == "folder" else place.symlink_to(home.scratch / "elsewhere")
    done = home.osrc("bg", "--lane", "fake", "x")
    assert done.returncode == 1, shown(done)
    (said,) = [line for line in done.stderr.decode().splitlines() if line.startswith("ERROR: ")]
    assert str(place) in said
    assert "a fault of osrc" not in said
    assert not (home.scratch / "elsewhere").exists()


@pytest.mark.parametrize("name", ["supervisor.start", "supervisor.log"])
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_stands_in_the_place_of_its_files_is_named(home: Supervised, name: str, kind: str) -> None:
    place = home.root / name
    if kind == "folder":
        place.mkdir()
    elif kind == "link":
        place.symlink_to(home.scratch / "elsewhere")
    else:
        os.mkfifo(place, 0o600)
    done = home.osrc("bg", "--lane", "fake", "x")
    assert done.returncode == 0, shown(done)
    why = "it is a symbolic link" if kind == "link" else "it is not a regular file"
    assert f"no supervisor can be had here ({place} can't be used: {why})" in done.stderr.decode()
    assert not (home.scratch / "elsewhere").exists()
