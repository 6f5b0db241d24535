"""The one gate: whatever takes work to a lane passes it, and gets a permit without which nothing starts.

    verdict = pass_gate(Dispatch(...))        # Passed | Refused

Everything that can start a delegate, or send work by itself (``spawner``, ``holders``, ``rehearsal_turn``,
``image_service``), takes a ``Passed``, and only this file can make one: a path that goes around the gate
does not type-check, and raises where nobody checks. A permit is for one subject and one attempt, so that
one job's never serves another, nor an earlier look a later launch.

Nobody gets past how deep delegates may delegate, to a model of the person's denylist, nor writes in a
protected folder. Work that stays on this machine then passes at once. Work that leaves is looked at in
this order: files that hold credentials where the delegate may read, secret values in what it is told,
and the person's consent. What can't be looked at is refused.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from ..lanes.contract import Lane
from ..lanes.disclosure import Leaving, leaving, training, words_of
from ..lanes.loopback import is_loopback
from ..lanes.secrets import files as file_rules
from ..lanes.secrets import values as value_rules
from ..messages.paths import home_of
from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Verb
from ..state import consent as consents
from ..state.consent import Answer
from ..state.errors import StateError, printable
from ..state.home import Home
from ..state.lane_posture import restricted
from ..state.protected import protected_by
from ..state.settings import Settings
from ..state.trusted_lanes import read_trusted, trusted_file, trusts, trusts_itself
from .denylist import check_denied
from .depth import check_depth
from .scope_scan import ScanResult, scan

MOST_FILES = 5_000_000
"""So many files are looked at before the search is given up, which refuses the job."""
MOST_NAMED = 3
"""Files that a refusal names."""
HEAD = 4096
"""Bytes of a file's beginning that its kind is told from."""

_SEAL: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a delegate is given or may read."""

    folders: tuple[str, ...] = ()
    """Absolute folders; empty where the delegate has no hands, and the text is all that goes."""
    texts: tuple[str, ...] = field(default=(), repr=False)
    """Everything it is told."""
    files: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    """Files that are put beside it: relative name, with ``/``, and content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatch:
    """One piece of work on its way to a lane: a launch, a session's start, one message to a session."""

    subject: str
    """What the permit is for: a job's or session's id."""
    attempt: int = 0
    """0: nothing is launched by this look alone."""
    lane: Lane
    verb: Verb
    model: str | None
    server: str | None = None
    """The server that was found for a lane that needs one."""
    addresses: tuple[str, ...] = ()
    """Words of the command, and values of the environment, that are addresses."""
    scope: Scope
    cwd: str
    tree: str | None = None
    """The git work tree of its own that it is to get."""
    home: Home
    """The state home, which keeps consent."""
    environment: Mapping[str, str] = field(repr=False)
    """The caller's."""
    settings: Settings
    cloud_ack: bool = False
    """``--cloud-ack`` was given with this very call."""
    trust_lane: bool = False
    """``--trust-lane`` was given with this very call."""
    keep: bool = True
    """Whether consent that is given with this call is kept. False where nothing is to be changed."""

    def leaves(self) -> Leaving | None:
        """Return where the work goes; None where it stays on this machine."""
        return leaving(
            self.lane, model=self.model, server=self.server, addresses=self.addresses, environment=self.environment
        )


class Passed:
    """Proof that a dispatch passed the gate. Only ``pass_gate`` makes one."""

    __slots__ = ("attempt", "cloud", "disclosure", "subject", "words")

    def __init__(  # noqa: PLR0913  the parts of a verdict
        self, seal: object, *, subject: str, attempt: int, cloud: bool, words: str, disclosure: tuple[str, ...] = ()
    ) -> None:
        """``seal`` is the gate's own. Raises TypeError for anything else."""
        if seal is not _SEAL:
            raise TypeError("a permit is made by pass_gate, and by nobody else")
        self.subject: Final = subject
        self.attempt: Final = attempt
        self.cloud: Final = cloud
        self.words: Final = words
        """How the gate stood, in words."""
        self.disclosure: Final = disclosure
        """What a person is told before work leaves, a line each; empty where nothing leaves."""

    def allows(self, subject: str, attempt: int) -> bool:
        """Whether this permit is for that very launch."""
        return attempt > 0 and self.subject == subject and self.attempt == attempt

    def demand(self, subject: str, attempt: int) -> None:
        """Raise PermissionError where this permit is for something else."""
        if not self.allows(subject, attempt):
            raise PermissionError(f"the permit is for {self.subject} ({self.attempt}), not {subject} ({attempt})")


