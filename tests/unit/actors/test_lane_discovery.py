"""Which lanes are here, and whether somebody signed in to them: told by files alone."""

import pytest
from outsourcerer.actors.lane_discovery import lanes_here
from outsourcerer.lanes.rows import ROWS

SIGNS = [(lane, sign) for lane, row in ROWS.items() if row.programs and not row.key for sign in row.signs]
UNSEEN = [lane for lane, row in ROWS.items() if row.programs and not row.key and not row.signs]


@pytest.fixture
def here(tmp_path):
    """Return what is found in a home of its own, where only the named lanes' programs are installed."""
    (tmp_path / "bin").mkdir()

    def look(*lanes, **environ):
        for program in (program for lane in lanes for program in ROWS[lane].programs):
            (tmp_path / "bin" / program).write_text("#!/bin/sh\nexit 99\n")
            (tmp_path / "bin" / program).chmod(0o755)
        return lanes_here({"HOME": str(tmp_path), "PATH": str(tmp_path / "bin"), **environ}, ports=())

    return look


def leave(home, sign):
    """Make the path of a sign-in's file, and return it."""
    path = home / sign.removeprefix("~/")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def test_nothing_is_here_without_programs_whatever_a_sign_in_left(tmp_path, here):
    for _, sign in SIGNS:
        leave(tmp_path, sign).write_text("{}")
    assert here() == {}


@pytest.mark.parametrize(("lane", "sign"), SIGNS)
def test_any_one_file_of_a_sign_in_tells_of_it(tmp_path, here, lane, sign):
    assert here(lane)[lane] == "installed"
    leave(tmp_path, sign).write_text("")
    assert here(lane)[lane] == "signed in"


def test_a_link_to_credentials_that_lie_elsewhere_counts(tmp_path, here):
    lane, sign = SIGNS[0]
    leave(tmp_path, sign).symlink_to(tmp_path / "not mounted now")
    assert here(lane)[lane] == "signed in"


def test_a_sign_in_tells_nothing_of_another_lane(tmp_path, here):
    one, sign = SIGNS[0]
    other = next(lane for lane, _ in SIGNS if lane != one)
    leave(tmp_path, sign).write_text("{}")
    found = here(one, other)
    assert (found[one], found[other]) == ("signed in", "installed")


@pytest.mark.parametrize("lane", UNSEEN)
def test_where_no_file_is_named_a_sign_in_is_not_claimed(here, lane):
    assert here(lane)[lane] == "installed"


@pytest.mark.parametrize("lane", [lane for lane, row in ROWS.items() if row.key and row.seen_at_a_glance])
def test_a_lane_that_is_paid_by_key_is_here_with_its_key_alone(here, lane):
    assert lane not in here(lane)
    assert here(lane, **{ROWS[lane].key: "sk-0123456789abcdef0123456789abcdef"})[lane] == "key"
