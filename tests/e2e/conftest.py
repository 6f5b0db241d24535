"""Every test here drives real CLIs; where they are not installed it is skipped with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakes.real_clis import World, why_absent, world

MakeWorld = Callable[[list[dict[str, Any]]], World]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    """Make the world of one test from its model's script."""
    reason = why_absent()
    if reason is not None:
        pytest.skip(reason)
    with ExitStack() as stack:
        yield lambda steps: stack.enter_context(world(tmp_path / "w", steps))
