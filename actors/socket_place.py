"""Where a socket lies: the state home may lie too deep for the short path that a socket can have."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import tempfile
from pathlib import Path

from ..state.home import Home

SOCKET_LIMIT = 103
"""Longest socket path that every platform takes (macOS: 104 with its end)."""


def socket_place(home: Home, name: str = "") -> Path:
    """Return a short path for a socket: in the runtime folder, else in the temporary one, under a hashed name.

    ``name`` tells those of one state home apart; the supervisor's own has none. Raises OSError when there is no
    private folder for it.
    """
    hashed = hashlib.sha256(os.fsencode(home.root) + name.encode()).hexdigest()[:16] + ".sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    candidates = [Path(runtime) / "outsourcerer"] if os.path.isabs(runtime) else []  # noqa: PTH117  a string check
    candidates += [
        Path("/tmp") / f"outsourcerer-{os.getuid()}",  # noqa: S108  checked to be ours and private
        Path(tempfile.gettempdir()) / f"osrc-{os.getuid()}",
        home.root,
    ]
    trouble: OSError | None = None
    for folder in candidates:
        if len(os.fsencode(folder / hashed)) > SOCKET_LIMIT:
            continue
        try:
            folder.mkdir(mode=0o700, parents=False, exist_ok=True)
            seen = folder.lstat()
            if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid():
                continue
            if stat.S_IMODE(seen.st_mode) & 0o077:
                folder.chmod(0o700)
            probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            probe.close()
        except OSError as error:
            trouble = error
            continue
        return folder / hashed
    raise trouble or OSError("no private folder with a path short enough for a socket")
