"""A tool's parameter that takes one word of a vocabulary: the schema names its words, and case never counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class OneOf:
    """What makes a text one of some words: ``Annotated[str, OneOf(Effort)]``."""

    def __init__(self, words: Iterable[str]) -> None:
        """``words``: a vocabulary, such as a StrEnum; all of them lower-case."""
        self.words = tuple(str(word) for word in words)

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema: a literal of the words."""
        return core_schema.no_info_before_validator_function(_plain, core_schema.literal_schema(list(self.words)))


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever a host gave; the literal refuses what is no word
    return value.strip().lower() if isinstance(value, str) else value
