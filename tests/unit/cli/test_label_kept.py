"""What is done anew, or gone on with, keeps its label and says which job it follows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes.fake_gateway import FakeGateway, job, job_id
from outsourcerer.cli.main import run

FIRST = job_id(9)
ENDED = {"state": "failed", "ended": 1042.0, "exit": 1}


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    with FakeGateway(tmp_path / "home") as made:
        yield made


def asked(gateway: FakeGateway, *words: str) -> dict[str, Any]:
    """Run a command that submits one job; return what it asked for."""
    assert run([*words, "--bg", "-q"]) == 0
    return next(body for body in reversed(gateway.requests) if body["kind"] == "job.submit")["request"]


@pytest.mark.parametrize(
    ("more", "label"), [([], "nightly"), (["--label", "other"], "other")], ids=["kept", "another one is given"]
)
def test_retry_and_continue(gateway: FakeGateway, tmp_path: Path, more: list[str], label: str) -> None:
    folder = tmp_path / "home/jobs" / FIRST
    folder.mkdir(mode=0o700)
    meta = {"request": {"verb": "edit", "task": "Mend it.", "label": "nightly", "cwd": str(tmp_path)}}
    (folder / "meta.json").write_text(json.dumps(meta))
    gateway.jobs[FIRST] = job(FIRST, label="nightly", cwd=str(tmp_path), log_path=f"{folder}/out.log", **ENDED)
    again = asked(gateway, "retry", "nightly", *more)
    assert (again["label"], again["retries"], again["task"]) == (label, FIRST, "Mend it.")
    further = asked(gateway, "continue", "nightly", "And the tests.", *more)
    assert (further["label"], further["continues"]) == (label, FIRST)
    assert "retries" not in further
