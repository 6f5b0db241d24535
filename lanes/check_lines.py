"""The simple commands of a shell line, and the folder in which each runs, as far as the line tells: pure.

    simple_commands("cd lib && sh run.sh")  -> [Simple(("cd", "lib"), ""), Simple(("sh", "run.sh"), "lib")], then "lib"

What a shell is handed as a line (``sh -c "..."``) and what is between ``$(`` and ``)`` in quotes are commands too.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from dataclasses import dataclass

WORDS = 1000
DEPTH = 3
"""So deep are lines within lines followed."""
LONGEST = 4096
"""Of a word whose variables were filled in."""
FARTHEST = 512
"""Of the name of a folder; one that is longer is given up."""
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "source", "."})
BEFORE = frozenset(
    {"env", "exec", "time", "nice", "command", "sudo", "timeout", "xvfb-run", "then", "do", "!", "if", "{"}
)
"""Words after which the command proper follows."""
_PUNCTUATION = frozenset("();<>|&")
_BACKTICKS = re.compile(r"`([^`]*)`")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_OF_BEFORE = re.compile(r"-.*|[0-9.]+[smhd]?")
"""What belongs to a word like ``timeout`` itself."""
_MOVES = frozenset({"cd", "pushd", "popd"})
_WITHIN = re.compile(r"(?<=[^\s();<>|&])#")
_MASK = "\ue023"
"""What stands for a ``#`` within a word, where it begins no comment, while a line is parted."""


@dataclass(frozen=True, slots=True)
class Simple:
    """One command: its words, without redirections, and where it runs ("": where the line does)."""

    words: tuple[str, ...]
    folder: str = ""
    certain: bool = True
    """Whether it runs there: not after ``popd``, ``cd -``, a ``cd`` in a function, or one that may not be reached."""

    @property
    def begins(self) -> int:
        """Where its program is, after assignments and words like ``timeout 5``; the number of words if nowhere."""
        wrapped = False
        for number, word in enumerate(self.words):
            if word in BEFORE:
                wrapped = True
            elif not (is_assignment(word) or (wrapped and _OF_BEFORE.fullmatch(word))):
                return number
        return len(self.words)


def simple_commands(
    text: str, folder: str = "", depth: int = DEPTH, *, certain: bool = True
) -> tuple[list[Simple], str]:
    """Return the commands of a line that runs in ``folder``, and the folder that it ends in. Any text is taken."""
    found: list[Simple] = []
    words: list[str] = []
    known = {"PWD": "."}
    around: list[tuple[str, bool]] = []
    before, perhaps = ";", False
    for piece in (*_tokens(text), ";"):
        if not set(piece) <= _PUNCTUATION:
            words.append(_filled(piece, known))
            if depth and "$(" in piece:
                inner = piece.partition("$(")[2].rpartition(")")[0]
                found += simple_commands(inner, folder, depth - 1, certain=certain)[0]
            continue
        if words:
            one = Simple(tuple(words), folder, certain)
            found.append(one)
            found += simple_commands(_handed(one), folder, depth - 1, certain=certain)[0] if depth else []
            known |= _assigned(words)
            folder = at(folder, _entered(one))
            folder = folder if len(folder) <= FARTHEST else ""
            certain = certain and _is_plain(one, before, piece)
            perhaps |= before == "&&" and one.words[0] in _MOVES
            words = []
        # What follows && together is reached together; what comes after it is reached without it, too.
        certain, perhaps = certain and not (perhaps and piece != "&&"), perhaps and piece == "&&"
        for sign in piece:
            if sign == "(":
                around.append((folder, certain))
            elif sign == ")" and around:
                folder, certain = around.pop()
        before = piece
    return found[:WORDS], folder


def at(folder: str, word: str) -> str:
    """Return a path of a command as seen from where its line runs."""
    return posixpath.normpath(posixpath.join(folder, word)) if folder and word else folder or word


def is_assignment(word: str) -> bool:
    """Whether a word before a program sets a variable."""
    return "=" in word.partition("/")[0]


def unexpanded(word: str) -> str:
    """Return a word without the expansion that it begins with.

    >>> [unexpanded(word) for word in ("$HERE/a/b.sh", "$(dirname $0)/lib.sh", "${D}/x.sh", "a/$B.sh", "$A")]
    ['a/b.sh', 'lib.sh', 'x.sh', 'a/$B.sh', '$A']
    """
    if not word.startswith("$"):
        return word
    after = max(word.rfind(")"), word.rfind("}"))
    rest = word[after + 1 :] if after >= 0 else word.partition("/")[2]
    return rest.lstrip("/") or word


def _filled(word: str, known: dict[str, str]) -> str:
    filled = _VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), word)
    return unexpanded(filled[:LONGEST])


def _assigned(words: list[str]) -> dict[str, str]:
    """Return the variables that a command of nothing else sets."""
    pairs = [word.partition("=") for word in words]
    return {name: value for name, _, value in pairs} if all(map(is_assignment, words)) else {}


def _entered(one: Simple) -> str:
    """Return the folder into which a ``cd`` goes; "" where it is none, or nobody knows."""
    name, *rest = one.words[one.begins :] or ("",)
    target = next((word for word in rest if not word.startswith("-")), "")
    return target if name in {"cd", "pushd"} and not target.startswith(("$", "~")) else ""


def _is_plain(one: Simple, before: str, after: str) -> bool:
    """Whether one knows where the next command runs, by the signs around this one: it is no ``cd``, or a plain one."""
    if not _MOVES.intersection(one.words):
        return True
    reached = before.strip("(") in {"", ";", "&&"} and after.strip(")") not in {"|", "&"}
    return reached and one.words[0] in _MOVES and _entered(one) != ""


def _handed(one: Simple) -> str:
    """Return the line that a shell is handed with ``-c``."""
    name, *rest = one.words[one.begins :] or ("",)
    if name.rpartition("/")[2] not in SHELLS:
        return ""
    options = (number for number, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c", word))
    return next((rest[number + 1] for number in options if number + 1 < len(rest)), "")


def _tokens(text: str) -> list[str]:
    """Return words and signs; a line's end is a sign as well."""
    text = text.replace("\\\n", " ").replace("\n", "\n;\n").replace("$(pwd)", "$PWD")
    text = _WITHIN.sub(_MASK, _BACKTICKS.sub(r"$(\1)", text))
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        words = text.split()
    return [word.replace(_MASK, "#") for word in words[:WORDS] if word and "\0" not in word]
