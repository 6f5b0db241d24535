"""What a folder takes on disk, and when that is not known."""

from __future__ import annotations

import os
from pathlib import Path

from outsourcerer.state.disk import weigh


def blocks(*paths: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in paths)


def test_files_below_it_count_once_and_links_lead_nowhere(tmp_path: Path) -> None:
    tree, other = tmp_path / "tree", tmp_path / "other"
    (tree / "a").mkdir(parents=True)
    other.write_bytes(os.urandom(300_000))
    one = tree / "a" / "one"
    one.write_bytes(os.urandom(100_000))
    (tree / "again").hardlink_to(one)
    (tree / "away").symlink_to(other)
    (tree / "round").symlink_to(tree)
    found = weigh(str(tree))
    assert found is not None
    assert found.whole
    assert found.taken == blocks(tree / "a", one, tree / "away", tree / "round")
    (tmp_path / "moved").symlink_to(tree)
    assert weigh(str(tmp_path / "moved")) == found


def test_a_bound_is_said(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "file").write_bytes(b"x" * 5000)
    whole, cut, late = weigh(str(tmp_path)), weigh(str(tmp_path), most_entries=25), weigh(str(tmp_path), most_s=-1.0)
    assert whole is not None
    assert cut is not None
    assert late is not None
    assert (whole.whole, cut.whole, late.whole) == (True, False, False)
    assert 0 < cut.taken < whole.taken
    assert late.taken == 0


def test_what_is_no_folder_has_no_weight(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert weigh(str(tmp_path / "file")) is None
    assert weigh(str(tmp_path / "nothing")) is None
    assert weigh("a\0b") is None
