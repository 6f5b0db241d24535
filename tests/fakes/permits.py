"""Permits of the gate for tests of what comes after it."""

from __future__ import annotations

import sys
from pathlib import Path

from outsourcerer.actors.gate import Dispatch, Passed, Scope, pass_gate
from outsourcerer.lanes.custom import load
from outsourcerer.messages.vocabulary import Verb
from outsourcerer.state.home import Home
from outsourcerer.state.settings import Settings

LOCAL = f'argv = ["{sys.executable}"]\nlocal = true\n[verbs]\nrun = "READ-ONLY"\n'


def permit(folder: Path, attempt: int) -> Passed:
    """The permit of one attempt of the job in ``folder``, on a lane that stays on this machine."""
    lane = load("stays", LOCAL.encode(), "stays.toml")
    made = pass_gate(
        Dispatch(
            subject=folder.name,
            attempt=attempt,
            lane=lane,
            verb=Verb.RUN,
            model=None,
            scope=Scope(),
            cwd="/",
            home=Home(folder.parent),
            environment={},
            settings=Settings({}),
        )
    )
    assert isinstance(made, Passed)
    return made
