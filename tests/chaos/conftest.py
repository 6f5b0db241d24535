"""A scratch home for each test, ended after it whatever happened."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.supervised import Supervised


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Supervised]:
    """A state home with the fake lanes; no supervisor runs yet. Nothing of it is left afterwards."""
    with Supervised(tmp_path) as made:
        yield made


@pytest.fixture
def chance() -> random.Random:
    """Chance that can be repeated: the seed is printed, and OSRC_TEST_SEED sets it."""
    seed = int(os.environ.get("OSRC_TEST_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"OSRC_TEST_SEED={seed}")
    return random.Random(seed)
