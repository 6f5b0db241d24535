"""From what a person asked for to a job that can run: checks, choice of lane, plan, gate.

Runs in the thread of the connection that asked, so it may block; the decision itself, that the job
exists, is taken by Jobs and journalled. Everything that can be refused is refused before an id
exists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from ..lanes import openrouter
from ..lanes.catalog import Resolved
from ..lanes.contract import Billing, Host, Lane, Launch, Task
from ..lanes.disclosure import addresses_of
from ..lanes.grants import MCP_FILE, Granted
from ..lanes.markers import mint
from ..lanes.registry import Registry
from ..lanes.scaffolds import scaffold
from ..lanes.walls import Fence, behind, said
from ..messages.job import JobRecord, JobRequest
from ..messages.refusals import Refused
from ..messages.replies import Plan
from ..messages.session import SessionRecord
from ..messages.vocabulary import Effort
from ..state.home import Home
from ..state.settings import SETTINGS, Settings
from .accounts import Account, account_in
from .advising import Place, chosen
from .budget_book import Weigh
from .caller import caller_of
from .choosing import choose
from .continuing import check_lane, earlier, taken_over
from .denylist import check_denied, check_sent
from .depth import check_depth
from .folder_settings import check_folder
from .gate import Dispatch, Passed, Scope, pass_gate
from .grants import granted_to
from .host import host_for
from .intake_checks import as_utf8, check_cwd, check_verb, task_text
from .job_tree import own_tree
from .limit_book import LimitBook, admit
from .model_book import ModelBook, known_models
from .own_servers import with_own_servers
from .withholding import asked_by_servers, said_of, withhold
from .work_tree import Guard, guard_for, project_of
from .worktrees import Planned

SECRETS = frozenset(name for setting in SETTINGS.values() if setting.secret for name in setting.names)
"""Environment names of settings that are keys: only the lane that uses one gets it."""


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
    def billing(self) -> Billing:
        """Who pays for a run."""
        return self.launch.billing or self.lane.billing

    @property
    def pool(self) -> str:
        """Whose limit a run spends."""
        return self.billing.pool

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
    weigh: Weigh | None = None,
) -> Plan | Refused:
    """Return what ``draft`` would come to, with the gate's and the budget's verdict, be it a refusal.

    Changes nothing at all.
    """
    found = _decide(request, home, registry, random, models, limits)
    if isinstance(found, Refused):
        return found
    plan = with_verdict(found.plan, found.dispatch)
    if weigh is not None:
        why = weigh(found.billing.kind, found.resolved.model, found.prompt, found.settings)
        plan = plan.model_copy(update={"budget": why})
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
    caller = caller_of(request.environment)
    if isinstance(caller, Refused):
        return caller
    environment, settings = caller.environment, caller.settings
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
    known = known_models(models, registry.tiers(request.lane), settings)
    refused = check_verb(request, lane, registry) or check_denied(lane.name, resolved.model, settings, known)
    refused = refused or (check_lane(lane, registry, taken_up) if conversation else None)
    if refused is not None:
        return refused
    seen = effective(environment, settings, secrets="server" in lane.needs)
    given, held = withhold(seen, lane, resolved.model, settings)
    host = host_for(lane, given, settings, keys_from=environment)
    if (refused := check_folder(lane, request.verb, request.cwd, host)) is not None:
        return refused
    kept = guard_for(lane, request.verb, request.cwd, host, settings, home)
    host = replace(host, walled=kept is not None and kept[1] is not None, project=project_of(request.cwd))
    host = with_own_servers(replace(host, catalogue=models.live(lane.name)), lane, request.cwd)
    granted = granted_to(request, lane, host, settings, f"@{random(12).hex()}@")
    if isinstance(granted, Refused):
        return granted
    wanted = asked_by_servers(granted.files, held)
    host = replace(host, environment=given | {name: seen[name] for name in wanted})
    held = tuple(name for name in held if name not in wanted)
    placed = own_tree(request, settings, home, random)
    if isinstance(placed, Refused):
        return placed
    request, tree = placed
    found = _plan(
        request,
        text,
        lane,
        resolved,
        host,
        settings,
        depth,
        mint(random(8)),
        kept,
        granted,
        conversation,
        home,
        tree,
        held,
    )
    if isinstance(found, Refused):
        return found
    sent = found.launch.model or resolved.model
    return check_sent(lane.name, sent, settings, known) or _admitted(found, limits)


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
    held: tuple[str, ...],
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
        effort_sent=launch.effort,
        verb=request.verb.value,
        posture=lane.verbs[request.verb].value,
        argv=tuple(as_utf8(item) for item in launch.argv),
        cwd=as_utf8(where),
        stdin=os.devnull if launch.stdin is None else f"the prompt ({len(launch.stdin)} bytes)",
        env_set=tuple(sorted(launch.env_set)),
        env_stripped=tuple(sorted(launch.env_strip)),
        env_withheld=held,
        gate="",
        cost=(launch.billing or lane.billing).words,
        notices=(*resolved.notices, *launch.notices, *(tree.notices if tree else ()), *said_of(held), *_check(request)),
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
            tree=None if tree is None else tree.tree.path,
            home=home,
            environment=host.environment,
            settings=settings,
            cloud_ack=request.cloud_ack,
            trust_lane=request.trust_lane,
        ),
    )


def _check(request: JobRequest) -> tuple[str, ...]:
    if request.check is None:
        return ()
    line = " ".join(request.check.split())[:200]
    return (f"its check, when the answer is in (at most {request.check_timeout_s:g} s): {line}",)


def effective(environment: Mapping[str, str], settings: Settings, *, secrets: bool) -> dict[str, str]:
    """Return the environment as a lane is to see it: with what config.toml sets; keys only where they are needed."""
    seen = {name: value for name, value in environment.items() if secrets or name not in SECRETS}
    for key in settings.configured():
        setting = SETTINGS[key]
        if secrets or not setting.secret:
            value = settings.text(key) if setting.kind == "text" else f"{settings.number(key) or 0.0:g}"
            if value is not None:
                seen[setting.names[0]] = value
    return seen


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
