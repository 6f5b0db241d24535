"""Who gives a second opinion on this machine, and who decides between answers. Blocks, as ``advising`` does."""

from __future__ import annotations

from collections.abc import Collection

from ..lanes.advice.candidates import Candidate
from ..lanes.advice.panel import choose_judge, choose_panel
from ..lanes.contract import Lane
from .advising import Given, Place, Question, give, not_ready


class Bench:
    """Advice on one question, asked once, and the lanes that it sent us to look at."""

    def __init__(self, question: Question, place: Place) -> None:
        """Work the advice out."""
        self._place = place
        self._cash = question.cash
        self._given: Given = give(question, place)
        self._ready: dict[str, bool] = {}

    def panel(self, size: int) -> list[Candidate]:
        """Return up to ``size`` models of different makers."""
        advice = self._given.advice
        return choose_panel(advice.ranked, advice.pick, size, self._is_ready, cash=self._cash)

    def judge(self, asked: Collection[str]) -> Candidate | None:
        """Return the strongest model beside those that were asked; None where there is none."""
        return choose_judge(self._given.advice.ranked, asked, self._is_ready, cash=self._cash)

    def _is_ready(self, name: str) -> bool:
        known = self._ready.get(name)
        if known is None:
            lane = self._place.registry.get(name)
            known = self._ready[name] = isinstance(lane, Lane) and not_ready(lane, self._place) is None
        return known
