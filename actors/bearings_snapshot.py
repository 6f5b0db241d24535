"""The newest picture of all work: drawn when something happened, kept for ``osrc bearings``, told as a digest."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

from ..state.attention import Word
from ..state.bearings import at_work, bearings, digest_due
from ..state.bearings_reader import FILE, sight
from ..state.errors import StateError
from ..state.files import write_private
from ..state.job_machine import Now
from ..state.reader import Reader

DRAW_S = 1.0
DRAW_SHARE = 20.0
"""It is drawn at most every second, and drawing never takes more than a twentieth of the time."""
WRITE_S = 30.0
"""How old the kept one may grow while things happen that don't change its rows."""
RESTING_LOOK_S = 2.0
"""How soon to look again when work came to rest."""


class BearingsSnapshot:
    """See the module. Belongs to one actor."""

    def __init__(self, root: Path, word: Word) -> None:
        self._path = root / FILE
        self._word = word
        self._drawn: dict[str, Any] | None = None
        self._written_at = self._next = 0.0
        self._rest_since: float | None = None
        self.stale = True
        """Whether something happened since it was drawn."""

    def draw(self, reader: Reader, now: Now) -> None:
        """Draw it anew if anything happened, and not too soon after the last time."""
        if not self.stale or now.mono < self._next:
            return
        began = time.monotonic()
        picture = bearings(sight(reader, now.wall, self._word))
        changed = self._drawn is None or picture["generation"] != self._drawn["generation"]
        if changed or now.mono > self._written_at + WRITE_S:
            with contextlib.suppress(StateError):
                write_private(self._path, json.dumps(picture, ensure_ascii=False).encode())
            self._written_at = now.mono
        self._drawn, self.stale = picture, False
        if at_work(picture):
            self._rest_since = None
        elif self._rest_since is None:
            self._rest_since = now.mono
        self._next = now.mono + max(DRAW_S, DRAW_SHARE * (time.monotonic() - began))

    @property
    def generation(self) -> str:
        """Return what names it."""
        return "0" if self._drawn is None else str(self._drawn["generation"])

    @property
    def pulse(self) -> str:
        """Return it in one line."""
        return "" if self._drawn is None else str(self._drawn["pulse"])

    @property
    def at_work(self) -> bool:
        """Whether anything is under way."""
        return self._drawn is not None and at_work(self._drawn)

    def due(self, last: tuple[str, float], cadence_s: float, now: Now) -> bool:
        """Whether it is to be told as a digest; ``last`` is the newest one's generation and time."""
        if self._drawn is None:
            return False
        rest_s = now.mono - self._rest_since if self._rest_since is not None else 0.0
        return digest_due(self._drawn, last, rest_s, cadence_s, now.wall)

    def waits(self, last: tuple[str, float], cadence_s: float, now: Now) -> list[float]:
        """Return in how many seconds to look again: to draw it, or to tell it."""
        found = [self._next - now.mono] if self.stale else []
        if self._drawn is not None and self._drawn["generation"] != last[0] and any(self._drawn["counts"].values()):
            found.append(last[1] + cadence_s - now.wall)
            rests = self._rest_since is not None and now.mono - self._rest_since <= RESTING_LOOK_S
            found += [RESTING_LOOK_S] if rests else []
        return [max(0.05, wait) for wait in found]
