"""Settings: flags > environment > config.toml > default, and where each value came from.

    settings = Settings.load(os.environ, read_config(path), flags, source=path)
    settings.number("stall_warn"), settings.flag("no_daemon"), settings.text("model")

``load`` is pure. A value that makes no sense is refused with its place and the fix, never ignored.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .errors import StateError, from_os_error, printable
from .home import user_home
from .settings_table import SETTINGS, Setting, Value

__all__ = ["SETTINGS", "Row", "Setting", "Settings", "config_file", "parse", "read_config"]

CONFIG_LIMIT = 1 << 20
"""Longest config.toml in bytes."""

_MASK = "********"
_ON = frozenset({"1", "true", "yes", "on", "y"})
_OFF = frozenset({"0", "false", "no", "off", "n"})


@dataclass(frozen=True, slots=True)
class Row:
    """One line of ``config show --origin``. Secrets are already masked."""

    key: str
    value: str | None
    origin: str
    default: str | None
    unit: str
    doc: str
    effective: bool


class Settings:
    """Every setting's value and origin."""

    def __init__(self, values: Mapping[str, tuple[Value, str]]) -> None:
        """Use ``load`` instead; ``values`` holds only what was set."""
        self._values = dict(values)

    @classmethod
    def load(
        cls,
        environ: Mapping[str, str],
        config: bytes | None = None,
        flags: Mapping[str, str] | None = None,
        *,
        source: str | os.PathLike[str] = "config.toml",
    ) -> Settings:
        """Return the settings. ``config`` is the content of ``source``; ``flags`` maps keys to words.

        An empty environment variable counts as not set. Raises StateError BAD_CONFIG.
        """
        where = printable(source)
        values: dict[str, tuple[Value, str]] = {}
        for key, raw in _tables(config, where).items():
            values[key] = (parse(_known(key, where), raw, f"{key} in {where}"), f"config {where}")
        for key, setting, names in _named():
            for name in names:
                word = environ.get(name)
                if word:
                    values[key] = (parse(setting, word, name), f"environment {name}")
                    break
        for key, word in (flags or {}).items():
            values[key] = (parse(_known(key, "the command line"), word, f"flag {key}"), "flag")
        return cls(values)

    def number(self, key: str) -> float | None:
        """Return a number, in the setting's unit; a flag is 1.0 or 0.0; None where it depends."""
        value = self._value(key)
        return None if value is None or isinstance(value, str) else float(value)

    def flag(self, key: str) -> bool:
        """Return whether a flag is on; one whose default depends is off unless set (see ``is_set``)."""
        return bool(self._value(key))

    def text(self, key: str) -> str | None:
        """Return a text, None when there is none."""
        value = self._value(key)
        return value if isinstance(value, str) else None

    def words(self, key: str) -> tuple[str, ...]:
        """Return a text that is a list: commas or spaces between the items."""
        return tuple((self.text(key) or "").replace(",", " ").split())

    def path_list(self, key: str) -> tuple[str, ...]:
        """Return a text that is a list of paths with the platform's separator between them."""
        return tuple(path for path in (self.text(key) or "").split(os.pathsep) if path)

    def is_set(self, key: str) -> bool:
        """Whether anybody set it."""
        return SETTINGS[key].key in self._values

    def origin(self, key: str) -> str:
        """Return ``default``, ``config FILE``, ``environment NAME`` or ``flag``."""
        return self._values[key][1] if self.is_set(key) else "default"

    def configured(self) -> list[str]:
        """Return the keys whose value is config.toml's."""
        return [key for key, (_, origin) in self._values.items() if origin.startswith("config ")]

    def describe(self) -> list[Row]:
        """Return a row for every setting, secrets masked."""
        return [
            Row(
                key=key,
                value=_shown(setting, self._value(key)),
                origin=self.origin(key),
                default=_shown(setting, setting.default),
                unit=setting.unit,
                doc=setting.doc,
                effective=setting.effective,
            )
            for key, setting in SETTINGS.items()
        ]

    def _value(self, key: str) -> Value:
        setting = SETTINGS[key]
        return self._values[key][0] if key in self._values else setting.default


@cache
def _named() -> tuple[tuple[str, Setting, tuple[str, ...]], ...]:
    """Return every setting with its environment names: they are made once, and read for every job."""
    return tuple((key, setting, setting.names) for key, setting in SETTINGS.items())


def config_file(environ: Mapping[str, str]) -> Path:
    """Return where config.toml stands: the user's config folder of this platform. It may not exist."""
    if sys.platform.startswith("linux"):
        base = environ.get("XDG_CONFIG_HOME") or ""
        if not base.startswith("/"):  # the specification: a relative one is to be ignored
            base = f"{user_home(environ)}/.config"
        return Path(base) / "outsourcerer" / "config.toml"
    import platformdirs  # noqa: PLC0415 - where Linux's short rule is not the right one

    return Path(platformdirs.user_config_dir("outsourcerer", appauthor=False)) / "config.toml"