@dataclass(frozen=True, slots=True)
class Senses:
    """What the gate looks with; a test may hand in its own."""

    scan: Callable[..., ScanResult] = scan
    wall: Callable[[], float] = time.time
    mono: Callable[[], float] = time.monotonic


SENSES = Senses()


def pass_gate(dispatch: Dispatch, senses: Senses = SENSES) -> Passed | Refused:
    """Let a dispatch pass, or refuse it with the sentence and the way out. Blocks for as long as a search takes."""
    depth = check_depth(dispatch.environment, dispatch.settings)
    refused = depth if isinstance(depth, Refused) else _protected(dispatch) or _remembered(dispatch)
    refused = refused or check_denied(dispatch.lane.name, dispatch.model, dispatch.settings)
    if refused is not None:
        return refused
    leaves = dispatch.leaves()
    if leaves is not None:
        # What a person decides, no delegate decides for them.
        own = replace(dispatch, cloud_ack=False, trust_lane=False) if depth else dispatch
        return _pass_cloud(own, leaves, senses, delegate=bool(depth))
    words = "local: nothing leaves this machine"
    return Passed(_SEAL, subject=dispatch.subject, attempt=dispatch.attempt, cloud=False, words=words)


def pass_answer(dispatch: Dispatch) -> Refused | None:
    """Refuse words that answer a running delegate and hold a secret value that would leave.

    Files and consent are looked at with each send: an answer begins nothing, and gives nothing more to read.
    """
    leaves = dispatch.leaves()
    found = _look_at_words(dispatch, leaves) if leaves is not None else None
    if not isinstance(found, Refused):
        return None
    return found.model_copy(update={"hint": "refer to it by its name, such as $API_KEY"})


def _pass_cloud(dispatch: Dispatch, leaves: Leaving, senses: Senses, *, delegate: bool) -> Passed | Refused:
    """Let work leave, or refuse it: the cheapest look first, and the one that keeps something last."""
    ack = dispatch.settings.flag("cloud_ack") if dispatch.settings.is_set("cloud_ack") else None
    if ack is False:
        return _declined(dispatch, leaves)
    ack = None if delegate else ack
    looks: tuple[Callable[[], str | Refused], ...] = (
        lambda: _look_at_files(dispatch, senses),
        lambda: _look_at_words(dispatch, leaves),
        lambda: _consent(dispatch, leaves, ack=ack, now=senses.wall()),
    )
    said: list[str] = []
    for look in looks:
        found = look()
        if isinstance(found, Refused):
            return found
        said.append(found)
    words = "; ".join(said)
    return Passed(
        _SEAL,
        subject=dispatch.subject,
        attempt=dispatch.attempt,
        cloud=True,
        words=f"cloud: open ({words})",
        disclosure=_disclosed(dispatch, leaves, words),
    )


def pass_rehearsal(subject: str, environment: Mapping[str, str], root: str) -> Passed | Refused:
    """Let a turn pass that is played against a scripted model of ours, in a home of its own below ``root``.

    Nothing of the person's is in it, and every server that its environment names is on this machine.
    """
    own = environment.get("HOME") or ""
    elsewhere = [name for name, value in environment.items() if "://" in value and not is_loopback(value)]
    if elsewhere or not own.startswith(root + os.sep):
        where = f"{elsewhere[0]} names a server elsewhere" if elsewhere else "its home is not its own"
        return Refused(code=RefusalCode.DENIED, message=f"{subject} is no rehearsal: {where}")
    return Passed(_SEAL, subject=subject, attempt=1, cloud=False, words="a scripted model on this machine")


def _protected(dispatch: Dispatch) -> Refused | None:
    """Refuse to write where the person's own tools and we keep our settings."""
    if dispatch.verb.read_only:
        return None
    places = (*dispatch.settings.path_list("protected_paths"), os.fspath(dispatch.home.root))
    place = protected_by(dispatch.cwd, places, home_of(dispatch.environment))
    if place is None:
        return None
    return Refused(
        code=RefusalCode.PROTECTED_PATH,
        message=f"{dispatch.verb.value} may write, and {printable(dispatch.cwd)} lies in {printable(place)}, "
        "which no job may change",
        hint="work in another folder, or look only: osrc run ... (protected_paths names these folders)",
    )


