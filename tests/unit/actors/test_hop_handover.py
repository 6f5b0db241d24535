"""Which earlier attempt the next one is told of: the newest that may have changed something."""

from __future__ import annotations

import pytest
from fakes.state import identity, record
from outsourcerer.actors.hop import cut_short
from outsourcerer.messages.job import Attempted, ExitStatus


def over(lane: str, outcome: str, *, ran: bool = True) -> Attempted:
    status = ExitStatus(code=1) if ran else None
    return Attempted(attempt=1, lane=lane, vehicle=lane, outcome=outcome, exit_status=status, why="moved")


@pytest.mark.parametrize(
    ("ran", "outcome", "hops", "told"),
    [
        (False, None, (), None),
        (True, "plan-limit", (), ("now", "plan-limit")),
        (True, "contended", (), None),
        (True, "contended", (over("before", "contended"),), None),
        (True, "contended", (over("before", "plan-limit"), over("next", "contended")), ("before", "plan-limit")),
        (False, None, (over("before", "plan-limit", ran=False),), None),
        (True, "plan-limit", (over("before", "transport"),), ("now", "plan-limit")),
    ],
)
def test_an_attempt_that_never_began_is_not_told_of(ran, outcome, hops, told) -> None:
    given = record(lane="now", delegate=identity() if ran else None, hops=hops)
    assert cut_short(given, outcome) == told
