"""Where work may go instead: the catalog's offers, as this machine, the person's limits and settings allow them.

Blocks: it asks the lanes that come into question whether they are ready. For threads, not for actors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..lanes.advice.failover import Case, FailoverPolicy, Hop, Stop, next_hop
from ..lanes.advice.options import Offer, Option, offers
from ..lanes.contract import Lane, Locality
from ..lanes.registry import Registry
from ..state.limits import key_of
from ..state.settings import Settings
from .denylist import why_denied
from .host import billed, probe, why_unready
from .limit_book import LimitBook
from .model_book import ModelBook, known_models


def policy_from(settings: Settings) -> FailoverPolicy:
    """Return what the person's settings allow."""
    return FailoverPolicy(
        fallback=settings.flag("fallback"),
        fallback_max=int(settings.number("fallback_max") or 1),
        fallback_pinned=settings.flag("fallback_pinned"),
        cross_lane=not settings.flag("no_cross_lane"),
        failover_max=int(settings.number("failover_max") or 0),
        cash_ok=settings.flag("failover_cash_ok"),
    )


class Ways:
    """The ways on from one job's lane, best first. What turns out to be in the way of one is remembered."""

    def __init__(  # noqa: PLR0913  what a way depends on, all by name
        self,
        case: Case,
        *,
        registry: Registry,
        models: ModelBook,
        limits: LimitBook | None,
        environment: Mapping[str, str],
        settings: Settings,
    ) -> None:
        self.case = case
        self._registry = registry
        self._limits = limits
        self._environment = environment
        self._settings = settings
        lanes = registry.tiers()
        self._known = known = known_models(models, lanes, settings)
        self._options = [
            option
            for offer in offers(lanes, case.model, case.tier, known)
            if (option := self._option(offer)) is not None
        ]

    def next(self) -> Hop | Stop:
        """Return the best way that is left, once its lane has said that it is ready."""
        while True:
            found = next_hop(self.case, self._options)
            if isinstance(found, Stop) or found.lane == self.case.lane:
                return found
            lane = self._registry.get(found.lane)
            if not isinstance(lane, Lane):
                self.close(found.lane, "not here")
                continue
            asks = lane.status_argv is not None  # only its own command says whether somebody is signed in
            why = why_unready(lane, probe(lane, self._environment, self._settings, ask_version=asks))
            if why is None:
                return found
            self.close(found.lane, why)

    def close(self, lane: str, why: str) -> None:
        """Note what is in the way of a lane: it is not offered again."""
        if lane == self.case.lane:
            self.case = replace(self.case, chain=self.case.chain[1:])
        self._options = [
            option.hindered(why) if option.lane == lane and option.why_not is None else option
            for option in self._options
        ]

    def _option(self, offer: Offer) -> Option | None:
        """Return an offer as an option, with what is known to be in its way before anybody is asked."""
        lane = self._registry.get(offer.lane)
        if not isinstance(lane, Lane):
            return None
        billing = billed(lane, self._environment, self._settings)
        option = Option(
            lane=offer.lane,
            model=offer.model,
            tier=offer.tier,
            same=offer.same,
            kind=billing.kind,
            key=key_of(lane.name, billing.pool),
            local=lane.locality is Locality.LOCAL,
        )
        if self.case.verb not in lane.verbs:
            return option.hindered(f"it can't honour {self.case.verb.value}")
        denied = why_denied(offer.lane, offer.model, self._settings, self._known)
        if denied is not None:
            return option.hindered(denied)
        hindrance = self._limits.hindrance(lane.name, billing.pool, offer.model) if self._limits else None
        return option if hindrance is None else option.hindered(hindrance.sentence, hindrance.until)
