"""The program itself: which copy runs, whether there are others, and whether they are of one version."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from ... import __version__
from ...state.errors import printable
from ...state.home import Home
from ..commands.mcp import what_is_missing
from .finding import Finding

OLDEST = (3, 11)
_MANIFEST_CAP = 256 * 1024


def install(_home: Home) -> Iterator[Finding]:
    """Look at this copy, at others that the shell would find, and at the plugin's."""
    here = Path(__file__).resolve().parents[2]
    yield Finding("install", "ok", f"runs from {printable(here)}, Python {sys.executable or '?'}")
    if sys.version_info < OLDEST:
        words = f"Python {platform.python_version()} is older than {'.'.join(map(str, OLDEST))}"
        yield Finding("install", "fail", words, "install it into a newer Python")
    told = _metadata()
    if told is not None and told != __version__:
        words = f"the installation says version {told}, the code is {__version__}"
        yield Finding("install", "warn", words, "pip install -e . (or install it again)")
    if (missing := what_is_missing()) is not None:
        yield Finding("install", "note", *missing)
    yield from _copies(os.environ.get("PATH", ""))
    yield from _plugins(_claude())


def _metadata() -> str | None:
    try:
        return importlib.metadata.version("outsourcerer")
    except importlib.metadata.PackageNotFoundError:
        return None


def _copies(path: str) -> Iterator[Finding]:
    """Name every ``osrc`` that a shell would find, where there are several programs of the name."""
    found: dict[str, str] = {}
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", "osrc")  # noqa: PTH118 - as the shell reads it
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):  # noqa: PTH113 - as above
            found.setdefault(os.path.realpath(candidate), candidate)
    if len(found) > 1:
        first, *rest = found.values()
        words = f"{len(found)} programs are called osrc: {first} is taken, {', '.join(rest[:4])} is not"
        yield Finding("install", "warn", words, "remove the others, or take their folders out of PATH")
    elif not found:
        yield Finding("install", "note", "no osrc is on the PATH: hosts can't find it by its name")


def _plugins(claude: Path) -> Iterator[Finding]:
    """Compare the newest copy among Claude Code's plugins with this program, and notice the predecessor's skill."""
    versions = {}
    for manifest in claude.glob("plugins/cache/*/outsourcerer/*/.claude-plugin/plugin.json"):
        version = _version(manifest)
        if version is not None:
            versions[version] = manifest.parents[1]
    newest = max(versions, key=_numbers, default=None)
    if newest is not None and newest != __version__:
        words = f"the Claude Code plugin is of version {newest}, the program of {__version__}"
        yield Finding("install", "warn", words, "claude plugin update outsourcerer, or upgrade the program")
    elif newest is not None:
        yield Finding("install", "ok", f"the Claude Code plugin is of the same version, {newest}")
    script = claude / "skills" / "outsourcerer" / "scripts" / "outsourcerer.sh"
    if script.is_file() and script.stat().st_size > _MANIFEST_CAP:
        words = f"the predecessor's skill is still in {printable(script.parents[1])}: hosts may take it for ours"
        yield Finding("install", "warn", words, "osrc import takes its books over; then remove that folder")


def _claude() -> Path:
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(own or f"{os.environ.get('HOME', '')}/.claude")


def _version(manifest: Path) -> str | None:
    try:
        with manifest.open("rb") as file:
            value = json.loads(file.read(_MANIFEST_CAP))
    except (OSError, ValueError, RecursionError):
        return None
    version = value.get("version") if isinstance(value, dict) else None
    return version[:40] if isinstance(version, str) and version.isprintable() else None


def _numbers(version: str) -> list[int]:
    return [int(part) if part.isdigit() and len(part) < 10 else -1 for part in version.split(".")]
