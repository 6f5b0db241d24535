"""Every lane against every check."""

from __future__ import annotations

import pytest
from conformance.subjects import built_in, subjects
from outsourcerer.lanes.conformance import CHECKS
from outsourcerer.lanes.registry import names

SUBJECTS = subjects()


def test_every_built_in_lane_is_a_subject() -> None:
    assert set(names()) == set(built_in())


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", SUBJECTS)
def test_lane(name: str, check: str) -> None:
    CHECKS[check](SUBJECTS[name])
