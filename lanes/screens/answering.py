"""Answering a dialog: the wanted option is highlighted first, seen to be, and only then taken.

    choice = choose(menu, "Yes")                 # an Option, or a sentence why not
    answer = Answering(menu, option)
    answer, key = press(answer, look, policy)    # until answer.ended

Never a blind Enter: between two keys the screen is read again, the dialog must still be the same, and its close
is verified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from .delivery import Look
from .model import Menu, Option

AFFIRMATIVE = ("yes", "allow once", "yes, proceed", "approve", "yes, allow once", "allow", "proceed")
ALWAYS = ("yes, and", "always allow", "allow always", "allow for this", "yes, allow always")
NEGATIVE = ("no", "reject", "deny", "cancel", "don't trust", "no, exit")
KEYS = {
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "enter": "\r",
    "escape": "\x1b",
    "tab": "\t",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerPolicy:
    """Bounds in seconds."""

    settle_s: float = 0.15
    restless_s: float = 1.0
    """So long a dialog of letters is waited for to rest: Cline 3.0.65 goes on turning a spinner beside it."""
    step_s: float = 3.0
    """How long a key may take to show before it is pressed again."""
    moves: int = 60
    close_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """One answer on its way."""

    menu: Menu
    option: Option
    confirm: str = "enter"
    """The key that takes the highlighted option."""
    since: float | None = None
    moves: int = 0
    last: int | None = None
    """Which option was highlighted when the last key was pressed."""
    again: bool = False
    """Whether a key was pressed that may have been pressed already: where the highlight ends is not sure at once."""
    taken: bool = False
    ended: bool = False
    closed: bool = False
    """Whether the dialog was seen to close after the choice."""
    evidence: str = ""


def choose(menu: Menu, choice: str) -> Option | str:
    """The option that is meant: by number, letter, label, or ``yes``, ``always``, ``no``; else a sentence why not."""
    wanted = " ".join(choice.split()).casefold()
    labels = ", ".join(f"{option.index} {option.label}" for option in menu.options)
    if wanted.isdecimal():
        found = [option for option in menu.options if option.index == int(wanted[:6])]
        return found[0] if len(found) == 1 else f"there is no option {wanted[:6]}; there are: {labels}"
    exact = [option for option in menu.options if wanted in {option.label.casefold(), (option.key or "").casefold()}]
    if len(exact) == 1:
        return exact[0]
    for words in (
        AFFIRMATIVE if wanted in {"yes", "y"} else (),
        ALWAYS if wanted == "always" else (),
        NEGATIVE if wanted in {"no", "n"} else (),
    ):
        for word in words:
            hits = [option for option in menu.options if _says(option.label.casefold(), word)]
            if hits:
                return hits[0]
    within = [option for option in menu.options if wanted and wanted in option.label.casefold()]
    if len(within) == 1:
        return within[0]
    return f"“{choice[:60]}” names {'several options' if within else 'no option'}; there are: {labels}"


def _says(label: str, word: str) -> bool:
    return label == word or (label.startswith(word) and not label[len(word) : len(word) + 1].isalnum())


def press(answer: Answering, look: Look, policy: AnswerPolicy) -> tuple[Answering, str | None]:
    """Take a look into account. Returns the answer as it is now, and a key: a name of ``KEYS``, or a letter."""
    if answer.ended:
        return answer, None
    since = look.now if answer.since is None else answer.since
    answer = replace(answer, since=since)
    menu = look.state.menu
    same = menu is not None and menu.fingerprint == answer.menu.fingerprint
    waited = look.now - since
    if answer.taken:
        return _closing(answer, look, policy, same=same, waited=waited), None
    if not same:
        if waited < policy.step_s and look.quiet_s < policy.settle_s:
            return answer, None
        why = f"the dialog is gone ({look.state.state.value})" if menu is None else "another dialog is there now"
        return replace(answer, ended=True, evidence=f"not answered: {why}"), None
    assert menu is not None  # noqa: S101 - it is the same menu
    return _moving(answer, look, menu, policy)


def _closing(answer: Answering, look: Look, policy: AnswerPolicy, *, same: bool, waited: float) -> Answering:
    if not same and (look.quiet_s >= policy.settle_s or waited >= policy.step_s):
        return replace(
            answer,
            ended=True,
            closed=True,
            evidence=f"“{answer.option.label[:80]}” was chosen; now {look.state.state.value}",
        )
    if waited >= policy.close_s:
        return replace(answer, ended=True, evidence="the choice was made, but the dialog was not seen to close")
    return answer


def _moving(answer: Answering, look: Look, menu: Menu, policy: AnswerPolicy) -> tuple[Answering, str | None]:
    stood = answer.option.key is not None and look.now - (answer.since or 0.0) >= policy.restless_s
    resting = look.quiet_s >= policy.settle_s or stood
    sure = not answer.again or look.now - (answer.since or 0.0) >= policy.step_s
    if not resting or not sure or not look.flushed or look.drained is False:
        return answer, None
    here = menu.selected
    if answer.option.key is not None or (here is not None and here.index == answer.option.index):
        return replace(answer, taken=True, since=look.now), answer.option.key or answer.confirm
    waiting = look.now - (answer.since or 0.0) < policy.step_s
    if waiting and (here is None or answer.last == here.index):
        return answer, None
    if here is None:
        return replace(answer, ended=True, evidence="not answered: no option is seen to be highlighted"), None
    if answer.moves >= policy.moves:
        return replace(answer, ended=True, evidence="not answered: the highlight did not reach the option"), None
    back, forth = ("left", "right") if menu.across else ("up", "down")
    places = [option.index for option in menu.options]
    key = forth if places.index(answer.option.index) > places.index(here.index) else back
    again = answer.again or answer.last == here.index
    return replace(answer, moves=answer.moves + 1, last=here.index, since=look.now, again=again), key
