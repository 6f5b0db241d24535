"""What a command says holds no secret: the rules are loaded only where a text could hold one."""

from __future__ import annotations

import re

from .render.plain import strip_controls

_SUSPECT = re.compile(r"[A-Za-z0-9_+=.~:@-]{20,}|://|PRIVATE KEY")
_JOB_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{12}")
_HARMLESS = re.compile(r"[a-z_.:@=+~-]+|[A-Z_]+|[0-9.:-]+")


def discreet(text: str) -> str:
    """Return ``text`` without secrets."""
    if not any(_may_be_secret(match[0]) for match in _SUSPECT.finditer(_JOB_ID.sub("", text))):
        return text
    from ..lanes.secrets.values import redact  # noqa: PLC0415 - loading the rules takes longer than most commands

    return redact(text)[0]


class Screen:
    """Takes the secrets out of a stream that is printed. A line is held back until it is complete."""

    def __init__(self) -> None:
        """Load the rules."""
        from ..lanes.secrets.values import Redactor  # noqa: PLC0415 - as above

        self._redactor = Redactor(low=False)

    def feed(self, data: bytes) -> bytes:
        """Return what is complete: without control sequences, which could break a secret apart, and clean."""
        return self._redactor.feed(strip_controls(data.decode("utf-8", "replace")).encode())

    def finish(self) -> bytes:
        """Return the rest, clean."""
        return self._redactor.finish()


def _may_be_secret(word: str) -> bool:
    return _HARMLESS.fullmatch(word) is None
