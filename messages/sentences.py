"""What is wrong with data that does not fit a model, in words for the person who wrote it.

place, words = what_is_wrong(error)     # ("argv item 2", "must be text")
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known",
    "string_type": "must be text",
    "string_too_short": "is empty",
    "string_too_long": "is too long",
    "string_pattern_mismatch": "is empty, too long, or has a character that can't stand there",
    "string_unicode": "is not UTF-8",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
    "too_short": "is empty",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "union_tag_not_found": "says no kind",
}
_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def what_is_wrong(error: ValidationError, *, skip: int = 0) -> tuple[str, str]:
    """Return the place of the first mistake (empty: the whole) and what is wrong there, without library words.

    The first ``skip`` steps of the way to it are left out: tags that its writer never wrote.
    """
    first: Any = error.errors(include_url=False, include_input=False)[0]
    place = ""
    for part in first["loc"][skip:]:
        if isinstance(part, int):
            place += f" item {part + 1}"
        elif _NAME.fullmatch(part):  # else it names a branch of the model
            place += f".{part}" if place else part
    return place.strip(), _words(first["type"], first.get("ctx") or {}, str(first["msg"]))


def _words(kind: str, context: dict[str, Any], message: str) -> str:
    if kind in _BOUNDS:
        word, key = _BOUNDS[kind]
        return f"must be {word} {context.get(key)}"
    if kind in ("enum", "literal_error"):
        return f"must be one of {context.get('expected')}"
    if kind == "union_tag_invalid":
        return f"is {str(context.get('tag'))[:60]!a}, which is not known"
    if kind == "value_error":  # a sentence of our own
        return message.removeprefix("Value error, ")
    return _WORDS.get(kind, "makes no sense")
