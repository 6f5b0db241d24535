"""Pipes, links and folders where a command reads a file: never waited for, never followed, named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fakes.fake_gateway import FakeGateway, job, job_id
from fakes.osrc_process import osrc, shown
from outsourcerer.cli.place import open_regular, read_supervisor_file

FIRST = job_id(1)


def _put(place: Path, kind: str) -> None:
    if kind == "folder":
        place.mkdir()
    elif kind == "pipe":
        os.mkfifo(place, 0o600)
    else:
        secret = place.with_name("secret")
        secret.write_text("a secret")
        place.symlink_to(secret)


WHY = {"folder": "it is not a regular file", "pipe": "it is not a regular file", "link": "it is a symbolic link"}


@pytest.mark.parametrize("kind", list(WHY))
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_RDWR | os.O_CREAT])
def test_only_a_regular_file_is_opened(tmp_path: Path, kind: str, flags: int) -> None:
    _put(tmp_path / "x", kind)
    with pytest.raises(OSError, match=WHY[kind]):
        open_regular(str(tmp_path / "x"), flags)


@pytest.mark.parametrize("kind", list(WHY))
def test_a_supervisor_file_that_is_no_file(tmp_path: Path, kind: str) -> None:
    _put(tmp_path / "supervisor.json", kind)
    assert read_supervisor_file(str(tmp_path)) is None
    (tmp_path / "supervisor.lock").write_text('{"socket": "/s"}')
    assert read_supervisor_file(str(tmp_path)) == {"socket": "/s"}


@pytest.mark.parametrize("kind", list(WHY))
def test_answers_and_logs_that_are_no_files(tmp_path: Path, kind: str) -> None:
    with FakeGateway(tmp_path / "home") as gateway:
        place = gateway.home / "x"
        _put(place, kind)
        gateway.jobs[FIRST] = job(
            FIRST, state="done", exit=0, ended=1042.0, result_path=str(place), log_path=str(place)
        )
        for word in ("result", "logs"):
            done = osrc(gateway.home, word, FIRST, timeout=60)
            assert done.returncode == 1, shown(done)
            assert f"can't read {place}: {WHY[kind]}" in done.stderr.decode()
            assert done.stdout == b""


@pytest.mark.parametrize("kind", list(WHY))
def test_a_supervisor_log_that_is_no_file(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    _put(home / "supervisor.log", kind)
    done = osrc(home, "supervisor", "logs", timeout=60)
    assert done.returncode == 1, shown(done)
    assert f"can't read {home}/supervisor.log: {WHY[kind]}" in done.stderr.decode()
    assert done.stdout == b""


def test_a_config_file_that_is_a_pipe(tmp_path: Path) -> None:
    place = tmp_path / "c" / "outsourcerer" / "config.toml"
    place.parent.mkdir(parents=True)
    os.mkfifo(place)
    for words in (("config", "show"), ("config", "set", "poll", "1"), ("doctor",)):
        done = osrc(tmp_path / "home", *words, timeout=60, XDG_CONFIG_HOME=str(tmp_path / "c"))
        assert done.returncode == 1, shown(done)
        assert f"{place} is a pipe" in (done.stdout + done.stderr).decode()
