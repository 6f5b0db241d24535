"""Whether a delegate runs this command, and what it may then not do."""

from __future__ import annotations

import os

from .errors import CliError

NAMES = ("OUTSOURCERER_DEPTH", "OSRC_DEPTH")
"""As ``actors.depth`` reads them."""


def in_delegate() -> str | None:
    """Return the variable that says so; one that can't be read as a depth says so too."""
    return next((name for name in NAMES if os.environ.get(name, "0").strip() not in ("", "0")), None)


def refuse_delegate(doing: str) -> None:
    """Raise CliError inside a delegate: what a person decides, no delegate decides for them."""
    name = in_delegate()
    if name is not None:
        raise CliError("recursion", f"a delegate runs this ({name} is set): it may not {doing}", "do it yourself")
