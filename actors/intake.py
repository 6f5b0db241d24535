"""From what a person asked for to a job that can run: checks, choice of lane, plan, folder.

Runs in the thread of the connection that asked, so it may block; the decision itself, that the job
exists, is taken by Jobs and journalled. Everything that can be refused is refused before an id
exists.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..lanes import openrouter
from ..lanes.advice.classify import classify
from ..lanes.catalog import Resolved
from ..lanes.contract import Host, Lane, Launch, Locality, Task
from ..lanes.disclosure import addresses_of
from ..lanes.grants import MCP_FILE, Granted
from ..lanes.markers import mint
from ..lanes.registry import Registry
from ..lanes.scaffolds import scaffold
from ..lanes.walls import Fence, behind, said
from ..messages.job import Cost, Identity, JobRecord, JobRequest
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Plan
from ..messages.session import SessionRecord
from ..messages.vocabulary import Effort, JobState
from ..state.errors import StateError
from ..state.files import read_private
from ..state.home import Home
from ..state.ids import new_job_id
from ..state.job_folder import LAUNCH, PROMPT, JobFolder
from ..state.limits import instant
from ..state.settings import SETTINGS, Settings, config_file, read_config
from .accounts import Account, account_in
from .advising import Place, chosen, project_root
from .choosing import choose
from .continuing import check_lane, earlier, taken_over
from .denylist import check_denied
from .depth import check_depth
from .folder_settings import check_folder
from .gate import Dispatch, Passed, Scope, pass_gate
from .grants import granted_to
from .host import decode_environment, host_for
from .intake_checks import as_utf8, check_cwd, check_verb, task_text
from .job_tree import own_tree
from .kept_request import keepable
from .limit_book import LimitBook, admit
from .model_book import ModelBook
from .own_servers import with_own_servers
from .recheck import keep
from .tree import JOB_VARIABLE
from .work_tree import GUARD, Guard, guard_for, project_of
from .worktrees import Planned

PLAN_LIMIT = 1 << 20
STDIN = "stdin"
WINDOWS = (
    "poll",
    "stall_warn",
    "stall_kill",
    "timeout",
    "timeout_max",
    "noinit_secs",
    "nowrite_warn",
    "nowrite_kill",
    "noprogress_secs",
    "noprogress_kill_secs",
    "final_grace",
    "launch_grace",
    "setup_grace",
    "perm_abort",
    "fs_progress",
    "fs_progress_depth",
)
"""Settings that a job takes along from where it was asked for."""

SECRETS = frozenset(name for setting in SETTINGS.values() if setting.secret for name in setting.names)
"""Environment names of settings that are keys: only the lane that uses one gets it."""

_GIT_IDENTITY = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
_GIT_NAME, _GIT_EMAIL = "outsourcerer-delegate", "delegate@outsourcerer.invalid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A job that could run: everything decided, nothing created."""

    request: JobRequest
    task_text: str
    prompt: str
    marker_id: str
    lane: Lane
    resolved: Resolved
    launch: Launch
    environment: Mapping[str, str]
    depth: int
    settings: Settings
    plan: Plan
    agentic: bool
    """Whether the delegate has tools in this very job."""
    place: str
    """What stands for the job's folder in the prompt until there is one: it occurs nowhere by chance."""
    dispatch: Dispatch
    """What the gate was asked."""
    permit: Passed | None = None
    """What it answered; None for a draft that is only to be looked at."""
    account: Account | None = None
    """Whom it can be asked of afterwards what the job cost."""
    guard: Guard | None = None
    """A read-only promise that is ours to keep, not the CLI's."""
    wake_at: float | None = None
    """Epoch seconds until which it waits, where a limit is in the way and the person said to wait."""
    tree: Planned | None = None
    """The work tree of its own that it gets."""

    @property
    def pool(self) -> str:
        """Whose limit a run spends."""
        return (self.launch.billing or self.lane.billing).pool

    @property
    def strip(self) -> frozenset[str]:
        """Environment names that the lane removes."""
        return self.launch.env_strip

    @property
    def cwd(self) -> str:
        """The folder the delegate works in."""
        return self.request.cwd if self.tree is None else self.tree.cwd


