"""Which files a check consists of, as far as its command tells: pure.

    parts_of("make -s test")            -> files ("Makefile", "makefile", "GNUmakefile")
    parts_of("sh run.sh && pytest tests/") -> words ("sh", "run.sh", "pytest", "tests/"), files ("pytest.ini", ...)

A delegate that may change files may change what judges it. Whether a word names a file, the caller looks.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

WORDS = 1000
LINES, LINE = 2000, 2000
"""So many lines of a script are read, and so many characters of each."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What may belong to a check, relative to where it runs."""

    words: tuple[str, ...]
    """Words that may name a file or a folder of it; of a folder, the files in it."""
    files: tuple[str, ...]
    """Files that its programs read without being told."""
    patterns: tuple[str, ...] = ()
    """Names of files anywhere below, where the command names no folder."""
    instead: tuple[tuple[str, ...], ...] = ()
    """Files of which a program takes one: a new one stands in for the one that was there."""
    shadows: tuple[str, ...] = ()
    """Files that would be run instead of the check's own program if they were there."""
    scripts: tuple[str, ...] = ()
    """Those of the words that a shell runs, which may run others in turn."""


_MAKE = ("Makefile", "makefile", "GNUmakefile")
_NODE = ("package.json",)
_PYTEST = ("pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "conftest.py")
_JUST = ("justfile", "Justfile", ".justfile")
_FILES: Mapping[str, tuple[str, ...]] = {
    "make": _MAKE,
    "gmake": _MAKE,
    "npm": _NODE,
    "npx": _NODE,
    "yarn": _NODE,
    "pnpm": _NODE,
    "bun": _NODE,
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": _JUST,
    "rake": ("Rakefile",),
}
"""Program → files that it reads without being told."""
_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "pytest": ("test_*.py", "*_test.py", "conftest.py"),
    "py.test": ("test_*.py", "*_test.py", "conftest.py"),
    "unittest": ("test*.py",),
    "go": ("*_test.go",),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun", "jest", "vitest", "mocha"), ("*.test.?s*", "*.spec.?s*")),
}
"""Program → names of files that it finds by itself."""


_TOOLS = frozenset({*_FILES, *_PATTERNS, "coverage", "doctest", "mypy", "pyright", "ruff", "flake8", "pylint"})
"""What judges, and is a Python module."""
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "source", "."})
_BEFORE = frozenset(
    {"env", "exec", "time", "nice", "command", "sudo", "timeout", "xvfb-run", "then", "do", "!", "if", "{"}
)
"""Words after which the command proper follows."""
_SCRIPTS = (".sh", ".bash", ".bats")
_PUNCTUATION = frozenset("();<>|&")
_TESTLIKE = re.compile(r"(?:^|[/._-])(?:tests?|specs?|checks?|verify|expected|goldens?|fixtures?|conftest)(?:$|[/._-])")


def parts_of(command: str, *, nested: bool = False) -> Parts:
    """Return what a command consists of, as far as it tells. Any text is taken.

    ``nested``: it is a line of a script, whose programs may well be what the work is about.

    A file that is merely named in it (``grep -q done notes.md``) is what the work is about, and not its judge: only
    what is run as a script, and what is called a test, counts.
    """
    words = _words(command)
    kept: dict[str, None] = {}
    scripts: dict[str, None] = {}
    programs: set[str] = set()
    place = script = True
    for word in words:
        if set(word) <= _PUNCTUATION:
            place, script = True, False
            continue
        name = word.rpartition("/")[2]
        if place and "=" in word.partition("/")[0]:
            continue
        if (script and not place) or (place and not nested):
            kept[word] = None
        if (script and not place) or word.endswith(_SCRIPTS):
            scripts[word] = None
        programs.add(name)
        script = (place and name in _SHELLS) or (script and word.startswith("-") and not place)
        place = place and name in _BEFORE
        if _TESTLIKE.search(word) or (word.startswith("./") and not nested) or word.endswith(_SCRIPTS):
            kept[word] = None
    files = tuple(file for program in sorted(programs) for file in _FILES.get(program, ()))
    patterns = tuple(dict.fromkeys(name for program in sorted(programs) for name in _PATTERNS.get(program, ())))
    instead = tuple(group for group in (_MAKE, _JUST) if set(group) <= set(files))
    direct = [word for word in kept if word.startswith("./") and not nested]
    return Parts(tuple(kept), files, patterns, instead, _shadows(words), (*scripts, *direct))


def script_parts(text: str) -> Parts:
    """Return what a shell script consists of besides itself: what it sources, has a shell run, or calls a test.

    A word that begins with an expansion (``$HERE/lib.sh``, ``$(dirname "$0")/lib.sh``) is taken without it.
    """
    found = [parts_of(line[:LINE], nested=True) for line in text.splitlines()[:LINES] if not line.startswith("#")]

    def joined(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_unexpanded(word) for one in found for word in getattr(one, name)))

    return Parts(joined("words"), joined("files"), joined("patterns"), (), joined("shadows"), joined("scripts"))


def _unexpanded(word: str) -> str:
    """Return a word without the expansion that it begins with.

    >>> [_unexpanded(word) for word in ("$HERE/a/b.sh", "$(dirname $0)/lib.sh", "${D}/x.sh", "a/$B.sh")]
    ['a/b.sh', 'lib.sh', 'x.sh', 'a/$B.sh']
    """
    if not word.startswith("$"):
        return word
    after = max(word.rfind(")"), word.rfind("}"))
    rest = word[after + 1 :] if after >= 0 else word.partition("/")[2]
    return rest.lstrip("/")


def _shadows(words: list[str]) -> tuple[str, ...]:
    """``python -m pytest`` looks for pytest in the folder first."""
    tools = (name for before, name in itertools.pairwise(words) if before == "-m" and name in _TOOLS)
    return tuple(f"{name}{rest}" for name in dict.fromkeys(tools) for rest in (".py", "/__init__.py", "/__main__.py"))


def _words(command: str) -> list[str]:
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        words = command.split()
    return [word for word in words[:WORDS] if word and "\0" not in word]
