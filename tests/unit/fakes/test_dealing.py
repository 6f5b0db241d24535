"""The order in which workers are given a run's tests."""

from itertools import groupby

import pytest
from fakes.dealing import LONG, dealt, seconds
from hypothesis import given, settings
from hypothesis import strategies as st

PATHS = ["e2e/test_a.py", "e2e/test_storms.py", "integration/test_b.py", "chaos/test_c.py", "unit/x/test_d.py"]
FILES = st.lists(st.tuples(st.sampled_from(PATHS), st.integers(1, 9)), max_size=12)


def rows_of(files):
    rows = [(path, f"{path}::{place}-{number}") for place, (path, count) in enumerate(files) for number in range(count)]
    return sorted(rows, key=lambda row: row[0])


def chunks(order, workers):
    """What xdist's worksteal hands out at first."""
    cut, left = [], list(order)
    for place in range(workers):
        size = len(left) // (workers - place)
        cut.append(left[:size])
        left = left[size:]
    return cut


@given(FILES, st.integers(2, 6))
@settings(max_examples=60)
def test_each_is_dealt_once_and_files_stay_together(files, workers):
    rows = rows_of(files)
    order = dealt(rows, workers)
    assert sorted(order) == sorted(test for _, test in rows)
    assert order == dealt(rows, workers), "every worker must find the same order"
    long = [test.partition("::")[0] for test in order if seconds(test.partition("::")[0])]
    assert len([path for path, _ in groupby(long)]) == len(set(long))


@pytest.mark.parametrize("workers", [2, 4, 5])
def test_each_worker_begins_with_its_share_of_the_long_ones(workers):
    long = [(f"e2e/test_{name}.py", 10) for name in "abcdefghijklmnopqrst"]
    rows = rows_of([*long, ("unit/x/test_y.py", 2000)])
    parts = chunks(dealt(rows, workers), workers)
    for part in parts:
        kinds = ["e2e" in test for test in part]
        assert kinds == sorted(kinds, reverse=True), "the long ones come first"
        assert sum(kinds) == 200 / workers


def test_a_file_that_takes_longer_than_its_folder_weighs_more():
    path = next(iter(LONG))
    assert seconds(f"e2e/{path}") == LONG[path] > seconds("e2e/test_other.py") > seconds("unit/actors/test_x.py")
    assert seconds(f"unit/cli/{path}") == 0.0