def draft(  # noqa: PLR0913  what is known comes in by name
    request: JobRequest,
    home: Home,
    registry: Registry,
    random: Callable[[int], bytes] = os.urandom,
    *,
    models: ModelBook | None = None,
    limits: LimitBook | None = None,
) -> Draft | Refused:
    """Decide everything about a job and let it pass the gate, or refuse. Creates no job.

    ``limits`` is what is known of lanes that are down and of quotas; without it, nothing is.
    """
    found = _decide(request, home, registry, random, models, limits)
    if isinstance(found, Refused):
        return found
    permit = pass_gate(found.dispatch)
    if isinstance(permit, Refused):
        return permit
    if (empty := _empty(found)) is not None:  # asked of a server elsewhere: only once work may leave
        return empty
    return replace(
        found,
        permit=permit,
        plan=found.plan.model_copy(update={"gate": permit.words, "disclosure": permit.disclosure}),
    )


def preview(  # noqa: PLR0913  as above
    request: JobRequest,
    home: Home,
    registry: Registry,
    random: Callable[[int], bytes] = os.urandom,
    *,
    models: ModelBook | None = None,
    limits: LimitBook | None = None,
) -> Plan | Refused:
    """Return what ``draft`` would come to, with the gate's verdict, be it a refusal. Changes nothing at all."""
    found = _decide(request, home, registry, random, models, limits)
    if isinstance(found, Refused):
        return found
    plan = with_verdict(found.plan, found.dispatch)
    return (_empty(found) if plan.gate_open else None) or plan


def with_verdict(plan: Plan, dispatch: Dispatch) -> Plan:
    """Return a plan that says how the gate stands, be it shut. Keeps nothing."""
    verdict = pass_gate(replace(dispatch, keep=False))
    if isinstance(verdict, Refused):
        said = f"SHUT: {verdict.message}" + (f" (try: {verdict.hint})" if verdict.hint else "")
        return plan.model_copy(update={"gate": said, "gate_open": False})
    return plan.model_copy(update={"gate": verdict.words, "disclosure": verdict.disclosure})


def _decide(  # noqa: C901, PLR0911, PLR0913, PLR0917  one refusal after the other, by all that is known
    request: JobRequest,
    home: Home,
    registry: Registry,
    random: Callable[[int], bytes],
    models: ModelBook | None,
    limits: LimitBook | None,
) -> Draft | Refused:
    try:
        environment = decode_environment(request.environment)
        settings = settings_of(environment)
    except ValueError as error:
        return Refused(code=RefusalCode.BAD_REQUEST, message=str(error))
    except StateError as error:
        return error.refusal
    request = _with_defaults(request, settings)
    depth = check_depth(environment, settings)
    if isinstance(depth, Refused):
        return depth
    asked = _asked(request, home)
    if isinstance(asked, Refused):
        return asked
    request, text, taken_up = asked
    conversation = taken_up.conversation if taken_up is not None else None
    models = models or ModelBook(home)
    place = Place(
        home=home, registry=registry, models=models, environment=environment, settings=settings, limits=limits
    )
    advised, told = chosen(request, text, place)
    resolved = advised or choose(request, registry, models, environment, settings, limits=limits)
    if isinstance(resolved, Refused):
        return resolved
    resolved = replace(resolved, notices=(*told, *resolved.notices))
    lane = registry.get(resolved.lane)
    if isinstance(lane, Refused):
        return lane
    refused = check_verb(request, lane, registry) or check_denied(resolved, settings)
    refused = refused or (check_lane(lane, registry, taken_up) if conversation else None)
    if refused is not None:
        return refused
    seen = effective(environment, settings, secrets="server" in lane.needs)
    host = host_for(lane, seen, settings, keys_from=environment)
    if (refused := check_folder(lane, request.verb, request.cwd, host)) is not None:
        return refused
    kept = guard_for(lane, request.verb, request.cwd, host, settings, home)
    host = replace(host, walled=kept is not None and kept[1] is not None, project=project_of(request.cwd))
    host = with_own_servers(replace(host, catalogue=models.live(lane.name)), lane, request.cwd)
    granted = granted_to(request, lane, host, settings, f"@{random(12).hex()}@")
    if isinstance(granted, Refused):
        return granted
    placed = own_tree(request, settings, home, random)
    if isinstance(placed, Refused):
        return placed
    request, tree = placed
    found = _plan(
        request, text, lane, resolved, host, settings, depth, mint(random(8)), kept, granted, conversation, home, tree
    )
    return found if isinstance(found, Refused) else _admitted(found, limits)


