"""``osrc sanitize``: reports, changes whole files only when told to, any name, nothing but prose."""

import json
import os
from pathlib import Path

import pytest
from fakes.osrc_process import osrc


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home" / "osrc"


@pytest.fixture(autouse=True)
def _place(home: Path) -> None:
    home.parent.mkdir()


def test_it_reports_and_changes_nothing(home: Path, tmp_path: Path):
    notes = tmp_path / "notes.md"
    notes.write_text("Fine.\nKill it, then `kill` it.\n")
    ran = osrc(home, "sanitize", str(notes))
    assert ran.returncode == 0
    assert ran.stdout.decode() == f"{notes}:2: Kill → Stop\n"
    assert b"--write" in ran.stderr
    assert notes.read_text() == "Fine.\nKill it, then `kill` it.\n"
    assert not home.exists()


def test_it_writes_whole_files_of_any_name_and_keeps_the_rest(home: Path, tmp_path: Path):
    folder = tmp_path / "docs"
    folder.mkdir()
    names = [b"-rf.md", b"new\nline.md", b"\xff\xfe.txt", "ключ.rst".encode(), b"README"]
    paths = [os.fsencode(folder) + b"/" + name for name in names]
    for path in paths:
        Path(os.fsdecode(path)).write_bytes(b"attack \xe9\xff\r\nplain\r\n")
        Path(os.fsdecode(path)).chmod(0o640)
    (folder / "code.py").write_text("kill()  # attack\n")
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "x.md").write_text("attack\n")
    (folder / "linked.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "outside.md").write_text("attack\n")
    ran = osrc(home, "sanitize", "--write", "--json", "--", "docs", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    body = json.loads(ran.stdout)
    assert (body["schema_version"], body["swaps"], body["looked_at"]) == ("1", 5, 5)
    assert all(each["written"] for each in body["files"])
    for path in paths:
        assert Path(os.fsdecode(path)).read_bytes() == b"tackle \xe9\xff\r\nplain\r\n"
        assert Path(os.fsdecode(path)).stat().st_mode & 0o777 == 0o640
    assert (folder / "code.py").read_text() == "kill()  # attack\n"
    assert (folder / "node_modules" / "x.md").read_text() == "attack\n"
    assert (tmp_path / "outside.md").read_text() == "attack\n"
    assert len(list(folder.iterdir())) == 8


def test_what_is_no_prose_and_what_cannot_be_read_is_told(home: Path, tmp_path: Path):
    source, binary, fine = tmp_path / "tool.py", tmp_path / "blob.txt", tmp_path / "a.md"
    source.write_text("# kill\n")
    binary.write_bytes(b"kill\0")
    fine.write_text("kill\n")
    os.mkfifo(tmp_path / "pipe.md")
    words = [str(source), str(binary), str(tmp_path / "pipe.md"), str(tmp_path / "missing.md"), str(fine)]
    ran = osrc(home, "sanitize", "--write", *words)
    said = ran.stderr.decode()
    assert ran.returncode == 1
    assert f"left alone: {source}" in said
    assert f"left alone: {binary}" in said
    assert "pipe.md: it is not a regular file" in said
    assert "missing.md: No such file or directory" in said
    assert fine.read_text() == "stop\n"
    assert source.read_text() == "# kill\n"


def test_a_file_with_other_links_is_left_and_told(home: Path, tmp_path: Path):
    first = tmp_path / "a.md"
    first.write_text("kill\n")
    os.link(first, tmp_path / "b.md")
    ran = osrc(home, "sanitize", "--write", str(first))
    assert ran.returncode == 1
    assert b"hard links" in ran.stderr
    assert first.read_text() == "kill\n"


def test_a_path_that_is_not_there_is_an_error(home: Path, tmp_path: Path):
    ran = osrc(home, "sanitize", str(tmp_path / "docz"))
    assert ran.returncode == 1
    assert b"No such file" in ran.stderr
