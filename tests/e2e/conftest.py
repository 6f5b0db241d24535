"""Every test here drives real CLIs; where they are not installed it is skipped with the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fakes.cli_jobs import Lane, Worlds
from fakes.real_clis import World, why_absent, world
from fakes.signed_in import sign_in

MakeWorld = Callable[[list[dict[str, Any]]], World]
Run = Callable[..., tuple[dict[str, Any], int, World]]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    """Make the world of one test from its model's script."""
    reason = why_absent()
    if reason is not None:
        pytest.skip(reason)
    with ExitStack() as stack:
        yield lambda steps: stack.enter_context(world(tmp_path / "w", steps))


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """The worlds that the tests of one file share."""
    with ExitStack() as stack:
        yield Worlds(tmp_path_factory.mktemp("w"), stack)


@pytest.fixture
def run(worlds: Worlds, lane: str) -> Iterator[Run]:
    """Run jobs on ``lane`` in the world that it shares with the other tests of the file."""
    with worlds.lane(lane) as made:
        yield made.run


@pytest.fixture
def run_alone(make_world: MakeWorld, lane: str) -> Run:
    """Run jobs on ``lane`` in a world of the test's own: what it does there is seen by no other test."""
    made = make_world([])
    return Lane(lane, made, sign_in(made, lane)).run
