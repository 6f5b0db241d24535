"""What the checks are given: a lane, a machine on which it can launch, and what its program really printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...messages.job import ExitStatus
from ...messages.lane_events import LaneEvent
from ...messages.refusals import Refused
from ...messages.vocabulary import Effort, Verb
from ..contract import Host, Lane, Launch, Parser, Stream, Task
from ..jsonl import coalesce

WELL = ExitStatus(code=0)
CWD = "/srv/it's here"


class ContractError(AssertionError):
    """The lane breaks the contract; the message says how."""


def require(held: object, message: str) -> None:
    """Raise :class:`ContractError` unless ``held``. No ``assert``: python -O must not make every lane conform."""
    if not held:
        raise ContractError(message)


@dataclass(frozen=True)
class Recorded:
    """One recorded run of the lane's program: all that it printed, and how it ended."""

    name: str
    out: bytes
    err: bytes = b""
    exit: ExitStatus = WELL


@dataclass(frozen=True)
class Subject:
    """A lane under test."""

    lane: Lane
    host: Host
    """A machine that has everything the lane needs: its programs, its keys."""
    streams: tuple[Recorded, ...]
    """May be empty where nobody has the program; the checks of what it prints then say little."""
    model: str | None = None
    small_prompts_only: bool = False
    """The program reads its prompt from the command line alone: the lane refuses long ones."""
    refused_here: frozenset[Verb] = frozenset()
    """Verbs that the lane declares, and that this very machine's program can't honour."""
    prompt_by_argument: bool = False
    """The program takes its prompt as an argument: ``--prompt=TEXT`` counts as one, and a long prompt goes as a
    private file (``{job}/NAME``) that the argument points to."""

    @property
    def verb(self) -> Verb:
        """The verb that most checks use."""
        return Verb.RUN if Verb.RUN in self.lane.verbs else next(iter(self.lane.verbs))

    @property
    def verbs(self) -> frozenset[Verb]:
        """What the lane honours on this machine."""
        return frozenset(self.lane.verbs) - self.refused_here

    def task(self, prompt: str = "do it", verb: Verb | None = None, effort: Effort | None = None) -> Task:
        """Return a task for the lane."""
        return Task(verb=verb or self.verb, prompt=prompt, cwd=CWD, model=self.model, effort=effort)

    def parser(self) -> Parser:
        """Return a new parser."""
        return self.lane.parser(self.task())

    def holding(self, names: tuple[str, ...], value: str) -> Subject:
        """Return the same lane on a machine whose environment and keys are ``value`` under ``names``."""
        own = dict.fromkeys((*self.host.secrets, *self.lane.secrets), value)
        environment = {**self.host.environment, **dict.fromkeys(names, value), **own}
        return replace(self, host=replace(self.host, environment=environment, secrets=own))


def launched(subject: Subject, task: Task) -> Launch:
    """Return the launch of ``task``, which the subject's machine must allow."""
    result = subject.lane.plan(task, subject.host)
    if isinstance(result, Refused):
        raise ContractError(f"refused on a machine that has everything: {result}")
    return result


def read(subject: Subject, recorded: Recorded, sizes: Callable[[], int] | None = None) -> list[LaneEvent]:
    """Return the events of a recorded run, fed whole or in pieces of ``sizes()`` bytes."""
    parser = subject.parser()
    events: list[LaneEvent] = []
    for data, stream in ((recorded.out, Stream.OUT), (recorded.err, Stream.ERR)):
        place = 0
        while place < len(data):
            step = sizes() if sizes else len(data)
            events += parser.feed(data[place : place + step], stream)
            place += step
    return coalesce(events + parser.finish(recorded.exit))
