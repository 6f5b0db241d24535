"""Who may rebuild a damaged store."""

from __future__ import annotations

from pathlib import Path

import pytest
from outsourcerer.actors.lock import HomeLock
from outsourcerer.actors.opening import open_store
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home

NOW = 1_796_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.preflight()
    return made


def test_it_is_rebuilt_under_the_lock_which_is_then_free_again(home: Home) -> None:
    home.database.write_bytes(b"no database at all" * 100)
    lock = HomeLock(home)
    open_store(home, lock, NOW).close()
    assert list(home.root.glob("state.db.damaged-*"))
    assert not lock.held
    assert HomeLock(home).take()


def test_a_lock_that_was_held_stays_held(home: Home) -> None:
    lock = HomeLock(home)
    assert lock.take()
    open_store(home, lock, NOW).close()
    assert lock.held
    lock.release()


def test_under_somebody_elses_eyes_a_damaged_one_is_refused_and_left_alone(home: Home) -> None:
    open_store(home, HomeLock(home), NOW).close()
    other = HomeLock(home)
    assert other.take()
    open_store(home, HomeLock(home), NOW).close()  # a good one opens all the same
    damaged = b"no database at all" * 100
    home.database.write_bytes(damaged)
    with pytest.raises(StateError) as refused:
        open_store(home, HomeLock(home), NOW)
    assert refused.value.code == "state_damaged"
    assert "restart" in (refused.value.hint or "")
    assert home.database.read_bytes() == damaged
    other.release()
