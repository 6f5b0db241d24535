"""Scaffolds: by tier, verb and effort; the task stays what it is."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.markers import disclose
from outsourcerer.lanes.scaffolds import scaffold
from outsourcerer.lanes.scaffolds.blocks import WRITE_EARLY
from outsourcerer.messages.vocabulary import Effort, Tier, Verb

ID = "00112233445566aa"


@given(st.text(min_size=1), st.sampled_from(Tier), st.sampled_from(Verb))
def test_the_task_is_there_word_for_word(task: str, tier: Tier, verb: Verb) -> None:
    prompt = scaffold(task, tier=tier, verb=verb, effort=None, marker_id=ID)
    assert task.strip("\n") in prompt
    assert disclose(ID) in prompt


def test_raw_is_the_task_and_the_protocol_alone() -> None:
    assert scaffold("do it", tier=Tier.RAW, verb=Verb.EDIT, effort=Effort.MAX, marker_id=ID) == (
        f"do it\n\n{disclose(ID)}\n"
    )


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        (Tier.FRONTIER, ["You own the task"]),
        (Tier.CAPABLE, ["You own the task"]),
        (Tier.MID, ["Result:", "Verification:", "Open items:"]),
        (Tier.BUDGET, ["at most 5 steps", "fails twice", "RESULT", "ASSUMPTIONS", "NOT DONE"]),
    ],
)
def test_each_tier_has_its_frame(tier: Tier, words: list[str]) -> None:
    prompt = scaffold("x", tier=tier, verb=Verb.RUN, effort=None, marker_id=ID)
    assert [word for word in words if word not in prompt] == []


def test_the_frontier_wrapper_is_the_thinnest() -> None:
    lengths = {
        tier: len(scaffold("x", tier=tier, verb=Verb.RUN, effort=None, marker_id=ID))
        for tier in (Tier.RAW, Tier.FRONTIER, Tier.MID)
    }
    assert lengths[Tier.RAW] < lengths[Tier.FRONTIER] < lengths[Tier.MID]


@pytest.mark.parametrize(
    ("verb", "agentic", "discipline", "expected"),
    [
        (Verb.EDIT, True, None, True),
        (Verb.YOLO, True, None, True),
        (Verb.RUN, True, None, False),
        (Verb.RESEARCH, True, None, False),
        (Verb.EDIT, True, False, False),
        (Verb.RUN, True, True, True),
        (Verb.RUN, False, True, False),
    ],
)
def test_write_early_comes_with_the_verbs_that_write(
    verb: Verb, agentic: bool, discipline: bool | None, expected: bool
) -> None:
    prompt = scaffold(
        "x", tier=Tier.MID, verb=verb, effort=None, marker_id=ID, agentic=agentic, build_discipline=discipline
    )
    assert (WRITE_EARLY in prompt) is expected


def test_effort_is_said_in_words_and_every_combination_works() -> None:
    for tier, verb, effort in itertools.product(Tier, Verb, Effort):
        prompt = scaffold("x", tier=tier, verb=verb, effort=effort, marker_id=ID)
        assert ("Effort:" in prompt) is (tier is not Tier.RAW)
    words = {scaffold("x", tier=Tier.MID, verb=Verb.RUN, effort=effort, marker_id=ID) for effort in Effort}
    assert len(words) == len(Effort)


def test_a_delegate_without_tools_is_told_so() -> None:
    prompt = scaffold("x", tier=Tier.MID, verb=Verb.RUN, effort=None, marker_id=ID, agentic=False)
    assert "You have no tools" in prompt
    assert "current folder" not in prompt
