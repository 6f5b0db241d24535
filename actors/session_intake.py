"""From what a person asked for to a session that can start: checks, lane, transport, plan, folder.

Like ``intake.py``: runs in the thread of the connection that asked; everything that can be refused is
refused before anything exists.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..lanes.catalog import Resolved
from ..lanes.contract import Billing, Host, Lane, Locality, SessionLaunch, SessionTask
from ..lanes.disclosure import addresses_in
from ..lanes.registry import Registry
from ..messages.job import JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Plan
from ..messages.session import SessionRecord, SessionRequest, Transport
from ..messages.vocabulary import Effort, Verb
from ..state.errors import StateError
from ..state.home import Home
from ..state.ids import new_job_id
from ..state.session_folder import LAUNCH, SessionFolder
from ..state.settings import Settings
from .budget_book import Weigh
from .caller import caller_of
from .choosing import choose
from .denylist import check_denied, check_sent
from .depth import check_depth
from .folder_settings import check_folder
from .gate import Dispatch, Passed, Scope, pass_gate
from .holders import HolderRoad
from .host import host_for
from .intake import effective, with_verdict
from .intake_checks import as_utf8, check_cwd
from .job_writing import environment_of
from .leftovers import taken
from .limit_book import LimitBook, refusal
from .model_book import ModelBook, known_models
from .notices import notices_path
from .own_servers import with_own_servers
from .recheck import SESSION_VERB, keep
from .session_before import Before, before
from .session_joining import keep_join
from .socket_place import socket_place
from .withholding import said_of, withhold
from .work_tree import project_of

POSTURE = "ASKS (you answer its permission prompts)"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDraft:
    """A session that could start: everything decided, nothing created."""

    request: SessionRequest
    lane: Lane
    resolved: Resolved
    transport: Transport
    launch: SessionLaunch
    environment: Mapping[str, str]
    depth: int
    settings: Settings
    plan: Plan
    dispatch: Dispatch
    """What the gate was asked."""
    permit: Passed | None = None
    """What it answered; None for a draft that is only to be looked at."""
    conversation: str | None = None
    began: float | None = None
    """When that was last begun, epoch seconds."""

    @property
    def billing(self) -> Billing:
        """Who pays for it."""
        return self.launch.billing or self.lane.billing

    @property
    def strip(self) -> frozenset[str]:
        """Environment names that the lane removes."""
        return self.launch.env_strip

    @property
    def cwd(self) -> str:
        """The folder the delegate works in."""
        return self.request.cwd


def draft_session(
    request: SessionRequest,
    home: Home,
    registry: Registry,
    *,
    models: ModelBook | None = None,
    limits: LimitBook | None = None,
) -> SessionDraft | Refused:
    """Decide everything about a session and let it pass the gate, or refuse. Creates no session."""
    found = _decide(request, home, registry, models, limits)
    if isinstance(found, Refused):
        return found
    permit = pass_gate(found.dispatch)
    if isinstance(permit, Refused):
        return permit
    plan = found.plan.model_copy(update={"gate": permit.words, "disclosure": permit.disclosure})
    return replace(found, permit=permit, plan=plan)


def preview_session(  # noqa: PLR0913  all that is known of this machine
    request: SessionRequest,
    home: Home,
    registry: Registry,
    *,
    models: ModelBook | None = None,
    limits: LimitBook | None = None,
    weigh: Weigh | None = None,
) -> Plan | Refused:
    """Return what ``draft_session`` would come to, with the gate's and the budget's verdict. Changes nothing at all."""
    found = _decide(request, home, registry, models, limits)
    if isinstance(found, Refused):
        return found
    plan = with_verdict(found.plan, found.dispatch)
    if weigh is None or request.task is None:
        return plan
    why = weigh(found.billing.kind, found.resolved.model, request.task, found.settings)
    return plan.model_copy(update={"budget": why})


def _decide(  # noqa: C901, PLR0911 - one refusal after the other
    request: SessionRequest, home: Home, registry: Registry, models: ModelBook | None, limits: LimitBook | None
) -> SessionDraft | Refused:
    caller = caller_of(request.environment)
    if isinstance(caller, Refused):
        return caller
    environment, settings = caller.environment, caller.settings
    depth = check_depth(environment, settings)
    if isinstance(depth, Refused):
        return depth
    earlier = before(request, home)
    if isinstance(earlier, Refused):
        return earlier
    request = _with_defaults(_on_its_terms(request, earlier), settings)
    if (refused := check_cwd(request.cwd)) is not None:
        return refused
    models = models or ModelBook(home)
    resolved = choose(_as_job(request), registry, models, environment, settings, limits=limits)
    if isinstance(resolved, Refused):
        return resolved
    lane = registry.get(resolved.lane)
    if isinstance(lane, Refused):
        return lane
    transport = choose_transport(request, lane, registry)
    if isinstance(transport, Refused):
        return transport.model_copy(update={"message": "; ".join((transport.message, *resolved.notices))})
    known = known_models(models, registry.tiers(request.lane), settings)
    if (refused := check_denied(lane.name, resolved.model, settings, known)) is not None:
        return refused
    seen = effective(environment, settings, secrets="server" in lane.needs)
    given, held = withhold(seen, lane, resolved.model, settings)
    host = host_for(lane, given, settings, keys_from=environment)
    if (refused := check_folder(lane, Verb.EDIT, request.cwd, host)) is not None:
        return refused
    host = with_own_servers(replace(host, project=project_of(request.cwd)), lane, request.cwd)
    task = SessionTask(
        cwd=request.cwd,
        model=resolved.model,
        effort=request.effort,
        conversation=earlier.conversation if earlier is not None else None,
        fresh=str(uuid.uuid4()),
    )
    launch = _launch(lane, transport, task, host)
    if isinstance(launch, Refused):
        return launch
    if (refused := check_sent(lane.name, launch.model or resolved.model, settings, known)) is not None:
        return refused
    pool = (launch.billing or lane.billing).pool
    hindered = limits.hindrance(lane.name, pool, resolved.model) if limits is not None else None
    if hindered is not None:
        return refusal(hindered, lane.name, resolved.model, pinned=request.model is not None, waits=False)
    return SessionDraft(
        request=request,
        lane=lane,
        resolved=resolved,
        transport=transport,
        launch=launch,
        environment=host.environment,
        depth=depth,
        settings=settings,
        plan=_plan(request, lane, resolved, transport, launch, host, held),
        dispatch=Dispatch(
            subject=request.session_id or "",
            lane=lane,
            verb=SESSION_VERB,
            model=resolved.model,
            server=host.server,
            addresses=addresses_in(lane, launch.argv, launch.env_set.values(), ""),
            scope=Scope(folders=(request.cwd,), texts=(request.task,) if request.task is not None else ()),
            cwd=request.cwd,
            home=home,
            environment=host.environment,
            settings=settings,
            cloud_ack=request.cloud_ack,
            trust_lane=request.trust_lane,
        ),
        conversation=task.conversation,
        began=earlier.began if earlier is not None else None,
    )


def choose_transport(request: SessionRequest, lane: Lane, registry: Registry) -> Transport | Refused:
    """Return the transport asked for, or the lane's best; refuse what the lane has not."""
    there = tuple(lane.sessions)
    if request.transport is None and there:
        return there[0]  # type: ignore[return-value]  # a lane's keys are transports
    if request.transport is not None and plan_key(request.transport) in lane.sessions:
        return request.transport
    if there:
        message = f"the {lane.name} lane has no {request.transport} sessions"
        return Refused(code=RefusalCode.NO_SESSIONS, message=message, hint=f"--transport {' or '.join(there)}")
    able = [name for name in registry.names() if isinstance(found := registry.get(name), Lane) and found.sessions]
    return Refused(
        code=RefusalCode.NO_SESSIONS,
        message=f"the {lane.name} lane has no sessions",
        hint=f'lanes that have: {", ".join(able)}, or any ACP agent: --lane "acp:COMMAND"',
    )


