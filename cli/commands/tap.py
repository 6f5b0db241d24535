"""``osrc tap``: keep what Claude Code's status line is told of the plan's limits, without changing what it shows."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from .. import statusline
from ..errors import CliError
from ..in_delegate import refuse_delegate
from ..options import Command, Globals, Group
from ..output import answer, answer_json
from ..place import full_home, home_root
from ..tap_settings import installed, own_command, tapped, uninstalled

_LIMIT = 4 * 1024 * 1024
BACKUP = "tap-backup.json"


@click.group(cls=Group)
def tap() -> None:
    """Read the Claude plan's 5-hour and weekly gauges off your own Claude Code sessions' status line."""


@tap.command("install", cls=Command)
@click.pass_obj
def install(options: Globals) -> None:
    """Put the tap before your own status line, which goes on to show what it showed."""
    from ...state.files import write_private  # noqa: PLC0415 - beside its only use

    refuse_delegate("change your status line")
    path = _path()
    settings, raw = _read(path)
    home = full_home(os.environ, options.home)
    home.preflight()
    try:
        changed = installed(settings, sys.executable, statusline.__file__, str(home.root))
    except ValueError as error:
        raise _cannot(path, str(error)) from None
    if changed != settings:
        if raw is not None and tapped(settings) is None:
            write_private(home.root / BACKUP, raw)
        _write(path, changed)
    _tell(options, path, changed)


@tap.command("uninstall", cls=Command)
@click.pass_obj
def uninstall(options: Globals) -> None:
    """Take the tap away: your own status line stands as it stood."""
    refuse_delegate("change your status line")
    path = _path()
    settings, _ = _read(path)
    changed = uninstalled(settings)
    if changed != settings:
        _write(path, changed)
    _tell(options, path, changed)


@tap.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> None:
    """Print whether the tap is installed, and when it was last told anything."""
    path = _path()
    _tell(options, path, _read(path)[0])


@tap.command("run", cls=Command)
@click.argument("own", metavar="[COMMAND]", required=False)
@click.pass_obj
def run(options: Globals, own: str | None) -> int:
    """Do what the installed tap does: keep the gauges of the status on stdin, then run COMMAND with it."""
    return statusline.main([home_root(os.environ, options.home), *([] if own is None else [own])])


def _path() -> Path:
    """Return the settings file itself: people keep theirs elsewhere, behind a link."""
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or f"{os.environ.get('HOME') or '/'}/.claude"
    return Path(os.path.realpath(f"{folder}/settings.json"))


def _read(path: Path) -> tuple[dict[str, Any], bytes | None]:
    from ...state.files import read_private  # noqa: PLC0415 - not for ``run``

    raw = read_private(path, _LIMIT)
    if raw is None or not raw.strip():
        return {}, raw
    try:
        settings = json.loads(raw)
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict):
        raise _cannot(path, "it is no JSON object")
    return settings, raw


def _write(path: Path, settings: dict[str, Any]) -> None:
    """Write the settings whole, with the mode that the file had."""
    from ...state.files import write_private  # noqa: PLC0415 - not for ``run``

    mode = path.stat().st_mode & 0o777 if path.exists() else None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, (json.dumps(settings, indent=2, ensure_ascii=False) + "\n").encode(), fsync=True)
    if mode is not None:
        path.chmod(mode)


def _cannot(path: Path, why: str) -> CliError:
    return CliError("bad_config", f"{path} is left as it is: {why}", f"mend {path}, then: osrc tap install")


def _tell(options: Globals, path: Path, settings: dict[str, Any]) -> None:
    from ...actors.told_gauges import TAP_FILE, TAP_LIMIT  # noqa: PLC0415 - not for ``run``
    from ...lanes.told_gauges import from_tap  # noqa: PLC0415 - as above
    from ...state.files import read_private  # noqa: PLC0415 - as above

    words = tapped(settings)
    kept = from_tap(read_private(Path(words[1]) / TAP_FILE, TAP_LIMIT) or b"") if words else []
    at = max((one.measured_at for one in kept), default=None)
    try:
        own = own_command(settings)
    except ValueError:
        own = None
    if options.json:
        answer_json({"installed": words is not None, "settings": str(path), "own_command": own, "measured_at": at})
        return
    if words is None:
        answer(f"no tap in {path}")
        return
    told = "it was told nothing yet" if at is None else f"last told {max(0, int(time.time() - at))} s ago"
    answer(f"the tap is in {path}; {told}")
