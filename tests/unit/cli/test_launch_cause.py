"""Why a supervisor did not start: what its log says last, and nothing that says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from outsourcerer.cli.launch import _cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", ""),
        ("older\nthe disk is full\n", "the disk is full"),
        ('Traceback (most recent call last):\n  File "x.py", line 1\nOSError: none left\n\n', "OSError: none left"),
        ("the disk is full\nTraceback (most recent call last):\n", "the disk is full"),
        ('the disk is full\nTraceback (most recent call last):\n  File "x.py", li', "the disk is full"),
        ("Traceback (most recent call last):\n", ""),
    ],
)
def test_a_trace_that_was_cut_short_is_no_cause(tmp_path: Path, text: str, cause: str) -> None:
    log = tmp_path / "supervisor.log"
    log.write_text(text)
    assert _cause(str(log), 0) == cause
