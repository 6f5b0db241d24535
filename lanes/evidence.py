"""What has been seen of a delegate, folded from its events: all that a verdict is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..messages.job import Progress, TokenUsage
from ..messages.lane_events import (
    ConversationStarted,
    Denied,
    FailureKind,
    GenerationNamed,
    LaneEvent,
    LimitReported,
    Marked,
    MarkerKind,
    ModelObserved,
    Retrying,
    Spoke,
    Thought,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    Unrecognised,
    UsageMetered,
    UsageReported,
)
from . import failures, markers

KEPT_RETRIES = 32
KEPT_NAMES = 8
_KEPT_CALLS = 64
KEPT_GENERATIONS = 2000
KEPT_MODELS = 16
HOPELESS_RETRIES = 2
_HOPELESS_STATUSES = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class Evidence:
    """Frozen; :func:`fold` returns the next one. ``None`` is unknown, never zero."""

    initialised: bool = False
    """Whether the model itself has been heard: words, thoughts, tools or a final event."""
    conversation: str | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    """The models that answered, each once, as far as the stream names them; what was only announced is not there."""
    reads: int = 0
    writes: int = 0
    """Writes that were not refused: what was tried is a sign of work, and counts for the watchdog."""
    writes_failed: int = 0
    """Those of them that were seen to fail: nothing was written by them."""
    bash: int = 0
    other_tools: int = 0
    denials: int = 0
    denied: tuple[str, ...] = ()
    """Names of the first refused tools."""
    retries: int = 0
    retry_statuses: tuple[int, ...] = ()
    """HTTP statuses of the last retries since the model was last heard."""
    retrying: FailureKind | None = None
    """Why the last of them was; None: there was none since, or nobody knows."""
    last_text: str | None = None
    """The last whole message."""
    spoken_chars: int = 0
    usage: TokenUsage | None = None
    usage_whole: bool = False
    """Whether ``usage`` counts the conversation from its beginning."""
    by_model: tuple[tuple[str, TokenUsage], ...] = ()
    metered: tuple[tuple[str, TokenUsage], ...] = ()
    """What a turn that goes on has used, by model, as an estimate; ``usage`` replaces it."""
    cash_usd: float | None = None
    generations: tuple[str, ...] = ()
    """Ids of the generations that the stream named, each once."""
    generations_lost: bool = False
    """Whether there may be generations that cost something and are not among them."""
    limit: LimitReported | None = None
    turn: TurnEnded | None = None
    last_terminal: Marked | None = None
    """The last signed DONE, BLOCKED or NEED_INPUT."""
    last_marker: Marked | None = None
    """The last signed marker of any kind."""
    unsigned: int = 0
    """Markers without this attempt's id; they decide nothing."""
    percent: int | None = None
    unrecognised: int = 0
    calls: tuple[tuple[str, ToolKind], ...] = ()
    """Tool calls that have not ended, as far as the stream tells."""

    @property
    def answer(self) -> str | None:
        """The final message: the final event's own text, else the last whole message; None if blank."""
        text = self.turn.text if self.turn is not None and self.turn.text else self.last_text
        return text if text and text.strip() else None

    @property
    def progress(self) -> Progress:
        """The tally that people see."""
        marker = self.last_marker
        said = f"{marker.marker.value} {marker.text}".strip() if marker else None
        written = max(0, self.writes - self.writes_failed)
        return Progress(last_marker=said, reads=self.reads, writes=written, bash=self.bash, percent=self.percent)


def fold(evidence: Evidence, event: LaneEvent) -> Evidence:  # noqa: C901, PLR0911, PLR0912 - one flat match
    """Return ``evidence`` with ``event`` taken into account. Counts never go below zero."""
    match event:
        case Spoke():
            return replace(  # once: it is what floods are made of
                evidence,
                initialised=True,
                retry_statuses=(),
                retrying=None,
                spoken_chars=evidence.spoken_chars + len(event.text),
                last_text=evidence.last_text if event.partial else event.text,
            )
        case Thought():
            return _heard(evidence)
        case ToolCalled():
            return _called(_heard(evidence), event)
        case ToolFinished():
            return _finished(_heard(evidence), event)
        case Denied():
            return _denied(evidence, event.name)
        case Marked():
            return _marked(evidence, event)
        case TurnEnded():
            percent = _percent_at_the_end(evidence.percent) if event.ok else evidence.percent
            seen = evidence.initialised or not event.synthetic
            return replace(evidence, turn=event, initialised=seen, percent=percent)
        case Retrying():
            statuses = (*evidence.retry_statuses, event.status) if event.status else evidence.retry_statuses
            # A connection that broke may have been paid for up to there; an HTTP error was not.
            lost = evidence.generations_lost or event.status is None
            retries = evidence.retries + 1
            kept = statuses[-KEPT_RETRIES:]
            return replace(
                evidence, retries=retries, retry_statuses=kept, retrying=why_retrying(event), generations_lost=lost
            )
        case UsageReported():
            by_model = tuple(event.by_model.items()) or evidence.by_model
            cash = evidence.cash_usd if event.cash_usd is None else event.cash_usd
            whole = event.whole_conversation
            return replace(evidence, usage=event.usage, usage_whole=whole, by_model=by_model, cash_usd=cash)
        case UsageMetered():
            return replace(evidence, metered=tuple(event.by_model.items())[:KEPT_MODELS])
        case GenerationNamed():
            return _generated(evidence, event.generation)
        case ConversationStarted():
            return replace(evidence, conversation=event.conversation)
        case ModelObserved():
            return _observed(evidence, event)
        case LimitReported():
            return replace(evidence, limit=event)
        case Unrecognised():
            return replace(evidence, unrecognised=evidence.unrecognised + event.count)


