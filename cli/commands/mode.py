"""``osrc mode``: how a person wants work handed on."""

from __future__ import annotations

import os

import click

from ...state import driving_mode as kept
from ..in_delegate import refuse_delegate
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home

_MEANS = {
    "auto": "run follows advice where no model is named; it never spends cash unasked",
    "manual": "nothing is chosen by advice; osrc advise tells it",
    "hybrid": "run says what advice would take, and chooses as always",
}
_WORDS = ("auto", "manual", "hybrid", "reset", "A", "B", "C")


@click.command(cls=Command)
@click.argument("word", metavar="[auto|manual|hybrid|reset]", required=False, type=click.Choice(_WORDS, False))
@click.pass_obj
def mode(options: Globals, word: str | None) -> None:
    """Say or set the driving mode: A auto, B manual, C hybrid. It is remembered; reset forgets it.

    A host agent reads it to know whether to hand work on by itself (auto), only when told to (manual), or to
    propose it first (hybrid).
    """
    home = full_home(os.environ, options.home)
    if word is not None:
        refuse_delegate("change the driving mode")
    if word is not None and word.lower() == "reset":
        kept.forget_mode(home)
    elif word is not None:
        kept.write_mode(home, kept.word_of(word) or word)
    now, note = kept.seen_mode(home)
    if options.json:
        letter = kept.MODES.get(now or "")
        answer_json({"mode": now, "letter": letter, "path": str(kept.mode_file(home)), "note": note})
        return
    if note is not None:
        say(f"note: {note}")
    if now is None:
        answer("no driving mode is set: run chooses as always; osrc mode auto|manual|hybrid sets one")
    else:
        answer(f"{now} ({kept.MODES[now]}): {_MEANS[now]}")
