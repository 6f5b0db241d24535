"""``supervisor stop --cancel``: what is left by the records is ended, or said to run on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.state import identity, job_id, record, scratch_home
from outsourcerer.cli import ending, launch
from outsourcerer.cli.ending import Left
from outsourcerer.cli.main import run
from outsourcerer.messages.facts import JobAccepted
from outsourcerer.messages.job import Identity
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.identity import identify
from outsourcerer.state.store import Store

Stop = Callable[..., tuple[int, str, str]]


@pytest.fixture
def stop(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Stop:
    """Run the command where, look after look, this is left, and the home's lock is, or is not, to be had."""

    def command(
        *lefts: Left, ours: bool = True, wait_s: float = 0.0, words: tuple[str, ...] = ()
    ) -> tuple[int, str, str]:
        looks = list(lefts)
        monkeypatch.setattr(ending, "left", lambda _root: looks.pop(0) if len(looks) > 1 else looks[0])
        monkeypatch.setattr(launch, "end_here", lambda _root: ours)
        monkeypatch.setattr("outsourcerer.cli.commands.supervisor.LEFT_S", wait_s)
        monkeypatch.setattr("outsourcerer.cli.commands.supervisor.LOOK_S", 0.0)
        code = run(["--home", str(tmp_path / "home"), "supervisor", "stop", "--cancel", *words])
        return code, *capsys.readouterr()

    return command


def test_what_was_left_is_ended_and_said(stop: Stop) -> None:
    left = Left(jobs=("a", "b"), sessions=("talk",))
    code, out, err = stop(left, Left())
    assert (code, out) == (0, "not running\n")
    assert "2 jobs (a, b) and 1 session (talk)" in err


def test_another_process_that_ends_it_is_waited_for(stop: Stop) -> None:
    left = Left(sessions=("talk",))
    assert stop(left, left, Left(), ours=False, wait_s=60.0) == (0, "not running\n", "")


def test_nothing_left_is_nothing_said(stop: Stop) -> None:
    assert stop(Left()) == (0, "not running\n", "")


@pytest.mark.parametrize("ours", [True, False])
def test_what_could_not_be_ended_is_an_error(stop: Stop, ours: bool) -> None:
    code, out, err = stop(Left(sessions=("talk",), checks=("loop-x",)), ours=ours)
    assert (code, out) == (1, "")
    assert "not ended: 1 session (talk) and 1 check of a loop (loop-x)" in err
    code, out, _ = stop(Left(jobs=("a",)), ours=ours, words=("--json",))
    assert (code, json.loads(out)["error"]["code"]) == (1, "supervisor_busy")


def test_a_job_of_another_command_goes_on_and_is_said_to(stop: Stop) -> None:
    code, out, err = stop(Left(elsewhere=("a",)))
    assert (code, out) == (0, "not running\n")
    assert "1 job (a) goes on" in err


def test_only_what_has_or_gets_a_process_is_left(tmp_path: Path) -> None:
    home = scratch_home(tmp_path)
    assert ending.left(os.fspath(home.root)) == Left()
    me = Identity.model_validate(identify(os.getpid()))
    jobs = [
        record(1, state=JobState.RUNNING),
        record(2, state=JobState.LAUNCHING, owner=identity()),  # of a command that is gone
        record(3, state=JobState.QUEUED),
        record(4, state=JobState.QUEUED, wake_at=9e9),
        record(5, state=JobState.RUNNING, owner=me),
    ]
    store = Store.open(home.database, now=1.0)
    store.append([JobAccepted(job_id=one.job_id, record=one) for one in jobs], 1.0)
    store.commit()
    store.close()
    found = ending.left(os.fspath(home.root))
    assert found == Left(jobs=(job_id(1), job_id(2)), elsewhere=(job_id(5),))


def test_records_that_make_no_sense_are_not_legible(tmp_path: Path) -> None:
    home = scratch_home(tmp_path)
    home.database.write_bytes(b"no database" * 400)
    assert ending.legible(os.fspath(home.root)) is None