def _admitted(found: Draft, limits: LimitBook | None) -> Draft | Refused:
    """Refuse a lane that is down or a quota that is full, or let the job wait where that was asked for."""
    wait = admit(found.request, found.lane.name, found.pool, found.resolved.model, limits)
    if wait is None or isinstance(wait, Refused):
        return wait or found
    notices = (*found.plan.notices, f"waits: {found.lane.name} is {wait.sentence}")
    return replace(found, wake_at=wait.until, plan=found.plan.model_copy(update={"notices": notices}))


def _asked(request: JobRequest, home: Home) -> tuple[JobRequest, str, JobRecord | SessionRecord | None] | Refused:
    """Return the request on its own terms or an earlier one's, the task's text, and what it goes on with."""
    text = task_text(request, home)
    if isinstance(text, Refused):
        return text
    before = earlier(request, home)
    if isinstance(before, Refused):
        return before
    taken = request if before is None else taken_over(request, before)
    if isinstance(taken, Refused):
        return taken
    return check_cwd(taken.cwd) or (taken, text, before)


def _plan(  # noqa: PLR0913, PLR0917  the parts of one draft
    request: JobRequest,
    text: str,
    lane: Lane,
    resolved: Resolved,
    host: Host,
    settings: Settings,
    depth: int,
    marker_id: str,
    kept: tuple[Guard, Fence | None] | None,
    granted: Granted,
    conversation: str | None,
    home: Home,
    tree: Planned | None,
) -> Draft | Refused:
    where = request.cwd if tree is None else tree.cwd
    discipline = settings.flag("build_discipline") if settings.is_set("build_discipline") else None
    agentic = lane.agentic if lane.works is None else lane.works(request.verb, host)
    told = prompt = f"{text}\n\n{granted.prompt}" if granted.prompt else text
    if lane.scaffold:
        prompt = scaffold(
            prompt,
            tier=resolved.tier,
            verb=request.verb,
            effort=request.effort,
            marker_id=marker_id,
            agentic=agentic,
            build_discipline=discipline,
        )
    task = Task(
        verb=request.verb,
        prompt=prompt,
        cwd=where,
        model=resolved.model,
        effort=request.effort,
        tier=resolved.tier,
        allow_downgrade=request.allow_downgrade or settings.flag("allow_downgrade"),
        servers=granted.servers,
        skills=granted.bundled,
        conversation=conversation,
    )
    launch = lane.plan(task, host)
    if isinstance(launch, Refused):
        return launch
    launch = replace(launch, files=(*launch.files, *granted.files), notices=(*launch.notices, *granted.notices))
    addresses = addresses_of(lane, launch, prompt)
    guard, fence = kept or (None, None)
    if fence is not None:
        launch = behind(launch, fence)
    if guard is not None:
        launch = replace(launch, notices=(*launch.notices, said(lane, walled=guard.walled)))
    plan = Plan(
        lane=lane.name,
        vehicle=lane.vehicle,
        model=resolved.model,
        tier=resolved.tier.value,
        effort=request.effort.value if request.effort else None,
        effort_support=lane.effort.value,
        verb=request.verb.value,
        posture=lane.verbs[request.verb].value,
        argv=tuple(as_utf8(item) for item in launch.argv),
        cwd=as_utf8(where),
        stdin="/dev/null" if launch.stdin is None else f"the prompt ({len(launch.stdin)} bytes)",
        env_set=tuple(sorted(launch.env_set)),
        env_stripped=tuple(sorted(launch.env_strip)),
        gate="",
        cost=(launch.billing or lane.billing).words,
        notices=(*resolved.notices, *launch.notices, *(tree.notices if tree else ())),
    )
    return Draft(
        request=request,
        task_text=text,
        prompt=prompt,
        marker_id=marker_id,
        lane=lane,
        resolved=resolved,
        launch=launch,
        environment=host.environment,
        depth=depth,
        settings=settings,
        plan=plan,
        agentic=agentic,
        place=granted.place,
        guard=guard,
        tree=tree,
        account=account_in(host.secrets, host.environment.get(openrouter.URL)) if lane.receipts else None,
        dispatch=Dispatch(
            subject=request.job_id or "",
            lane=lane,
            verb=request.verb,
            model=resolved.model,
            server=host.server,
            addresses=addresses,
            scope=Scope(
                folders=(request.cwd,) if agentic else (),
                texts=(told,),
                files=tuple((file.name, file.content) for file in granted.files if file.name != MCP_FILE),
            ),
            cwd=request.cwd,
            home=home,
            environment=host.environment,
            settings=settings,
            cloud_ack=request.cloud_ack,
            trust_lane=request.trust_lane,
        ),
    )


