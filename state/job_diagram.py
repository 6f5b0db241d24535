"""``python -m outsourcerer.state.job_diagram``: the job machine's picture and table, from the machine itself.

Prints Markdown: a Mermaid diagram of the whole, one of what happens while a job is at work, and every
transition as a table. ``docs/architecture.md`` holds the output; a test holds it true.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from ..messages.vocabulary import TERMINAL_STATES, JobState
from .job_machine import REVOCABLE, RUNNING_STATES, TRANSITIONS, Event

GROUPS: dict[str, frozenset[JobState]] = {
    "queued": frozenset({JobState.QUEUED}),
    "launching": frozenset({JobState.LAUNCHING}),
    "at_work": RUNNING_STATES,
    "revocable": REVOCABLE,
    "settled": TERMINAL_STATES - REVOCABLE,
}
"""The nodes of the first diagram. Every state is in one of them."""


def markdown() -> str:
    """Return the two diagrams and the table."""
    parts = ["A job's whole life:", _overview(), "While it is at work, from any of these states:", _at_work(), _table()]
    return "\n\n".join(parts) + "\n"


def _ordered(states: frozenset[JobState]) -> list[JobState]:
    return [state for state in JobState if state in states]


def _words(states: frozenset[JobState]) -> str:
    return ", ".join(state.value for state in _ordered(states))


def _targets(group: frozenset[JobState], event: type[Event]) -> frozenset[JobState]:
    """Return where ``event`` may lead out of the states of ``group``."""
    found: frozenset[JobState] = frozenset()
    for state in group:
        found |= TRANSITIONS[state].get(event, frozenset())
    return found


def _events(group: frozenset[JobState]) -> list[type[Event]]:
    """Return the events that any state of ``group`` knows, in the table's order."""
    return list(dict.fromkeys(event for state in _ordered(group) for event in TRANSITIONS[state]))


def _fence(lines: list[str]) -> str:
    return "\n".join(["```mermaid", "stateDiagram-v2", *(f"    {line}" for line in lines), "```"])


def _overview() -> str:
    lines = [f'state "{_words(states)}" as {name}' for name, states in GROUPS.items()]
    lines.append("[*] --> queued")
    for name, group in GROUPS.items():
        for other, states in GROUPS.items():
            labels = list(_labels(group, states)) if name != other else []
            if labels:
                lines.append(f"{name} --> {other} : {', '.join(labels)}")
    return _fence(lines)


def _labels(group: frozenset[JobState], others: frozenset[JobState]) -> Iterator[str]:
    """Yield the events that lead from one group to another; those to a part of it say which."""
    for event in _events(group):
        reached = _targets(group, event) & others
        if reached:
            yield event.__name__ + ("" if reached == others else f" (to {_words(reached)})")


def _at_work() -> str:
    lines = [f'state "{state.value}" as {state.name}' for state in _ordered(RUNNING_STATES)]
    for state in _ordered(RUNNING_STATES):
        others = RUNNING_STATES - {state}
        events = [event.__name__ for event in _events(RUNNING_STATES) if state in _targets(others, event)]
        if events:
            lines.append(f"[*] --> {state.name} : {', '.join(events)}")
    return _fence(lines)


def _table() -> str:
    """Return every transition, a row for each group's event. ``stays`` is the state that it came in."""
    lines = ["| in | event | leads to |", "| --- | --- | --- |"]
    for group in GROUPS.values():
        first = ", ".join(f"`{state.value}`" for state in _ordered(group))
        for event in _events(group):
            lines.append(f"| {first} | {event.__name__} | {_reached(group, event)} |")
            first = ""
    return "\n".join(lines)


def _reached(group: frozenset[JobState], event: type[Event]) -> str:
    """Return where ``event`` may lead from any state of ``group``.

    Raises ValueError when the states differ in more than that each may stay: then they are no group.
    """
    rows = {state: TRANSITIONS[state][event] for state in group}
    everywhere = frozenset.intersection(*rows.values())
    if any(targets - {state} != everywhere - {state} for state, targets in rows.items()):
        raise ValueError(f"{event.__name__} leads elsewhere from some of {_words(group)}")
    if everywhere == TERMINAL_STATES:
        return "any verdict"
    stays = all(state in targets for state, targets in rows.items())
    others = everywhere - group if stays and len(group) == 1 else everywhere
    return ", ".join([*(f"`{state.value}`" for state in _ordered(others)), *(["stays"] if stays else [])])


if __name__ == "__main__":
    sys.stdout.write(markdown())
