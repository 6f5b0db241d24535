"""The words of ``osrc second-opinion``: what is refused before anybody is asked."""

from __future__ import annotations

import json

import pytest
from fakes.fake_gateway import FakeGateway
from outsourcerer.cli.main import run
from outsourcerer.cli.reach import Reach


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A home without any lane whose models are known."""
    for name, value in {"HOME": "", "OSRC_HOME": "osrc", "PATH": "bin", "XDG_CONFIG_HOME": "config"}.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setenv("OSRC_LOCAL_URL", "http://127.0.0.1:9")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "osrc"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["-m", "opus", "x"], 64, "-m names 1 models"),
        (["-m", "opus,Opus", "x"], 64, "names one model twice"),
        (["-m", "opus,sol", "--panel", "3", "x"], 64, "contradict each other"),
        (["-m", "opus,sol", "--contract", "xml", "x"], 64, "is no contract"),
        (["--contract", "regex:(", "x"], 64, "is no regular expression"),
        (["--judge", "a", "--no-judge", "x"], 64, "not both"),
        (["--panel", "9", "x"], 64, "--panel"),
        ([], 64, "No task"),
        (["-m", "opus,sol", "resume"], 64, "resume needs an ID"),
        (["x"], 1, "a second opinion needs two makers"),
    ],
)
def test_what_is_refused_starts_nothing(alone, capsys, words, code, said):
    assert run(["second-opinion", *words]) == code
    out, err = capsys.readouterr()
    assert (out, said in err) == ("", True), err
    assert not (alone / "jobs").exists()


PLAN = {"lane": "oracle", "model": "a", "posture": "READ-ONLY", "cost": "plan", "disclosure": ["goes to Oracle Inc."]}


@pytest.mark.parametrize(
    ("words", "said"),
    [([], "the strongest model here that was not asked decides"), (["--no-judge"], ""), (["--judge", "c"], "")],
)
def test_a_dry_run_asks_nobody(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    planned = {
        "kind": "loop_planned",
        "steps": [{"step": "answer a", "plan": PLAN}, {"step": "answer b", "plan": PLAN}],
    }
    with FakeGateway(tmp_path / "home") as gateway:
        bodies = []
        monkeypatch.setattr(Reach, "request", lambda _self, body: bodies.append(body) or planned)
        assert run(["second-opinion", "-m", "a,b", "--dry-run", *words, "x"]) == 0
        out, err = capsys.readouterr()
        assert [(body["kind"], body["dry_run"], len(body["request"]["terms"]["seats"])) for body in bodies] == [
            ("loop.start", True, 2)
        ]
        assert out == "answer a: oracle a (READ-ONLY; plan)\nanswer b: oracle a (READ-ONLY; plan)\n"
        assert err.count("goes to Oracle Inc.") == 1
        assert said in err
        assert ("note" in err) is bool(said)
        assert run(["second-opinion", "-m", "a,b", "--dry-run", *words, "--json", "x"]) == 0
        assert json.loads(capsys.readouterr().out) == {"schema_version": "1", "steps": planned["steps"]}
        assert gateway.jobs == {}


def test_a_dry_run_is_of_a_new_question(alone, capsys):
    assert run(["second-opinion", "resume", "loop-20300101-000000-000000000000", "--dry-run"]) == 64
    assert "for a new question" in capsys.readouterr().err