def create(  # noqa: PLR0913  the machine comes in by name
    draft_: Draft,
    home: Home,
    *,
    umask: int,
    owner: Identity | None = None,
    group: tuple[str, int] | None = None,
    now: float | None = None,
    random: Callable[[int], bytes] = os.urandom,
) -> tuple[JobRecord, JobFolder]:
    """Make the job's folder and its record. ``owner`` is the command that supervises it itself.

    A member of a ``group`` (its id, and how many of it run at a time) is parked: it waits there for its turn.

    Raises StateError; then nothing is left behind. Raises PermissionError for a draft that did not pass the gate.
    """
    if draft_.permit is None:  # before there is a folder
        raise PermissionError("this draft did not pass the gate")
    at = time.time() if now is None else now
    home.preflight()
    wanted = draft_.request.job_id
    while True:
        job_id, wanted = wanted or new_job_id(at, random(6)), None  # one that is taken is left alone
        try:
            folder = JobFolder.create(home, job_id)
            break
        except FileExistsError:
            if draft_.tree is not None and draft_.tree.tree.branch.endswith(job_id):  # it is named by this very id
                raise StateError("state_damaged", f"there is a job {job_id} already", "try again") from None
    record = record_of(draft_, job_id, at, owner)
    if group is not None:
        record = record.model_copy(update={"group_id": group[0], "group_most": group[1], "parked": True})
    try:
        _fill(folder, draft_, umask)
        request = keepable(draft_.request, draft_.task_text, draft_.environment)
        folder.begin_meta(record, draft_.plan.model_dump(mode="json"), request)
    except StateError:
        folder.remove()
        raise
    forget_spool(draft_.request, home)
    return record, folder


def read_plan(home: Home, job_id: str) -> Plan | None:
    """Return the plan that a job was taken with; None when it can't be read."""
    try:
        return Plan.model_validate(JobFolder(home.job_dir(job_id)).read_plan())
    except ValueError:
        return None


def read_plan_file(path: Path) -> Plan | None:
    """Return a plan as it was kept; None when it can't be read."""
    try:
        data = read_private(path, PLAN_LIMIT)
        return None if data is None else Plan.model_validate_json(data)
    except (StateError, ValueError):
        return None


def stage_hop(draft_: Draft, folder: JobFolder, into: JobFolder, umask: int) -> None:
    """Write what an attempt elsewhere needs into a folder of its own, from where it goes to ``folder``.

    Raises StateError.
    """
    _fill(folder, draft_, umask, into)


def _fill(folder: JobFolder, draft_: Draft, umask: int, into: JobFolder | None = None) -> None:
    launch, into = draft_.launch, into or folder
    if draft_.permit is None:
        raise PermissionError("this draft did not pass the gate")
    keep(into, draft_.dispatch, draft_.permit)

    def placed(text: str) -> str:
        """Only a launch with files of its own has places for the folder: a prompt in argv is left alone."""
        path = os.fspath(folder.path)
        if text.startswith("{") and not text.startswith("{job}"):
            path = json.dumps(path)[1:-1]  # a configuration, as JSON
        return text.replace("{job}", path).replace(draft_.place, path) if launch.files else text

    prompt = draft_.prompt.encode("utf-8", "surrogatepass")
    at = draft_.place.encode(), os.fsencode(folder.path)
    into.begin(PROMPT, prompt.replace(*at))
    stdin = None if launch.stdin is None else PROMPT if launch.stdin == prompt else STDIN
    if stdin == STDIN and launch.stdin is not None:
        into.begin(STDIN, launch.stdin.replace(*at))
    for file in launch.files:
        into.place(file.name, file.content.replace(*at), executable=file.executable)
    if draft_.guard is not None:
        into.write_json(GUARD, draft_.guard.to_json())
    start = {
        "argv": [placed(item) for item in launch.argv],
        "env": {
            **environment_of(draft_, folder.job_id),
            **{name: placed(value) for name, value in launch.env_set.items()},
        },
        "cwd": draft_.cwd,
        "stdin": stdin,
        "umask": umask,
    }
    into.begin(LAUNCH, json.dumps(start).encode())


