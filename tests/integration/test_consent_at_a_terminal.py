"""A person at a terminal is asked once whether work may leave; nobody else is ever asked."""

from __future__ import annotations

import sys

import pexpect
import pytest
from fakes import osrc_process
from fakes.lanes import fake_argv, lane_toml, steps, write_lane
from fakes.supervised import Supervised

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")


@pytest.mark.parametrize(("said", "agreed"), [("y", True), ("", False), ("--cloud-ack", False)])
def test_a_person_is_asked_once(home: Supervised, said: str, agreed: bool) -> None:
    home.environ.pop("OSRC_CLOUD_ACK")
    write_lane(home.root, "sky", lane_toml(argv=fake_argv("osrc-jsonl")).replace("local = true", "local = false"))
    words = [str(word) for word in osrc_process.command("run", "--lane", "sky", "--", steps({"end": "well"}))]
    seen = pexpect.spawn(
        words[0],
        words[1:],
        env=home.environment() | {"TERM": "xterm"},
        cwd=str(home.work),
        timeout=240,
        encoding="utf-8",
    )
    seen.expect(r"May work leave this machine.*\[y/N\]")
    seen.sendline(said)
    seen.expect(pexpect.EOF)
    seen.close()
    assert ("well" in (seen.before or "")) is agreed, seen.before
    assert seen.exitstatus == (2 if agreed else 1)
    assert len(home.records()) == agreed
    assert ("granted at" in home.ok("consent", "status")) is agreed
    if agreed:
        assert home.osrc("run", "--lane", "sky", "--", steps({"end": "x"})).returncode == 2, "and not again"


def test_a_fan_out_asks_once_for_all_its_members(home: Supervised) -> None:
    home.environ.pop("OSRC_CLOUD_ACK")
    write_lane(home.root, "sky", lane_toml(argv=fake_argv("osrc-jsonl")).replace("local = true", "local = false"))
    tasks = [steps({"mark": "DONE"}, {"end": "well"})] * 2
    refused = home.osrc("fanout", "--lane", "sky", "--", *tasks)
    assert (refused.returncode, refused.stdout, home.records()) == (1, b"", [])
    words = [str(word) for word in osrc_process.command("fanout", "--lane", "sky", "--wait", "--", *tasks)]
    seen = pexpect.spawn(
        words[0],
        words[1:],
        env=home.environment() | {"TERM": "xterm"},
        cwd=str(home.work),
        timeout=240,
        encoding="utf-8",
    )
    seen.expect(r"May work leave this machine.*\[y/N\]")
    seen.sendline("y")
    seen.expect(pexpect.EOF)
    seen.close()
    assert (seen.exitstatus, len(home.records())) == (0, 2), seen.before
