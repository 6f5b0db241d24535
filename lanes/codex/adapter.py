"""From a session to Codex behind its ACP adapter. Pure. Seen: codex-acp 2.6.0 with Codex 0.171.0."""

from __future__ import annotations

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import missing_program
from ..vehicles.acp.session import over_acp
from ..vehicles.codex_cli.argv import BINARY, INSTALL
from .argv import payer

ADAPTER = "codex-acp"
ADAPTER_INSTALL = "npm install -g @agentclientprotocol/codex-acp"


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. The adapter is told to start the person's own Codex, not the one it brings."""
    program, adapter = host.executables.get(BINARY), host.executables.get(ADAPTER)
    if program is None:
        return missing_program(BINARY, INSTALL)
    if adapter is None:
        return missing_program(ADAPTER, ADAPTER_INSTALL)
    by_key = bool(host.environment.get("CODEX_API_KEY"))
    notices = ("CODEX_API_KEY is set: the session is metered on that key, not on a ChatGPT plan.",) if by_key else ()
    return over_acp(
        task,
        (adapter,),
        env_set={"CODEX_PATH": program, "INITIAL_AGENT_MODE": "read-only"},
        notices=notices,
        billing=payer(host),
    )
