"""A scratch home for each test, ended after it whatever happened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.supervised import Supervised


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Supervised]:
    """A state home with the fake lanes; no supervisor runs yet. Nothing of it is left afterwards."""
    made = Supervised(tmp_path)
    try:
        yield made
    except BaseException:
        made.kill_all()
        raise
    made.close()