def read_config(path: Path) -> bytes | None:
    """Return the content of config.toml, None when there is none. Raises StateError BAD_CONFIG.

    A symbolic link is followed here: people keep this file elsewhere and link to it. A pipe is not waited for.
    """
    try:
        with open(path, "rb", opener=_at_once) as file:
            if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise StateError("bad_config", f"{printable(path)} is a pipe", f"make {printable(path)} a regular file")
            data = file.read(CONFIG_LIMIT + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        found = from_os_error(error, path, "read")
        raise StateError("bad_config", found.message, f"make {printable(path)} a file that you can read") from error
    if len(data) > CONFIG_LIMIT:
        raise StateError("bad_config", f"{printable(path)} is larger than {CONFIG_LIMIT} bytes")
    return data


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def parse(setting: Setting, raw: object, place: str) -> Value:
    """Return a value of the setting's kind. Raises StateError BAD_CONFIG that names ``place`` and the fix."""
    if setting.kind == "flag":
        return _flag(setting, raw, place)
    if setting.kind == "text":
        return _text(setting, raw, place)
    return _number(setting, raw, place)


def toml_keys(config: bytes | None, where: str) -> dict[str, object]:
    """Return config.toml as it stands, keys not checked. Raises StateError BAD_CONFIG with the line."""
    if not config:
        return {}
    import tomllib  # noqa: PLC0415 - most people have no config.toml, and every command starts here

    try:
        return tomllib.loads(config.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = config.count(b"\n", 0, error.start) + 1
        raise StateError("bad_config", f"{where} is not UTF-8 (line {line})", f"correct line {line}") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise StateError("bad_config", f"{where} is not valid TOML: {error}", "correct that line") from None


def _tables(config: bytes | None, where: str) -> dict[str, object]:
    found = toml_keys(config, where)
    for key, value in found.items():
        if isinstance(value, dict):
            raise StateError(
                "bad_config",
                f"{where} has a section [{printable(key)}]",
                "write every setting at the top level, as key = value",
            )
    return found


def _known(key: str, where: str) -> Setting:
    setting = SETTINGS.get(key)
    if setting is not None:
        return setting
    import difflib  # noqa: PLC0415 - only for the sentence

    near = difflib.get_close_matches(key.lower(), SETTINGS, n=1)
    meant = f". Did you mean {near[0]}?" if near else ""
    sentence = f"there is no setting {printable(key)} ({where}){meant}"
    raise StateError("bad_config", sentence, "osrc config show --all lists every setting")


def _bad(setting: Setting, raw: object, place: str, wanted: str) -> StateError:
    given = _MASK if setting.secret else ascii(raw)[:80]
    return StateError("bad_config", f"{place} is {given}, which is not {wanted}", _mending(setting, place))


def _mending(setting: Setting, place: str) -> str:
    """Return the command that puts a wrong value right, by where it stands."""
    if place in setting.names:
        return f"unset {place}"
    if place.startswith("flag "):
        return f"{setting.key}: {setting.doc}"
    return f"osrc config set {setting.key} {_example(setting)}"


def _example(setting: Setting) -> str:
    if setting.kind == "flag":
        return "1" if setting.default else "0"
    if setting.kind == "text":
        return setting.choices[0] if setting.choices else "TEXT"
    number = setting.least if setting.default is None else setting.default
    return f"{float(number):.15g}"


def _flag(setting: Setting, raw: object, place: str) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower() if isinstance(raw, str | int) else ""
    if word in _ON:
        return True
    if word in _OFF:
        return False
    raise _bad(setting, raw, place, "on or off (1 or 0)")


def _text(setting: Setting, raw: object, place: str) -> str:
    if not isinstance(raw, str) or "\0" in raw or "\n" in raw:
        raise _bad(setting, raw, place, "one line of text")
    if not setting.choices:
        return raw
    word = raw.strip().lower()
    if word not in setting.choices:
        raise _bad(setting, raw, place, "one of " + ", ".join(setting.choices))
    return word


def _number(setting: Setting, raw: object, place: str) -> float:
    whole = setting.kind == "count"
    wanted = f"a {'whole ' if whole else ''}number from {setting.least} to {setting.most}"
    if setting.unit:
        wanted += f" (in {'seconds' if setting.unit == 's' else setting.unit})"
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise _bad(setting, raw, place, wanted)
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        raise _bad(setting, raw, place, wanted) from None
    if not setting.least <= value <= setting.most or (whole and not value.is_integer()):
        raise _bad(setting, raw, place, wanted)
    return value


def _shown(setting: Setting, value: Value) -> str | None:
    if value is None:
        return None
    if setting.secret:
        return _MASK
    if setting.kind == "flag":
        return "on" if value else "off"
    if isinstance(value, str):
        return _without_password(value)
    return f"{value:g}" if value < 1e6 else f"{value:.0f}"


def _without_password(text: str) -> str:
    """Return a URL without the name and password it may carry."""
    scheme, mark, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    if not mark or "@" not in authority:
        return text
    return f"{scheme}://{_MASK}@{authority.rpartition('@')[2]}{slash}{path}"
