"""What was asked for, kept with its job: for an attempt elsewhere, and for ``osrc retry``.

The caller's environment is kept in memory whole, as long as the job lives. In the job's folder it is kept without
anything that is, or looks like, a secret: an attempt that is planned by a later supervisor finds only those lanes
ready that need none from it. A task that holds a secret value is not kept at all, so that such a job never moves.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Mapping
from os import fsencode
from typing import Any

from pydantic import ValidationError

from ..messages.job import JobRequest
from ..state.job_folder import JobFolder
from ..state.settings import SETTINGS
from .redaction import clean

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|PRIVATE|SIGNATURE|DSN|_PAT\b", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"://[^/\s:@]{0,200}:[^/\s@]{1,200}@|\b(?:sk|pk|rk|gh[oprsu]|xox[abp]|glpat|npm|pypi|AKIA|AIza|ya29|eyJ)[-_A-Za-z0-9]{12}"
)
_SECRET_SETTINGS = frozenset(name for setting in SETTINGS.values() if setting.secret for name in setting.names)
_OURS = ("OSRC_", "OUTSOURCERER_", "OR_OFFLOAD_CHAIN")
_VALUE_CAP = 32 * 1024


class Requests:
    """The environments of live jobs, in memory only."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def keep(self, job_id: str, environment: str) -> None:
        """Remember a job's environment, in its wire form."""
        self._kept[job_id] = environment

    def get(self, job_id: str) -> str | None:
        """Return it; None when this supervisor did not accept the job."""
        return self._kept.get(job_id)

    def drop(self, job_id: str) -> None:
        """Forget a job that has ended."""
        self._kept.pop(job_id, None)


def keepable(request: JobRequest, text: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return a request as it may be written with its job: without the task where that holds a secret value."""
    told = text if clean(text) == text else None
    kept = request.model_copy(
        update={"task": told, "task_file": None, "job_id": None, "environment": wire(without_secrets(environment))}
    )
    return kept.model_dump(mode="json", exclude_defaults=True)


def kept_request(folder: JobFolder, environment: str | None) -> JobRequest | None:
    """Return what was asked for, with the environment that is known best; None where nothing was kept."""
    kept = folder.read_request()
    if not isinstance(kept, dict):
        return None
    try:
        request = JobRequest.model_validate(kept)
    except ValidationError:
        return None
    if request.task is None:  # it was not to be written
        return None
    return request if environment is None else request.model_copy(update={"environment": environment})


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without what is a secret by its name or its look, under whatever name it stands."""
    secret = {name for name in environment if _is_secret(name, environment[name])}
    values = {environment[name] for name in secret if len(environment[name]) >= 8}
    return {
        name: value
        for name, value in environment.items()
        if name not in secret and len(value) <= _VALUE_CAP and not any(known in value for known in values)
    }


def wire(environment: Mapping[str, str]) -> str:
    """Return an environment in its wire form: base64 of NUL-joined ``NAME=value`` bytes."""
    joined = b"\0".join(fsencode(f"{name}={value}") for name, value in environment.items())
    return b2a_base64(joined, newline=False).decode("ascii")


def _is_secret(name: str, value: str) -> bool:
    if name in _SECRET_SETTINGS or _SECRET_VALUE.search(value):
        return True
    return not name.startswith(_OURS) and _SECRET_NAME.search(name) is not None
