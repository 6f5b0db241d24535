"""How a check's line is given to the person's shell: ``/bin/sh``, or on Windows what ``COMSPEC`` names. Pure.

Written to the documentation of ``cmd.exe`` and PowerShell; never run there.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import PureWindowsPath

from .windows_argv import BATCH_LIMIT, LINE_LIMIT, comspec

SHELL = "/bin/sh"
_POWERSHELLS = frozenset({"powershell", "pwsh"})
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "busybox"})


def check_words(command: str, env: Mapping[str, str], platform: str) -> list[str] | str:
    """Return the words that run the line, or the one line that does where ``cmd.exe`` reads it.

    Raises ValueError with a sentence for a line that can't be given whole.
    """
    if "\0" in command:
        raise ValueError("the check's command holds a NUL")
    if platform != "win32":
        return [SHELL, "-c", command]
    processor = comspec(env)
    kind = PureWindowsPath(processor).stem.lower()
    if kind in _SHELLS:
        words = [processor, *(("sh",) if kind == "busybox" else ()), "-c", command]
        return _within(words, LINE_LIMIT, processor)
    if kind in _POWERSHELLS:
        return _within(
            [processor, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", command], LINE_LIMIT, processor
        )
    return _within(cmd_line(command, processor), BATCH_LIMIT, processor)


def cmd_line(command: str, processor: str) -> str:
    """Return the line for ``cmd.exe``: ``/d`` runs no AutoRun; with ``/s`` only the outermost quotes are taken away.

    What is between them is the person's own line, unchanged: they wrote it for this shell. Raises ValueError.
    """
    if "\n" in command.strip() or "\r" in command.strip():
        raise ValueError("the check has several lines, of which cmd.exe would run the first: join them with &&")
    if '"' in processor:
        raise ValueError("COMSPEC holds a quotation mark")
    return f'"{processor}" /d /s /c "{command.strip()}"'


def _within(words: list[str] | str, limit: int, processor: str) -> list[str] | str:
    line = words if isinstance(words, str) else subprocess.list2cmdline(words)
    if len(line.encode("utf-16-le", "surrogatepass")) // 2 >= limit:
        raise ValueError(f"the check's command is too long for {processor}: {limit - 1} characters at most")
    return words