def _launch(lane: Lane, transport: Transport, task: SessionTask, host: Host) -> SessionLaunch | Refused:
    launch = lane.sessions[plan_key(transport)](task, host)
    if isinstance(launch, Refused) or transport != "tmux":
        return launch
    if shutil.which("tmux", path=host.environment.get("PATH", os.defpath)) is None:
        message = "tmux is not on PATH, so that no session can be started in a pane of it"
        return Refused(code=RefusalCode.NO_SESSIONS, message=message, hint="install tmux, or: --transport pty")
    return replace(launch, engine="tmux")


def plan_key(transport: str) -> str:
    """Return by which of a lane's plans such a session is started: in a pane runs what runs in a terminal."""
    return "pty" if transport == "tmux" else transport


def create_session(  # noqa: PLR0913 - by name
    draft: SessionDraft,
    home: Home,
    *,
    umask: int,
    now: float | None = None,
    random: Callable[[int], bytes] = os.urandom,
    road: HolderRoad | None = None,
) -> tuple[SessionRecord, SessionFolder]:
    """Make the session's folder, its launch, and its first inbox entry. Raises StateError; then nothing is left.

    Raises PermissionError for a draft that did not pass the gate.
    """
    at = time.time() if now is None else now
    home.preflight()
    while True:
        session_id = draft.request.session_id or new_job_id(at, random(6))
        try:
            folder = SessionFolder.create(home, session_id)
            break
        except FileExistsError:
            if draft.request.session_id is not None:  # whoever asks again with it must not get two
                raise taken(f"session {session_id}") from None
    record = _record(draft, session_id, at)
    try:
        write_launch(folder, draft, home, attempt=1, first=1, umask=umask, random=random, road=road)
        if draft.request.task is not None:
            entry = {"id": f"{session_id}:task", "op": "send", "text": draft.request.task}
            folder.prepare(1, entry)
            folder.promise(1)  # nobody reads it before a holder is asked for, which is journalled first
    except (StateError, OSError) as error:
        folder.remove()
        raise error if isinstance(error, StateError) else StateError("state_unwritable", str(error)) from error
    return record, folder


