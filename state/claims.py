"""Claims on terminals that were there before us: one owner each, proven by a secret that is shown once.

``claims/<name>/owner.json`` in the state home (0700, 0600) says which pane, on which server, who controls it, and
which process lives in it. The secret itself is not kept, only its digest. A claim is gone when it is released, or
when the pane's process is proven dead: never because something did not answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from .errors import StateError, from_os_error
from .files import create_private, read_private, write_private
from .home import Home

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LIMIT = 64 * 1024
SCHEMA = "3"

Dead = Callable[[int, float, str], bool]
"""Whether the process of a pid, start time and boot id is proven gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One claimed pane."""

    session_id: str
    """The name it was claimed under."""
    endpoint: str
    """The pane's id on its server."""
    server: str
    """The server's socket."""
    pid: int
    pid_start: float
    boot_id: str
    controller_id: str
    cli: str
    """Whose screens it shows."""
    version: str
    """What that program's ``--version`` printed."""
    generation: int
    token_sha256: str
    schema_version: str = SCHEMA

    def opened_by(self, token: str) -> bool:
        """Whether this is the secret that was printed when it was claimed."""
        return hmac.compare_digest(digest(token), self.token_sha256)


def digest(token: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def take(home: Home, claim: Claim, dead: Dead) -> Claim:
    """Make a claim. Raises StateError ``denied`` where a live one has the name or the pane."""
    _check(claim.session_id)
    home.preflight()
    root = home.root / "claims"
    root.mkdir(mode=0o700, exist_ok=True)
    for other in claims(home):
        if dead(other.pid, other.pid_start, other.boot_id):
            shutil.rmtree(root / other.session_id, ignore_errors=True)
        elif (other.server, other.endpoint) == (claim.server, claim.endpoint) or other.session_id == claim.session_id:
            message = f"{other.session_id} is claimed: pane {other.endpoint}, by {other.controller_id}"
            raise StateError("denied", message, f"osrc session release {other.session_id}")
    _place(root, claim)
    return claim


def _place(root: Path, claim: Claim) -> None:
    """Let the claim be there whole or not at all: one that is killed half-way must not keep its name for ever."""
    folder, made = root / claim.session_id, root / f".{claim.session_id}.{os.urandom(8).hex()}"
    try:
        made.mkdir(mode=0o700)
        create_private(made / "owner.json", _dumped(claim))
        with contextlib.suppress(OSError):
            folder.rmdir()  # an empty one is nobody's
        made.rename(folder)
    except OSError as error:
        if folder.exists():
            raise StateError("denied", f"{claim.session_id} is being claimed by somebody else", None) from error
        raise from_os_error(error, folder, "create") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)


def find(home: Home, name: str) -> Claim:
    """Return the claim of a name. Raises StateError where there is none."""
    _check(name)
    claim = _read(home.root / "claims" / name)
    if claim is None:
        raise StateError("no_such_session", f"nothing is claimed as {name}", "osrc session claim NAME PANE")
    return claim


def claims(home: Home) -> list[Claim]:
    """Every claim that can be read, by name."""
    try:
        names = sorted(entry.name for entry in (home.root / "claims").iterdir())
    except OSError:
        return []
    found = [_read(home.root / "claims" / name) for name in names if NAME.fullmatch(name)]
    return [claim for claim in found if claim is not None]


def count(home: Home, claim: Claim, generation: int) -> None:
    """Keep how many replies were begun: written before anything is typed."""
    changed = Claim(**{**asdict(claim), "generation": generation})
    write_private(home.root / "claims" / claim.session_id / "owner.json", _dumped(changed), fsync=True)


def release(home: Home, name: str) -> None:
    """Give a claim up."""
    _check(name)
    shutil.rmtree(home.root / "claims" / name, ignore_errors=True)


def _check(name: str) -> None:
    if not NAME.fullmatch(name):
        raise StateError("bad_request", f"{name[:40]!r} can't be a name: letters, digits, - _ . and at most 64", None)


def _dumped(claim: Claim) -> bytes:
    return json.dumps(asdict(claim), ensure_ascii=True).encode()


def _read(folder: Path) -> Claim | None:
    """The claim in a folder; None for one that is not (yet) there, or that nobody can read."""
    with contextlib.suppress(StateError, ValueError, TypeError, RecursionError):
        data = read_private(folder / "owner.json", _LIMIT)
        if data:
            return Claim(**json.loads(data))
    return None
