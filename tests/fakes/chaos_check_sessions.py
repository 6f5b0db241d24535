"""What must hold of sessions after whatever happened: each ends once, and of all that it was given is told what is true.

check_talks(seen, [Talk(...)]) == []
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fakes.chaos_seen import Seen, Violation

ENDED = frozenset({"exited", "lost"})


@dataclass(frozen=True, slots=True)
class Talk:
    """A session that a caller asked for."""

    session_id: str
    answer: str
    """``accepted``, ``refused`` or ``unsure``."""
    state: str | None
    """What its record says at the end; None where there is none."""
    told: Mapping[int, Sequence[str]]
    """Entry → every last word on it in the session's events."""
    read: Mapping[int, int]
    """Entry → how often its delegate read it."""
    given: Collection[int]
    """The entries whose senders were told that they are given."""
    doubled: Sequence[str] = ()
    """Sends that were given two numbers."""
    alone: bool = False
    """Whether it was said to live in a calm hour, and nobody held it."""


def check_talks(seen: Seen, talks: Sequence[Talk]) -> list[Violation]:
    """Return all that must not be."""
    ends = Counter(
        (told.generation, told.body["session_id"], told.body["attempt"])
        for told in seen.journal
        if told.kind == "session.ended"
    )
    found = [
        Violation("session-ended-once", session_id, f"ended {times} times")
        for (_, session_id, _), times in ends.items()
        if times > 1
    ]
    removed = {told.body["session_id"] for told in seen.journal if told.kind == "session.removed"}
    for talk in talks:
        if talk.session_id in removed:
            continue  # cleaned up by its age: a clock may have jumped by months
        found += [Violation(rule, talk.session_id, what) for rule, what in _wrong(talk)]
    return found


def _wrong(talk: Talk) -> list[tuple[str, str]]:
    found = []
    if talk.answer == "accepted" and talk.state is None:
        found.append(("session-heard", "it was accepted and is not there"))
    if talk.answer == "refused" and talk.state is not None:
        found.append(("session-heard", f"it was refused, and is {talk.state}"))
    if talk.state is not None and talk.state not in ENDED:
        found.append(("session-ended-once", f"it was stopped, and is {talk.state}"))
    if talk.alone:
        found.append(("session-held", "it was said to live, and nobody held it"))
    found += [("sent-once", f"{send_id} was given two numbers") for send_id in talk.doubled]
    for number in sorted(talk.given):
        if not talk.told.get(number):
            found.append(
                ("told", f"nothing says what became of {number}, which was read {talk.read.get(number, 0)} times")
            )
    for number, words in sorted(talk.told.items()):
        if len(words) > 1:
            found.append(("told-once", f"of {number} is told {', '.join(words)}"))
        times = talk.read.get(number)
        if times and set(words) & {"failed", "refused"}:
            found.append(("told-truly", f"{number} {words[-1]}, and it was read"))
        if times == 0 and "turn-started" in words:
            found.append(("told-truly", f"{number} began a turn, and it was not read"))
    return found
