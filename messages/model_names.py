"""One model under its many ids: the key by which ids of different services are compared. Standard library only."""

from __future__ import annotations

import re

_DATE = re.compile(r"-(?:20\d\d-?[01]\d-?[0-3]\d)$")
_EFFORT = re.compile(r"-(?:none|minimal|low|medium|high|xhigh)$")
_CAP = 1024


def canonical(model: str | None) -> str:
    """Return the model's key: lower case, without vendor, context note, date and effort; dots are dashes.

    None, the lane's own default, is the empty key.

    >>> canonical("z-ai/glm-5.2"), canonical("glm-5-2"), canonical("claude-haiku-4-5-20251001"), canonical(None)
    ('glm-5-2', 'glm-5-2', 'claude-haiku-4-5', '')
    """
    if model is None:
        return ""
    name = model[:_CAP].strip().lower().rpartition("/")[2].partition("[")[0].replace(".", "-").strip()
    while (shorter := _DATE.sub("", _EFFORT.sub("", name)).strip()) not in ("", name):
        name = shorter
    return name
