"""The scripted supervisor that a test's front end talks to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fakes.fake_gateway import FakeGateway


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[FakeGateway]:
    """One with a state home of the test's own."""
    with FakeGateway(tmp_path / "home") as made:
        yield made
