"""The word that was meant: for a command, an option or a value that there is not. Only on the way to an error."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import click

from .errors import CliError

_SAME = {"status": ("list", "ls"), "list": ("ls",), "ls": ("list",), "ps": ("status", "list", "ls")}
"""What a word from another program is called here, where that exists."""
_NEAR = 0.6
"""How alike two words are at least, from 0 to 1; below that a suggestion is a guess that misleads."""


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Return the one of the known words that was most likely meant, or None.

    What is a beginning of just one of them means that one.
    """
    if not word.strip("-"):
        return None
    begun = [one for one in known if one.startswith(word.lower())]
    if len(begun) == 1:
        return begun[0]
    same = next((one for one in _SAME.get(word.lower(), ()) if one in known), None)
    return same or next(iter(difflib.get_close_matches(word.lower(), known, n=1, cutoff=_NEAR)), None)


def meant(word: str, known: Sequence[str]) -> str:
    """Return `` Did you mean 'x'?``, with the space before it, or nothing."""
    near = nearest(word, known)
    return f" Did you mean {near!r}?" if near else ""


def suggesting(error: CliError, token: str, names: Sequence[str]) -> CliError:
    """Return the refusal of a word that names nothing here, with the nearest of the names that there are."""
    near = "" if token[:1].isdigit() else meant(token, names)  # an id is no slip of a name
    return CliError(error.code, f"{error.message}.{near}" if near else error.message, error.hint)


def unknown_word(word: str, known: Sequence[str], path: str) -> str:
    """Return the sentence for a word that is no command."""
    if word.startswith("-"):
        return f"No such option: {word}"
    if any(character.isspace() for character in word):
        return f'No such command. A task needs a verb: {path} run "..."'
    return f"No such command {word!r}." + meant(word, known)


def unknown_option(word: str, context: click.Context | None) -> str:
    """Return the sentence for a word that is no option of that command."""
    known = [name for parameter in context.command.params for name in parameter.opts] if context is not None else []
    return f"No such option {word!r}." + meant(word, [name for name in known if name.startswith("--")])
