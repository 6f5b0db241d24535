"""The verdict: one table from evidence to an ending. The first rule that holds decides.

Exit codes alone lie (a refused edit is 0, so is an API error of some CLIs), so a job is ``done`` only
if its turn ended well, an answer is there, and the delegate's last signed word was DONE (or a check
proved it). An answer without that is ``done?``. Rules are data: ``RULES`` can be printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..messages.job import ExitStatus
from ..messages.lane_events import FailureKind, MarkerKind
from ..messages.vocabulary import JobState, Verb
from .evidence import Evidence, refused
from .framing import LINE_CAP
from .values import clip

REASON_CHARS = 200

EXIT_CODES: Mapping[JobState, int] = {
    JobState.DONE: 0,
    JobState.DONE_UNVERIFIED: 2,
    JobState.BLOCKED: 3,
    JobState.PERMISSION_BLOCKED: 3,
    JobState.FAILED: 1,
    JobState.TIMEOUT: 124,
    JobState.WEDGED: 125,
    JobState.INTERRUPTED: 130,
    JobState.CANCELED: 130,
}
"""Exit code of a job per state in which it can end."""

FAILURE_WORDS: Mapping[FailureKind, str] = {
    FailureKind.NONE: "the delegate reported a failure",
    FailureKind.TRANSPORT: "the model's service could not be reached",
    FailureKind.PLAN_LIMIT: "the plan's limit is used up",
    FailureKind.RATE_LIMIT: "the model's service refused more requests for now",
    FailureKind.AUTH: "the sign-in or key was refused",
    FailureKind.PERMISSION: "a needed permission was refused",
    FailureKind.MODEL_GONE: "the model is not available",
    FailureKind.OUTPUT_LIMIT: "the answer hit the output token limit",
    FailureKind.INTERRUPTED: "the delegate was interrupted",
    FailureKind.LAUNCH: "the delegate could not be started",
    FailureKind.CONTENDED: "another start of the same CLI held what it needs",
    FailureKind.TASK: "the delegate failed",
}


class Finding(Protocol):
    """What a watchdog found: the state to end in and why."""

    @property
    def state(self) -> JobState:
        """Return a terminal state."""
        ...

    @property
    def reason(self) -> str:
        """Return the reason in words."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a job ended."""

    state: JobState
    exit: int
    reason: str | None
    """A sentence of at most 200 characters; None for a plain ``done``."""
    outcome: str
    """One stable word for programs."""
    note: str | None = None
    """What else a reader should know: refused tools, an exit code that contradicts the evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The facts that the rules look at."""

    evidence: Evidence
    exit: ExitStatus
    watchdog: Finding | None
    cancel: bool
    failure: FailureKind
    verb: Verb
    verified: bool | None
    checks: bool = False
    """Whether a check was asked for: then nobody's word stands for it."""
    breach: Sequence[str] = ()

    @property
    def own_final(self) -> bool:
        """Whether the CLI gave a final event of its own."""
        return self.evidence.turn is not None and not self.evidence.turn.synthetic

    @property
    def ended_well(self) -> bool:
        """Whether the turn ended well: a good final event, or a clean exit on a lane that has none."""
        turn = self.evidence.turn
        return turn is not None and turn.ok and (not turn.synthetic or self.exit.code == 0)

    @property
    def answered(self) -> bool:
        """Whether the turn ended well with something said."""
        return self.ended_well and self.evidence.answer is not None

    @property
    def unread(self) -> bool:
        """Whether the last line, which may have been the final event, was too long to be read."""
        return self.evidence.turn is not None and self.evidence.turn.unread is not None

    @property
    def said(self) -> MarkerKind | None:
        """The last signed terminal marker."""
        return self.evidence.last_terminal.marker if self.evidence.last_terminal else None

    @property
    def interrupted(self) -> bool:
        """Whether the end came from outside."""
        return self.exit.lost or self.exit.signal is not None or self.failure is FailureKind.INTERRUPTED


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table."""

    name: str
    when: Callable[[Case], bool]
    then: Callable[[Case], Verdict]


def judge(  # noqa: PLR0913 - the facts of a case, all keyword-only but two
    evidence: Evidence,
    exit: ExitStatus,  # noqa: A002 - the word of the whole project for it
    *,
    watchdog: Finding | None = None,
    cancel: bool = False,
    failure: FailureKind = FailureKind.NONE,
    verb: Verb = Verb.RUN,
    verified: bool | None = None,
    checks: bool = False,
    breach: Sequence[str] = (),
) -> Verdict:
    """Return the verdict on an ended delegate.

    ``failure`` is the lane's ``classify``; ``verified`` is the result of a check, None without one;
    ``checks`` says that one was asked for; ``breach`` names what a read-only job changed.
    """
    case = Case(
        evidence=evidence,
        exit=exit,
        watchdog=watchdog,
        cancel=cancel,
        failure=failure,
        verb=verb,
        verified=verified,
        checks=checks,
        breach=breach,
    )
    return next(rule.then(case) for rule in RULES if rule.when(case))


def _verdict(case: Case, state: JobState, outcome: str, reason: str | None) -> Verdict:
    cut = clip(" ".join(reason.split()), REASON_CHARS) if reason else None
    return Verdict(state=state, exit=EXIT_CODES[state], reason=cut, outcome=outcome, note=_note(case))


def _note(case: Case) -> str | None:
    parts = []
    evidence = case.evidence
    if evidence.denials:
        names = f" ({', '.join(evidence.denied)})" if evidence.denied else ""
        parts.append(f"{evidence.denials} tool use{'s' if evidence.denials > 1 else ''} refused{names}")
    if case.answered:
        if case.cancel:
            parts.append("the cancel came after the delegate had finished")
        if case.watchdog is not None:
            parts.append(f"finished although the watchdog had said: {case.watchdog.reason}")
        if case.own_final and case.exit.lost:
            parts.append("its exit status was lost; judged by its final event")
        elif case.own_final and case.exit.code not in (0, None):
            parts.append(f"its process exited {case.exit.code} after a good final event")
        elif case.own_final and case.exit.signal is not None:
            parts.append("its process was ended after its final event")
        if evidence.turn is not None and evidence.turn.message:
            parts.append(evidence.turn.message)
    return clip("; ".join(parts), 2 * REASON_CHARS) if parts else None


def _canceled(case: Case) -> Verdict:
    return _verdict(case, JobState.CANCELED, "canceled", "canceled on request")


def _not_started(case: Case) -> Verdict:
    reason = f"{FAILURE_WORDS[FailureKind.LAUNCH]}: {case.exit.error}"
    return _verdict(case, JobState.FAILED, FailureKind.LAUNCH.value, reason)


def _breached(case: Case) -> Verdict:
    return _verdict(case, JobState.FAILED, "read-only-breach", f"read-only breach: {', '.join(case.breach)}")


def _watched(case: Case) -> Verdict:
    state = case.watchdog.state if case.watchdog is not None else JobState.WEDGED
    if state not in EXIT_CODES or state in (JobState.DONE, JobState.DONE_UNVERIFIED):
        state = JobState.WEDGED  # a watchdog can't vouch for work
    kind = refused(case.evidence)  # also where its own end crossed ours
    if state is JobState.FAILED and kind is not None:
        return _verdict(case, state, kind.value, f"{FAILURE_WORDS[kind]}, and its retries were not waited for")
    reason = case.watchdog.reason if case.watchdog is not None else None
    if state is JobState.WEDGED and case.evidence.retrying is FailureKind.TRANSPORT and not case.own_final:
        lost = FailureKind.TRANSPORT  # the last that was heard of it; nothing came after
        return _verdict(case, JobState.FAILED, lost.value, f"{FAILURE_WORDS[lost]}, though it tried again: {reason}")
    return _verdict(case, state, state.value, reason)


def _blocked(case: Case) -> Verdict:
    marker = case.evidence.last_terminal
    text = marker.text if marker is not None else ""
    asked = case.said is MarkerKind.NEED_INPUT
    outcome = "needs-input" if asked else "blocked"
    return _verdict(case, JobState.BLOCKED, outcome, text or ("an answer is needed" if asked else "blocked"))


def _failed_turn(case: Case) -> Verdict:
    turn = case.evidence.turn
    own = turn.failure if turn is not None else FailureKind.NONE
    kind = case.failure if case.failure not in (FailureKind.NONE, FailureKind.TASK) else own
    if kind is FailureKind.NONE:
        kind = FailureKind.TASK
    message = turn.message if turn is not None else None
    reason = f"{FAILURE_WORDS[kind]}: {message}" if message else FAILURE_WORDS[kind]
    if kind is FailureKind.INTERRUPTED:
        return _verdict(case, JobState.INTERRUPTED, kind.value, reason)
    if kind is FailureKind.PERMISSION:
        return _verdict(case, JobState.PERMISSION_BLOCKED, kind.value, reason)
    return _verdict(case, JobState.FAILED, "failed" if kind is FailureKind.TASK else kind.value, reason)


def _interrupted(case: Case) -> Verdict:
    if case.exit.lost:
        reason = "its end was not seen and it had not finished"
    elif case.exit.signal is not None:
        reason = f"ended by signal {case.exit.signal} before it had finished"
    else:
        reason = f"{FAILURE_WORDS[FailureKind.INTERRUPTED]} before it had finished"
    return _verdict(case, JobState.INTERRUPTED, "interrupted", reason)


def _refused(case: Case) -> Verdict:
    return _verdict(case, JobState.PERMISSION_BLOCKED, "permission", "what it needed was refused and it said nothing")


def _empty(case: Case) -> Verdict:
    return _verdict(case, JobState.FAILED, "empty-output", "it ended without saying anything")


def _no_final(case: Case) -> Verdict:
    return _verdict(case, JobState.FAILED, "no-final-event", "it exited 0 without its final event")


def _unread(case: Case) -> Verdict:
    turn = case.evidence.turn
    size = turn.unread if turn is not None and turn.unread is not None else 0
    reason = f"its last line of {size} bytes is longer than the {LINE_CAP} that are read; it is whole in the log"
    return _verdict(case, JobState.FAILED, "no-final-event", reason)


def _check_failed(case: Case) -> Verdict:
    return _verdict(case, JobState.FAILED, "check-failed", "it finished, but the check failed")


def _done(case: Case) -> Verdict:
    return _verdict(case, JobState.DONE, "completed", None)


def _unverified(case: Case) -> Verdict:
    why = (
        "it answered, and its check did not vouch for it" if case.checks else "it answered without its signed DONE line"
    )
    return _verdict(case, JobState.DONE_UNVERIFIED, "unverified", why)


def _exit_code(case: Case) -> Verdict:
    turn = case.evidence.turn
    kind = case.failure if case.failure is not FailureKind.NONE else FailureKind.TASK
    message = turn.message if turn is not None else None
    words = f"exit code {case.exit.code}" if kind is FailureKind.TASK else FAILURE_WORDS[kind]
    outcome = "exit-nonzero" if kind is FailureKind.TASK else kind.value
    state = JobState.PERMISSION_BLOCKED if kind is FailureKind.PERMISSION else JobState.FAILED
    return _verdict(case, state, outcome, f"{words}: {message}" if message else words)


def _signed(case: Case) -> bool:
    return case.answered and not case.checks and case.said is MarkerKind.DONE


RULES: tuple[Rule, ...] = (
    Rule("canceled, and not finished of itself", lambda c: c.cancel and not (c.answered and c.own_final), _canceled),
    Rule("never started", lambda c: c.exit.error is not None, _not_started),
    Rule("it changed what it had promised not to", lambda c: bool(c.breach), _breached),
    Rule("the watchdog's finding stands", lambda c: c.watchdog is not None and not c.answered, _watched),
    Rule("its final event says it failed", lambda c: c.own_final and not c.ended_well, _failed_turn),
    Rule("it said that it can't go on", lambda c: c.said in (MarkerKind.BLOCKED, MarkerKind.NEED_INPUT), _blocked),
    Rule("ended from outside before it had finished", lambda c: not c.ended_well and c.interrupted, _interrupted),
    Rule(
        "ended well, silent, and refused",
        lambda c: c.ended_well and not c.answered and c.evidence.denials > 0,
        _refused,
    ),
    Rule("ended well and silent", lambda c: c.ended_well and not c.answered, _empty),
    Rule("the check failed", lambda c: c.answered and c.verified is False, _check_failed),
    Rule("the check passed", lambda c: c.answered and c.verified is True, _done),
    Rule("answered, and signed DONE last", _signed, _done),
    Rule("answered", lambda c: c.answered, _unverified),
    Rule("ended badly", lambda c: c.exit.code not in (0, None), _exit_code),
    Rule("exit 0, its last line was too long to be read", lambda c: c.exit.code == 0 and c.unread, _unread),
    Rule("exit 0, nothing heard", lambda c: c.exit.code == 0 and not c.evidence.spoken_chars, _empty),
    Rule("exit 0 without its final event", lambda c: c.exit.code == 0, _no_final),
    Rule("anything else", lambda _: True, _interrupted),
)
"""Cancel, launch, a broken promise, watchdog, then the delegate's own word, then how its process ended."""
