"""Conducting a terminal interface: what is wanted of it, turned into keys, one look at the screen at a time.

The same for every kind of terminal: whoever owns one calls ``look`` whenever something may have changed, and
presses the keys that come back through ``keyboard``. Decides nothing by itself: the tables are in ``lanes/screens``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

from ...lanes.screens.answering import ALWAYS, KEYS, NEGATIVE, Answering, AnswerPolicy, choose, press
from ...lanes.screens.delivery import Action, Delivery, Look, Policy, Send, advance, belated, typed
from ...lanes.screens.model import Composer, Menu, ScreenState, State
from ...lanes.screens.picking import Picking, operate
from ...lanes.screens.rules import Picker, ScreenRules
from .engine import SessionEvent

ASKING = frozenset({State.WAITING_APPROVAL, State.TRUST, State.LOGIN, State.MENU, State.LIMIT})
_WIRE = {Delivery.WRITTEN: "written", Delivery.SEEN: "seen"}


class Keyboard(Protocol):
    """Where keys go."""

    def type(self, data: str) -> None:
        """Write this into the terminal."""
        ...

    @property
    def bracketed(self) -> bool:
        """Whether the program takes pastes as such."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Bounds in seconds; see the policies for what each is for."""

    settle_s: float = 0.15
    again_s: float = 3.0
    sight_s: float = 4.0
    turn_s: float = 60.0
    answered_s: float = 2.0
    room_s: float = 15.0
    idle_s: float = 0.6
    """How long a screen must show idleness until it counts."""
    ask_s: float = 0.2
    """How long a dialog must have stood unchanged until it counts."""
    close_s: float = 30.0
    ready_s: float = 10.0
    """How long a composer that may give way to a first question must have stood until it counts."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Pace:
        """The pace that a launch asks for; what it does not name is as above."""
        names = {entry.name for entry in fields(cls)}
        return cls(**{name: float(value) for name, value in options.items() if name in names})

    @property
    def sending(self) -> Policy:
        """For a send."""
        return Policy(
            settle_s=self.settle_s,
            again_s=self.again_s,
            sight_s=self.sight_s,
            turn_s=self.turn_s,
            answered_s=self.answered_s,
            room_s=self.room_s,
        )

    @property
    def answering(self) -> AnswerPolicy:
        """For an answer."""
        return AnswerPolicy(settle_s=self.settle_s, step_s=self.again_s, close_s=self.close_s)


@dataclass(slots=True)
class _Job:
    """What is being done at the terminal; one at a time."""

    number: int
    kind: str
    send: Send | None = None
    text: str = ""
    answer: Answering | None = None
    pick: Picking | None = None
    began: float | None = None
    value: str = ""


@dataclass(slots=True)
class _Settled:
    """The state as it was last told, and the candidate for the next."""

    told: State = State.STARTING
    candidate: State = State.STARTING
    menu: str = ""
    """The dialog that was told of."""
    candidate_menu: str = ""
    since: float = 0.0
    asked: Menu | None = None
    request: str = ""
    choices: dict[str, str] = field(default_factory=dict)


class Conduct:
    """See the module."""

    def __init__(
        self, rules: ScreenRules | None, pace: Pace, keyboard: Keyboard, emit: Callable[[SessionEvent], None]
    ) -> None:
        """Nothing was seen yet. Without ``rules`` nothing is ever typed: the state stays unknown."""
        self.rules = rules
        self.pace = pace
        self.found: ScreenState | None = None
        self.turn_running = False
        self._keyboard = keyboard
        self._emit = emit
        self._job: _Job | None = None
        self._aside: _Job | None = None
        """A send that a dialog came upon: it goes on when that is answered."""
        self._unready_since: float | None = None
        self._left: tuple[str, float] = ("", 0.0)
        """The menu of ours that Escape was pressed in, and until when it may still stand there."""
        self._next: tuple[int, str] | None = None
        self._late: Send | None = None
        """The last send, while its turn was not seen to start: it may be seen yet."""
        self._settled = _Settled()
        self._asks = 0
        self._model: str | None = None

    # --- what is wanted

    @property
    def busy(self) -> bool:
        """Whether something is being done, so that looks should come often."""
        return self._job is not None or self._settled.candidate is not self._settled.told

    @property
    def state(self) -> State:
        """The state as it was last told."""
        return self._settled.told

    @property
    def sending(self) -> str | None:
        """The text that is on its way and whose turn has not been seen, if there is one."""
        return self._job.text if self._job is not None and self._job.send is not None else None

    def send(self, number: int, text: str) -> None:
        """Give it a text; an answer or an interruption that is not yet seen to be through comes to its end first."""
        if self._job is not None and (self._job.answer is not None or self._job.kind == "interrupt"):
            self._next = (number, text)
        elif self._free(number):
            self._late = None
            self._job = _Job(number, "send", send=Send(text=text), text=text)

    def answer(self, number: int, choice: str, request: str | None) -> None:
        """Answer the dialog that is there."""
        menu = self._settled.asked
        if request is not None and request != self._settled.request:
            self._deliver(number, "refused", "that question is not open any more")
        elif menu is None:
            self._deliver(number, "refused", "no dialog with a choice is seen")
        elif self._free_to_answer(number):
            option = choose(menu, self._settled.choices.get(choice, choice))
            if isinstance(option, str):
                self._deliver(number, "refused", option)
            else:
                self._job = _Job(number, "answer", answer=Answering(menu=menu, option=option))

    def interrupt(self, number: int) -> None:
        """End the turn that runs."""
        if self.rules is None:
            self._deliver(number, "refused", "its keys are not known for this version")
            return
        self._late = None
        self._resume()
        if self._job is not None and self._job.kind == "send":
            self._deliver(self._job.number, "failed", "interrupted")
            self._job = None
        if self._free(number):
            self._job = _Job(number, "interrupt")
            self._keyboard.type(self.rules.interrupt)

    def set_model(self, number: int, model: str) -> None:
        """Switch the model through the CLI's own picker."""
        picker = self.rules.picker if self.rules is not None else None
        if picker is None:
            self._deliver(number, "refused", "its model can't be switched from inside: relaunch it with another")
        elif self._free(number):
            self._job = _Job(number, "model", pick=picking(picker, model), value=model)

    def set_effort(self, number: int, effort: str) -> None:
        """No CLI of those that are known switches it for one session only by a command that is."""
        self._deliver(number, "refused", f"effort {effort} is chosen when it is started: relaunch it with that")

    def set_mode(self, number: int, mode: str) -> None:
        """Keys that go through modes say nothing of where they end: a person presses them."""
        self._deliver(number, "refused", f"mode {mode} is set by its own keys in a terminal: osrc session attach")

    def _free(self, number: int) -> bool:
        if self._job is None:
            return True
        self._deliver(number, "refused", f"not while a {self._job.kind} is under way")
        return False

    def _free_to_answer(self, number: int) -> bool:
        """Whether a dialog can be answered: one that came upon a send has to be, or the send never ends."""
        if self._job is not None and self._job.send is not None:
            self._aside, self._job = self._job, None
        return self._free(number)

    def _resume(self) -> None:
        """Go on with the send that was put aside."""
        if self._job is None and self._aside is not None:
            self._job, self._aside = self._aside, None
            assert self._job.send is not None  # noqa: S101 - only a send is put aside
            self._job.send = replace(self._job.send, since=None)

    # --- what is seen

    def look(self, look: Look) -> None:
        """Take a look into account: tell what changed, press what comes next."""
        look = self._ready(look)
        self.found = look.state
        job = self._job
        if job is not None:
            self._work(job, look)
        elif self._late is not None:
            self._look_again(self._late, look)
        self._resume()
        if self._job is None and self._next is not None:
            (number, text), self._next = self._next, None
            self.send(number, text)
        self._observe(look)

    def _ready(self, look: Look) -> Look:
        """A composer that might give way to a question counts once it has stood for long."""
        found = look.state
        if found.state is not State.STARTING or found.composer is not Composer.EMPTY:
            self._unready_since = None
            return look
        self._unready_since = look.now if self._unready_since is None else self._unready_since
        stood = look.now - self._unready_since >= self.pace.ready_s
        return replace(look, state=replace(found, state=State.IDLE)) if stood else look

    def exited(self) -> None:
        """The program has ended: what was under way fails."""
        for job in (self._job, self._aside):
            if job is not None:
                self._deliver(job.number, "failed", "the program has exited")
        self._job = self._aside = None
        if self._next is not None:
            self._deliver(self._next[0], "failed", "the program has exited")
            self._next = None

    def _work(self, job: _Job, look: Look) -> None:
        if job.send is not None:
            self._work_send(job, job.send, look)
        elif job.answer is not None:
            job.answer, key = press(job.answer, look, self.pace.answering)
            if key is not None:
                self._keyboard.type(KEYS.get(key, key))
            if job.answer.ended:
                self._finish(job, "done" if job.answer.closed else "failed", job.answer.evidence)
        elif job.pick is not None:
            self._work_pick(job, job.pick, look)
        else:
            self._work_interrupt(job, look)

    def _work_send(self, job: _Job, before: Send, look: Look) -> None:
        after, actions = advance(before, look, self.pace.sending)
        job.send = after
        for action in actions:
            text = typed(job.text, bracketed=self._keyboard.bracketed) if action is Action.PASTE else KEYS["enter"]
            self._keyboard.type(text)
        if after.reached is not before.reached and after.reached in _WIRE:
            self._deliver(job.number, _WIRE[after.reached], None)
        if not after.ended:
            return
        if after.reached is Delivery.TURN_STARTED:
            self.turn_running = True
            self._job = None
            # Told before the delivery: whoever waits for the turn must not find the old idleness.
            self._tell(State.WORKING, after.evidence, look)
            self._deliver(job.number, "turn-started", None)
        elif after.reached is Delivery.ACCEPTED:
            self._finish(job, "refused", after.evidence)
        else:
            self._late = after
            self._finish(job, "unverified", after.evidence)

    def _look_again(self, before: Send, look: Look) -> None:
        """Find the turn of a send that was given up: whoever waits for its end gets that."""
        self._late, proof = belated(before, look, self.pace.sending)
        if proof is not None:
            self._late, self.turn_running = None, True
            self._tell(State.WORKING, proof, look)

    def _work_pick(self, job: _Job, before: Picking, look: Look) -> None:
        assert self.rules is not None  # noqa: S101 - a pick is only made with rules
        job.pick, text, key = operate(before, look, self.pace.sending, self.pace.answering)
        if text is not None:
            self._keyboard.type(typed(text, bracketed=self._keyboard.bracketed))
        if key is not None:
            self._keyboard.type(self.rules.clear if key == "clear" else KEYS.get(key, key))
        if key == "escape" and look.state.menu is not None:
            self._left = (look.state.menu.fingerprint, look.now + self.pace.close_s)
        if job.pick.ended:
            if job.pick.done:
                self._emit({"type": "switched", job.kind: job.value})
            if job.pick.done and job.pick.label:
                self._emit({"type": "notice", "text": f"{job.kind}: “{job.pick.label[:100]}” was chosen in its menu"})
            self._finish(job, "done" if job.pick.done else "refused", job.pick.evidence)

    def _work_interrupt(self, job: _Job, look: Look) -> None:
        job.began = look.now if job.began is None else job.began
        if look.state.state in {State.IDLE, State.EXITED} and look.quiet_s >= self.pace.settle_s:
            self._finish(job, "done", "the turn was interrupted")
        elif look.now - job.began >= self.pace.close_s:
            self._finish(job, "failed", f"it was not seen to stop ({look.state.state.value})")

    def _finish(self, job: _Job, state: str, reason: str | None) -> None:
        self._job = None
        self._deliver(job.number, state, reason)

    def _deliver(self, number: int, state: str, reason: str | None) -> None:
        self._emit({"type": "delivery", "number": number, "state": state, "reason": reason})

    # --- states

    def _observe(self, look: Look) -> None:
        found, settled = look.state, self._settled
        state = State.WORKING if found.state is State.IDLE and look.busy else found.state
        our_own = self._job is not None and self._job.pick is not None
        if found.model is not None and found.model != self._model and not our_own:
            self._model = found.model
            self._emit({"type": "start", "model": found.model})
        menu = found.menu.fingerprint if found.menu is not None and state in ASKING else ""
        if (state, menu) != (settled.candidate, settled.candidate_menu):
            settled.candidate, settled.candidate_menu, settled.since = state, menu, look.now
        if (state, menu) == (settled.told, settled.menu):
            return
        needed_s = (
            self.pace.idle_s if state in {State.IDLE, State.UNKNOWN} else self.pace.ask_s if state in ASKING else 0.0
        )
        if look.now - settled.since < needed_s:
            return
        leaving = bool(menu) and menu == self._left[0] and look.now < self._left[1]
        if leaving or (our_own and state in {State.MENU, State.UNKNOWN}):
            return  # what we opened ourselves asks nobody
        if state is State.IDLE and self._job is not None and self._job.send is not None and not self.turn_running:
            needed_s = 0.0
        self._tell(state, found.evidence, look)

    def _tell(self, state: State, evidence: str, look: Look) -> None:
        settled, found = self._settled, look.state
        menu = found.menu if state in ASKING else None
        if settled.asked is not None and (menu is None or menu.fingerprint != settled.menu):
            self._emit({"type": "answered", "request": settled.request, "choice": None})
            settled.asked, settled.request = None, ""
        settled.told = settled.candidate = state
        settled.menu = settled.candidate_menu = menu.fingerprint if menu is not None else ""
        settled.since = look.now
        self._emit({"type": "state", "state": state.value, "evidence": evidence})
        if menu is not None:
            self._ask(menu)

    def _ask(self, menu: Menu) -> None:
        self._asks += 1
        digest = hashlib.sha256(menu.fingerprint.encode("utf-8", "replace")).hexdigest()[:8]
        settled = self._settled
        settled.asked, settled.request = menu, f"menu-{self._asks}-{digest}"
        options = [{"id": str(o.index), "kind": kind_of(o.label), "label": o.label} for o in menu.options]
        settled.choices = {}
        for option in options:
            settled.choices.setdefault(option["kind"], option["id"])
        settled.choices.pop("other", None)
        event = {"type": "ask", "request": settled.request, "tool": "other", "name": "dialog", "title": menu.question}
        self._emit(event | {"target": None, "options": options, "free": False})


def picking(picker: Picker, model: str) -> Picking:
    """The switch to a model by a CLI's picker."""
    return Picking(
        command=f"{picker.command} {model}" if picker.takes_name else picker.command,
        choice=None if picker.takes_name else model,
        confirm=picker.confirm,
        way=picker.way,
        further=picker.further,
        further_confirm=picker.further_confirm,
    )


def kind_of(label: str) -> str:
    """Which kind of permission an option gives, as far as its words say."""
    text = label.casefold()
    if text.startswith(NEGATIVE):
        return "reject_once"
    if text.startswith(ALWAYS) or "always" in text or "don't ask again" in text:
        return "allow_always"
    if text.startswith(("yes", "allow", "approve", "proceed", "trust")):
        return "allow_once"
    return "other"
