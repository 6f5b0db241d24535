"""The tap: whatever happens to it, the person's own status line shows what it showed."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed, shown
from hypothesis import example, given, settings
from hypothesis import strategies as st
from outsourcerer.cli import statusline, tap_receipt
from outsourcerer.cli.settings_text import members, whole
from outsourcerer.cli.tap_receipt import before_it, forgotten, remembered
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

WORDS = ("/py thon", "/a b/statusline.py", "/h'ome")


@example(own=";", padded=False, indent=None)
@given(st.text(min_size=1).filter(lambda text: "\0" not in text), st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_what_is_installed_comes_off_again(own, padded, indent):
    line = {"type": "command", "command": own, **({"padding": 0} if padded else {})}
    before = json.dumps({"model": "opus", "statusLine": line, "hooks": {}}, indent=indent, ensure_ascii=False)
    once = installed(before, *WORDS)
    assert own_command(json.loads(once)) == own
    assert tapped(json.loads(once))[1] == "/h'ome"
    assert installed(once, *WORDS) == once
    assert json.loads(uninstalled(once)) == json.loads(before)
    assert uninstalled(once) == before or not own.isprintable() or not own.isascii()


@pytest.mark.parametrize(
    "before",
    [
        '{"model": "opus"}',
        '{\n  "model" : "\\ud800",\n  "cost": 1e400 , "n": 12345678901234567890.10\n}\n',
        '\ufeff{"a":1,"b":[{"statusLine":7}]}',
        "{\r\n}\r\n",
        '  {"a": ' + "9" * 5000 + "}",
    ],
)
def test_without_a_line_of_their_own_none_is_left_and_nothing_else_is_touched(before):
    once = installed(before, *WORDS)
    assert tapped(whole(once))
    assert installed(once, *WORDS) == once
    assert uninstalled(once) == before
    assert uninstalled(before) == before


def test_edits_made_meanwhile_are_kept():
    before = '{"a": 1.50, "statusLine": {"type": "command", "command": "mine"}, "a": 1e400}'
    once = installed(before, *WORDS)
    edited = once.replace('"a": 1.50', '"a":\t2.500,"new": [1e999]')
    assert uninstalled(edited) == before.replace('"a": 1.50', '"a":\t2.500,"new": [1e999]')
    alone = installed('{"z": 0}', *WORDS).replace('{"z": 0,', "{")
    assert whole(uninstalled(alone)) == {}
    first = installed('{"z": 0}', *WORDS).replace('{"z": 0,', "{")[:-1] + ', "y": "\\ud800"}'
    assert uninstalled(first) == '{"y": "\\ud800"}'
    null = installed('{"statusLine": null}', *WORDS)
    assert tapped(json.loads(null))


@pytest.mark.parametrize(
    "text", ["", "[]", "7", "{", '{"a" 1}', '{"a": 1,}', "{} {}", "{1: 2}", "{" * 9000, '{"a":' * 9000]
)
def test_a_text_that_is_no_object_is_told_as_that(text):
    for of in (whole, lambda text: installed(text, *WORDS), uninstalled):
        with pytest.raises(ValueError, match="no JSON object"):
            of(text)


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.recursive(
            st.none() | st.text(max_size=3) | st.floats(),
            lambda of: st.lists(of, max_size=2) | st.dictionaries(st.text(max_size=2), of, max_size=2),
            max_leaves=4,
        ),
        max_size=4,
    )
)
@settings(max_examples=50)
def test_members_are_found_where_they_stand(value):
    for text in (json.dumps(value), json.dumps(value, indent=2), " " + json.dumps(value, separators=(" ,", ": "))):
        found = members(text)
        assert [one.key for one in found] == list(value)
        for one in found:
            assert json.loads(text[one.key_at : one.begin].rstrip(" :")) == one.key
            assert repr(json.loads(text[one.begin : one.end])) == repr(value[one.key])


@pytest.mark.parametrize("line", [7, [], {"type": "other", "command": "x"}, {"command": 7}])
def test_a_line_of_another_kind_is_left(line):
    with pytest.raises(ValueError, match="not a command"):
        installed(json.dumps({"statusLine": line}), *WORDS)


def test_a_line_that_would_not_fit_into_a_command_is_left():
    with pytest.raises(ValueError, match="too long"):
        installed(json.dumps({"statusLine": {"command": "x" * 60_000}}), *WORDS)


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
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == (before, 0o644)
    assert place.is_symlink()


@pytest.mark.parametrize(
    "before",
    [
        b'{"model":"\\ud800", "x": 1e400,"statusLine":{"command":"\\u0063at"\n},"statusLine" : null }',
        b"",
        b" \n",
        None,
    ],
    ids=["odd", "empty", "blank", "none"],
)
def test_untouched_settings_are_what_they_were_byte_for_byte(tmp_path, before):
    home, place = tmp_path / "home", tmp_path / ".claude" / "settings.json"
    place.parent.mkdir()
    if before is not None:
        place.write_bytes(before)
    done = osrc(home, "tap", "install")
    assert done.returncode == 0, shown(done)
    assert place.read_bytes() != before
    done = osrc(home, "tap", "uninstall", "--json")
    assert not parsed(done)["installed"], shown(done)
    assert (place.read_bytes() if place.exists() else None) == before
    assert not (home / tap_receipt.FILE).exists()


def test_a_receipt_remembers_the_first_state_of_a_file_that_only_the_tap_changed():
    once = remembered(None, "/s", None, b"tap 1")
    assert before_it(once, "/s", b"tap 1") == (True, None)
    again = remembered(once, "/s", b"tap 1", b"tap 2")
    assert before_it(again, "/s", b"tap 2") == (True, None)
    edited = remembered(once, "/s", b"mine", b"tap 2")
    assert before_it(edited, "/s", b"tap 2") == (True, b"mine")
    assert before_it(edited, "/s", b"tap 1") == before_it(edited, "/t", b"tap 2") == (False, None)
    assert forgotten(edited, "/s") is None
    assert before_it(forgotten(remembered(edited, "/t", b"\xff", b"x"), "/s"), "/t", b"x") == (True, b"\xff")
    for damaged in (b"", b"[", b"[]", b'{"schema_version": "1", "files": {"/s": 7}}', edited.replace(b"bWlu", b"!!!!")):
        assert before_it(damaged, "/s", b"tap 2") == (False, None)


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


def test_a_status_of_any_length_passes_whole(home):
    status = b'{"x": "' + b"y" * (statusline.LIMIT + 100_000) + b'"}'
    own = "cksum"
    assert run(line_for(home, own), status).stdout == run(own, status).stdout
    assert run(line_for(home, "exec true"), status).returncode == 0


def test_the_own_line_meets_a_closed_pipe_as_it_always_did(home):
    own = "yes | head -n 1"
    done = run(line_for(home, own), b"{}")
    assert (done.stdout, done.stderr) == (b"y\n", b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_line_that_nobody_can_be_shown_is_no_traceback(home):
    for line in (f"{line_for(home, None)} >/dev/full", f"{line_for(home, None)} >&-"):
        done = run(line, json.dumps(STATUS).encode())
        assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 1)


def test_there_is_no_less_than_nothing():
    assert (
        str(statusline.windows_in({"rate_limits": {"five_hour": {"used_percentage": -0.0}}})[0]["utilization"]) == "0.0"
    )