def _remembered(dispatch: Dispatch) -> Refused | None:
    """Refuse what the lane's organisation is remembered to forbid."""
    lane, verb = dispatch.lane, dispatch.verb
    if verb not in lane.forbidden_by_others or not restricted(dispatch.home, lane.name):
        return None
    return Refused(
        code=RefusalCode.DENIED,
        message=f"{lane.name} refused {verb.value} before: its organisation forbids to work autonomously",
        hint=f"osrc {verb.value} --lane codex ... has a sandbox; osrc posture reset asks {lane.name} again",
    )


# --- files


def _look_at_files(dispatch: Dispatch, senses: Senses) -> str | Refused:
    """Return how the search for credential files stood, or refuse."""
    granted = _credential_among(dispatch.scope.files)
    folders = dispatch.scope.folders
    trust, problem = _trust(dispatch)
    if granted is not None and trust is None:
        return _found(dispatch, [granted], problem)
    if not folders:
        return "no folder goes along"
    if trust is not None:
        return f"files were NOT searched: {trust}"
    limit_s = dispatch.settings.number("secret_scan_secs") or 0.0
    result = senses.scan(folders, deadline_s=limit_s, clock=senses.mono, limit_files=MOST_FILES)
    if result.found:
        named = [f"{printable(one.path)} ({one.kind})" for one in result.found[:MOST_NAMED]]
        more = len(result.found) - len(named)
        return _found(dispatch, [*named, *([f"and {more} more"] if more else [])], problem)
    if not result.complete:
        return Refused(
            code=RefusalCode.WOULD_LEAK,
            message=f"the search for credential files in {_folders(folders)} could not be finished: "
            f"{result.why or 'it gave no reason'}. Nothing was sent to {dispatch.lane.name}" + _also(problem),
            hint=f"{_ways_out(dispatch)}, or give it more time: OSRC_SECRET_SCAN_SECS={max(60, round(limit_s * 4))}",
        )
    return f"{result.files:,} files searched, no credential file" + _also(problem)


def _trust(dispatch: Dispatch) -> tuple[str | None, str | None]:
    """Return why the search stands down, if it does, and why the person's own file is not believed, if it is not."""
    if dispatch.trust_lane:
        return f"--trust-lane {dispatch.lane.name} was given", None
    try:
        path = trusted_file(dispatch.environment)
        if trusts_itself(path, dispatch.scope.folders, dispatch.environment):
            return None, f"{printable(str(path))} is not used: a folder can't hold the word that it is to be trusted"
        trusted = read_trusted(path)
    except StateError as error:
        return None, error.message
    if trusts(trusted, words_of(dispatch.lane), dispatch.scope.folders):
        return f"{dispatch.lane.name} is trusted here by {trusted.path}", None
    return None, trusted.problem


def _credential_among(files: Sequence[tuple[str, bytes]]) -> str | None:
    """Return the first of the files put beside a delegate that is a credential file, in words."""
    for name, content in files:
        parts = tuple(name.split("/"))
        kind = file_rules.credential_kind(parts)
        if kind is None and file_rules.needs_content(parts):
            kind = file_rules.content_kind(parts, content[:HEAD])
        if kind is not None:
            return f"{printable(name)} ({kind})"
    return None


def _found(dispatch: Dispatch, named: Sequence[str], problem: str | None) -> Refused:
    return Refused(
        code=RefusalCode.WOULD_LEAK,
        message=f"{dispatch.lane.name} is a cloud lane, and could read credentials here: {', '.join(named)}"
        + _also(problem),
        hint=_ways_out(dispatch),
    )


def _ways_out(dispatch: Dispatch) -> str:
    name = dispatch.lane.name
    return (
        f"move it out of the folder, work in a copy without it, take a local lane (--lane local), "
        f"or trust this lane with it for this call: --trust-lane {name}"
    )


# --- words


