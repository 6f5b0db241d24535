"""What a lane is remembered to refuse."""

from __future__ import annotations

import os

import pytest
from fakes.state import scratch_home
from outsourcerer.state.lane_posture import FOLDER, marks, remember, reset, restricted


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


def test_a_life(home):
    assert marks(home) == []
    assert not restricted(home, "devin")
    remember(home, "devin")
    remember(home, "../evil")
    assert restricted(home, "devin")
    assert [(mark.lane, mark.key, mark.value) for mark in marks(home)] == [("devin", "autonomous", "restricted")]
    assert len(reset(home)) == 1
    assert not restricted(home, "devin")
    assert reset(home) == []


def test_what_is_no_mark_restricts_nothing(home):
    folder = home.root / FOLDER
    folder.mkdir()
    os.mkfifo(folder / "devin.autonomous")
    (folder / "codex.autonomous").symlink_to("/etc/passwd")
    (folder / ("x" * 200)).write_text("restricted")
    (folder / "cline.autonomous").write_bytes(b"\x1b]0;evil\x07restricted")
    assert not restricted(home, "devin")
    assert not restricted(home, "codex")
    assert [mark.value.isprintable() for mark in marks(home)] == [True]
