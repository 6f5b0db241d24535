"""What the real CLIs printed (``tests/golden/streams``), read back through their lane to a verdict."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import NamedTuple

from outsourcerer.lanes.contract import Ending, Lane, Stream, Task
from outsourcerer.lanes.evidence import Evidence, fold
from outsourcerer.lanes.outcome import Verdict, judge
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import LaneEvent
from outsourcerer.messages.vocabulary import Verb

STREAMS = Path(__file__).parents[1] / "golden" / "streams"
TASK = Task(verb=Verb.RUN, prompt="x", cwd="/")


class Replayed(NamedTuple):
    """The events of a recorded run, what they add up to, and the verdict."""

    events: list[LaneEvent]
    seen: Evidence
    verdict: Verdict

    @property
    def row(self) -> tuple[str, str, str | None, tuple[int, int, int], int]:
        """Verdict, outcome, answer, (reads, writes, commands), refusals."""
        seen = self.seen
        tally = (seen.reads, seen.writes, seen.bash)
        return (self.verdict.state, self.verdict.outcome, seen.answer, tally, seen.denials)


def replay(lane: Lane, folder: str, case: str) -> Replayed:
    """Read one recorded run (``folder`` is ``CLI/VERSION-DATE``)."""
    place = STREAMS / folder
    number = int((place / f"{case}.rc").read_text())
    status = ExitStatus(code=number) if number >= 0 else ExitStatus(signal=-number)
    return reading(lane, (place / f"{case}.out").read_bytes(), (place / f"{case}.err").read_bytes(), status)


def reading(lane: Lane, out: bytes, err: bytes = b"", status: ExitStatus | None = None) -> Replayed:
    """Read these bytes as a run that ended with ``status`` (default: exit code 0)."""
    status = status or ExitStatus(code=0)
    parser = lane.parser(TASK)
    events = [*parser.feed(out), *parser.feed(err, Stream.ERR), *parser.finish(status)]
    seen = reduce(fold, events, Evidence())
    failure = lane.classify(Ending(exit=status, turn=seen.turn, retries=seen.retry_statuses))
    return Replayed(events, seen, judge(seen, status, failure=failure))


def cases(folder: str) -> list[str]:
    """The names of the runs recorded in a folder."""
    return sorted(path.stem for path in (STREAMS / folder).glob("*.rc"))
