import errno
import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.state import FailingDisk
from outsourcerer.state import home as home_module
from outsourcerer.state.errors import StateError
from outsourcerer.state.home import Home


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(
    ("environ", "override", "expected"),
    [
        ({"HOME": "/h"}, None, "/h/.outsourcerer"),
        ({"HOME": "/h", "OSRC_HOME": ""}, None, "/h/.outsourcerer"),
        ({"HOME": "/h", "OSRC_HOME": "/x//y/../z/"}, None, "/x/z"),
        ({"HOME": "/h", "OSRC_HOME": "~"}, None, "/h"),
        ({"HOME": "/h", "OSRC_HOME": "~/a b"}, None, "/h/a b"),
        ({"HOME": "/h", "OSRC_HOME": "rel/ünï\n"}, None, "/cwd/rel/ünï\n"),
        ({"HOME": "/h", "OSRC_HOME": "/env"}, "flag", "/cwd/flag"),
        ({"HOME": "/h", "OSRC_HOME": "~other"}, None, "/cwd/~other"),
    ],
)
def test_where_it_is(environ, override, expected):
    assert str(Home.resolve(environ, override, cwd="/cwd").root) == expected


def test_relative_to_the_process_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Home.resolve({"OSRC_HOME": "x"}).root == tmp_path / "x"


def test_without_home_the_password_database_knows(monkeypatch):
    expected = pwd.getpwuid(os.getuid()).pw_dir
    assert str(Home.resolve({}).root) == os.path.normpath(f"{expected}/.outsourcerer")
    assert str(Home.resolve({"HOME": "not/absolute"}).root) == os.path.normpath(f"{expected}/.outsourcerer")
    monkeypatch.setattr(pwd, "getpwuid", lambda _: (_ for _ in ()).throw(KeyError("no such user")))
    with pytest.raises(StateError) as caught:
        Home.resolve({})
    assert "HOME" in str(caught.value)


