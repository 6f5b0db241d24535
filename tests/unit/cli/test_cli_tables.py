"""The static tables agree with what they stand for."""

from __future__ import annotations

from typing import get_args

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.cli import exit_codes
from outsourcerer.cli.app import cli
from outsourcerer.cli.commands.session import start
from outsourcerer.cli.reach import older
from outsourcerer.cli.table import COMMANDS, FAMILIES
from outsourcerer.lanes.outcome import EXIT_CODES
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.messages.session import Transport
from outsourcerer.messages.vocabulary import TERMINAL_STATES


def test_every_refusal_code_has_an_exit_code() -> None:
    assert set(exit_codes.REFUSALS) == {code.value for code in RefusalCode}


def test_states_have_the_exit_codes_of_the_verdict_table() -> None:
    assert {state.value: EXIT_CODES[state] for state in TERMINAL_STATES} == exit_codes.STATES


def test_every_transport_can_be_asked_for() -> None:
    transport = next(one for one in start.params if one.name == "transport")
    assert set(transport.type.choices) == set(get_args(Transport))


def test_every_exit_code_has_a_meaning() -> None:
    assert set(exit_codes.REFUSALS.values()) | set(exit_codes.STATES.values()) <= set(exit_codes.MEANINGS)


def test_a_live_job_is_a_wait_that_ran_out() -> None:
    assert exit_codes.of_job({"state": "running", "exit": None}) == 124
    assert exit_codes.of_job({"state": "a state of tomorrow"}) == 124


@pytest.mark.parametrize(
    ("job", "code"),
    [
        ({"state": "done", "exit": 0}, 0),
        ({"state": "interrupted", "exit": 143}, 143),
        ({"state": "failed", "exit": None}, 1),
        ({"state": "failed", "exit": 77}, 1),
        ({"state": "failed", "exit": True}, 1),
        ({"state": "wedged", "exit": "garbage"}, 125),
    ],
)
def test_exit_code_of_a_job(job: dict[str, object], code: int) -> None:
    assert exit_codes.of_job(job) == code


def test_the_gravest_of_several() -> None:
    assert exit_codes.gravest([0, 0]) == 0
    assert exit_codes.gravest([0, 2, 3]) == 3
    assert exit_codes.gravest([2, 1, 124]) == 1
    assert exit_codes.gravest([]) == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_row_leads_to_its_command(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.name == name
    assert COMMANDS[name].family in FAMILIES
    assert COMMANDS[name].summary.endswith(".")


@pytest.mark.parametrize(
    ("theirs", "ours", "is_older"),
    [
        ("0.1.0", "0.1.1", True),
        ("0.9", "0.10", True),
        ("1.0", "1.0.0", False),
        ("2.0", "1.9", False),
        ("", "1.0", False),
        ("unknown", "1.0", False),
        ("0.1.0.dev3", "0.2.0", True),
    ],
)
def test_older(theirs: str, ours: str, is_older: bool) -> None:
    assert older(theirs, ours) is is_older


@given(st.text(max_size=30), st.text(max_size=30))
def test_no_two_versions_hand_over_to_each_other_for_ever(one: str, other: str) -> None:
    assert not (older(one, other) and older(other, one))
