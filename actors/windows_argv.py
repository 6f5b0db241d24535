"""A program's words on Windows: which file a name means, and one line that gives every word unchanged. Pure.

Windows starts a program with one line of text that the program itself cuts into words. A ``.cmd`` or ``.bat`` file, as
npm makes for every CLI, is read by the command processor first, to which ``%`` and ``"`` and ``&`` say something; a
``.ps1`` file is run by PowerShell. Written to the documentation of ``cmd.exe``, ``CommandLineToArgvW`` and PowerShell.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PureWindowsPath

PATHEXT = ".COM;.EXE;.BAT;.CMD"
"""Where the environment does not say it."""
BATCH = frozenset({".bat", ".cmd"})
POWERSHELL = ".ps1"
LINE_LIMIT = 32_767
"""Longest line a process can be started with, its end included."""
BATCH_LIMIT = 8_191
"""Longest line that the command processor takes."""
NOTHING = "%cd:~,%"
"""A variable that is always there, cut to no length: between it and a percent sign no variable's name can begin."""


APART = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Out of reach of its starter's Ctrl-C, and on a console that nobody sees."""


def comspec(env: Mapping[str, str]) -> str:
    """Return the command processor that an environment names, the usual one else. Names have no case there."""
    named = next((value for name, value in env.items() if name.upper() == "COMSPEC" and value.strip()), None)
    return named or "cmd.exe"


def startable(argv: Sequence[str], env: Mapping[str, str]) -> Sequence[str] | str:
    """Return what ``subprocess`` starts these words by, on the system that we are on. Raises ValueError, as below."""
    return command_line(argv, comspec=comspec(env)) if sys.platform == "win32" else argv


def find_program(name: str, path: str, pathext: str, is_file: Callable[[str], bool]) -> str | None:
    """Return the file that ``name`` means, or None: each folder of ``path`` in turn, in it each ending of ``pathext``.

    PowerShell's ``.ps1`` comes last. A file without an ending is a shell script of npm's and no program here. The
    current folder is not looked in, nor a relative one: what lies in a project must not pass for a program.
    """
    endings = [ending.lower() for ending in (pathext or PATHEXT).split(";") if ending.startswith(".")]
    endings += [POWERSHELL] if POWERSHELL not in endings else []
    names = [name] if PureWindowsPath(name).suffix.lower() in endings else [name + ending for ending in endings]
    if PureWindowsPath(name).name != name:
        return next((one for one in names if is_file(one)), None)
    folders = [PureWindowsPath(folder.strip('"')) for folder in path.split(";") if folder]
    places = (str(folder / one) for folder in folders if folder.is_absolute() for one in names)
    return next((place for place in places if is_file(place)), None)


def command_line(argv: Sequence[str], *, comspec: str, powershell: str = "powershell.exe") -> str:
    """Return the line that starts ``argv`` so that it gets these very words.

    Raises ValueError with a sentence for what no line can say: a NUL, a line break for a ``.cmd`` file, too much.
    """
    program = argv[0]
    if any("\0" in word for word in argv):
        raise ValueError("a word of the command holds a NUL")
    ending = PureWindowsPath(program).suffix.lower()
    if is_batch(program):
        return _within(_batch_line(argv, comspec), BATCH_LIMIT, program)
    if ending == POWERSHELL:
        argv = (powershell, "-NoLogo", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File", *argv)
    return _within(subprocess.list2cmdline(argv), LINE_LIMIT, program)


def _batch_line(argv: Sequence[str], comspec: str) -> str:
    r"""Return the line for the command processor: ``/d`` runs no AutoRun, ``/v:off`` leaves ``!`` alone.

    The outermost quotes are the ones that ``/c`` takes away when the line begins with one.
    """
    return f'"{comspec}" /d /e:on /v:off /s /c "{batch_words(argv)}"'


def is_batch(program: str) -> bool:
    """Whether the command processor reads a program's words before the program does."""
    return PureWindowsPath(program).suffix.lower() in BATCH


def batch_words(argv: Sequence[str]) -> str:
    """Return the part of such a line that starts a batch file. Raises ValueError for what it can't say."""
    if any("\n" in word or "\r" in word for word in argv):
        raise ValueError(f"{argv[0]} is a batch file: no word for it can hold a line break")
    if '"' in argv[0]:
        raise ValueError("the name of a program can't hold a quotation mark")
    return " ".join((f'"{_percent(argv[0])}"', *map(_batch_word, argv[1:])))


def _batch_word(word: str) -> str:
    """Return a word in quotes, in which only ``"`` and ``%`` still say something to the command processor.

    A quotation mark is doubled: both the processor and the program then take the two for one, and stay inside.
    """
    parts = word.split('"')
    return '"' + '""'.join(part + _trailing(part) for part in map(_percent, parts)) + '"'


def _trailing(part: str) -> str:
    """Return the backslashes at the end once more: before a quotation mark a program takes two for one."""
    return "\\" * (len(part) - len(part.rstrip("\\")))


def _percent(text: str) -> str:
    return text.replace("%", f"%{NOTHING}")


def _within(line: str, limit: int, program: str) -> str:
    if len(line.encode("utf-16-le", "surrogatepass")) // 2 >= limit:
        raise ValueError(f"the command of {program} is too long for this system: {limit - 1} characters at most")
    return line
