"""Thirty simulated days of one supervisor: nothing grows but the journal, and what is old goes as the docs say."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.growth import Bound, grown, slope, too_much
from fakes.sim_days import BOUNDS, bytes_per_job, days

pytestmark = pytest.mark.chaos

A_DAY = 4
KEPT_DAYS = 3
MOST_BYTES = 12 * 1024


def test_thirty_days(tmp_path: Path) -> None:
    samples = days(tmp_path, jobs_a_day=A_DAY)
    assert too_much(samples, BOUNDS) == []
    assert [figures["jobs"] for _, figures in samples] == [day * A_DAY for day in range(1, 31)]
    assert {figures["folders"] for _, figures in samples[KEPT_DAYS + 1 :]} <= set(
        range(KEPT_DAYS * A_DAY, (KEPT_DAYS + 1) * A_DAY + 1)
    )
    assert 0 < bytes_per_job(samples) < MOST_BYTES


def test_without_retention_folders_grow_and_that_is_found(tmp_path: Path) -> None:
    samples = days(tmp_path, count=9, jobs_a_day=A_DAY, OSRC_JOB_TTL_DAYS="0")
    assert [figures["folders"] for _, figures in samples] == [day * A_DAY for day in range(1, 10)]
    (said,) = too_much(samples, [Bound("folders", 6), Bound("threads", 0)])
    assert said.startswith("folders grew by")


def test_a_line_through_samples() -> None:
    assert slope([(0.0, 5.0), (10.0, 5.0)]) == 0.0
    assert slope([]) == slope([(1.0, 2.0)]) == 0.0
    warming = [(float(x), 100.0 if x >= 3 else 0.0) for x in range(12)]
    assert grown(warming) == 0.0, "what was warming up does not count"
    assert grown([(float(x), 2.0 * x) for x in range(5)], skip=0.0) == 8.0
    noisy = [(float(x), 50.0 + (-1) ** x) for x in range(40)]
    assert too_much([(x, {"a": y}) for x, y in noisy], [Bound("a", 1.0)]) == []
