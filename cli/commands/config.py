"""``osrc config``: settings and where each comes from."""

from __future__ import annotations

import os

import click

from ...state.settings import SETTINGS, Row, Settings, config_file, read_config
from ..errors import CliError
from ..in_delegate import refuse_delegate
from ..options import Command, Globals, Group
from ..output import answer, answer_json
from ..render.table import columns


@click.group(cls=Group)
def config() -> None:
    """Settings: flags > environment > config.toml > default."""


@config.command("show", cls=Command)
@click.option("--origin", is_flag=True, help="Also say where each value comes from.")
@click.option("--all", "everything", is_flag=True, help="Also those that nobody set.")
@click.pass_obj
def show(options: Globals, origin: bool, everything: bool) -> None:
    """Print the settings that somebody set, or all of them."""
    rows = _load(options).describe()
    if options.json:
        answer_json({"config_file": str(config_file(os.environ)), "settings": {row.key: _json(row) for row in rows}})
        return
    shown = [row for row in rows if everything or origin or row.origin != "default"]
    if not shown:
        answer("every setting has its default; osrc config show --all lists them")
        return
    head = ("SETTING", "VALUE", "ORIGIN", "MEANING") if origin else ("SETTING", "VALUE", "MEANING")
    table = [head]
    for row in shown:
        value = _value(row)
        table.append((row.key, value, row.origin, _meaning(row)) if origin else (row.key, value, _meaning(row)))
    answer("\n".join(columns(table)))


@config.command("get", cls=Command)
@click.argument("key", metavar="KEY")
@click.pass_obj
def get(options: Globals, key: str) -> None:
    """Print one setting's value."""
    row = next((row for row in _load(options).describe() if row.key == _known(key)), None)
    if row is None:
        raise _unknown(key)
    if options.json:
        answer_json({"key": row.key, **_json(row)})
    else:
        answer(row.value or "")


@config.command("set", cls=Command)
@click.argument("key", metavar="KEY")
@click.argument("value", metavar="[VALUE]", required=False)
@click.option("--unset", is_flag=True, help="Remove it from the file, so that the default holds again.")
@click.pass_obj
def set_value(options: Globals, key: str, value: str | None, unset: bool) -> None:
    """Write one setting into config.toml, keeping everything else in it."""
    if (value is None) != unset:
        raise click.UsageError("Give a value, or --unset.")
    if value is not None and not value.isprintable():
        raise CliError("bad_config", f"the value of {key} holds characters that can't be kept: {value!a}")
    refuse_delegate("change settings")
    from ...state.settings_file import set_in_config  # noqa: PLC0415 - only to write

    name = _known(key)
    path = config_file(os.environ)
    set_in_config(path, name, value)
    # What wins may be something else: the environment outranks the file.
    row = next(row for row in _load(options).describe() if row.key == name)
    if options.json:
        answer_json({"key": name, **_json(row), "config_file": str(path)})
        return
    answer(f"{name} = {_value(row)}" + ("" if row.origin.startswith("config") else f" ({row.origin})"))


@config.command("path", cls=Command)
@click.pass_obj
def path(options: Globals) -> None:
    """Print where config.toml stands. It may not exist."""
    place = config_file(os.environ)
    if options.json:
        answer_json({"config_file": str(place), "exists": place.is_file()})
    else:
        answer(str(place))


def _load(options: Globals) -> Settings:
    place = config_file(os.environ)
    flags = {"no_daemon": "1"} if options.no_daemon else {}
    if options.provider:
        flags["provider"] = options.provider
    return Settings.load(os.environ, read_config(place), flags, source=place)


def _known(key: str) -> str:
    """Return the key that a person means: also as the name of its environment variable."""
    name = key.strip().lower().replace("-", "_")
    for prefix in ("osrc_", "outsourcerer_"):
        if name.startswith(prefix) and name[len(prefix) :] in SETTINGS:
            return name[len(prefix) :]
    if name not in SETTINGS:
        raise _unknown(key)
    return name


def _unknown(key: str) -> CliError:
    from ..spelling import meant  # noqa: PLC0415 - only on the way to an error

    sentence = f"no such setting: {ascii(key)[1:-1]}." + meant(key, list(SETTINGS))
    return CliError("bad_config", sentence, "osrc config show --all lists every setting", 64)


def _value(row: Row) -> str:
    return "-" if row.value is None else row.value + (f" {row.unit}" if row.unit else "")


def _meaning(row: Row) -> str:
    return row.doc if row.effective else f"{row.doc} (known, without effect in this version)"


def _json(row: Row) -> dict[str, object]:
    return {
        "value": row.value,
        "origin": row.origin,
        "default": row.default,
        "unit": row.unit or None,
        "meaning": row.doc,
        "effective": row.effective,
    }
