"""From a session to Claude Code behind its ACP adapter. Pure. Seen: claude-agent-acp 0.101.0, Claude Code 2.1.332."""

from __future__ import annotations

from dataclasses import replace

from ...messages.refusals import Refused
from ..contract import Host, SessionLaunch, SessionTask
from ..launching import effort_word, missing_program
from ..vehicles.acp.session import over_acp
from ..vehicles.claude_code.argv import BINARY, EFFORTS, INSTALL
from .argv import payer

ADAPTER = "claude-agent-acp"
ADAPTER_INSTALL = "npm install -g @agentclientprotocol/claude-agent-acp"


def over(task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session. The adapter is told to start the person's own Claude Code, not the one it brings.

    Of itself it reads the folder's settings; ``settingSources`` keeps them out, as in ``argv.py``.
    """
    program, adapter = host.executables.get(BINARY), host.executables.get(ADAPTER)
    if program is None:
        return missing_program(BINARY, INSTALL)
    if adapter is None:
        return missing_program(ADAPTER, ADAPTER_INSTALL)
    env_set = {"CLAUDE_CODE_EXECUTABLE": program}
    options: dict[str, object] = {"promptSuggestions": False}  # a request of its own after each turn
    if not host.trust_folder:
        options |= {"settingSources": ["user"], "additionalDirectories": list(host.project or (task.cwd,))}
        env_set["CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"] = "1"
    if host.environment.get("OSRC_CLAUDE_USER_CONFIG") != "1":
        options["strictMcpConfig"] = True
    if task.model is not None:  # over the protocol it takes only those that it lists
        options["model"] = task.model
    effort, said = effort_word("Claude Code", task.effort, EFFORTS)
    if effort is not None:
        options["effort"] = effort
    by_key = bool(host.environment.get("ANTHROPIC_API_KEY"))
    notices = ("ANTHROPIC_API_KEY is set: the session is metered on that key, not on a Claude plan.",) if by_key else ()
    launch = over_acp(
        replace(task, model=None, effort=None),
        (adapter,),
        env_set=env_set,
        notices=(*said, *notices),
        billing=payer(host),
        meta={"claudeCode": {"options": options}},
    )
    return replace(launch, effort=effort)