def test_relative_to_a_folder_that_is_gone(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(StateError) as caught:
        Home.resolve({"OSRC_HOME": "x"})
    assert "absolute" in caught.value.hint
    assert str(Home.resolve({"OSRC_HOME": "/x"}).root) == "/x"


def test_a_nul_is_refused():
    with pytest.raises(StateError):
        Home.resolve({"OSRC_HOME": "/a\0b"})


@pytest.mark.parametrize("name", ["plain", "with space", "new\nline", "ünï-☃", "-dash", "quote'\""])
def test_preflight_makes_private_folders(tmp_path, name):
    home = Home(tmp_path / "deep" / name)
    home.preflight()
    home.preflight()
    for folder in (home.root, home.jobs_dir, home.spool_dir, home.lanes_dir):
        assert mode(folder) == 0o700
    assert {path.parent for path in (home.database, home.lock_file, home.supervisor_file, home.log_file)} == {home.root}


def test_our_own_open_folder_is_tightened(tmp_path):
    home = Home(tmp_path / "h")
    home.preflight()
    home.root.chmod(0o777)
    home.jobs_dir.chmod(0o755)
    home.preflight()
    assert mode(home.root) == mode(home.jobs_dir) == 0o700


@pytest.mark.parametrize("permissions", [0o755, 0o700])
def test_a_folder_of_other_things_is_refused_and_left_as_it_is(tmp_path, permissions):
    root = tmp_path / "project"
    root.mkdir()
    (root / "README").write_text("mine")
    (root / "jobs").mkdir(mode=0o755)
    root.chmod(permissions)
    for use in (Home(root).preflight, Home(root).look):
        with pytest.raises(StateError) as caught:
            use()
        assert caught.value.code == "state_unwritable"
        assert "not a state home" in str(caught.value)
        assert f"OSRC_HOME={root}/" in caught.value.hint
    assert mode(root) == permissions
    assert sorted(path.name for path in root.iterdir()) == ["README", "jobs"]
    assert not list((root / "jobs").iterdir())


def test_a_folder_that_all_users_share_is_refused_even_with_our_files_in_it(tmp_path):
    home = Home(tmp_path / "h")
    home.preflight()
    home.root.chmod(0o1777)
    with pytest.raises(StateError, match="shared by all users"):
        home.preflight()
    assert mode(home.root) == 0o1777


@pytest.mark.parametrize("names", [(), ("jobs",), ("jobs", "spool"), ("state.db", "notes.txt")])
def test_an_empty_folder_and_one_left_half_made_are_taken(tmp_path, names):
    (tmp_path / "h").mkdir(mode=0o755)
    for name in names:
        if "." in name:
            (tmp_path / "h" / name).touch()
        else:
            (tmp_path / "h" / name).mkdir()
    Home(tmp_path / "h").preflight()
    assert mode(tmp_path / "h") == 0o700


def test_looking_creates_and_changes_nothing(tmp_path):
    home = Home(tmp_path / "h")
    assert not home.look()
    assert not home.root.exists()
    home.root.mkdir()
    home.root.chmod(0o755)
    assert home.look()
    assert not list(home.root.iterdir())
    assert mode(home.root) == 0o755


@pytest.mark.parametrize("kind", ["fifo", "folder"])
@pytest.mark.parametrize("how", ["preflight", "look"])
def test_something_else_in_place_of_the_probe_is_named(tmp_path, kind, how):
    home = Home(tmp_path / "h")
    home.preflight()
    probe = home.root / ".writable"
    probe.unlink()
    os.mkfifo(probe) if kind == "fifo" else probe.mkdir()
    with pytest.raises(StateError, match="not a regular file") as caught:
        getattr(home, how)()
    assert str(probe) in caught.value.hint


@pytest.mark.parametrize("which", ["root", "jobs"])
def test_links_are_refused(tmp_path, which):
    real = tmp_path / "real"
    real.mkdir()
    if which == "root":
        (tmp_path / "h").symlink_to(real)
    else:
        (tmp_path / "h").mkdir()
        (tmp_path / "h" / "jobs").symlink_to(real)
    with pytest.raises(StateError) as caught:
        Home(tmp_path / "h").preflight()
    assert caught.value.code == "state_unwritable"
    assert "symbolic link" in str(caught.value)
    assert str(real) in caught.value.hint


def test_a_file_in_its_place_is_refused(tmp_path):
    (tmp_path / "h").write_text("")
    for home in (Home(tmp_path / "h"), Home(tmp_path / "h" / "below")):
        with pytest.raises(StateError) as caught:
            home.preflight()
        assert caught.value.code == "state_unwritable"
        assert "OSRC_HOME=" in caught.value.hint
        assert "allow-write" in caught.value.hint


def test_a_foreign_owner_is_refused(tmp_path, monkeypatch):
    home = Home(tmp_path / "h")
    home.preflight()
    monkeypatch.setattr(home_module.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StateError) as caught:
        home.preflight()
    assert "belongs to another user" in str(caught.value)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errno.ENOSPC, "state_full"),
        (errno.EDQUOT, "state_full"),
        (errno.EROFS, "state_unwritable"),
        (errno.EACCES, "state_unwritable"),
    ],
)
def test_a_failure_at_any_step_is_said_and_can_be_tried_again(tmp_path, error, code):
    for nth in range(1, 10):
        home = Home(tmp_path / f"h{nth}")
        disk = FailingDisk(nth, error)
        if nth <= 7:
            with pytest.raises(StateError) as caught:
                home.preflight(disk)
            assert caught.value.code == code
        else:
            home.preflight(disk)
            assert not disk.failed
        home.preflight()


class Room:
    f_frsize = 4096
    f_blocks = 1000
    f_bfree = f_bavail = 1000
    f_files = f_ffree = f_favail = 1000


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({}, False),
        ({"f_bfree": 3, "f_bavail": 3}, True),
        ({"f_ffree": 0, "f_favail": 0}, True),
        ({"f_files": 0, "f_ffree": 0, "f_favail": 0}, False),
        ({"f_blocks": 0, "f_bfree": 0, "f_bavail": 0}, False),
    ],
)
def test_a_full_disk_is_seen_before_anything_is_promised(tmp_path, monkeypatch, changes, refused):
    home = Home(tmp_path / "h")
    home.preflight()
    monkeypatch.setattr(home_module.os, "statvfs", lambda _: type("Seen", (Room,), changes))
    if not refused:
        home.preflight()
        return
    with pytest.raises(StateError) as caught:
        home.preflight()
    assert caught.value.code == "state_full"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_home_is_refused(tmp_path):
    home = Home(tmp_path / "h")
    home.preflight()
    (home.root / ".writable").unlink()
    home.root.chmod(0o500)
    try:
        with pytest.raises(StateError) as caught:
            home.preflight()
    finally:
        home.root.chmod(0o700)
    assert caught.value.code == "state_unwritable"


def test_the_front_end_pays_for_the_standard_library_alone():
    """Neither pydantic nor sqlite3 may be loaded to find the home, look at a process or refuse."""
    script = (
        "import sys; import outsourcerer.state.home, outsourcerer.state.identity, outsourcerer.state.settings;"
        "print([m for m in ('pydantic', 'sqlite3', 'psutil', 'click', 'platformdirs', 'tomllib') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"
    script = (
        "import sys; import outsourcerer.state.reader, outsourcerer.state.views;"
        "print([m for m in ('pydantic', 'psutil', 'click', 'platformdirs') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"
