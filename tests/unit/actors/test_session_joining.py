"""What another holder is told that takes over a program: nothing secret, and nothing that was given before."""

import json

import pytest
from fakes.state import scratch_home
from outsourcerer.actors.session_joining import JOIN, keep_join, reached, still_runs, write_join
from outsourcerer.state.errors import StateError
from outsourcerer.state.session_folder import EVENTS, LAUNCH, SessionFolder

SECRET = "zq9-plain-looking-7w"


@pytest.fixture
def folder(tmp_path):
    return SessionFolder.create(scratch_home(tmp_path), "20261130-124500-0a1b2c3d4e5f")


def launch(**more):
    env = {"PATH": "/usr/bin", "MY_TOKEN": SECRET}
    known = {"attempt": 1, "argv": ["/bin/x"], "env": env, "options": {"cli": "claude"}, "first": 1, "token": "old"}
    return known | {"not_before": 5.0} | more


def deliveries(folder, *rows):
    lines = [json.dumps({"type": "delivery", "number": number, "state": state}) for number, state in rows]
    (folder.path / EVENTS).write_text(
        "\n".join(['{"type": "text", "text": "delivery"}', "{", '"delivery"', *lines, '{"type": "deliv'])
    )


def test_what_reached_it_is_never_given_again_and_what_waited_is(folder):
    keep_join(folder, launch())
    assert SECRET not in (folder.path / JOIN).read_text()
    deliveries(folder, (1, "accepted"), (1, "written"), (2, "accepted"), (2, "turn-started"), (3, "accepted"))
    assert reached(folder) == 2
    write_join(folder, 4, random=lambda count: b"\1" * count)
    told = folder.read_json(LAUNCH)
    assert (told["attempt"], told["first"], told["options"], told["not_before"]) == (
        4,
        3,
        {"cli": "claude", "join": "1"},
        0.0,
    )
    assert told["token"] == "01" * 16
    assert told["env"] == {"PATH": "/usr/bin"}


def test_one_that_nothing_was_told_of_takes_up_where_its_launch_began(folder):
    keep_join(folder, launch(first=7))
    assert reached(folder) == 0
    write_join(folder, 2)
    assert folder.read_json(LAUNCH)["first"] == 7


def test_without_what_was_kept_there_is_none(folder):
    with pytest.raises(StateError, match=r"join\.json"):
        write_join(folder, 2)
    assert still_runs(None) is False
