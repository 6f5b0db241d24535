"""A delegate that prints a gigabyte: the supervisor's memory stays bounded, and the verdict is right."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fakes.osrc_process import shown
from fakes.supervised import Supervised

pytestmark = pytest.mark.chaos

GIGABYTE = 1_000_000_000
BOUND_KIB = 250 * 1024


def highest_kib(pid: int) -> int:
    """Highest resident size of a process so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.fixture
def roomy(home: Supervised) -> Supervised:
    if shutil.disk_usage(home.root).free < 3 * GIGABYTE:
        pytest.skip("needs 3 GB of free disk")
    return home


def test_a_gigabyte_of_junk_and_then_an_answer(roomy: Supervised) -> None:
    record, done = roomy.run({"flood": GIGABYTE}, {"mark": "DONE"}, {"end": "still here"}, timeout=400)
    assert (record["state"], done.returncode, done.stdout) == ("done", 0, b"still here\n"), shown(done)
    daemon = roomy.daemon()
    assert highest_kib(daemon) < BOUND_KIB
    log = roomy.folder(record["job_id"]) / "out.log"
    assert log.stat().st_size > GIGABYTE
    roomy.ok("status")
    log.unlink()


def test_others_are_served_during_a_flood(roomy: Supervised) -> None:
    """The supervisor dies in the middle, too: the next one reads the flood anew and comes to the same end."""
    flood = roomy.bg({"flood": 300_000_000}, {"mark": "DONE"}, {"end": "after the flood"})
    record, _ = roomy.run({"say": "hi"}, {"mark": "DONE"}, {"end": "in between"})
    assert record["state"] == "done"
    roomy.kill_supervisor()
    roomy.ok("supervisor", "restart")
    assert roomy.ended(flood, 100)["state"] == "done"
    assert roomy.result(flood) == "after the flood"
    (roomy.folder(flood) / "out.log").unlink()
