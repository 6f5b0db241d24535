"""``doctor --ping``: what it says of a lane by its answer, and by the credits that pay for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.state import scratch_home
from outsourcerer.actors.rehearsal import Rehearsal
from outsourcerer.cli.commands import doctor
from outsourcerer.lanes.contract import Readiness, ReadinessLevel
from outsourcerer.lanes.registry import builtin


@pytest.mark.parametrize(
    ("answered", "left", "level", "words"),
    [
        (Rehearsal(ok=True), 4.5, "ok", "cc: answers; $4.50 of credits left"),
        (Rehearsal(ok=True), None, "ok", "cc: answers"),
        (Rehearsal(ok=True), 0.0, "warn", "cc: its credits are used up"),
        (Rehearsal(ok=False, notes=("exit 1",)), -0.2, "warn", "cc: its credits are used up"),
        (Rehearsal(ok=False, notes=("exit 1",)), None, "warn", "cc: exit 1"),
        (Rehearsal(ok=None, notes=("no key",)), None, "note", "cc: was not asked: no key"),
    ],
)
def test_a_ping_says_what_the_answer_and_the_credits_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answered: Rehearsal, left: float | None, level: str, words: str
) -> None:
    ready = Readiness(level=ReadinessLevel.SIGNED_IN, detail="x")
    monkeypatch.setattr(doctor.machine, "usable_lanes", lambda _registry: ([builtin("cc")], []))
    monkeypatch.setattr(doctor.machine, "probe_all", lambda _lanes, _settings: [ready])
    monkeypatch.setattr(doctor.machine, "pings", lambda *_, **__: [answered])
    monkeypatch.setattr(doctor.machine, "credits_left", lambda _lane, _settings: left)
    (found,) = doctor._ping(scratch_home(tmp_path), cloud_ack=False)
    assert (found.level, found.text) == (level, words)
