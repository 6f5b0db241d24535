"""``osrc tap``: keep what Claude Code's status line is told of the plan's limits, without changing what it shows."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import click

from .. import statusline, tap_receipt
from ..errors import CliError
from ..in_delegate import refuse_delegate
from ..options import Command, Globals, Group
from ..output import answer, answer_json
from ..place import full_home, home_root, readable_root
from ..settings_text import whole
from ..tap_settings import installed, own_command, tapped, uninstalled

_LIMIT = 4 * 1024 * 1024


@click.group(cls=Group)
def tap() -> None:
    """Read the Claude plan's 5-hour and weekly gauges off your own Claude Code sessions' status line."""


@tap.command("install", cls=Command)
@click.pass_obj
def install(options: Globals) -> None:
    """Put the tap before your own status line, which goes on to show what it showed."""
    from ...state.files import read_private, write_private  # noqa: PLC0415 - beside its only use

    refuse_delegate("change your status line")
    path = _path()
    raw, text = _read(path)
    home = full_home(os.environ, options.home)
    home.preflight()
    try:
        changed = installed(text, sys.executable, statusline.__file__, str(home.root))
        was_tapped = tapped(whole(text)) is not None
    except ValueError as error:
        raise _cannot(path, str(error)) from None
    if changed != text:
        made, receipt = changed.encode(), home.root / tap_receipt.FILE
        kept = read_private(receipt, tap_receipt.LIMIT)
        if not was_tapped or tap_receipt.before_it(kept, str(path), raw or b"")[0]:
            write_private(receipt, tap_receipt.remembered(kept, str(path), raw, made), fsync=True)
        _write(path, made)
    _tell(options, path, whole(changed))


@tap.command("uninstall", cls=Command)
@click.pass_obj
def uninstall(options: Globals) -> None:
    """Take the tap away: your own status line stands as it stood.

    A settings file that nobody changed since is what it was, byte for byte; in one that somebody did change, the
    status line's command alone is put back.
    """
    refuse_delegate("change your status line")
    path = _path()
    raw, text = _read(path)
    try:
        words = tapped(whole(text))
        changed = uninstalled(text)
    except ValueError as error:
        raise _cannot(path, str(error)) from None
    if words is not None and raw is not None:
        untouched, before = _receipt(words[1], path, raw)
        if not untouched:
            _write(path, changed.encode())
        elif before is None:
            path.unlink(missing_ok=True)
        else:
            _write(path, before)
        _forget(words[1], path)
    _tell(options, path, whole(changed))


@tap.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> None:
    """Print whether the tap is installed, and when it was last told anything."""
    readable_root(os.environ, options.home)  # else it would seem that nothing was ever told
    path = _path()
    _tell(options, path, whole(_read(path)[1]))


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


def _read(path: Path) -> tuple[bytes | None, str]:
    """Return the file as it is, and as the text of an object: an empty one where there is nothing in it."""
    from ...state.errors import StateError  # noqa: PLC0415 - not for ``run``
    from ...state.files import read_private  # noqa: PLC0415 - as above

    try:
        raw = read_private(path, _LIMIT)
    except StateError as error:
        raise CliError("bad_config", error.message, f"mend {path}, then: osrc tap install") from None
    if raw is None or not raw.strip():
        return raw, "{\n}\n"
    try:
        text = raw.decode()
        whole(text)
    except ValueError:
        raise _cannot(path, "it is no JSON object") from None
    return raw, text


def _write(path: Path, content: bytes) -> None:
    """Write the settings whole, with the mode that the file had."""
    from ...state.files import write_private  # noqa: PLC0415 - not for ``run``

    mode = path.stat().st_mode & 0o777 if path.exists() else None
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(path, content, fsync=True)
    if mode is not None:
        path.chmod(mode)


def _receipt(home: str, path: Path, raw: bytes) -> tuple[bool, bytes | None]:
    """Return whether the file is as the tap left it, and then what it was before. A home that is gone knows nothing."""
    from ...state.errors import StateError  # noqa: PLC0415 - not for ``run``
    from ...state.files import read_private  # noqa: PLC0415 - as above

    try:
        kept = read_private(Path(home) / tap_receipt.FILE, tap_receipt.LIMIT)
    except StateError:
        return False, None
    return tap_receipt.before_it(kept, str(path), raw)


def _forget(home: str, path: Path) -> None:
    from ...state.errors import StateError  # noqa: PLC0415 - not for ``run``
    from ...state.files import read_private, write_private  # noqa: PLC0415 - as above

    receipt = Path(home) / tap_receipt.FILE
    with contextlib.suppress(StateError, OSError):
        left = tap_receipt.forgotten(read_private(receipt, tap_receipt.LIMIT), str(path))
        if left is None:
            receipt.unlink(missing_ok=True)
        else:
            write_private(receipt, left)


def _cannot(path: Path, why: str) -> CliError:
    return CliError("bad_config", f"{path} is left as it is: {why}", f"mend {path}, then: osrc tap install")


def _tell(options: Globals, path: Path, settings: dict[str, Any]) -> None:
    from ...actors.reported_gauges import TAP_FILE, TAP_LIMIT  # noqa: PLC0415 - not for ``run``
    from ...lanes.reported_gauges import from_tap  # noqa: PLC0415 - as above
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
