"""Looking for lanes at a glance: paths and one connection attempt a port on this machine. Starts and asks nothing."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Mapping, Sequence

from ..lanes.glance import LANES, LOCAL_PORTS
from ..messages.paths import home_of
from .secrets import named_secrets

CONNECT_S = 0.05


def lanes_here(environ: Mapping[str, str], ports: Sequence[int] = LOCAL_PORTS) -> dict[str, str]:
    """Return each lane that may be here, with a word: ``signed in``, ``installed``, ``key``, ``port 11434``."""
    path, home = environ.get("PATH", os.defpath), home_of(environ)
    keys = named_secrets(sorted({one.key for one in LANES if one.key}), environ)
    there = {name: bool(shutil.which(name, path=path)) for name in {name for one in LANES for name in one.programs}}
    found = {}
    for one in LANES:
        if (one.programs and not any(there[name] for name in one.programs)) or (one.key and one.key not in keys):
            continue
        signed = any(os.path.lexists(home + sign.removeprefix("~")) for sign in one.signs)
        found[one.lane] = "key" if one.key else "signed in" if signed else "installed"
    port = next((port for port in ports if _listens(port)), None)
    return {"local": f"port {port}", **found} if port is not None else found


def keyless_gemini(environ: Mapping[str, str]) -> bool:
    """Whether Gemini would run on a sign-in, and not on a key that is billed."""
    return not named_secrets(("GEMINI_API_KEY",), environ)


def _listens(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.settimeout(CONNECT_S)
        try:
            return one.connect_ex(("127.0.0.1", port)) == 0
        except OSError:
            return False
