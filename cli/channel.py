"""What a way to a supervision tree looks like. Imported for its type only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

Body = dict[str, Any]
"""A command or a reply as plain data."""


class Channel(Protocol):
    """A way to a supervision tree: over a socket, or in this process."""

    version: str

    def exchange(self, body: Body, *, deadline: float | None = None) -> Iterator[Body]:
        """Yield each reply. Raises SupervisorLostError, and TimeLimitError past ``deadline`` (monotonic)."""
        ...

    def close(self) -> None:
        """Let go of it. What was asked for goes on."""
        ...
