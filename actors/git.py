"""Every call of git that is ours: bounded in time, alone in its environment, and running nothing of the repository.

Hooks and the file monitor that a repository names are not run, nobody is asked for a password, and no ``GIT_*``
variable of the caller (whose ``GIT_DIR`` may be another repository's) reaches it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LOOK_S = 20.0
"""How long a call may take that only looks."""
MESSAGE_LIMIT = 300

_QUIET = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "advice.detachedHead=false",
)
AUTHOR = ("-c", "user.name=outsourcerer-delegate", "-c", "user.email=delegate@outsourcerer.invalid")
"""Who commits what a delegate could not commit itself."""


class GitError(Exception):
    """A call that failed; the sentence says what git said, or why it could not be asked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call ended."""

    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Its output as one line: a path or an id."""
        return os.fsdecode(self.out.removesuffix(b"\n"))

    @property
    def complaint(self) -> str:
        """What it said went wrong: its own ``fatal`` or ``error`` line where there is one."""
        lines = [line.strip() for line in self.err.decode("utf-8", "replace").splitlines() if line.strip()]
        told = [line for line in lines if line.startswith(("fatal:", "error:"))]
        first = (told or lines or [f"git ended with {self.code}"])[0]
        printable = "".join(character if character.isprintable() else "?" for character in first)
        return printable.removeprefix("fatal: ").removeprefix("error: ")[:MESSAGE_LIMIT]


def ask_git(
    folder: str,
    words: Sequence[str],
    *,
    timeout_s: float = LOOK_S,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> Answer:
    """Call git in a folder and return how it ended, whatever the exit code.

    Raises GitError where there is no git, or it takes too long: then it is killed.
    """
    seen = os.environ if environment is None else environment
    program = shutil.which("git", path=seen.get("PATH", os.defpath))
    if program is None:
        raise GitError("git is not installed")
    try:
        done = subprocess.run(
            (program, *_QUIET, *words),
            cwd=folder,
            env=_environment(seen),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise GitError(f"git {words[0]} took longer than {timeout_s:.0f} s") from None
    except (OSError, ValueError) as error:
        raise GitError(f"git can't be run in {folder!a}: {getattr(error, 'strerror', None) or error}") from None
    return Answer(done.returncode, done.stdout, done.stderr)


def git(folder: str, *words: str, timeout_s: float = LOOK_S) -> Answer:
    """Call git in a folder; raises GitError also where it fails."""
    answer = ask_git(folder, words, timeout_s=timeout_s)
    if answer.code != 0:
        raise GitError(answer.complaint)
    return answer


def _environment(seen: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in seen.items() if not name.startswith("GIT_")}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "LANGUAGE": ""}
