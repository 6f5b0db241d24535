"""A claim's folder is there whole or not at all: whoever is killed half-way keeps no name from anybody."""

import pytest
from fakes.state import names, refusal_of, scratch_home
from outsourcerer.state import claims
from outsourcerer.state.claims import Claim


def claim(name="mine", pane="%1"):
    return Claim(
        session_id=name,
        endpoint=pane,
        server="/tmp/tmux/default",
        pid=1,
        pid_start=1.0,
        boot_id="boot",
        controller_id="me",
        cli="claude",
        version="2.0",
        generation=0,
        token_sha256=claims.digest("secret"),
    )


def alive(*_identity):
    return False


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


def test_a_claim_is_made_once(home):
    claims.take(home, claim(), alive)
    for again in (claim(), claim("other"), claim(pane="%2")):
        assert refusal_of(lambda again=again: claims.take(home, again, alive)).code == "denied"
    assert claims.find(home, "mine") == claim()
    assert names(home.root / "claims") == ["mine"]


def test_what_a_killed_claim_left_keeps_its_name_from_nobody(home):
    (home.root / "claims" / "mine").mkdir(parents=True)
    (home.root / "claims" / ".mine.0123").mkdir()
    assert claims.take(home, claim(), alive) == claims.find(home, "mine") == claim()
    assert claims.claims(home) == [claim()]


def test_a_folder_that_holds_something_else_is_left_alone(home):
    (home.root / "claims" / "mine").mkdir(parents=True)
    (home.root / "claims" / "mine" / "owner.json").write_text("{")
    assert refusal_of(lambda: claims.take(home, claim(), alive)).code == "denied"
    assert names(home.root / "claims") == ["mine"]
    assert (home.root / "claims" / "mine" / "owner.json").read_text() == "{"


def test_one_that_cannot_be_written_leaves_nothing(home, monkeypatch):
    def full(*_words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(claims.Path, "rename", full)
    assert refusal_of(lambda: claims.take(home, claim(), alive)).code == "state_full"
    assert names(home.root / "claims") == []
