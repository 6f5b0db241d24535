"""Which files a check consists of, as far as its command tells: pure.

    parts_of("make -s test")            -> files ("Makefile", "makefile", "GNUmakefile")
    parts_of("sh run.sh && pytest tests/") -> words ("sh", "run.sh", "pytest", "tests/"), files ("pytest.ini", ...)

A delegate that may change files may change what judges it. Whether a word names a file, the caller looks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from .check_lines import SHELLS, Simple, at, is_assignment, simple_commands

LINES, LINE = 2000, 2000
"""So many lines of a script are read, and so many characters of each."""
PLACES = 4
"""So many folders are tried for a command of which nobody knows where it runs, besides the one that seems likely."""


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
_PYTEST = (
    *("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg"),
    "conftest.py",
)
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
_INTO: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("make", "gmake"), ("-C", "--directory")),
    **dict.fromkeys(("npm", "npx", "yarn", "pnpm", "bun"), ("--prefix", "-C", "--dir", "--cwd")),
    "just": ("-d", "--working-directory"),
}
"""Program → options that name the folder in which it works."""
_READS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("make", "gmake", "rake"), ("-f", "--file", "--makefile", "--rakefile")),
    **dict.fromkeys(("pytest", "py.test", "tox"), ("-c", "--config-file", "--conf")),
    "just": ("-f", "--justfile"),
    "nox": ("-f", "--noxfile"),
}
"""Program → options that name a file which tells it what to do."""
_SCRIPTS = (".sh", ".bash", ".bats")
_TESTLIKE = re.compile(r"(?:^|[/._-])(?:tests?|specs?|checks?|verify|expected|goldens?|fixtures?|conftest)(?:$|[/._-])")


def parts_of(command: str, *, nested: bool = False) -> Parts:
    """Return what a command consists of, as far as it tells. Any text is taken.

    ``nested``: it is a line of a script, whose programs may well be what the work is about.

    A file that is merely named in it (``grep -q done notes.md``) is what the work is about, and not its judge: only
    what is run as a script, and what is called a test, counts. Names are those from the folder that it goes to:

    >>> parts_of("cd web && make -C ui -f build.mk && sh -c './t.sh'").scripts
    ('web/t.sh',)
    """
    commands, _ = simple_commands(command)
    seen = _places(commands)
    return _joined(found for one in commands for found in _wherever(one, seen, nested=nested))


def script_parts(text: str) -> Parts:
    """Return what a shell script consists of besides itself: what it sources, has a shell run, or calls a test.

    A word that begins with an expansion (``$HERE/lib.sh``, ``$(dirname "$0")/lib.sh``) is taken without it.
    """
    found: list[Simple] = []
    folder = ""
    for line in text.splitlines()[:LINES]:
        if not line.lstrip().startswith("#"):
            # What its lines are part of, a function or a subshell, is not known.
            commands, folder = simple_commands(line[:LINE], folder, certain=False)
            found += commands
    seen = _places(found)
    return replace(
        _joined(parts for one in dict.fromkeys(found) for parts in _wherever(one, seen, nested=True)), instead=()
    )


def _places(commands: Iterable[Simple]) -> list[str]:
    """Return the folders in which commands run, where they are asked for first: the line's own, then the others."""
    return list(dict.fromkeys(("", *(one.folder for one in commands))))[:PLACES]


def _wherever(one: Simple, seen: Iterable[str], *, nested: bool) -> Iterator[Parts]:
    """Give what a command consists of: where it runs, or wherever it may, if that is not certain."""
    for folder in (one.folder,) if one.certain else dict.fromkeys((one.folder, *seen)):
        yield _parts(replace(one, folder=folder), nested=nested)


def _joined(parts: Iterable[Parts]) -> Parts:
    found = list(parts)

    def every(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one for each in found for one in getattr(each, name)))

    instead = tuple(dict.fromkeys(group for each in found for group in each.instead))
    return Parts(every("words"), every("files"), every("patterns"), instead, every("shadows"), every("scripts"))


def _parts(one: Simple, *, nested: bool) -> Parts:
    """Return what one command consists of."""
    kept: dict[str, None] = {}
    scripts: dict[str, None] = {}
    begins, script = one.begins, False
    for number, word in enumerate(one.words):
        if number < begins and is_assignment(word):
            continue
        place = number == begins
        run = script and not word.startswith("-")
        if run or (place and not nested):
            kept[word] = None
        if run or word.endswith(_SCRIPTS) or (place and not nested and word.startswith("./")):
            scripts[word] = None
        if _TESTLIKE.search(word) or (word.startswith("./") and not nested) or word.endswith(_SCRIPTS):
            kept[word] = None
        script = (place and word.rpartition("/")[2] in SHELLS) or (script and word.startswith("-"))
    programs = sorted({word.rpartition("/")[2] for word in one.words})
    into = [value for name in programs for value in _values(one.words, _INTO.get(name, ()))]
    folder = at(one.folder, into[-1]) if into else one.folder
    told = [value for name in programs for value in _values(one.words, _READS.get(name, ()))]
    files = [name for program in programs for name in _FILES.get(program, ())]
    instead = (group for group in (_MAKE, _JUST) if set(group) <= set(files))
    return Parts(
        words=(*(at(one.folder, word) for word in kept), *(at(folder, word) for word in told)),
        files=tuple(at(folder, name) for name in files),
        patterns=tuple(name for program in programs for name in _PATTERNS.get(program, ())),
        instead=tuple(tuple(at(folder, name) for name in group) for group in instead),
        shadows=tuple(at(one.folder, name) for name in _shadows(one.words)),
        scripts=tuple(at(one.folder, word) for word in scripts),
    )


def _values(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Return what stands behind these options: ``-C x``, ``-Cx``, ``--directory=x``."""
    found = [after for word, after in itertools.pairwise(words) if word in options]
    for option in options:
        joined = f"{option}=" if option.startswith("--") else option
        found += [word.removeprefix(joined) for word in words if word.startswith(joined) and word != joined]
    return found


def _shadows(words: Sequence[str]) -> tuple[str, ...]:
    """``python -m pytest`` looks for pytest in the folder first."""
    tools = (name for before, name in itertools.pairwise(words) if before == "-m" and name in _TOOLS)
    return tuple(f"{name}{rest}" for name in dict.fromkeys(tools) for rest in (".py", "/__init__.py", "/__main__.py"))
