"""Scratch git repositories, made by the real git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_IDENTITY = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.invalid")


def run_git(folder: Path, *words: str) -> str:
    """Call git as a person would, without this machine's own configuration; return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ("git", *_IDENTITY, "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words),
        cwd=folder,
        env={**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout.strip()


def repository(folder: Path, *, files: dict[str, str] | None = None) -> Path:
    """Make a repository with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "--quiet", ".")
    for name, text in (files or {"a.txt": "one\n"}).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run_git(folder, "add", ".")
    run_git(folder, "commit", "--quiet", "-m", "first")
    return folder
