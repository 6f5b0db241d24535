"""What a job over OpenRouter really cost: the receipt of each generation its stream named.

Exact means every receipt: a partial sum is never given for the whole. Without all of them the cost is
an estimate from the cached catalogue's prices, or unknown. Bounded: a job's end waits for this.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from ..lanes.evidence import Evidence
from ..lanes.loopback import is_loopback
from ..lanes.values import as_count, as_number, as_object
from ..messages.internal import CostSettled
from .accounts import Account

ROUNDS = 5
ROUND_S = 2.0
"""A receipt exists only some seconds after its generation: so often, and so long apart, it is asked for."""
ASK_S = 5.0
BODY_LIMIT = 256 * 1024
AT_ONCE = 8
_FINAL = frozenset({400, 401, 402, 403})
"""Statuses after which asking again is pointless."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What one generation cost, and the tokens it answered with where the receipt says."""

    cash_usd: float
    output: int | None


def read_receipts(
    generations: Sequence[str], account: Account, *, wait_s: float, stop: threading.Event, pause_s: float = ROUND_S
) -> list[Receipt] | None:
    """Return one receipt per generation, or None when not all of them could be had in time."""
    deadline = time.monotonic() + wait_s
    found: dict[str, Receipt] = {}
    trust_env = not is_loopback(account.base_url)
    with (
        httpx.Client(timeout=min(ASK_S, max(wait_s, 0.1)), trust_env=trust_env, follow_redirects=False) as client,
        ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="receipts") as pool,
    ):
        for last in (number == ROUNDS - 1 for number in range(ROUNDS)):
            missing = [name for name in generations if name not in found]
            answers = pool.map(lambda name: _ask(client, account, name, deadline), missing)
            for name, answer in zip(missing, answers, strict=True):
                if answer is None:
                    continue
                if isinstance(answer, int):
                    return None
                found[name] = answer
            if len(found) == len(set(generations)):
                return [found[name] for name in generations]
            if last or time.monotonic() + pause_s > deadline or stop.wait(pause_s):
                return None
    return None


def _ask(client: httpx.Client, account: Account, generation: str, deadline: float) -> Receipt | int | None:
    """Return a receipt; a status after which asking is pointless; None for not yet."""
    if time.monotonic() > deadline:
        return None
    headers = {"Authorization": f"Bearer {account.key}", "Accept-Encoding": "identity"}
    body = bytearray()
    try:
        url = f"{account.base_url}/v1/generation"
        with client.stream("GET", url, params={"id": generation}, headers=headers) as response:
            if response.status_code != 200:
                return response.status_code if response.status_code in _FINAL else None
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > BODY_LIMIT or time.monotonic() > deadline:
                    return None
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        return None
    return receipt_in(bytes(body))


def receipt_in(body: bytes) -> Receipt | None:
    """Return the receipt that an answer holds, or None."""
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    row = as_object(as_object(data).get("data"))
    cash = as_number(row.get("total_cost"))
    if cash is None:
        return None
    output = as_count(row.get("native_tokens_completion"))
    return Receipt(cash, as_count(row.get("tokens_completion")) if output is None else output)


def settle(
    evidence: Evidence,
    account: Account | None,
    *,
    estimate: Callable[[Evidence], float | None],
    wait_s: float,
    stop: threading.Event,
) -> CostSettled:
    """Return the exact cost if every receipt is there, else what ``estimate`` says. Never raises."""
    if account is not None and evidence.generations and not evidence.generations_lost:
        receipts = read_receipts(evidence.generations, account, wait_s=wait_s, stop=stop)
        if receipts is not None and _whole(receipts, evidence):
            return CostSettled(cash_usd=sum(receipt.cash_usd for receipt in receipts), measured=True)
    return CostSettled(cash_usd=estimate(evidence), measured=False)


def _whole(receipts: Iterable[Receipt], evidence: Evidence) -> bool:
    """Whether the receipts account for every token that the delegate reports: what it asks on the side has no line."""
    reported = [usage.output for _, usage in evidence.by_model] or [evidence.usage.output if evidence.usage else None]
    outputs = [receipt.output for receipt in receipts]
    if None in outputs or None in reported:
        return True  # nothing to compare
    return sum(filter(None, outputs)) >= sum(filter(None, reported))
