"""The words of ``osrc second-opinion``: what is refused before anybody is asked."""

from __future__ import annotations

import pytest
from outsourcerer.cli.main import run


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
