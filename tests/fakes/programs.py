"""Programs for a PATH, written in Python: through a shell, for a ``#!`` line takes no interpreter with a space in its path."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def write_program(path: Path, source: str) -> None:
    """Make ``path`` an executable that runs ``source`` under this interpreter."""
    script = path.with_name(f".{path.name}.py")
    script.write_text(source, encoding="utf-8")
    path.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n', encoding="utf-8"
    )
    path.chmod(0o755)
