"""Giving a text to a terminal interface: a simulated one of every temper, and no send lost, doubled or misplaced."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.screens.delivery import Action, Delivery, Look, Policy, Send, advance, typed, withdraw
from outsourcerer.lanes.screens.model import Composer, Menu, Option, ScreenState, State

POLICY = Policy(settle_s=0.1, sight_s=2.0, again_s=1.0, turn_s=5.0, left_s=4.0)
IDLE = ScreenState(state=State.IDLE, evidence="", composer=Composer.EMPTY)
DRAFT = ScreenState(state=State.IDLE, evidence="", composer=Composer.DRAFT, draft="hello")
WORKING = ScreenState(state=State.WORKING, evidence="esc to interrupt", composer=Composer.EMPTY)
ASKING = ScreenState(
    state=State.WAITING_APPROVAL,
    evidence="may I?",
    composer=Composer.HIDDEN,
    menu=Menu(question="may I?", options=(Option(index=1, label="Yes", selected=True), Option(index=2, label="No"))),
)
UNKNOWN = ScreenState(state=State.UNKNOWN, evidence="?")


def at(now, state=IDLE, **terms):
    return Look(**{"now": now, "state": state, "quiet_s": 1.0, "drained": True, **terms})


def played(*looks):
    send, done = Send(), []
    for look in looks:
        send, actions = advance(send, look, POLICY)
        done += actions
    return send, done


def test_the_straight_way():
    send, done = played(at(0), at(0.1), at(0.2, DRAFT), at(0.3, WORKING))
    assert done == [Action.PASTE, Action.ENTER]
    assert (send.reached, send.ended) == (Delivery.TURN_STARTED, True)


@pytest.mark.parametrize("state", [ASKING, WORKING, UNKNOWN, DRAFT])
def test_nothing_is_typed_into_what_is_not_an_empty_composer(state):
    send, done = played(*(at(n, state) for n in range(50)))
    assert done == []
    assert not send.ended
    assert send.evidence


def test_waiting_for_room_has_a_bound_when_one_is_set():
    send, actions = advance(Send(since=0.0), at(16, ASKING), Policy(room_s=15))
    assert (actions, send.ended, send.reached) == ((), True, Delivery.ACCEPTED)
    assert "may I?" in send.evidence


def test_a_screen_in_motion_is_let_come_to_rest():
    assert played(at(0, quiet_s=0.01))[1] == []


def test_enter_waits_until_the_program_has_read_the_text():
    send, done = played(at(0), at(0.1, DRAFT, drained=False), at(0.9, DRAFT, drained=False))
    assert done == [Action.PASTE]
    assert send.reached is Delivery.ACCEPTED


def test_a_dialog_that_comes_up_after_the_text_gets_no_enter():
    send, done = played(at(0), at(0.1), *(at(0.2 + n, ASKING) for n in range(7)))
    assert done == [Action.PASTE]
    assert (send.ended, send.reached) == (True, Delivery.WRITTEN)
    assert "not submitted" in send.evidence


def test_a_swallowed_enter_is_pressed_again_only_while_the_text_stands_there():
    send, done = played(at(0), at(0.1), at(0.2, DRAFT), at(0.5, DRAFT), at(1.3, DRAFT), at(1.4, WORKING))
    assert done == [Action.PASTE, Action.ENTER, Action.ENTER]
    assert send.reached is Delivery.TURN_STARTED


def test_an_unread_enter_is_not_pressed_again():
    _, done = played(at(0), at(0.1), at(0.2, DRAFT), *(at(n / 2, DRAFT, drained=False) for n in range(2, 10)))
    assert done == [Action.PASTE, Action.ENTER]


def test_a_text_that_left_without_a_turn_is_not_called_started():
    send, _ = played(at(0), at(0.1), at(0.2, DRAFT), *(at(1 + n, IDLE) for n in range(7)))
    assert (send.ended, send.reached) == (True, Delivery.SEEN)
    assert "left the composer" in send.evidence


def test_the_cli_s_own_record_proves_a_turn_that_no_look_caught():
    send, done = played(at(0), at(0.1), at(0.2, DRAFT), at(0.3, IDLE, recorded=True))
    assert done == [Action.PASTE, Action.ENTER]
    assert send.reached is Delivery.TURN_STARTED


def test_an_interface_that_is_late_to_draw_gets_its_enter_all_the_same():
    send, done = played(at(0), at(0.1), *(at(0.2 + n / 2, IDLE) for n in range(6)), at(4, WORKING))
    assert done == [Action.PASTE, Action.ENTER]
    assert send.reached is Delivery.TURN_STARTED


def test_only_what_was_not_typed_can_be_withdrawn():
    waiting, _ = played(at(0, ASKING))
    assert withdraw(waiting, "no more").ended
    typed_already, _ = played(at(0), at(0.1))
    assert not withdraw(typed_already, "no more").ended


def test_the_program_that_exits_ends_the_send():
    gone = ScreenState(state=State.EXITED, evidence="")
    send, _ = played(at(0), at(0.1), at(0.2, gone))
    assert (send.ended, send.reached) == (True, Delivery.WRITTEN)


@pytest.mark.parametrize("text", ["a\x1b[201~\rb", "x\x1b[200~", "\x03\x04\x15q", "a\x9b201~b", "\ra", "a\r\nb\n\n"])
def test_no_text_can_press_a_key(text):
    pasted = typed(text, bracketed=True)
    inside = pasted.removeprefix("\x1b[200~").removesuffix("\x1b[201~")
    assert not set(inside) & set("\x1b\x03\x04\x15\x9b\n")
    assert not inside.endswith("\r")
    assert "\r" not in typed(text, bracketed=False)


# --- a simulated interface


@dataclass
class Simulated:
    """Reads late, draws late, may lose an Enter, may open a dialog after a turn has begun."""

    read_after: int
    draw_after: int
    loses: int
    asks: bool
    silent: bool
    """Its turns are too short for any look to see them."""
    waiting: list = field(default_factory=list)
    draft: str = ""
    submitted: list = field(default_factory=list)
    misplaced: int = 0
    dialog: bool = False
    work: int = 0
    tick: int = 0
    drawn: list = field(default_factory=lambda: [IDLE])

    def step(self):
        self.tick += 1
        if self.waiting and self.tick - self.waiting[0][0] >= self.read_after:
            self.read(self.waiting.pop(0)[1])
        if self.work:
            self.work -= 1
            if not self.work and self.asks:
                self.dialog = True
        self.drawn.append(self.picture())

    def read(self, key):
        if self.dialog:
            self.misplaced += 1
        elif key is Action.PASTE:
            self.draft += "hello"
        elif self.loses:
            self.loses -= 1
        elif self.draft:
            self.submitted.append(self.draft)
            self.draft, self.work = "", 0 if self.silent else 3

    def picture(self):
        if self.dialog:
            return ASKING
        if self.work:
            return WORKING
        return (
            ScreenState(state=State.IDLE, evidence="", composer=Composer.DRAFT, draft=self.draft)
            if self.draft
            else IDLE
        )

    def look(self):
        seen = self.drawn[max(0, len(self.drawn) - 1 - self.draw_after)]
        still = all(one == self.drawn[-1] for one in self.drawn[-3:])
        return Look(now=self.tick * 0.1, state=seen, quiet_s=1.0 if still else 0.0, drained=not self.waiting)


@given(
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 2),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_whatever_its_temper_the_text_arrives_once_and_nowhere_else(read_after, draw_after, loses, asks, silent):
    tui, send = Simulated(read_after, draw_after, loses, asks, silent), Send()
    for _ in range(400):
        tui.step()
        send, actions = advance(send, tui.look(), POLICY)
        tui.waiting += [(tui.tick, action) for action in actions]
        if send.ended:
            break
    for _ in range(20):
        tui.step()
    assert send.ended
    assert tui.misplaced == 0
    assert tui.submitted == ["hello"]
    assert (send.reached is Delivery.TURN_STARTED) or silent
