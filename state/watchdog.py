"""When silence means trouble: policy as data, rules as pure functions.

The tier of the *model* picks the windows (facts of the predecessor: budget 90/240/900, mid
150/420/1800, frontier and capable 300/900/3600 seconds for warn/kill/hard). Every window can be set
by its ``OSRC_*`` name. Rules differ by lane as data: a streamed lane is judged by its events, a
buffered one by files, processor time and children, because it says nothing before its end.

Before anyone is called stalled or ended for silence, somebody looks closely (``LookClosely``):
changed files or a busy process tree are life. Nothing here ends a job for not writing files unless
``OSRC_NOPROGRESS_KILL_SECS`` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from ..messages.vocabulary import JobState, Tier, Verb


class Cause(StrEnum):
    """Why a tree is ended."""

    CANCEL = "canceled:operator"
    STALL = "stall-kill"
    NO_INIT = "no-init"
    EXPLORING = "exploring-timeout"
    NO_PROGRESS = "no-progress-writes-timeout"
    HARD = "hard-timeout"
    FINAL_GRACE = "idle-after-final"
    PERMISSION = "permission-blocked"
    AUTH = "auth"
    GAVE_UP = "supervisor-gave-up"
    BUDGET = "max_usd"


CAUSE_STATES: dict[Cause, JobState] = {
    Cause.CANCEL: JobState.CANCELED,
    Cause.STALL: JobState.WEDGED,
    Cause.NO_INIT: JobState.WEDGED,
    Cause.EXPLORING: JobState.WEDGED,
    Cause.NO_PROGRESS: JobState.WEDGED,
    Cause.HARD: JobState.TIMEOUT,
    Cause.PERMISSION: JobState.PERMISSION_BLOCKED,
    Cause.AUTH: JobState.FAILED,
    Cause.GAVE_UP: JobState.FAILED,
    Cause.BUDGET: JobState.FAILED,
}
"""What each cause means if no better evidence comes. ``FINAL_GRACE`` has none: the final event decides."""

TIER_WINDOWS: dict[Tier, tuple[float, float, float]] = {
    Tier.BUDGET: (90, 240, 900),
    Tier.MID: (150, 420, 1800),
    Tier.RAW: (150, 420, 1800),
    Tier.CAPABLE: (300, 900, 3600),
    Tier.FRONTIER: (300, 900, 3600),
}
"""Tier → seconds: warn, kill, hard."""

SHORTEST_POLL_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Every window of one job, in seconds. 0 switches a rule off where it says so."""

    verb: Verb = Verb.RUN
    streamed: bool = True
    agentic: bool = True
    poll_s: float = 10.0
    stall_warn_s: float = 150.0
    stall_kill_s: float = 420.0
    hard_s: float = 1800.0
    hard_max_s: float = 5400.0
    """Ceiling of the extended hard cap; equal to ``hard_s`` when extension is off."""
    first_output_s: float = 150.0
    """0 is off."""
    explore_warn_s: float = 180.0
    """0 is off."""
    explore_kill_s: float = 420.0
    no_progress_s: float = 600.0
    """0 is off."""
    no_progress_kill_s: float = 0.0
    """0 is off: not writing is shown, never punished."""
    final_grace_s: float = 20.0
    launch_grace_s: float = 45.0
    kill_grace_s: float = 2.0
    end_s: float = 60.0
    """How long the end of a tree may take, once asked for, before the verdict is given without it."""
    look_s: float = 30.0
    """How long the answer to a close look is waited for."""
    permission_abort: int = 3
    """Refusals under a writing verb before the job is ended; 0 is off."""
    missing_ticks: int = 2
    launches: int = 20
    """Most attempts at launching; each one is an unclaimed one before, so no prompt was sent."""
    look_files: bool = True
    look_depth: int = 6

    @property
    def max_gap_s(self) -> float:
        """Longest time between two events that is believed; more is a gap."""
        return self.poll_s * 3 + 5


