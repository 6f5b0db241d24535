"""From a session to ``codex app-server`` on the person's own sign-in. Pure. Seen on 0.171.0."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import NESTING, missing_program
from ..vehicles.codex_cli.argv import BINARY, INSTALL, effort_word
from ..vehicles.codex_cli.retries import log_words
from .argv import payer


def native(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. It reads the person's own Codex settings, as their own sessions do."""
    program = host.executables.get(BINARY)
    if program is None:
        return missing_program(BINARY, INSTALL)
    notices: list[str] = []
    effort = None
    if task.effort is not None:
        effort, notices = effort_word(task.effort, task.model)
    by_key = bool(host.environment.get("CODEX_API_KEY"))
    if by_key:
        notices.append("CODEX_API_KEY is set: the session is metered on that key, not on a ChatGPT plan.")
    return SessionLaunch(
        argv=(program, "app-server"),
        engine="codex",
        options={"model": task.model, "effort": effort, "conversation": task.conversation, "cwd": task.cwd},
        env_set=log_words(host.environment),
        env_strip=NESTING,
        notices=tuple(notices),
        billing=payer(host),
        effort=effort,
    )
