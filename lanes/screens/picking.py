"""Switching a model or an effort through the CLI's own command, between turns, and proving it.

pick = Picking(command="/model", choice="fable", confirm="s")
pick, typed, key = operate(pick, look, policy, answer_policy)   # until pick.ended
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from .answering import Answering, AnswerPolicy, press
from .delivery import Look, Policy, why_not
from .model import Composer, Menu, Option, State


class Stage(StrEnum):
    """What the switch waits for."""

    ROOM = "room"
    SHOWN = "shown"
    MENU = "menu"
    CHOOSING = "choosing"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picking:
    """One switch on its way."""

    command: str
    choice: str | None
    """What to choose in the menu; None: the command says it all."""
    confirm: str = "enter"
    way: str | None = None
    """A row that leads to the menu with the rest of the choices."""
    further: bool = False
    further_confirm: str = "enter"
    stage: Stage = Stage.ROOM
    since: float | None = None
    answer: Answering | None = None
    label: str = ""
    """The row that was taken."""
    ended: bool = False
    done: bool = False
    evidence: str = ""
    seen: tuple[str, ...] = field(default=(), repr=False)


def operate(pick: Picking, look: Look, policy: Policy, answers: AnswerPolicy) -> tuple[Picking, str | None, str | None]:
    """Take a look into account. Returns the switch as it is now, a text to type and a key to press."""
    if pick.ended:
        return pick, None, None
    pick = replace(pick, since=look.now if pick.since is None else pick.since)
    waited = look.now - (pick.since or 0.0)
    rested = look.quiet_s >= policy.settle_s and look.flushed and look.drained is not False
    return _STAGES[pick.stage](pick, look, _Moment(policy, answers, waited, rested))


@dataclass(frozen=True, slots=True)
class _Moment:
    policy: Policy
    answers: AnswerPolicy
    waited: float
    rested: bool


_Result = tuple[Picking, str | None, str | None]


def _fail(pick: Picking, why: str, key: str | None = None) -> _Result:
    return replace(pick, ended=True, evidence=why), None, key


def _room(pick: Picking, look: Look, at: _Moment) -> _Result:
    found = look.state
    if found.state is State.WORKING or look.busy:
        return _fail(pick, "it works: a switch waits for the end of the turn")
    if found.state is State.IDLE and found.composer is Composer.EMPTY and at.rested:
        return replace(pick, stage=Stage.SHOWN, since=look.now, seen=found.body), pick.command, None
    if at.waited >= at.policy.command_s:
        return _fail(pick, f"not typed: {why_not(found)}")
    return pick, None, None


def _shown(pick: Picking, look: Look, at: _Moment) -> _Result:
    found = look.state
    if found.composer is Composer.DRAFT and found.draft.strip() == pick.command and at.rested:
        return replace(pick, stage=Stage.MENU, since=look.now), None, "enter"
    if at.waited >= at.policy.command_s:
        return _fail(pick, f"its composer did not show {pick.command}", "clear")
    return pick, None, None


def _menu(pick: Picking, look: Look, at: _Moment) -> _Result:
    found = look.state
    if pick.choice is None:
        if found.state is State.IDLE and found.composer is Composer.EMPTY and at.rested:
            return replace(pick, stage=Stage.AFTER, since=look.now), None, None
    elif found.menu is not None and found.state is State.MENU and at.rested:
        option = option_for(found.menu, pick.choice)
        if isinstance(option, str):
            way = next((row for row in found.menu.options if pick.way and row.label.startswith(pick.way)), None)
            if way is None:
                return _fail(pick, option, "escape")
            answer = Answering(menu=found.menu, option=way)
            return replace(pick, stage=Stage.CHOOSING, since=look.now, answer=answer, way=None, label=""), None, None
        answer = Answering(menu=found.menu, option=option, confirm=pick.confirm)
        return replace(pick, stage=Stage.CHOOSING, since=look.now, answer=answer, label=option.label), None, None
    if at.waited >= at.answers.close_s:
        return _fail(pick, f"{pick.command} opened no menu ({found.state.value})", "clear")
    return pick, None, None


def _choosing(pick: Picking, look: Look, at: _Moment) -> _Result:
    assert pick.answer is not None  # noqa: S101 - set with this stage
    answer, key = press(pick.answer, look, at.answers)
    pick = replace(pick, answer=answer)
    if not answer.ended:
        return pick, None, key
    if not answer.closed:
        return _fail(pick, answer.evidence, "escape")
    if not pick.label:
        return replace(pick, stage=Stage.MENU, since=look.now, answer=None), None, None
    return replace(pick, stage=Stage.AFTER, since=look.now, answer=None), None, None


def _after(pick: Picking, look: Look, at: _Moment) -> _Result:
    found = look.state
    if found.menu is not None and found.state in {State.MENU, State.WAITING_APPROVAL} and at.rested:
        chosen = _agreeing(found.menu)
        if not pick.further or chosen is None:
            return _fail(pick, f"it asks further: {found.menu.question}", "escape")
        answer = Answering(menu=found.menu, option=chosen, confirm=pick.further_confirm)
        return replace(pick, stage=Stage.CHOOSING, since=look.now, answer=answer), None, None
    if found.state is State.IDLE and found.composer is Composer.EMPTY and at.rested:
        said = [line.strip() for line in found.body if line.strip()]
        return replace(pick, ended=True, done=True, evidence=said[-1][:200] if said else ""), None, None
    if at.waited >= at.answers.close_s:
        return _fail(pick, f"what became of it was not seen ({found.state.value}: {found.evidence})")
    return pick, None, None


def _agreeing(menu: Menu) -> Option | None:
    """The option of a further question that goes on: the one that says yes, else the highlighted one."""
    yes = [option for option in menu.options if option.label.casefold().startswith("yes")]
    return yes[0] if len(yes) == 1 else menu.selected


_STAGES = {
    Stage.ROOM: _room,
    Stage.SHOWN: _shown,
    Stage.MENU: _menu,
    Stage.CHOOSING: _choosing,
    Stage.AFTER: _after,
}


def option_for(menu: Menu, wanted: str) -> Option | str:
    """The row of a model menu that a model's name means; a sentence where it is none, or more than one."""
    words = [word for word in _words(wanted) if word not in {"claude", "gpt", "model"}] or _words(wanted)
    exact = [option for option in menu.options if _words(option.label)[: len(_words(wanted))] == _words(wanted)]
    hits = exact or [option for option in menu.options if _head(option.label, words)]
    if len(hits) == 1:
        return hits[0]
    labels = ", ".join(option.label.split("  ")[0] for option in menu.options)
    return f"its menu has {'several rows' if hits else 'no row'} for {wanted[:60]}: {labels}"[:400]


def _head(label: str, words: list[str]) -> bool:
    """Whether the name in a row (what stands before two blanks) has all the words."""
    head = _words(label.split("  ", maxsplit=1)[0])
    return all(word in head for word in words)


def _words(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "." else " " for char in text.casefold()).split()
