"""The words around a task: by tier, verb and effort. Plain text; the task itself is never read.

The blocks are string constants, not files: lanes do no I/O. The task is joined in, never formatted,
so braces, dollar and percent signs in it mean nothing here.
"""

from __future__ import annotations

from ...messages.vocabulary import Effort, Tier, Verb
from .. import markers
from .blocks import EFFORT, FRAMES, TASK_HEADING, VERBS, WRITE_EARLY


def scaffold(  # noqa: PLR0913 - keyword-only choices
    task: str,
    *,
    tier: Tier,
    verb: Verb,
    effort: Effort | None,
    marker_id: str,
    agentic: bool = True,
    build_discipline: bool | None = None,
) -> str:
    """Return the prompt for ``task``.

    ``agentic`` is whether the delegate has tools; ``build_discipline`` forces the "write early" block
    on or off, None leaves it to the verb. ``raw`` is the task and the protocol block alone.
    """
    protocol = markers.disclose(marker_id)
    if tier is Tier.RAW:
        return _join(task, protocol)
    writes = agentic and verb.may_write
    blocks = [FRAMES[tier].rstrip()]
    blocks.append(VERBS[verb if agentic else None])
    if writes if build_discipline is None else build_discipline and agentic:
        blocks.append(WRITE_EARLY)
    if effort is not None:
        blocks.append(EFFORT[effort])
    return _join(*blocks, f"{TASK_HEADING}\n\n{task}", protocol)


def _join(*blocks: str) -> str:
    return "\n\n".join(block.strip("\n") for block in blocks) + "\n"
