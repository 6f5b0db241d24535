"""From a session to an agent that speaks the Agent Client Protocol. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...contract import Billing, SessionLaunch, SessionTask
from ...launching import NESTING


def over_acp(  # noqa: PLR0913 - by name
    task: SessionTask,
    argv: tuple[str, ...],
    *,
    env_set: dict[str, str] | None = None,
    env_strip: frozenset[str] = NESTING,
    notices: tuple[str, ...] = (),
    billing: Billing | None = None,
    meta: Mapping[str, object] | None = None,
) -> SessionLaunch:
    """Return the launch of ``argv``, an agent. Model and effort are chosen by the protocol, once it is up.

    ``meta`` goes with the request that opens a session: what one agent alone understands.
    """
    effort = task.effort.value if task.effort is not None else None
    options = {"cwd": task.cwd, "model": task.model, "effort": effort, "conversation": task.conversation}
    if meta is not None:
        options["meta"] = json.dumps(meta, separators=(",", ":"))
    return SessionLaunch(
        argv=argv,
        engine="acp",
        options=options,
        env_set=env_set or {},
        env_strip=env_strip,
        notices=notices,
        billing=billing,
        effort=effort,
    )
