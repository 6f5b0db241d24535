"""A message-driven captain: sleeps until the notifier invokes it again, steers its session, and sleeps again.

captain.py FOLDER SUMMARY, the event on stdin. What it knows from one invocation to the next stands in FOLDER: ``phase``,
and ``log``, a line of JSON for each invocation. Its words to the session are those of ``fake_claude.py``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LAUNCH = "import sys; sys.argv[0] = 'osrc'; from outsourcerer.cli.main import main; main()"


def osrc(*words: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", LAUNCH, *words, "--json"], capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{words}: {done.returncode} {done.stderr.decode()}")
    return json.loads(done.stdout)


def turn(phase: str, event: dict[str, Any]) -> str:
    """Do what is to be done on this event; return what is waited for next."""
    asked = event["alarm"] == "needs-answer" and event["label"] == "fix"
    if phase == "first question" and asked:
        osrc("session", "answer", "fix", "no")
        return "first rest"
    if phase == "first rest" and event["kind"] == "heartbeat-digest" and _idle():
        osrc("session", "send", "fix", "ask make install")
        return "second question"
    if phase == "second question" and asked:
        osrc("session", "answer", "fix", "yes")
        return "second rest"
    if phase == "second rest" and event["kind"] == "heartbeat-digest" and _idle():
        osrc("session", "stop", "fix")
        return "home"
    return phase


def _idle() -> bool:
    next_ = osrc("rundown")["charted_next"]
    return [(item["name"], item["state"]) for item in next_] == [("fix", "idle")]


def main(folder: Path, summary: str) -> None:
    event = json.loads(sys.stdin.read())
    kept = folder / "phase"
    phase, trouble = kept.read_text(), None
    try:
        after = turn(phase, event)
    except SystemExit as error:
        after, trouble = phase, str(error)
    kept.write_text(after)
    with (folder / "log").open("a") as log:
        log.write(json.dumps({"was": phase, "now": after, "summary": summary, "trouble": trouble, **event}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
