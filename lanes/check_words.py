"""Which files a check consists of, as far as its command tells: pure.

    parts_of("make -s test")            -> files ("Makefile", "makefile", "GNUmakefile")
    parts_of("sh run.sh && pytest tests/") -> words ("sh", "run.sh", "pytest", "tests/"), files ("pytest.ini", ...)

A delegate that may change files may change what judges it. Whether a word names a file, the caller looks.
"""

from __future__ import annotations

import itertools
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
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
_GIVEN = re.compile(r"-[a-z]*c")
"""The option of a shell before a line that it runs."""
_GOES_TO: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("make", "gmake"), frozenset({"-C", "--directory"})),
    **dict.fromkeys(("npm", "npx"), frozenset({"--prefix"})),
    "yarn": frozenset({"--cwd"}),
    "pnpm": frozenset({"-C", "--dir"}),
    "bun": frozenset({"--cwd"}),
}
"""Program → options that name the folder it goes to."""
_READS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("make", "gmake"), frozenset({"-f", "--file", "--makefile"})),
    "just": frozenset({"-f", "--justfile"}),
}
"""Program → options that name the file it reads."""
_SCRIPTS = (".sh", ".bash", ".bats")
_PUNCTUATION = frozenset("();<>|&")
_TESTLIKE = re.compile(r"(?:^|[/._-])(?:tests?|specs?|checks?|verify|expected|goldens?|fixtures?|conftest)(?:$|[/._-])")


def parts_of(command: str, *, nested: bool = False) -> Parts:
    """Return what a command consists of, as far as it tells. Any text is taken.

    ``nested``: it is a line of a script, whose programs may well be what the work is about.

    A file that is merely named in it (``grep -q done notes.md``) is what the work is about, and not its judge: only
    what is run as a script, and what is called a test, counts. Names are those from the folder that it goes to:

    >>> parts_of("cd web && make -C ui -f build.mk && sh -c './t.sh'").scripts
    ('web/t.sh',)
    """
    found = _Found(nested)
    found.read(command, "")
    return found.parts()


class _Found:
    """What was found in a command so far."""

    def __init__(self, nested: bool) -> None:
        self.nested = nested
        self.kept: dict[str, None] = {}
        self.scripts: dict[str, None] = {}
        self.direct: dict[str, None] = {}
        self.programs: set[tuple[str, str]] = set()
        """Where it is run, and its name."""
        self.shadows: dict[str, None] = {}

    def read(self, command: str, folder: str) -> None:
        """Take in a line that is run in a folder."""
        for words, place in _simple(_words(command), folder):
            self._take(words, place)

    def _take(self, words: list[str], folder: str) -> None:
        """Take in a simple command: a program and its words."""
        place, script, before = True, False, ""
        folder_of = next((_under(folder, word) for word in _values(words, _GOES_TO)), folder)
        for file in _values(words, _READS):
            self.kept[_under(folder_of, file)] = None
        for word in words:
            if place and "=" in word.partition("/")[0]:
                continue
            name, here = word.rpartition("/")[2], _under(folder, word)
            run = script and not place and not word.startswith("-")
            if run and _GIVEN.fullmatch(before):
                self.read(word, folder)  # shorter than the line that it is a word of
                run = False
            if run or (place and not self.nested):
                self.kept[here] = None
            if run or word.endswith(_SCRIPTS):
                self.scripts[here] = None
            self.programs.add((folder_of, name))
            script = (place and name in _SHELLS) or (script and word.startswith("-") and not place)
            place, before = place and name in _BEFORE, word
            own = word.startswith("./") and not self.nested
            if _TESTLIKE.search(word) or own or word.endswith(_SCRIPTS):
                self.kept[here] = None
            if own:
                self.direct[here] = None
        self.shadows |= dict.fromkeys(_under(folder, name) for name in _shadows(words))

    def parts(self) -> Parts:
        """Return what was found."""
        programs = sorted(self.programs)
        files = tuple(_under(folder, file) for folder, name in programs for file in _FILES.get(name, ()))
        patterns = tuple(dict.fromkeys(name for _, program in programs for name in _PATTERNS.get(program, ())))
        folders = dict.fromkeys(folder for folder, _ in programs)
        groups = (tuple(_under(folder, one) for one in group) for folder in folders for group in (_MAKE, _JUST))
        instead = tuple(group for group in groups if set(group) <= set(files))
        return Parts(tuple(self.kept), files, patterns, instead, tuple(self.shadows), tuple(self.scripts | self.direct))


def _simple(words: list[str], folder: str) -> Iterator[tuple[list[str], str]]:
    """Part a line's words into simple commands, each with the folder that ``cd`` went to before it."""
    outer: list[str] = []
    here: list[str] = []
    for word in (*words, ";"):
        if not set(word) <= _PUNCTUATION:
            here.append(word)
            continue
        yield here, folder
        folder, here = _entered(here, folder), []
        for sign in word:
            if sign == "(":
                outer.append(folder)
            elif sign == ")" and outer:
                folder = outer.pop()


def _entered(words: list[str], folder: str) -> str:
    """Return the folder after a command: another one after a ``cd`` to what is known."""
    proper = list(itertools.dropwhile(lambda word: word in _BEFORE or "=" in word, words))
    named = [word for word in proper[1:] if not word.startswith("-")]
    if proper[:1] != ["cd"] or not named or named[0].startswith(("$", "~", "`")):
        return folder
    return _under(folder, named[0])


def _under(folder: str, word: str) -> str:
    """Return a name as it is from where the line is run.

    >>> [_under("a", word) for word in ("./x.sh", "../y", "/z", "$HERE/lib.sh", "..")], _under("", "./x.sh")
    (['a/x.sh', 'y', '/z', '$HERE/lib.sh', ''], './x.sh')
    """
    if not folder or word.startswith("$"):
        return word
    joined = posixpath.normpath(posixpath.join(folder, word))
    return "" if joined == "." else joined


def _values(words: list[str], options: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """Return what a command's program is given with these options: as the next word, after ``=``, or stuck to it."""
    known = next((options[name] for word in words if (name := word.rpartition("/")[2]) in options), frozenset())
    for word, after in itertools.pairwise((*words, "")):
        name, sign, value = word.partition("=")
        if word in known and after:
            yield after
        elif sign and value and name in known:
            yield value
        elif len(word) > len("-C") and word[:2] in known:
            yield word[2:]


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
