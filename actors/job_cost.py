"""The cost of a job whose provider can be asked for it, found out in the background after its end."""

from __future__ import annotations

import os
from dataclasses import replace

from ..lanes.contract import Lane
from ..lanes.evidence import Evidence
from ..messages.internal import CostSettled
from ..messages.job import JobRecord
from ..state.budgets import CASH_KINDS
from .accounts import Account, account_in
from .base import Handle, log
from .budget_book import reckon
from .host import decode_environment
from .job_meter import tells, used
from .services import Services
from .tree import in_background


def settle_cost(record: JobRecord, lane: Lane, evidence: Evidence, services: Services, to: Handle) -> bool:
    """Begin to find out what a job cost and tell ``CostSettled`` later; False where there is nothing to go by."""
    account = services.accounts.take(record.job_id)
    told, unread = evidence.usage or evidence.generations or evidence.metered, tells(record, lane, evidence)
    if not unread and (lane.receipts is None or not told):
        return False
    # A supervisor that did not accept the job itself has only its own key to ask with.
    account = account or account_in(os.environ, services.settings.text("openrouter_url"))
    kept = services.requests.get(record.job_id)
    environment = decode_environment(kept) if kept is not None else os.environ

    def work() -> CostSettled:
        usage = used(lane, evidence, environment) if unread else None
        seen = evidence if usage is None else replace(evidence, metered=(("", usage),))
        if lane.receipts is not None:
            return _settled(record, seen, services, account)
        return CostSettled(cash_usd=reckon(services.models, record, seen), measured=False)

    in_background(f"cost:{record.job_id}", to, work, otherwise=CostSettled(cash_usd=None, measured=False))
    return True


def reckoned(record: JobRecord, evidence: Evidence, services: Services) -> CostSettled | None:
    """Return a cost by list price, where cash is spent, nobody told how much, and the price is known."""
    if record.cost.kind not in CASH_KINDS or evidence.cash_usd is not None:
        return None
    price = reckon(services.models, record, evidence)
    return None if price is None else CostSettled(cash_usd=price, measured=False)


def _settled(record: JobRecord, evidence: Evidence, services: Services, account: Account | None) -> CostSettled:
    from .receipts import settle  # noqa: PLC0415  httpx costs 15 MB, and most jobs need none

    wait_s = services.settings.number("receipt_wait")
    try:
        return settle(
            evidence,
            account,
            estimate=lambda seen: reckon(services.models, record, seen),
            wait_s=10.0 if wait_s is None else wait_s,
            stop=services.stopping,
        )
    except Exception:  # noqa: BLE001  a job's end must not hang on what it cost
        log.exception("%s: what it cost can't be found out", record.job_id)
        return CostSettled(cash_usd=None, measured=False)
