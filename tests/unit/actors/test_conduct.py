"""Conducting an interface: what is told, and what is pressed, one look at a time."""

from __future__ import annotations

from typing import Any

import pytest
from outsourcerer.actors.transports.conduct import Conduct, Pace
from outsourcerer.lanes.screens.delivery import Look
from outsourcerer.lanes.screens.model import Composer, Menu, Option, ScreenState, State
from outsourcerer.lanes.screens.rules import RULES

OPTIONS = (Option(index=1, label="Trust folder", selected=True), Option(index=2, label="Don't trust"))
TRUST = ScreenState(
    state=State.TRUST, evidence="trust?", composer=Composer.HIDDEN, menu=Menu(question="trust?", options=OPTIONS)
)
IDLE = ScreenState(state=State.IDLE, evidence="", composer=Composer.EMPTY)
UNREADY = ScreenState(state=State.STARTING, evidence="may ask something", composer=Composer.EMPTY)
DRAFT = ScreenState(state=State.IDLE, evidence="", composer=Composer.DRAFT, draft="go")
WORKING = ScreenState(state=State.WORKING, evidence="esc to interrupt", composer=Composer.EMPTY)
PASTED = "\x1b[200~go\x1b[201~"


class Bench:
    """A conduct with rules, a keyboard that keeps what is typed, and a clock that goes on with each look."""

    bracketed = True

    def __init__(self) -> None:
        self.typed: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.now = 0.0
        self.conduct = Conduct(RULES["gemini"], Pace(), self, self.events.append)

    def type(self, data: str) -> None:
        self.typed.append(data)

    def see(self, state: ScreenState, seconds: float = 1.0, quiet_s: float = 1.0) -> None:
        """Look for so long at one picture."""
        end = self.now + seconds
        while self.now < end:
            self.conduct.look(Look(now=self.now, state=state, quiet_s=quiet_s, drained=True))
            self.now += 0.1

    def states(self) -> list[str]:
        return [event["state"] for event in self.events if event["type"] == "state"]

    def deliveries(self, number: int) -> list[str]:
        return [event["state"] for event in self.events if event["type"] == "delivery" and event["number"] == number]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_composer_that_may_give_way_to_a_question_is_not_idle_yet(bench: Bench) -> None:
    bench.see(UNREADY, 5.0)
    bench.see(TRUST)
    assert bench.states() == ["trust"]


def test_a_composer_that_stays_as_it_is_counts_in_the_end(bench: Bench) -> None:
    bench.see(UNREADY, 12.0)
    assert bench.states() == ["idle"]
    bench.conduct.send(1, "go")
    bench.see(UNREADY)
    assert bench.typed == [PASTED]


@pytest.mark.parametrize("typed_before", [True, False])
def test_a_dialog_that_comes_upon_a_send_is_answered_and_the_send_goes_on(bench: Bench, typed_before: bool) -> None:
    bench.see(IDLE)
    bench.conduct.send(1, "go")
    bench.see(IDLE, 0.3) if typed_before else None
    bench.see(TRUST)
    assert bench.states() == ["idle", "trust"]
    assert bench.typed == [PASTED] * typed_before
    bench.conduct.answer(2, "1", None)
    bench.see(TRUST, 0.3)
    assert bench.typed[typed_before:] == ["\r"]
    bench.see(IDLE, 0.5)
    assert bench.deliveries(2) == ["done"]
    bench.see(DRAFT)
    bench.see(WORKING)
    assert bench.typed == ([PASTED, "\r", "\r"] if typed_before else ["\r", PASTED, "\r"])
    assert bench.deliveries(1)[-1] == "turn-started"


def test_a_send_that_a_dialog_came_upon_ends_with_the_program(bench: Bench) -> None:
    bench.see(IDLE)
    bench.conduct.send(1, "go")
    bench.see(TRUST)
    bench.conduct.answer(2, "1", None)
    bench.conduct.exited()
    assert (bench.deliveries(1), bench.deliveries(2)) == (["failed"], ["failed"])


def test_two_answers_at_once_are_one(bench: Bench) -> None:
    bench.see(TRUST)
    bench.conduct.answer(1, "2", None)
    bench.conduct.answer(2, "1", None)
    assert bench.deliveries(2) == ["refused"]


def test_a_menu_of_ours_that_is_slow_to_close_asks_nobody(bench: Bench) -> None:
    models = Menu(question="Select Model", options=(Option(index=1, label="Auto", selected=True),))
    menu = ScreenState(state=State.MENU, evidence="Select Model", composer=Composer.HIDDEN, menu=models)
    command = ScreenState(state=State.IDLE, evidence="", composer=Composer.DRAFT, draft="/model")
    bench.see(IDLE)
    bench.conduct.set_model(1, "gpt-9")
    bench.see(IDLE, 0.3)
    bench.see(command, 0.3)
    bench.see(menu, 5.0)
    assert bench.deliveries(1) == ["refused"]
    assert bench.typed[-1] == "\x1b"
    bench.see(IDLE)
    assert bench.states() == ["idle"]
    bench.see(menu)  # and one that somebody opens later is a question as any other, once that time is over
    bench.see(menu, 30.0)
    assert bench.states() == ["idle", "menu"]


def test_a_send_behind_an_interruption_waits_for_that_to_be_through(bench: Bench) -> None:
    bench.see(WORKING)
    bench.conduct.interrupt(1)
    bench.see(IDLE, quiet_s=0.0)  # something still moves beside it
    bench.conduct.send(2, "go")
    assert (bench.states()[-1], bench.deliveries(1), bench.deliveries(2)) == ("idle", [], [])
    bench.see(IDLE)
    assert (bench.deliveries(1), bench.typed) == (["done"], ["\x1b", PASTED])
