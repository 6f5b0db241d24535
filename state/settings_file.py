"""Changing config.toml in place: the line that must change, and nothing else of the file."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import flags
from .errors import StateError, from_os_error, printable
from .file_locks import try_lock
from .files import FILES, Files, write_private
from .settings import SETTINGS, parse, read_config, toml_keys
from .settings_table import Setting, Value

_KEY_LINE = re.compile(r"[ \t]*(?:\"(?P<quoted>[a-z_]+)\"|(?P<bare>[a-z_]+))[ \t]*=(?P<rest>[^\n]*)")

_TRIES, _PAUSE_S = 100, 0.05
"""How long another writer is waited for."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""TOML's own lines; ``splitlines`` would also cut at characters that may stand inside a string."""


def set_in_config(path: Path, key: str, value: str | None, *, files: Files = FILES) -> None:
    """Set ``key`` in the file (None: remove it), keeping comments, order and every other line.

    The file and its folder are created when missing. Raises StateError BAD_CONFIG for an unknown
    key, a value that makes no sense, a file that is not valid or one where the key's value goes
    over several lines; then nothing was changed. Writing goes to where a symbolic link points.
    """
    setting = SETTINGS.get(key)
    if setting is None:
        raise StateError(
            "bad_config", f"there is no setting {printable(key)}", "osrc config show --all lists every setting"
        )
    wanted = None if value is None else parse(setting, value, key)
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(error, target.parent, "create") from error
    with _alone(target.parent):
        write_private(target, _changed(path, setting, key, wanted), fsync=True, files=files)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other writers away meanwhile: each reads what it changes, and one that is not seen would be undone."""
    if sys.platform == "win32":  # where no folder can be opened
        yield
        return
    try:
        descriptor = os.open(folder, flags.READ)
    except OSError as error:
        raise from_os_error(error, folder, "use") from error
    try:
        for _ in range(_TRIES):
            if try_lock(descriptor):
                break
            time.sleep(_PAUSE_S)
        else:
            raise StateError("denied", f"another program is changing settings in {printable(folder)}", "try again")
        yield
    finally:
        os.close(descriptor)


def _changed(path: Path, setting: Setting, key: str, wanted: Value) -> bytes:
    """Return the file's new content."""
    old = read_config(path) or b""
    before = toml_keys(old, printable(path))
    text = old.decode("utf-8-sig")
    new = _edited(text, setting, wanted)
    expected: dict[str, object] = {name: kept for name, kept in before.items() if name != key}
    if wanted is not None:
        expected[key] = wanted
    try:
        after = toml_keys(new.encode(), printable(path))
    except StateError:
        after = {}
    if after != expected:
        raise StateError(
            "bad_config", f"{key} in {printable(path)} can't be changed by a program", "edit that line by hand"
        )
    return new.encode()


def _edited(text: str, setting: Setting, value: Value) -> str:
    lines = _LINE.findall(text)
    for number, line in enumerate(lines):
        if line.lstrip().startswith("["):
            break  # sections start here; a new key must stand before them
        found = _KEY_LINE.match(line)
        if found and setting.key in (found["quoted"], found["bare"]):
            ending = line[len(line.rstrip("\r\n")) :]
            replaced = "" if value is None else f"{setting.key} = {_toml(value)}{_comment(found['rest'])}{ending}"
            return "".join([*lines[:number], replaced, *lines[number + 1 :]])
    else:
        number = len(lines)
    if value is None:
        return text
    head = "".join(lines[:number])
    if head and not head.endswith("\n"):
        head += "\n"
    return f"{head}{setting.key} = {_toml(value)}\n" + "".join(lines[number:])


def _comment(rest: str) -> str:
    """Return the comment at the end of a value's line, with the space before it."""
    quote = ""
    escaped = False
    for index, character in enumerate(rest):
        if quote:
            if escaped:
                escaped = False
            elif character == "\\" and quote == '"':
                escaped = True
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character == "#":
            return "  " + rest[index:].rstrip()
    return ""


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    out = []
    for character in str(value):
        if character in '"\\':
            out.append("\\" + character)
        elif not character.isprintable():
            out.append(f"\\U{ord(character):08X}")
        else:
            out.append(character)
    return '"' + "".join(out) + '"'
