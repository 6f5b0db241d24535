"""A job machine with clocks that only tests move."""

from outsourcerer.messages.vocabulary import Tier, Verb
from outsourcerer.state import job_machine as jm
from outsourcerer.state.job_machine import (
    EndTree,
    JobMachine,
    LookClosely,
    Looked,
    Now,
    ProcessState,
    SlotGranted,
    Spawned,
    Tick,
    next_tick_s,
    step,
)
from outsourcerer.state.watchdog import Policy, policy_for

HOURS = 3600.0
RUN = policy_for({}.get, tier=Tier.MID, verb=Verb.RUN)
EDIT = policy_for({}.get, tier=Tier.MID, verb=Verb.EDIT)
BUFFERED = policy_for({}.get, tier=Tier.MID, verb=Verb.EDIT, streamed=False)


class Job:
    """A machine with its two clocks."""

    def __init__(self, policy: Policy = RUN) -> None:
        self.policy = policy
        self.mono = 1000.0
        self.wall = 1_800_000_000.0
        self.machine = JobMachine()
        self.effects: list[jm.Effect] = []

    def pass_(self, seconds: float) -> None:
        self.mono += seconds
        self.wall += seconds

    def __call__(self, event: jm.Event, after: float = 0.0) -> tuple[jm.Effect, ...]:
        self.pass_(after)
        self.machine, effects = step(self.machine, event, Now(self.wall, self.mono), self.policy)
        self.effects += effects
        return effects

    def run(self) -> "Job":
        self(SlotGranted())
        self(Spawned())
        return self

    def ends(self) -> list[EndTree]:
        return [effect for effect in self.effects if isinstance(effect, EndTree)]

    def watch_until(self, limit_s: float, *, files: bool = False, busy: bool = False, answer: bool = True) -> int:
        """Tick as the actor does until the tree's end is asked for or judged; return the number of ticks."""
        ticks, since = 0, self.mono
        while self.mono - since < limit_s and not self.machine.cause and not self.machine.exited:
            ticks += 1
            effects = self(Tick(ProcessState.RUNNING), next_tick_s(self.machine, self.policy))
            if answer and any(isinstance(effect, LookClosely) for effect in effects):
                self(Looked(files=files, busy=busy), 0.1)
        return ticks
