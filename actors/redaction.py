"""Secrets are taken out of what we write: facts, logs, event logs and answers.

Two things are looked for: the values that were read on behalf of a delegate or stood in its caller's environment
(``remember``, for as long as this process lives), and whatever has a secret's form. The delegate writes ``out.log`` and
``err.log`` by itself; nothing stands between.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel

if TYPE_CHECKING:
    from ..lanes.secrets.values import Known, Redactor

KEPT = 256
"""So many known values are looked for, the latest."""

HARMLESS = 16
"""A text with fewer characters holds no secret that has a form of its own."""

TEXTS = frozenset(
    {
        "summary",
        "evidence",
        "reason",
        "note",
        "last_marker",
        "error",
        "cause",
        "why",
        "text",
        "title",
        "question",
        "detail",
    }
)
"""The fields of facts that are words, which may be a delegate's. Others are values that we act by."""

_SECRET_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|AUTH)S?(?:_|$)"
)
_SECRET_VALUE = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[!-~]{12,4096}")

_M = TypeVar("_M", bound=BaseModel)


class _Memory:
    """The values that are looked for: one for a process, as its logs are."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: OrderedDict[str, None] = OrderedDict()
        self._known: Known | None = None

    def add(self, values: Iterable[str]) -> None:
        with self._lock:
            for value in values:
                if value not in self._values:
                    self._values[value] = None
                    self._known = None
            while len(self._values) > KEPT:
                self._values.popitem(last=False)

    def redactor(self, *, low: bool) -> Redactor:
        from ..lanes.secrets.values import Known, Redactor  # noqa: PLC0415  costs 50 ms, which most starts don't need

        with self._lock:
            if self._known is None:
                self._known = Known(tuple(self._values))
            return Redactor(self._known, low=low)

    def __bool__(self) -> bool:
        return bool(self._values)


_memory = _Memory()


def remember(values: Iterable[str]) -> None:
    """Look for these values from now on. They stay in memory and nowhere else."""
    _memory.add(values)


def named_so(environment: Mapping[str, str]) -> Iterable[str]:
    """Yield the values of an environment that are secrets by their name and look like one."""
    for name, value in environment.items():
        if _SECRET_NAME.search(name.upper()) and _SECRET_VALUE.fullmatch(value) and not value.startswith(("/", "~")):
            yield value


def clean(text: str) -> str:
    """Return ``text`` without secrets."""
    if len(text) < HARMLESS and not _memory:
        return text
    redactor = _memory.redactor(low=True)
    data = redactor.feed(text.encode("utf-8", "surrogatepass")) + redactor.finish()
    return data.decode("utf-8", "surrogatepass") if redactor.count else text


def clean_answer(answer: bytes) -> tuple[bytes, int]:
    """Return a delegate's words without secrets, and how many there were. What may be a sample stays."""
    redactor = _memory.redactor(low=False)
    data = redactor.feed(answer) + redactor.finish()
    return data, redactor.count


def clean_fact(fact: _M) -> _M:
    """Return a fact whose words hold no secret: itself, where they hold none."""
    changed: dict[str, Any] = {}
    for name in _fields(type(fact)):
        value = getattr(fact, name)
        new = clean(value) if isinstance(value, str) else clean_fact(value) if isinstance(value, BaseModel) else value
        if new is not value and new != value:
            changed[name] = new
    return fact.model_copy(update=changed) if changed else fact


@cache
def _fields(kind: type[BaseModel]) -> tuple[str, ...]:
    """Return the fields that are words, or hold such fields."""
    return tuple(name for name, field in kind.model_fields.items() if name in TEXTS or _is_model(field.annotation))


def _is_model(annotation: object) -> bool:
    kinds = (annotation, *getattr(annotation, "__args__", ()))
    return any(isinstance(kind, type) and issubclass(kind, BaseModel) for kind in kinds)


class CleanFormatter(logging.Formatter):
    """Formats a record, its trace included, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or lines."""
        return clean(super().format(record))
