"""Whom a metered job's cost can be asked of. In memory only: a key is never written with a job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..lanes import openrouter
from ..messages.refusals import Refused
from .secrets import named_secrets


@dataclass(frozen=True, slots=True)
class Account:
    """Whom to ask, and as whom."""

    base_url: str
    key: str = field(repr=False)


class Accounts:
    """The accounts of live jobs, in memory only: a key is never written with a job."""

    def __init__(self) -> None:
        self._kept: dict[str, Account] = {}

    def keep(self, job_id: str, account: Account) -> None:
        """Remember whom a job will have to ask."""
        self._kept[job_id] = account

    def take(self, job_id: str) -> Account | None:
        """Return it and forget it; None when this supervisor did not accept the job."""
        return self._kept.pop(job_id, None)


def account_in(environment: Mapping[str, str], url: str | None) -> Account | None:
    """Return the account that an environment (or its ``~/.env``) and a setting name; None where there is none."""
    key = named_secrets((openrouter.KEY,), environment).get(openrouter.KEY)
    base = openrouter.base_url(url)
    return None if key is None or isinstance(base, Refused) else Account(base, key)
