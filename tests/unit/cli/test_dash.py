"""``osrc dash``: the sections of rundown, live."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios

from fakes.osrc_process import command, environment, osrc, start
from outsourcerer.cli.render.bearings import bearings_lines

TITLES = ("Captain's Call", "Recently Landed", "Underway", "Charted Next")


def test_a_pipe_gets_the_picture_once_while_nothing_changes(tmp_path):
    plain = osrc(tmp_path / "home", "dash", "--every", "0.1", "--for", "1").stdout.decode()
    assert [plain.count(title) for title in TITLES] == [1, 1, 1, 1]
    assert "\x1b" not in plain


def test_json_tells_each_look_as_a_line(tmp_path):
    live = start(tmp_path / "home", "dash", "--json", "--every", "0.1")
    looks = [json.loads(live.stdout.readline()) for _ in range(2)]
    live.kill()
    live.communicate()
    assert [look["schema_version"] for look in looks] == ["1", "1"]
    assert looks[0]["underway"] == []


def test_a_change_is_one_and_time_that_passes_is_none():
    picture = {"captured_at": 5.0, "counts": {}, "underway": [{"id": "a", "state": "running", "at": 1.0}]}
    assert bearings_lines(picture, 9.0, ages=False) == bearings_lines({**picture, "captured_at": 5.0}, 9.4, ages=False)
    other = {**picture, "underway": [{"id": "a", "state": "done", "at": 1.0}]}
    assert bearings_lines(picture, 9.0, ages=False) != bearings_lines(other, 9.0, ages=False)


def test_a_terminal_is_drawn_anew_and_never_wider_or_longer_than_it_is(tmp_path):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 30, 0, 0))
    live = subprocess.Popen(
        command("dash", "--every", "0.2", "--for", "1"),
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
        env=environment(tmp_path / "home", TERM="xterm"),
        start_new_session=True,
    )
    os.close(follower)
    seen = b""
    while part := _read(leader):
        seen += part
    os.close(leader)
    assert (live.wait(60), live.communicate()[1]) == (0, b"")
    frames = seen.decode().split("\x1b[H\x1b[2J")[1:]
    assert len(frames) > 1
    lines = [line.rstrip("\r") for line in frames[0].rstrip("\n").split("\n")]
    assert len(lines) <= 6
    assert max(map(len, lines)) <= 30


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other end is closed
        return b""