def record_of(draft_: Draft, job_id: str, at: float, owner: Identity | None) -> JobRecord:
    """Return a job's record as it begins."""
    request, lane, resolved = draft_.request, draft_.lane, draft_.resolved
    billing = draft_.launch.billing or lane.billing
    own = draft_.tree.tree if draft_.tree is not None else None
    return JobRecord(
        job_id=job_id,
        label=request.label,
        lane=lane.name,
        vehicle=lane.vehicle,
        provider=lane.provider,
        verb=request.verb,
        posture=lane.verbs[request.verb].value,
        model=resolved.model,
        tier=resolved.tier,
        effort=request.effort,
        task_kind=classify(draft_.task_text).kind.value,
        project=project_root(request.cwd),
        cwd=draft_.cwd,
        worktree=own.path if own else None,
        branch=own.branch if own else None,
        base=own.base if own else None,
        after=request.after,
        priority=request.priority,
        local=lane.locality is Locality.LOCAL,
        streamed=lane.liveness.streamed,
        agentic=draft_.agentic and lane.name not in draft_.settings.words("text_lanes"),
        continues=request.continues,
        timeout_s=request.timeout_s,
        windows={key: draft_.settings.number(key) or 0.0 for key in WINDOWS if draft_.settings.is_set(key)},
        state=JobState.QUEUED if draft_.wake_at is None else JobState.WAITING_LIMIT,
        reason=None if draft_.wake_at is None else f"waits for a limit to end: {instant(draft_.wake_at)}",
        wake_at=draft_.wake_at,
        pool=billing.pool,
        cost=Cost(kind=billing.kind, plan=billing.plan),
        accepted_at=at,
        marker_id=draft_.marker_id,
        owner=owner,
        supervision="supervised" if owner is None else "attached",
    )


class Delegated(Protocol):
    """What a delegate's environment depends on: a job's draft, or a session's."""

    @property
    def environment(self) -> Mapping[str, str]:
        """The caller's, as the lane is to see it."""
        ...

    @property
    def settings(self) -> Settings:
        """The caller's settings."""
        ...

    @property
    def depth(self) -> int:
        """How deep the caller is."""
        ...

    @property
    def strip(self) -> frozenset[str]:
        """Names that the lane removes."""
        ...

    @property
    def cwd(self) -> str:
        """The delegate's folder."""
        ...


def environment_of(draft_: Delegated, job_id: str) -> dict[str, str]:
    """Return the caller's environment less what the lane strips, plus who the delegate is."""
    strip = draft_.strip
    prefixes = tuple(name[:-1] for name in strip if name.endswith("*"))
    kept = {
        name: value
        for name, value in draft_.environment.items()
        if name not in strip and not (prefixes and name.startswith(prefixes))
    }
    if draft_.settings.flag("delegate_git_identity") and not any(name in kept for name in _GIT_IDENTITY):
        kept |= {name: _GIT_NAME if name.endswith("NAME") else _GIT_EMAIL for name in _GIT_IDENTITY}
    kept["OUTSOURCERER_DEPTH"] = str(draft_.depth + 1)
    kept[JOB_VARIABLE] = job_id
    kept["PWD"] = draft_.cwd
    return kept


def effective(environment: Mapping[str, str], settings: Settings, *, secrets: bool) -> dict[str, str]:
    """Return the environment as a lane is to see it: with what config.toml sets; keys only where they are needed."""
    seen = {name: value for name, value in environment.items() if secrets or name not in SECRETS}
    for key, setting in SETTINGS.items():
        if settings.origin(key).startswith("config ") and (secrets or not setting.secret):
            value = settings.text(key) if setting.kind == "text" else f"{settings.number(key) or 0.0:g}"
            if value is not None:
                seen[setting.names[0]] = value
    return seen


def settings_of(environment: Mapping[str, str]) -> Settings:
    """Return the caller's settings. Raises StateError for one that makes no sense."""
    path = config_file(environment)
    return Settings.load(environment, read_config(path), source=path)


def _empty(found: Draft) -> Refused | None:
    """Refuse an account that has nothing left."""
    if found.account is None:
        return None
    from .balance import refuse_empty  # noqa: PLC0415  httpx costs 15 MB, and most jobs need none

    return refuse_empty(found.account, found.resolved.model)


def _with_defaults(request: JobRequest, settings: Settings) -> JobRequest:
    """Return the request with what the settings say where nothing was asked for."""
    word = settings.text("effort") if request.effort is None else None
    given: dict[str, object] = {"effort": Effort(word)} if word else {}
    if settings.flag("wait_limit") and not request.wait_limit:
        given["wait_limit"] = True
    return request.model_copy(update=given) if given else request


def forget_spool(request: JobRequest, home: Home) -> None:
    """Remove the file in which a client put a large task: it has been taken."""
    if request.task_file is not None and Path(request.task_file).parent == home.spool_dir:
        Path(request.task_file).unlink(missing_ok=True)
