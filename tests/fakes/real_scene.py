"""Where a storm over real processes plays: a small disk of its own, and strangers that look like ours."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from fakes.chaos_check import Seen, Violation
from fakes.supervised import DAEMON, SHIM, Supervised

DISK = 64 * 1024 * 1024
DECOY = "import signal, time; [signal.signal(n, lambda *_: exit(9)) for n in (1, 2, 15)]; time.sleep(900)"


@contextlib.contextmanager
def own_disk(folder: Path) -> Iterator[None]:
    """A small file system in memory, where we may mount one; else the folder as it is."""
    folder.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"mode=0700,size={DISK}", "tmpfs", str(folder)]
    mounted = sys.platform == "linux" and os.geteuid() == 0
    mounted = mounted and subprocess.run(words, check=False, capture_output=True, timeout=60).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True, timeout=60)


@contextlib.contextmanager
def strangers(home: Supervised) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that look like ours and are somebody else's: of another home, of another job."""
    looks = (
        [DAEMON.decode(), "--home", "/nowhere"],
        [SHIM.decode(), "/nowhere/notices"],
        ["fake_cli.py", "--format", "osrc-jsonl"],
    )
    made = [
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", DECOY, *words],
            env={"OSRC_JOB_ID": "20260101-000000-00000000000" + str(number)},
            start_new_session=True,
        )
        for number, words in enumerate(looks)
    ]
    try:
        yield made
    finally:
        for process in made:
            process.kill()
            process.wait()


def told(home: Supervised, seen: Seen, violation: Violation) -> list[str]:
    """What is known of whatever a rule was broken for: its folder is gone soon."""
    lines = [f"--- {violation}"]
    lines += [
        f"{fact.seq} {fact.kind} {json.dumps(fact.body)[:400]}"
        for fact in seen.journal
        if violation.about in fact.body.values()
    ]
    with contextlib.suppress(OSError):
        for path in sorted(home.folder(violation.about).iterdir()):
            if path.name.startswith(("claim", "exit", "out", "err", "end", "watch")):
                lines.append(f"{path.name}: {path.read_bytes()[-600:]!r}")
    near = [line for line in home.log().splitlines() if violation.about in line]
    return [*lines, *near[-40:], *home.log().splitlines()[-40:]]


def said_by(path: Path) -> set[str]:
    """What a delegate said in full."""
    found = set()
    with contextlib.suppress(OSError):
        for line in path.read_bytes().split(b"\n")[:-1]:
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if event.get("type") == "end":
                    found.add("end")
                if "OSRC::DONE" in str(event.get("text")):
                    found.add("DONE")
    return found
