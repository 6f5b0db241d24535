"""How each lane starts its CLI's own interface: it asks before it changes anything, and no task is in its words."""

import pytest
from outsourcerer.lanes.contract import Host, SessionLaunch, SessionTask
from outsourcerer.lanes.registry import builtin
from outsourcerer.lanes.screens.classify import classify
from outsourcerer.lanes.screens.model import Screen, State
from outsourcerer.lanes.screens.rules import RULES
from outsourcerer.messages.refusals import Refused
from outsourcerer.messages.vocabulary import Effort

LANES = {
    "claude": ("--permission-mode", "manual"),
    "codex": ("--no-daemon",),
    "gemini": ("--approval-mode", "default"),
    "qwen": ("--approval-mode", "default"),
    "opencode": (),
    "copilot": ("--no-auto-update",),
    "cline": ("--auto-approve", "false"),
    "pi": (),
}


def launch(name, **terms):
    lane = builtin(name)
    programs = dict.fromkeys((lane.binary, *lane.executables, name), f"/bin/{name}")
    host = Host(environment={}, executables={key: value for key, value in programs.items() if key})
    return lane.sessions["pty"](SessionTask(cwd="/work tree", **terms), host)


@pytest.mark.parametrize("name", sorted(LANES))
def test_what_is_started(name):
    made = launch(name)
    assert isinstance(made, SessionLaunch)
    assert made.argv[0] == f"/bin/{name}"
    assert (made.engine, made.options["cli"]) == ("pty", name)
    assert name in RULES
    assert " ".join(LANES[name]) in " ".join(made.argv)
    assert made.env_strip  # what a session in charge of us has set is not inherited


@pytest.mark.parametrize("name", sorted(LANES))
def test_a_model_and_a_conversation_are_handed_on(name):
    words = " ".join(launch(name, model="some-model", conversation="0a1b").argv)
    assert "some-model" in words
    assert "0a1b" in words


def test_pi_says_that_it_asks_nobody_and_droid_how_far_it_was_seen():
    assert any("asks nobody" in notice for notice in launch("pi").notices)
    assert any("sign-in" in notice for notice in launch("droid", model="m").notices)
    blank = Screen(lines=("─" * 60, "> Try this", "─" * 60), cursor=(1, 2))
    assert classify(blank, RULES["droid"]).state is State.UNKNOWN


def test_opencode_asks_where_its_own_default_does_not():
    assert '"bash":"ask"' in launch("opencode").env_set["OPENCODE_PERMISSION"]


@pytest.mark.parametrize("name", sorted(LANES))
def test_a_program_that_is_not_there_is_refused(name):
    lane = builtin(name)
    host = Host(environment={}, executables={})
    assert isinstance(lane.sessions["pty"](SessionTask(cwd="/"), host), Refused)


def test_copilots_conversation_is_named_by_us_so_that_it_can_be_started_anew() -> None:
    host = Host(environment={}, executables={"copilot": "/bin/copilot"})
    plan = builtin("copilot").sessions["pty"]
    new = plan(SessionTask(cwd="/w", fresh="0a1b", effort=Effort.HIGH), host)
    again = plan(SessionTask(cwd="/w", fresh="2c3d", conversation="0a1b"), host)
    assert isinstance(new, SessionLaunch)
    assert isinstance(again, SessionLaunch)
    assert ("--session-id=0a1b" in new.argv, new.options["conversation"]) == (True, "0a1b")
    assert new.argv[-2:] == ("--reasoning-effort", "high")
    assert ("--resume=0a1b" in again.argv, again.options["conversation"]) == (True, "0a1b")
    assert not any("2c3d" in word for word in again.argv)