def policy_for(  # noqa: PLR0913  a lane's and a job's terms, by name
    number: Callable[[str], float | None],
    *,
    tier: Tier,
    verb: Verb,
    streamed: bool = True,
    agentic: bool = True,
    timeout_s: float | None = None,
    stall_kill_floor_s: float | None = None,
    first_output_s: float | None = None,
    final_grace_s: float = 20.0,
) -> Policy:
    """Return the policy of one job.

    ``number`` reads a setting by key (``stall_warn`` is ``OSRC_STALL_WARN``) and returns None where it
    is not set. A hard cap that was set, by flag or setting, is not extended.
    """

    def pick(key: str, default: float) -> float:
        value = number(key)
        return default if value is None else value

    def window(key: str, default: float) -> float:
        return pick(key, 0.0) or default  # these can't be switched off: 0 is as good as not set

    warn, kill, hard = TIER_WINDOWS[tier]
    stall_kill = window("stall_kill", max(kill, stall_kill_floor_s or 0.0))
    set_cap = timeout_s if timeout_s is not None else number("timeout") or None
    hard_s = set_cap if set_cap is not None else max(hard, stall_kill)
    base = Policy()
    explore_warn = pick("nowrite_warn", base.explore_warn_s)
    return Policy(
        verb=verb,
        streamed=streamed,
        agentic=agentic,
        poll_s=max(SHORTEST_POLL_S, window("poll", base.poll_s)),
        stall_warn_s=min(window("stall_warn", warn), stall_kill),
        stall_kill_s=stall_kill,
        hard_s=hard_s,
        hard_max_s=hard_s if set_cap is not None else window("timeout_max", 3 * hard_s),
        first_output_s=pick("noinit_secs", first_output_s if first_output_s is not None else base.first_output_s),
        explore_warn_s=explore_warn,
        explore_kill_s=pick("nowrite_kill", stall_kill),
        no_progress_s=pick("noprogress_secs", base.no_progress_s),
        no_progress_kill_s=pick("noprogress_kill_secs", 0.0),
        final_grace_s=pick("final_grace", final_grace_s),
        launch_grace_s=pick("launch_grace", base.launch_grace_s),
        permission_abort=int(pick("perm_abort", base.permission_abort)),
        look_files=bool(pick("fs_progress", 1.0)),
        look_depth=int(pick("fs_progress_depth", base.look_depth)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What the watchdog remembers of a running delegate, in watched seconds."""

    age_s: float = 0.0
    silent_s: float = 0.0
    """Since the last sign of life."""
    initialised: bool = False
    """The model itself has said or done something."""
    wrote: bool = False
    final_s: float | None = None
    """Since the CLI's own final event."""
    extended: bool = False
    ending_s: float | None = None
    """Since the end of the tree was asked for."""
    looking_s: float | None = None
    """Since a close look was asked for that is not answered yet."""
    looked_s: float = -1.0
    """``silent_s`` at the last close look that found nothing; -1 when none is valid."""
    looked_age_s: float = -1.0
    """``age_s`` at the last close look; -1 when there was none."""

    def older(self, seconds: float, *, silent: bool = True) -> Watch:
        """Return the watch after ``seconds``; ``silent`` says whether they count as silence."""
        return replace(
            self,
            age_s=self.age_s + seconds,
            silent_s=self.silent_s + (seconds if silent else 0.0),
            final_s=None if self.final_s is None else self.final_s + seconds,
            ending_s=None if self.ending_s is None else self.ending_s + seconds,
            looking_s=None if self.looking_s is None else self.looking_s + seconds,
        )

    def alive(self, *, initialised: bool = False, wrote: bool = False) -> Watch:
        """Return the watch after a sign of life."""
        return replace(
            self,
            silent_s=0.0,
            looked_s=-1.0,
            initialised=self.initialised or initialised,
            wrote=self.wrote or wrote,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """What the watchdog thinks: at most one of ``cause`` and ``state``."""

    watch: Watch
    cause: Cause | None = None
    state: JobState | None = None
    sentence: str | None = None


def alarm(watch: Watch, policy: Policy) -> Alarm:
    """Return the first rule that fires, gravest first."""
    for rule in (_final, _hard, _first_output, _silence, _writes):
        found = rule(watch, policy)
        if found is not None:
            return found
    return Alarm(watch=watch)


def answer_awaited(watch: Watch, policy: Policy) -> bool:
    """Whether a close look is under way whose answer may still change the judgement; the last cap never waits."""
    under_way = watch.looking_s is not None and watch.looking_s < policy.look_s
    return under_way and watch.final_s is None and watch.age_s < policy.hard_max_s


def close_look_due(watch: Watch, policy: Policy) -> bool:
    """Whether somebody must look at files and processor time before the next rule may be trusted."""
    if watch.looking_s is not None or watch.final_s is not None:
        return False
    silences = [policy.stall_warn_s, policy.stall_kill_s]
    ages: list[float] = []
    if _first_output_applies(watch, policy):
        ages.append(policy.first_output_s)
    if policy.hard_s < policy.hard_max_s and watch.silent_s >= policy.stall_warn_s:
        ages.append(policy.hard_s)  # a silent one is extended only for what it does elsewhere
    if not watch.wrote and _writes_expected(policy):
        silences.append(policy.explore_kill_s)
        ages += [policy.explore_warn_s, policy.no_progress_s, policy.no_progress_kill_s]
        if watch.age_s - max(0.0, watch.looked_age_s) >= policy.explore_warn_s > 0:
            return True
    return any(watch.looked_s < limit <= watch.silent_s for limit in silences) or any(
        watch.looked_age_s < limit <= watch.age_s for limit in ages if limit
    )


def next_deadline_s(watch: Watch, policy: Policy) -> float:
    """Seconds until the next rule could fire, at most one poll, at least 50 ms."""
    silences = [policy.stall_warn_s, policy.stall_kill_s]
    ages = [policy.hard_s, policy.hard_max_s]
    if _first_output_applies(watch, policy):
        ages.append(policy.first_output_s)
    if not watch.wrote and _writes_expected(policy):
        silences.append(policy.explore_kill_s)
        ages += [policy.explore_warn_s, policy.no_progress_s, policy.no_progress_kill_s]
    ahead = [policy.poll_s]
    ahead += [limit - watch.silent_s for limit in silences]
    ahead += [limit - watch.age_s for limit in ages]
    if watch.final_s is not None:
        ahead.append(policy.final_grace_s - watch.final_s)
    if watch.ending_s is not None:
        ahead.append(policy.end_s - watch.ending_s)
    return max(SHORTEST_POLL_S, min(seconds for seconds in ahead if seconds > 0))


def _first_output_applies(watch: Watch, policy: Policy) -> bool:
    return policy.streamed and policy.first_output_s > 0 and not watch.initialised


def _writes_expected(policy: Policy) -> bool:
    return policy.agentic and not policy.verb.read_only


def _final(watch: Watch, policy: Policy) -> Alarm | None:
    if watch.final_s is None:
        return None
    if watch.final_s >= policy.final_grace_s:
        return Alarm(
            watch=watch, cause=Cause.FINAL_GRACE, sentence="it gave its final answer but does not leave: ending it"
        )
    return Alarm(watch=watch)


def _hard(watch: Watch, policy: Policy) -> Alarm | None:
    if watch.age_s < policy.hard_s:
        return None
    lively = watch.silent_s < policy.stall_warn_s
    if watch.age_s < policy.hard_max_s and lively:
        if watch.extended:
            return None
        return Alarm(
            watch=replace(watch, extended=True),
            sentence=f"past its {policy.hard_s:.0f} s but still at work: extended to at most {policy.hard_max_s:.0f} s",
        )
    return Alarm(watch=watch, cause=Cause.HARD, sentence=f"hard cap reached after {watch.age_s:.0f} s")


def _first_output(watch: Watch, policy: Policy) -> Alarm | None:
    if not _first_output_applies(watch, policy) or watch.age_s < policy.first_output_s:
        return None
    return Alarm(watch=watch, cause=Cause.NO_INIT, sentence=f"no sign of the model after {watch.age_s:.0f} s")


def _silence(watch: Watch, policy: Policy) -> Alarm | None:
    if watch.silent_s >= policy.stall_kill_s:
        return Alarm(
            watch=watch, cause=Cause.STALL, sentence=f"silent for {watch.silent_s:.0f} s, no file changed, no work seen"
        )
    if (
        not watch.wrote
        and _writes_expected(policy)
        and watch.age_s >= policy.explore_warn_s > 0
        and (watch.silent_s >= policy.explore_kill_s)
    ):
        return Alarm(
            watch=watch, cause=Cause.EXPLORING, sentence=f"nothing written and silent for {watch.silent_s:.0f} s"
        )
    if watch.silent_s >= policy.stall_warn_s:
        return Alarm(watch=watch, state=JobState.STALLED, sentence=f"silent for {watch.silent_s:.0f} s")
    return None


def _writes(watch: Watch, policy: Policy) -> Alarm | None:
    if watch.wrote or not _writes_expected(policy):
        return None
    if policy.verb.may_write and watch.age_s >= policy.no_progress_kill_s > 0:
        return Alarm(watch=watch, cause=Cause.NO_PROGRESS, sentence=f"nothing written in {watch.age_s:.0f} s")
    if policy.no_progress_s and watch.age_s >= policy.no_progress_s and policy.verb.may_write:
        return Alarm(
            watch=watch,
            state=JobState.NO_PROGRESS_WRITES,
            sentence=f"at work, but nothing written in {watch.age_s:.0f} s",
        )
    if policy.explore_warn_s and watch.age_s >= policy.explore_warn_s:
        return Alarm(watch=watch, state=JobState.EXPLORING, sentence=f"nothing written yet after {watch.age_s:.0f} s")
    return None
