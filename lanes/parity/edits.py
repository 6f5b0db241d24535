"""Putting our part into another tool's file, and taking it out again. Pure: bytes in, bytes out.

JSON is read and written anew, and only where it is plain JSON; in everything else our part is a marked block at the
end, and the file's own text is not touched. What the person has under the same name stays theirs.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .hosts import Form

TEXT_MARKS = ("<!-- begin outsourcerer -->", "<!-- end outsourcerer -->")
HASH_MARKS = ("# begin outsourcerer", "# end outsourcerer")
MOST = 8 * 1024 * 1024
"""Bytes of a file that is edited."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A file with our part in it. ``kept``: names that the person has, which were left alone."""

    content: bytes
    ours: Mapping[str, Any] = field(default_factory=dict, repr=False)
    kept: tuple[str, ...] = ()


class CannotEditError(Exception):
    """The file is none that can be edited without harm; the message says why."""


def with_servers(
    content: bytes | None, form: Form, key: str, wanted: Mapping[str, Any], ours: Mapping[str, Any]
) -> Edited:
    """Return the file with exactly ``wanted`` as our part. ``ours`` is what an earlier run put there.

    Raises CannotEditError.
    """
    if form == "json":
        return _json_with(content, key, wanted, ours)
    own = _own_text(content, form, key, ours)
    if form == "toml":
        taken = _toml(own).get(key, {})
        if not isinstance(taken, dict):
            raise CannotEditError(f"its {key} is no table")
        added = {name: entry for name, entry in wanted.items() if name not in taken}
        made = with_block(own, _toml_block(key, added) if added else "", HASH_MARKS)
        _toml(made)
    else:
        if any(line.startswith((f"{key}:", f'"{key}"', "---", "...", "{")) for line in own.splitlines()):
            raise CannotEditError(f"it has {key} of its own, or is more than plain rows")
        added = dict(wanted)
        made = with_block(own, _yaml_block(key, added) if added else "", HASH_MARKS)
    return Edited(made.encode(), added, tuple(sorted(set(wanted) - set(added))))


def without_servers(content: bytes, form: Form, key: str, ours: Mapping[str, Any]) -> bytes:
    """Return the file without our part, whatever the person changed beside it. Raises CannotEditError."""
    if form == "json":
        return _json_with(content, key, {}, ours).content
    return _own_text(content, form, key, ours).encode()


def with_block(text: str, body: str, marks: tuple[str, str]) -> str:
    """Return the text with ``body`` as the one block of ours, at its end; without any where it is empty."""
    own = without_block(text, marks)
    if not body:
        return own
    joint = "" if not own or own.endswith("\n\n") else "\n" if own.endswith("\n") else "\n\n"
    return f"{own}{joint}{marks[0]}\n{body.rstrip()}\n{marks[1]}\n"


def without_block(text: str, marks: tuple[str, str]) -> str:
    """Return the text without our blocks; one that has no end is the person's affair. Raises CannotEditError."""
    lines = text.splitlines(keepends=True)
    bare = [line.strip() for line in lines]
    if marks[0] not in bare:
        return text
    begin = bare.index(marks[0])
    if marks[1] not in bare[begin:]:
        raise CannotEditError(f"it has {marks[0]!r} without {marks[1]!r}")
    end = bare.index(marks[1], begin)
    before = "".join(lines[:begin])
    if before.endswith("\n\n"):
        before = before[:-1]  # the empty line that was put between
    return without_block(before + "".join(lines[end + 1 :]), marks)


def _own_text(content: bytes | None, form: Form, key: str, ours: Mapping[str, Any]) -> str:
    """Return the person's own text. What a tool wrote between our marks is theirs too: then nothing is taken out."""
    text = _text(content)
    expected = _toml_block(key, ours) if form == "toml" else _yaml_block(key, ours)
    body = block_in(text, HASH_MARKS)
    if body is not None and body.strip() != expected.strip():
        raise CannotEditError("something else stands between the marks of ours")
    return without_block(text, HASH_MARKS)


def block_in(text: str, marks: tuple[str, str]) -> str | None:
    """Return what stands between our marks; None where there are none. Raises CannotEditError."""
    lines = text.splitlines(keepends=True)
    bare = [line.strip() for line in lines]
    if marks[0] not in bare:
        return None
    begin = bare.index(marks[0])
    if marks[1] not in bare[begin:]:
        raise CannotEditError(f"it has {marks[0]!r} without {marks[1]!r}")
    return "".join(lines[begin + 1 : bare.index(marks[1], begin)])


def _json_with(content: bytes | None, key: str, wanted: Mapping[str, Any], ours: Mapping[str, Any]) -> Edited:
    root = _json(content)
    there = root.get(key, {})
    if not isinstance(there, dict):
        raise CannotEditError(f"its {key} is no object")
    own = {name: entry for name, entry in there.items() if name not in ours or entry != ours[name]}
    added = {name: entry for name, entry in wanted.items() if name not in own}
    kept = tuple(sorted(set(wanted) - set(added)))
    if {**own, **added} == there and (key in root or not added):
        return Edited(b"" if content is None else content, added, kept)
    made = {**root, key: {**own, **added}}
    if not made[key] and ours:
        del made[key]
    return Edited(_dumped(made), added, kept)


def _dumped(value: object) -> bytes:
    try:
        return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # half of a pair: JSON may hold it, UTF-8 may not
        return (json.dumps(value, indent=2) + "\n").encode()


def _json(content: bytes | None) -> dict[str, Any]:
    if content is None or not content.strip():
        return {}
    try:
        value = json.loads(content.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise CannotEditError("it is not plain JSON (comments, perhaps)") from None
    if not isinstance(value, dict):
        raise CannotEditError("it is no JSON object")
    return value


def _no_constant(word: str) -> None:
    raise ValueError(word)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name twice")
    return made


def _text(content: bytes | None) -> str:
    try:
        return "" if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        raise CannotEditError("it is no UTF-8 text") from None


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotEditError(f"it would be no TOML: {str(error)[:120]}") from None


def _toml_block(key: str, entries: Mapping[str, Mapping[str, Any]]) -> str:
    parts = []
    for name, entry in entries.items():
        flat = {field: value for field, value in entry.items() if not isinstance(value, dict)}
        rows = [f"[{key}.{_quoted(name)}]", *(f"{field} = {_toml_value(value)}" for field, value in flat.items())]
        for field_name in entry.keys() - flat.keys():
            table = ", ".join(f"{_quoted(word)} = {_quoted(value)}" for word, value in entry[field_name].items())
            rows.append(f"{field_name} = {{ {table} }}")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def _toml_value(value: object) -> str:
    return f"[{', '.join(map(_quoted, value))}]" if isinstance(value, list) else _quoted(str(value))


def _quoted(text: str) -> str:
    r"""Return a basic string of TOML: JSON's is one, but for characters beyond the first plane and ``\x7f``."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _yaml_block(key: str, entries: Mapping[str, Any]) -> str:
    """Return rows of YAML: a line of JSON is one of YAML too."""
    rows = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    return "\n".join([f"{key}:", *rows])
