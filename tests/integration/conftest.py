"""A scratch home for each test, or one for the tests of a file, ended afterwards whatever happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.supervised import Supervised


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Supervised]:
    """A state home with the fake lanes; no supervisor runs yet. Nothing of it is left afterwards."""
    with Supervised(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervised]:
    """A state home whose supervisor serves all tests of a file that ask for it: each leaves nothing running there."""
    made = Supervised(tmp_path_factory.mktemp("shared"))
    try:
        yield made
    finally:
        made.close()
