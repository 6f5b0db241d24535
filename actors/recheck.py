"""The gate once more, at the moment of a launch: what was open when a job was taken may be shut by now.

What the first look was about is kept in the job's folder (``gate.json``), for work that leaves this
machine. Where that is missing or damaged the strictest is assumed: the job's whole folder is searched,
and no trust that was given with the call counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..lanes.contract import Lane, Locality
from ..messages.job import JobRecord
from ..messages.refusals import RefusalCode, Refused
from ..state.errors import StateError
from ..state.home import Home
from ..state.job_folder import JobFolder
from ..state.settings import Settings
from .base import Handle
from .gate import Dispatch, Passed, Scope, pass_gate
from .tree import in_background

GATE = "gate.json"
_ENVIRONMENT = ("HOME", "XDG_CONFIG_HOME")
"""By which the person's own trusted lanes are found."""
_DEFAULTS = Settings({})
_BROKEN = Refused(
    code=RefusalCode.WOULD_LEAK,
    message="what leaves this machine could not be looked at again before the launch",
    hint="osrc supervisor logs says why",
)


@dataclass(frozen=True, slots=True)
class GateAnswered:
    """The gate → Job: whether this very attempt may be launched."""

    attempt: int
    answer: Passed | Refused


def keep(folder: JobFolder, dispatch: Dispatch, permit: Passed) -> None:
    """Keep in the job's folder what is asked again at its launches, if anything is. Raises StateError."""
    if not permit.cloud and not dispatch.settings.is_set("protected_paths"):
        return
    folder.write_json(
        GATE,
        {
            "folders": list(dispatch.scope.folders),
            "server": dispatch.server,
            "addresses": list(dispatch.addresses),
            "trust_lane": dispatch.trust_lane,
            "scan_secs": dispatch.settings.number("secret_scan_secs"),
            "protected": dispatch.settings.text("protected_paths"),
            "environment": {name: dispatch.environment[name] for name in _ENVIRONMENT if name in dispatch.environment},
        },
    )


def permit_again(folder: JobFolder, record: JobRecord, lane: Lane, home: Home, to: Handle) -> Passed | Refused | None:
    """Return the answer where nothing leaves this machine; else None, and ``GateAnswered`` comes to ``to``."""
    attempt = record.attempt
    if lane.locality is Locality.LOCAL and not folder.file(GATE).exists():
        return pass_gate(_dispatch({}, record, lane, home))
    in_background(
        f"gate:{record.job_id}",
        to,
        lambda: GateAnswered(attempt, look_again(folder, record, lane, home)),
        otherwise=GateAnswered(attempt, _BROKEN),
    )
    return None


def look_again(folder: JobFolder, record: JobRecord, lane: Lane, home: Home) -> Passed | Refused:
    """Ask the gate for the permit of this attempt. Blocks for as long as a search takes."""
    return pass_gate(_dispatch(folder.read_json(GATE) or {}, record, lane, home))


def _dispatch(kept: Mapping[str, Any], record: JobRecord, lane: Lane, home: Home) -> Dispatch:
    given = kept.get("environment")
    environment = (
        {name: word for name, word in given.items() if name in _ENVIRONMENT} if isinstance(given, dict) else {}
    )
    folders = kept.get("folders")
    server = kept.get("server")
    return Dispatch(
        subject=record.job_id,
        attempt=record.attempt,
        lane=lane,
        verb=record.verb,
        model=record.model,
        server=server if isinstance(server, str) else None,
        addresses=_words(kept.get("addresses")),
        scope=Scope(folders=_words(folders) if isinstance(folders, list) else (record.cwd,)),
        cwd=record.cwd,
        home=home,
        environment={name: word for name, word in environment.items() if isinstance(word, str)},
        settings=_settings(kept),
        trust_lane=kept.get("trust_lane") is True,
        keep=False,
    )


def _settings(kept: Mapping[str, Any]) -> Settings:
    limit_s, protected = kept.get("scan_secs"), kept.get("protected")
    words: dict[str, str] = {}
    if isinstance(limit_s, int | float) and limit_s > 0:
        words["OSRC_SECRET_SCAN_SECS"] = f"{limit_s:g}"
    if isinstance(protected, str) and protected:
        words["OSRC_PROTECTED_PATHS"] = protected
    try:
        return Settings.load(words) if words else _DEFAULTS
    except StateError:
        return _DEFAULTS


def _words(value: object) -> tuple[str, ...]:
    return tuple(word for word in value if isinstance(word, str)) if isinstance(value, list) else ()
