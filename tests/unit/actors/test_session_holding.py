"""Whether a session's holder is there, as its actor sees it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from fakes.clock import FakeClock
from outsourcerer.actors import session_holding as module
from outsourcerer.actors.session_holding import BEGIN_S, LAUNCH_S, SUPERVISOR, Holding
from outsourcerer.state.session_folder import SessionFolder


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def holding(tmp_path: Path, clock: FakeClock) -> Holding:
    return Holding("one", SimpleNamespace(clock=clock), SessionFolder(tmp_path), None)


def test_one_that_never_came_is_not_there_at_any_later_look(holding: Holding, clock: FakeClock, tmp_path: Path) -> None:
    """Two looks in a row that find nobody end a session: the claim that the first one takes is nobody's."""
    assert holding.there(1)
    clock.advance(LAUNCH_S + 1)
    assert not holding.there(1)
    assert not holding.there(1)
    assert SessionFolder(tmp_path).read_json("claim.1") == SUPERVISOR


def test_one_whose_claim_names_nobody_is_waited_for_and_not_for_ever(
    holding: Holding, clock: FakeClock, tmp_path: Path
) -> None:
    """A full disk took the claim and not what was to be in it."""
    (tmp_path / "claim.1").touch(mode=0o600)
    clock.advance(LAUNCH_S + 1)
    assert holding.there(1)
    clock.advance(BEGIN_S)
    assert not holding.there(1)


def test_an_end_that_failed_has_told_nothing(holding: Holding, monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptors for a moment: it is tried again, for somebody waits to be told what became of what was given."""
    told: list[module.Gone] = []
    monkeypatch.setattr(module, "in_background", lambda *_, otherwise: told.append(otherwise))
    holding.end(1, "its holder died")
    assert told == [module.Gone(told=False)]