def _look_at_words(dispatch: Dispatch, leaves: Leaving) -> str | Refused:
    """Return how the search for secret values stood, or refuse. No value is ever shown."""
    sure: dict[str, int] = {}
    doubtful = 0
    for text in _texts(dispatch.scope):
        for hit in value_rules.find(text):
            if hit.confidence == "high":
                sure[hit.rule] = sure.get(hit.rule, 0) + 1
            else:
                doubtful += 1
    aside = f", {doubtful} that may be one" if doubtful else ""
    if not sure:
        return f"no secret in the text{aside}"
    count = sum(sure.values())
    kinds = ", ".join(sorted(sure)[:5])
    if dispatch.settings.flag("secret_allow_value"):
        where = dispatch.settings.origin("secret_allow_value")
        return f"{count} secret value{'s' * (count > 1)} in the text ({kinds}) ALLOWED by {where}{aside}"
    return Refused(
        code=RefusalCode.WOULD_LEAK,
        message=f"the text holds {count} secret value{'s' * (count > 1)} ({kinds}), and would go to {leaves.to}",
        hint="refer to it by its name, such as $API_KEY; or, if it may be known there: OSRC_SECRET_ALLOW_VALUE=1",
    )


def _texts(scope: Scope) -> list[str]:
    return [*scope.texts, *(content.decode("utf-8", "replace") for _, content in scope.files)]


# --- consent


def _consent(dispatch: Dispatch, leaves: Leaving, *, ack: bool | None, now: float) -> str | Refused:
    """Return whose consent it is, or refuse. One that is given with this call is kept."""
    name = dispatch.lane.name
    stored, problem = None, None
    try:
        stored = consents.read_consent(dispatch.home)
    except StateError as error:
        problem = error.message
    how = "--cloud-ack" if dispatch.cloud_ack else dispatch.settings.origin("cloud_ack")
    match consents.decide(ack=ack, flag=dispatch.cloud_ack, stored=stored):
        case Answer.STANDS if stored is not None:
            return f"consent of {stored.by} since {stored.at}"
        case Answer.GIVEN if dispatch.keep:
            try:
                given = consents.grant(dispatch.home, how=how, now=now)
            except StateError as error:
                return error.refusal
            return f"consent is kept from now on, by {how} (osrc consent revoke takes it back; {given.by})"
        case Answer.GIVEN:
            return f"consent is given by {how}"
        case _:
            return Refused(
                code=RefusalCode.CONSENT_NEEDED,
                message=f"the lane {name} sends work to {leaves.to}, and nobody has agreed to that yet{_also(problem)}",
                hint="osrc consent grant agrees once and for all (or: --cloud-ack); --lane local stays on this machine",
            )


def _declined(dispatch: Dispatch, leaves: Leaving) -> Refused:
    return Refused(
        code=RefusalCode.DENIED,
        message=f"the lane {dispatch.lane.name} sends work to {leaves.to}, and cloud lanes are refused here "
        f"({dispatch.settings.origin('cloud_ack')})",
        hint="take that setting away, or use --lane local",
    )


# --- words for people


def _disclosed(dispatch: Dispatch, leaves: Leaving, words: str) -> tuple[str, ...]:
    """Return what a person is told, each a line."""
    lane, model, scope = dispatch.lane, dispatch.model or "its own default model", dispatch.scope.folders
    reads = (
        f"the task, and whatever it opens; it works in {_folders((dispatch.tree,) if dispatch.tree else scope)}"
        if scope
        else "the text it is given, and nothing else"
    )
    changed = "files are changed in that work tree of its own" if dispatch.tree else "files there are changed in place"
    edits = changed if dispatch.verb.may_write else "nothing is to be changed there"
    lines = [
        f"cloud: {lane.name} ({lane.vehicle}, {model}) sends to {leaves.to}"
        + (f": {leaves.why}" if leaves.why else ""),
        f"reads: {reads}; {edits}",
    ]
    rules = _rules(lane, dispatch.environment)
    if rules:
        lines.append(f"your own rule files may go along: {', '.join(rules)} (look into them: less {rules[0]})")
    return (*lines, f"training: {training(dispatch.model)}", f"gate: {words}")


def _rules(lane: Lane, environment: Mapping[str, str]) -> list[str]:
    """Return which of the person's rule files there are, as they are written with ``~``."""
    user = home_of(environment)
    return [name for name in lane.rules if os.path.lexists(user + name[1:])]


def _folders(folders: Sequence[str]) -> str:
    return ", ".join(map(printable, folders))


def _also(problem: str | None) -> str:
    return f" ({problem})" if problem else ""
