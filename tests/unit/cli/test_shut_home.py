"""Looking at a state home that may not be searched."""

from __future__ import annotations

import pytest
from outsourcerer.cli import looking
from outsourcerer.state.errors import StateError


def test_a_home_that_may_not_be_searched_is_not_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.lstat", refuse)
    files = looking._Files("/home/you/.outsourcerer")
    with pytest.raises(StateError) as caught:
        files.newest(None, 40)
    assert caught.value.code == "state_unwritable"
    with pytest.raises(StateError):
        files.one("x")