def why_retrying(event: Retrying) -> FailureKind | None:
    """Return why a CLI tries its provider again: as its lane says, by the HTTP status, by its words; else None."""
    told = event.failure or failures.by_status(event.status)
    return told or (failures.by_words(event.message) if event.message else None)


def hopeless(evidence: Evidence) -> FailureKind | None:
    """Return why waiting on is pointless, or None.

    Claude Code 2.1.332 retries a refused key ten times over three minutes when it speaks to a gateway.
    Two refusals in a row are enough: one may be an expired token that the CLI renews.
    """
    ended = evidence.turn is not None and not evidence.turn.synthetic
    return None if ended else refused(evidence)


def refused(evidence: Evidence) -> FailureKind | None:
    """Return what the last retries have in common that makes them pointless, or None; also once the turn has ended."""
    last = evidence.retry_statuses[-HOPELESS_RETRIES:]
    if len(last) == HOPELESS_RETRIES and _HOPELESS_STATUSES.issuperset(last):
        return FailureKind.AUTH
    return None


def _heard(evidence: Evidence) -> Evidence:
    if evidence.initialised and not evidence.retry_statuses and evidence.retrying is None:
        return evidence
    return replace(evidence, initialised=True, retry_statuses=(), retrying=None)


def _called(evidence: Evidence, event: ToolCalled) -> Evidence:
    calls = (*evidence.calls, (event.name, event.tool))[-_KEPT_CALLS:]
    return _count(replace(evidence, calls=calls), event.tool, 1)


def _count(evidence: Evidence, tool: ToolKind, step: int) -> Evidence:
    match tool:
        case ToolKind.READ:
            return replace(evidence, reads=max(0, evidence.reads + step))
        case ToolKind.WRITE:
            return replace(evidence, writes=max(0, evidence.writes + step))
        case ToolKind.EXECUTE:
            return replace(evidence, bash=max(0, evidence.bash + step))
        case ToolKind.OTHER:
            return replace(evidence, other_tools=max(0, evidence.other_tools + step))


def _finished(evidence: Evidence, event: ToolFinished) -> Evidence:
    calls = evidence.calls
    place = next((i for i, (name, _) in enumerate(calls) if name == event.name), None)
    tool = None if place is None else calls[place][1]
    if place is not None:
        evidence = replace(evidence, calls=calls[:place] + calls[place + 1 :])
    if not event.denied:
        failed = tool is ToolKind.WRITE and not event.ok
        return replace(evidence, writes_failed=evidence.writes_failed + 1) if failed else evidence
    return _denied(evidence if tool is None else _count(evidence, tool, -1), event.name)


def _denied(evidence: Evidence, name: str | None) -> Evidence:
    names = evidence.denied
    if name and name not in names and len(names) < KEPT_NAMES:
        names = (*names, name)
    return replace(evidence, denials=evidence.denials + 1, denied=names)


def _observed(evidence: Evidence, event: ModelObserved) -> Evidence:
    seen = replace(evidence, model=event.model)
    if event.announced or event.model in seen.models or len(seen.models) >= KEPT_MODELS:
        return seen
    return replace(seen, models=(*seen.models, event.model))


def _generated(evidence: Evidence, generation: str) -> Evidence:
    if generation in evidence.generations:
        return evidence
    if len(evidence.generations) >= KEPT_GENERATIONS:
        return replace(evidence, generations_lost=True)
    return replace(evidence, generations=(*evidence.generations, generation))


def _percent_at_the_end(said: int | None) -> int | None:
    """Return how far work that ended well is: what was said on the way is no longer true, and 100 was not seen."""
    return said if said == 100 else None


def _marked(evidence: Evidence, event: Marked) -> Evidence:
    if not event.signed:
        return replace(evidence, unsigned=evidence.unsigned + 1)
    seen = replace(evidence, last_marker=event)
    if event.marker is MarkerKind.DONE:
        share = markers.percent(event.text)
        percent = _percent_at_the_end(evidence.percent) if share is None else share
        return replace(seen, last_terminal=event, percent=percent)
    if event.marker.terminal:
        return replace(seen, last_terminal=event)
    if event.marker is MarkerKind.PROGRESS and (share := markers.percent(event.text)) is not None:
        return replace(seen, percent=share)
    return seen