def write_launch(  # noqa: PLR0913 - by name
    folder: SessionFolder,
    draft: SessionDraft,
    home: Home,
    *,
    attempt: int,
    first: int,
    umask: int,
    random: Callable[[int], bytes] = os.urandom,
    road: HolderRoad | None = None,
) -> None:
    """Write the files of a launch, what the gate asks again, and ``launch.json``.

    ``first`` is the first inbox entry that it may take.
    """
    launch, session_id = draft.launch, folder.path.name
    if draft.permit is None:
        raise PermissionError("this draft did not pass the gate")
    keep(folder, draft.dispatch, draft.permit)
    road = road or HolderRoad()

    def placed(text: str) -> str:
        return text.replace("{job}", os.fspath(folder.path)) if launch.files else text

    for file in launch.files:
        folder.place(file.name, file.content, executable=file.executable)
    environment = environment_of(draft, session_id) | {name: placed(value) for name, value in launch.env_set.items()}
    told = {
        "attempt": attempt,
        "argv": [placed(word) for word in launch.argv],
        "env": environment,
        "cwd": draft.request.cwd,
        "umask": umask,
        "engine": launch.engine,
        "options": dict(launch.options),
        "contended": list(launch.contended),
        "first": first,
        "socket": road.door(home, session_id),
        "plain": road.plain,
        "token": random(16).hex(),
        "notices": os.fspath(notices_path(home, None)),
        "idle_s": draft.settings.number("session_idle") or 0.0,
        "not_before": not_before(draft, time.time()),
        "sys_path": _site_packages(),
    }
    if launch.engine == "tmux":
        told["tmux"] = f"{socket_place(home, session_id)}.tmux"
    folder.write_json(LAUNCH, told)
    if launch.engine == "tmux":
        keep_join(folder, told)


def not_before(draft: SessionDraft, now: float) -> float:
    """Return when the program may be started, epoch seconds: 0, or the next minute where its CLI needs that."""
    if not draft.launch.next_minute or draft.conversation is None:
        return 0.0
    same = draft.began is None or draft.began // 60 == now // 60
    return (now // 60 + 1) * 60 + 1 if same else 0.0


def _site_packages() -> list[str]:
    """Return where an engine finds what is installed beside us; most need nothing of it."""
    import sys  # noqa: PLC0415 - beside its only use

    return [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]


def _on_its_terms(request: SessionRequest, earlier: Before | None) -> SessionRequest:
    if earlier is None:
        return request
    terms = {
        "lane": earlier.lane,
        "cwd": earlier.cwd,
        "model": request.model or earlier.model,
        "effort": request.effort or earlier.effort,
    }
    return request.model_copy(update=terms)


def _with_defaults(request: SessionRequest, settings: Settings) -> SessionRequest:
    word = settings.text("effort") if request.effort is None else None
    return request.model_copy(update={"effort": Effort(word)}) if word else request


def _as_job(request: SessionRequest) -> JobRequest:
    """Return the request as the catalog takes one: a session may change files, but asks first."""
    return JobRequest(verb=Verb.EDIT, task="-", model=request.model, lane=request.lane, cwd=request.cwd)


def _plan(  # noqa: PLR0913, PLR0917 - the parts of one draft
    request: SessionRequest,
    lane: Lane,
    resolved: Resolved,
    transport: str,
    launch: SessionLaunch,
    host: Host,
    held: tuple[str, ...],
) -> Plan:
    tested = f"it was tried with {lane.vehicle} {', '.join(lane.tested_versions)}" if lane.tested_versions else ""
    return Plan(
        lane=lane.name,
        vehicle=lane.vehicle,
        model=resolved.model,
        tier=resolved.tier.value,
        effort=request.effort.value if request.effort else None,
        effort_support=lane.effort.value,
        effort_sent=launch.effort,
        verb="session",
        posture=POSTURE,
        argv=tuple(as_utf8(word) for word in launch.argv),
        cwd=request.cwd,
        stdin=f"its {transport} connection",
        env_set=tuple(sorted(launch.env_set)),
        env_stripped=tuple(sorted(name for name in launch.env_strip if name in host.environment)),
        env_withheld=held,
        gate="",
        cost=(launch.billing or lane.billing).words,
        notices=(
            *resolved.notices,
            *launch.notices,
            *((tested,) if tested and lane.name.startswith("acp:") else ()),
            *said_of(held),
        ),
    )


def _record(draft: SessionDraft, session_id: str, at: float) -> SessionRecord:
    request, lane = draft.request, draft.lane
    return SessionRecord(
        session_id=session_id,
        name=request.name or _plain(lane.vehicle),
        label=request.label,
        lane=lane.name,
        vehicle=lane.vehicle,
        transport=draft.transport,
        model=draft.resolved.model,
        effort=request.effort,
        cwd=request.cwd,
        captain=request.captain,
        local=lane.locality is Locality.LOCAL,
        pool=draft.billing.pool,
        paid=draft.billing.kind,
        conversation=draft.conversation,
        given=0 if request.task is None else 1,
        continues=request.continues,
        accepted_at=at,
    )


def _plain(word: str) -> str:
    """Return a program's name as a session's name."""
    kept = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "_.-") else "-" for letter in word)
    return kept.strip("-._")[:48] or "session"
