"""Whether an OpenRouter account has anything left, asked before a job is sent there."""

from __future__ import annotations

import json

import httpx

from ..lanes.loopback import is_loopback
from ..lanes.values import as_number, as_object
from ..messages.refusals import RefusalCode, Refused
from .accounts import Account

ASK_S = 3.0
BODY_LIMIT = 64 * 1024
FREE = ":free"
"""How the ids of models end that cost nothing: they answer without credits."""


def refuse_empty(account: Account, model: str | None) -> Refused | None:
    """Refuse where the credits are known to be spent. A balance that can't be read stops nobody."""
    if model is not None and model.endswith(FREE):
        return None
    left = credits_left(account)
    if left is None or left > 0:
        return None
    return Refused(
        code=RefusalCode.LANE_NOT_READY,
        message="Your OpenRouter credits are used up.",
        hint="add some at https://openrouter.ai/settings/credits, or take a lane of a plan, for example --lane codex",
    )


def credits_left(account: Account) -> float | None:
    """Return the account's credits in USD, None when they can't be read in time."""
    headers = {"Authorization": f"Bearer {account.key}", "Accept-Encoding": "identity"}
    body = bytearray()
    try:
        with (
            httpx.Client(timeout=ASK_S, trust_env=not is_loopback(account.base_url), follow_redirects=False) as client,
            client.stream("GET", f"{account.base_url}/v1/credits", headers=headers) as response,
        ):
            if response.status_code != 200:
                return None
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > BODY_LIMIT:
                    return None
        data = as_object(as_object(json.loads(bytes(body))).get("data"))
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError, RecursionError):
        return None
    bought, used = as_number(data.get("total_credits")), as_number(data.get("total_usage"))
    return None if bought is None or used is None else bought - used
