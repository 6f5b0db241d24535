"""What the lanes of CLIs share that could not be had for testing: devin, cursor, hermes, warp.

They are built from public facts and covered by a fake program alone. That is said wherever they are shown,
and their ``tested_versions`` are empty.
"""

from __future__ import annotations

from .contract import PrivateFile, ProbeFacts, Readiness, ReadinessLevel
from .launching import ARGV_PROMPT_LIMIT, version_of

UNSEEN = "Built from public facts; never run with the real program."
PROMPT_FILE = "prompt.txt"
SIGNED_IN = ("logged in", "authenticated", "signed in")
SIGNED_OUT = ("not logged in", "not authenticated", "not signed in", "logged out", "unauthenticated")


def argument(prompt: bytes, text: str) -> tuple[str, tuple[PrivateFile, ...]]:
    """Return the prompt as an argument; a long one is put into a private file, and the argument points there."""
    if len(prompt) <= ARGV_PROMPT_LIMIT:
        return text, ()
    pointer = f"Your whole task is in the file {{job}}/{PROMPT_FILE}: read all of it first, then do what it says."
    return pointer, (PrivateFile(name=PROMPT_FILE, content=prompt),)


def readiness(facts: ProbeFacts, *, binary: str, install: str, sign_in: str, keys: tuple[str, ...] = ()) -> Readiness:
    """Return how ready such a CLI is: its program, its version, and what its own status command said."""
    program = facts.host.executables.get(binary)
    if program is None:
        return Readiness(level=ReadinessLevel.ABSENT, detail=f"{binary} is not on PATH", fix=install)
    version = version_of(facts.version_output)
    name = f"{binary} {version}" if version else program
    by = next((key for key in keys if facts.host.environment.get(key) or facts.host.secrets.get(key)), None)
    by = by or _account(facts.status_output) or next(iter(sorted(facts.credentials)), None)
    return Readiness(
        level=ReadinessLevel.SIGNED_IN if by else ReadinessLevel.INSTALLED,
        detail=f"{name}, {f'{by} is there' if by else 'no sign-in seen'}; never tested with the real program",
        version=version,
        tested=False if version else None,
        fix=None if by else sign_in,
        signed_in=True if by else False if _told(facts.status_output, SIGNED_OUT) else None,
    )


def _account(status: bytes | None) -> str | None:
    if _told(status, SIGNED_OUT):
        return None
    return "a sign-in" if _told(status, SIGNED_IN) else None


def _told(status: bytes | None, phrases: tuple[str, ...]) -> bool:
    words = (status or b"")[:4096].decode("utf-8", "replace").lower()
    return any(phrase in words for phrase in phrases)
