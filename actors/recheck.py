"""The gate once more, at the moment of a launch: what was open when a job was taken may be shut by now.

What the first look was about is kept in the job's folder (``gate.json``), for work that leaves this
machine. Where that is missing or damaged the strictest is assumed: the job's whole folder is searched,
and no trust that was given with the call counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..lanes.contract import Host, Lane, Locality
from ..messages.job import JobRecord
from ..messages.paths import home_of
from ..messages.refusals import RefusalCode, Refused
from ..messages.session import SessionRecord
from ..messages.vocabulary import Verb
from ..state.errors import StateError
from ..state.home import Home
from ..state.job_folder import JobFolder
from ..state.settings import Settings
from .base import Handle
from .folder_settings import check_folder
from .gate import Dispatch, Passed, Scope, pass_gate
from .tree import in_background

GATE = "gate.json"
SESSION_VERB = Verb.EDIT
"""A session may change files; it asks first."""
_ENVIRONMENT = ("HOME", "USERPROFILE", "XDG_CONFIG_HOME")
"""By which the person's own trusted lanes are found."""
_DEFAULTS = Settings({})
_BROKEN = Refused(
    code=RefusalCode.WOULD_LEAK,
    message="what leaves this machine could not be looked at again before the launch",
    hint="osrc supervisor logs says why",
)


class Kept(Protocol):
    """A folder of ours in which small files are kept."""

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        """Replace one JSON file whole. Raises StateError."""

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return a JSON object; None when there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """Who asks again: a job or a session, at one attempt (0: not a launch)."""

    subject: str
    attempt: int
    verb: Verb
    model: str | None
    cwd: str
    tree: str | None = None
    """The job's own work tree: it holds what is committed, which the folder that was looked at first may not."""

    @classmethod
    def job(cls, record: JobRecord) -> Asks:
        """The launch of a job's attempt."""
        return cls(
            subject=record.job_id,
            attempt=record.attempt,
            verb=record.verb,
            model=record.model,
            cwd=record.cwd,
            tree=record.worktree,
        )

    @classmethod
    def session(cls, record: SessionRecord, attempt: int) -> Asks:
        """The launch of a session's holder, or with ``attempt`` 0 something that is given to it."""
        return cls(subject=record.session_id, attempt=attempt, verb=SESSION_VERB, model=record.model, cwd=record.cwd)


@dataclass(frozen=True, slots=True)
class GateAnswered:
    """The gate → Job: whether this very attempt may be launched."""

    attempt: int
    answer: Passed | Refused


def keep(folder: Kept, dispatch: Dispatch, permit: Passed) -> None:
    """Keep in the folder what is asked again at its launches, if anything is. Raises StateError."""
    if not (permit.cloud or dispatch.lane.heeds or dispatch.settings.is_set("protected_paths")):
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
            "trust_folder": dispatch.settings.flag("trust_folder"),
            "given": sorted(name for name, value in dispatch.environment.items() if value),
            "environment": {name: dispatch.environment[name] for name in _ENVIRONMENT if name in dispatch.environment},
        },
    )


def permit_again(folder: JobFolder, record: JobRecord, lane: Lane, home: Home, to: Handle) -> Passed | Refused | None:
    """Return the answer where nothing leaves this machine; else None, and ``GateAnswered`` comes to ``to``."""
    attempt = record.attempt
    if lane.locality is Locality.LOCAL and not folder.file(GATE).exists():
        return pass_gate(dispatch_again({}, Asks.job(record), lane, home))
    in_background(
        f"gate:{record.job_id}",
        to,
        lambda: GateAnswered(attempt, look_again(folder, Asks.job(record), lane, home)),
        otherwise=GateAnswered(attempt, _BROKEN),
    )
    return None


def look_again(folder: Kept, asks: Asks, lane: Lane, home: Home) -> Passed | Refused:
    """Ask the gate for the permit of this attempt. Blocks for as long as a search takes.

    What the folder sets for the lane's CLI is looked at again too, where something is launched: it may have come since.
    """
    kept = folder.read_json(GATE) or {}
    dispatch = dispatch_again(kept, asks, lane, home)
    if asks.attempt and (refused := check_folder(lane, asks.verb, asks.cwd, _host(kept, dispatch))) is not None:
        return refused
    return pass_gate(dispatch)


def _host(kept: Mapping[str, Any], dispatch: Dispatch) -> Host:
    """Return what judging a folder needs: the names that the caller had set, no value but where home is."""
    return Host(
        environment=dict.fromkeys(_words(kept.get("given")), "1"),
        executables={},
        home=home_of(dispatch.environment),
        trust_folder=kept.get("trust_folder") is True,
    )


def dispatch_again(kept: Mapping[str, Any], asks: Asks, lane: Lane, home: Home) -> Dispatch:
    """Return what the gate is asked, from what was kept of the first time."""
    given = kept.get("environment")
    environment = (
        {name: word for name, word in given.items() if name in _ENVIRONMENT} if isinstance(given, dict) else {}
    )
    folders = kept.get("folders")
    scope = _words(folders) if isinstance(folders, list) else (asks.cwd,)
    server = kept.get("server")
    return Dispatch(
        subject=asks.subject,
        attempt=asks.attempt,
        lane=lane,
        verb=asks.verb,
        model=asks.model,
        server=server if isinstance(server, str) else None,
        addresses=_words(kept.get("addresses")),
        scope=Scope(folders=(*scope, asks.tree) if asks.tree and scope else scope),
        cwd=asks.cwd,
        home=home,
        environment=environment,
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
