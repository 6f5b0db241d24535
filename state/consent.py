"""Consent, given once, that work may leave this machine: a small text file in the state home.

    granted-at: 2026-11-30T12:00:00Z
    granted-by: ada (uid 1000)
    how: osrc consent grant
    scope: cloud lanes get the task, and what they read while they work
    revoke: osrc consent revoke

A file that others could have put there is no consent.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from .errors import StateError, printable
from .files import FILES, Files, read_private, write_private
from .home import Home

CONSENT = "cloud-consent"
LIMIT = 4096
SCOPE = "cloud lanes get the task, and what they read while they work"
_WORD_LIMIT = 200
_ROW = re.compile(r"([a-z-]{1,40})[:= \t](.*)")
"""``key: value``; the predecessor's mark between them is not the same everywhere."""
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Consent:
    """Who agreed, when and how; words as they are shown."""

    at: str
    by: str
    how: str


class Answer(StrEnum):
    """What consent says about one dispatch."""

    STANDS = "stands"
    """It was given before."""
    GIVEN = "given"
    """It is given with this very call, and is to be kept."""
    NEEDED = "needed"
    DECLINED = "declined"
    """Refused for this call, whatever was agreed to before."""


def decide(*, ack: bool | None, flag: bool, stored: Consent | None) -> Answer:
    """Return what holds. ``ack`` is ``OSRC_CLOUD_ACK``, None where it is not set; ``flag`` is ``--cloud-ack``.

    A no outranks everything: it is said about this call, or by whoever set up the environment.
    """
    if ack is False:
        return Answer.DECLINED
    if stored is not None:
        return Answer.STANDS
    return Answer.GIVEN if ack or flag else Answer.NEEDED


def consent_file(home: Home) -> Path:
    """Return where it is kept."""
    return home.root / CONSENT


def read_consent(home: Home) -> Consent | None:
    """Return the consent that stands, None where there is none. Raises StateError for a file that is not believed."""
    path = consent_file(home)
    try:
        data = read_private(path, LIMIT)
        seen = os.lstat(path)
    except FileNotFoundError:
        return None
    except StateError as error:
        raise _unbelieved(path, error.message) from None
    if data is None:
        return None
    if hasattr(os, "geteuid") and seen.st_uid != os.geteuid():
        raise _unbelieved(path, f"{printable(path)} belongs to another user (uid {seen.st_uid})")
    if os.name == "posix" and seen.st_mode & _OTHERS_MAY_WRITE:
        raise _unbelieved(path, f"other users may write to {printable(path)}")
    rows: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        row = _ROW.match(line)
        if row is not None:
            rows.setdefault(row[1], _shown(row[2]))
    if not rows.get("granted-at"):
        raise _unbelieved(path, f"{printable(path)} does not say when consent was given")
    return Consent(rows["granted-at"], rows.get("granted-by") or "somebody", rows.get("how") or "an older record")


def grant(home: Home, *, how: str, now: float, files: Files = FILES) -> Consent:
    """Keep consent, whole or not at all; one that stands already stays as it is. Raises StateError."""
    with contextlib.suppress(StateError):  # one that is not believed is replaced: this is a person's own word
        standing = read_consent(home)
        if standing is not None:
            return standing
    home.preflight(files)
    given = Consent(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)), whoever(), how)
    lines = (
        f"granted-at: {given.at}",
        f"granted-by: {given.by}",
        f"how: {given.how}",
        f"scope: {SCOPE}",
        "revoke: osrc consent revoke",
    )
    write_private(consent_file(home), ("\n".join(lines) + "\n").encode(), fsync=True, files=files)
    return given


def revoke(home: Home) -> bool:
    """Take consent back. Returns whether there was any. Raises StateError when it can't be removed."""
    path = consent_file(home)
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        message = f"can't remove {printable(path)}: {error.strerror}"
        raise StateError("state_unwritable", message, f"rm -r {printable(path)}") from error
    return True


def whoever() -> str:
    """Return who this process is for, by name where the system knows one."""
    if not hasattr(os, "getuid"):
        return _shown(os.environ.get("USERNAME", "")) or "the user of this machine"
    uid = os.getuid()
    try:
        import pwd  # noqa: PLC0415 - only when consent is given, and absent on Windows

        return f"{_shown(pwd.getpwuid(uid).pw_name)} (uid {uid})"
    except (ImportError, KeyError):
        return f"uid {uid}"


def _shown(value: str) -> str:
    return "".join(character for character in value if character.isprintable()).strip()[:_WORD_LIMIT]


def _unbelieved(path: Path, why: str) -> StateError:
    return StateError(
        "state_damaged", f"{why}: it is not taken for consent", f"rm -r {printable(path)}, then osrc consent grant"
    )
