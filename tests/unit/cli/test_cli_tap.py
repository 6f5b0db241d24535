"""The tap: whatever happens to it, the person's own status line shows what it showed."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed, shown
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.cli import statusline
from outsourcerer.cli.tap_settings import command, installed, own_command, tapped, uninstalled

OWN = "cat | tr a-z A-Z; printf ' it''s %s' \"$((1 + 1))\"; exit 3"
STATUS = {
    "model": {"id": "opus"},
    "rate_limits": {
        "five_hour": {"used_percentage": 42.5, "resets_at": 1796030299},
        "seven_day": {"used_percentage": 17, "resets_at": None},
    },
}


def run(line: str, status: bytes, **more: str) -> subprocess.CompletedProcess[bytes]:
    """As Claude Code runs it."""
    env = {"PATH": os.environ.get("PATH", os.defpath), **more}
    return subprocess.run(["/bin/sh", "-c", line], input=status, capture_output=True, env=env, timeout=60, check=False)


def line_for(home: Path, own: str | None = OWN, python: str = sys.executable) -> str:
    return command(python, statusline.__file__, str(home), own)


@pytest.fixture
def home(tmp_path):
    place = tmp_path / "it's a home"
    place.mkdir(mode=0o700)
    return place


@pytest.mark.parametrize(
    "status",
    [json.dumps(STATUS).encode(), b"", b"{", b"\xff\xfe", b"[]", b'{"rate_limits": 7}', b"[" * 5000, b"x" * 1_000_000],
    ids=["real", "empty", "torn", "bytes", "list", "odd", "deep", "large"],
)
def test_the_own_line_is_what_it_was(home, status):
    plain, through = run(OWN, status), run(line_for(home), status)
    assert (through.stdout, through.stderr, through.returncode) == (plain.stdout, plain.stderr, 3)


def test_the_gauges_are_kept_private(home):
    run(line_for(home), json.dumps(STATUS).encode())
    kept = home / statusline.FILE
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["windows"] == [
        {"name": "five_hour", "utilization": 0.425, "resets_at": 1796030299},
        {"name": "seven_day", "utilization": 0.17, "resets_at": None},
    ]
    assert [entry.name for entry in home.iterdir()] == [statusline.FILE]


def test_without_an_own_line_the_gauges_are_shown(home):
    done = run(line_for(home, None), json.dumps(STATUS).encode())
    assert (done.stdout.decode(), done.returncode) == ("5h 42% · 7d 17%\n", 0)


def test_a_home_that_is_gone_or_can_t_be_written_is_not_noticed(home, tmp_path):
    status, plain = json.dumps(STATUS).encode(), run(OWN, json.dumps(STATUS).encode()).stdout
    (tmp_path / "file").touch()
    for place in (tmp_path / "none", tmp_path / "file", Path("/proc/1")):
        done = run(line_for(place), status)
        assert (done.stdout, done.stderr) == (plain, b"")
    assert not (tmp_path / "none").exists()


def test_a_program_that_is_gone_is_not_noticed(home):
    for line in (line_for(home, python="/no/such/python"), line_for(home).replace(statusline.__file__, "/gone.py")):
        done = run(line, b"hello")
        assert (done.stdout, done.returncode) == (b"HELLO its 2", 3)
    gone = run(line_for(home, None, "/no/such/python"), b"hello")
    assert (gone.stdout, gone.returncode) == (b"", 0)


def test_many_at_once(home):
    status = json.dumps(STATUS).encode()
    argv = ["/bin/sh", "-c", line_for(home, "cat")]
    several = [subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(6)]
    assert all(one.communicate(status, timeout=60)[0] == status for one in several)
    assert json.loads((home / statusline.FILE).read_text())["windows"]
    assert [entry.name for entry in home.iterdir()] == [statusline.FILE]


def test_nothing_heavy_is_loaded():
    heavy = {"click", "subprocess", "typing", "pathlib", "outsourcerer"}
    code = (
        f"import sys; exec(open({statusline.__file__!r}).read(), {{'__name__': 'tap'}});"
        f" print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- the settings


@given(st.text(min_size=1).filter(lambda text: "\0" not in text), st.booleans())
def test_what_is_installed_comes_off_again(own, padded):
    line = {"type": "command", "command": own, **({"padding": 0} if padded else {})}
    settings = {"model": "opus", "statusLine": line, "hooks": {}}
    once = installed(settings, "/py thon", "/a b/statusline.py", "/h'ome")
    assert own_command(once) == own
    assert tapped(once)[1] == "/h'ome"
    assert installed(once, "/py thon", "/a b/statusline.py", "/h'ome") == once
    assert uninstalled(once) == settings
    assert list(once) == list(settings)


def test_without_a_line_of_their_own_none_is_left():
    once = installed({"model": "opus"}, "/python", "/statusline.py", "/home")
    assert once["statusLine"]["type"] == "command"
    assert uninstalled(once) == {"model": "opus"}
    assert uninstalled({"statusLine": {"command": "mine"}}) == {"statusLine": {"command": "mine"}}


@pytest.mark.parametrize("line", [7, [], {"type": "other", "command": "x"}, {"command": 7}])
def test_a_line_of_another_kind_is_left(line):
    with pytest.raises(ValueError, match="not a command"):
        installed({"statusLine": line}, "/python", "/statusline.py", "/home")


def test_the_commands(tmp_path):
    home, place = tmp_path / "home", tmp_path / ".claude" / "settings.json"
    real = tmp_path / "dotfiles.json"
    place.parent.mkdir()
    before = json.dumps({"model": "opüs", "statusLine": {"type": "command", "command": OWN, "padding": 0}})
    real.write_text(before)
    real.chmod(0o644)
    place.symlink_to(real)
    assert parsed(osrc(home, "tap", "install", "--json"))["own_command"] == OWN
    assert place.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o644
    done = run(json.loads(real.read_text())["statusLine"]["command"], json.dumps(STATUS).encode())
    assert done.returncode == 3, done
    told = parsed(osrc(home, "tap", "status", "--json"))
    assert told["installed"], told
    assert told["measured_at"] is not None
    gauges = parsed(osrc(home, "limits", "--json"))["gauges"]
    assert [(one["key"], one["source"], one["utilization"]) for one in gauges][:1] == [
        ("pool:claude", "statusline", None)  # its window began anew long ago
    ]
    assert not parsed(osrc(home, "tap", "uninstall", "--json"))["installed"]
    assert json.loads(real.read_text()) == json.loads(before)


def test_settings_that_are_none_are_left(tmp_path):
    place = tmp_path / ".claude" / "settings.json"
    place.parent.mkdir()
    place.write_text("{ // mine\n}")
    done = osrc(tmp_path / "home", "tap", "install")
    assert done.returncode == 1, shown(done)
    assert b"is left as it is" in done.stderr
    assert place.read_text() == "{ // mine\n}"


def test_a_closed_stdin_leaves_the_persons_own_line(home):
    done = subprocess.run(["/bin/sh", "-c", f"{line_for(home)} <&-"], capture_output=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (b" its 2", b"", 3)
