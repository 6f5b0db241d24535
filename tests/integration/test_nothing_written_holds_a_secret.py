"""A delegate that prints secrets wherever it can: they stay in its own output, and get nowhere else."""

import json
import random

from fakes.osrc_process import shown
from fakes.secret_corpus import SECRETS
from fakes.supervised import Supervised

TOKEN = SECRETS["github classic"](random.Random(8))
HANDED = "zq9-plain-looking-7w"
"""A value without a form of its own: known because the caller's environment names it."""


def test_what_a_delegate_prints_reaches_its_own_output_alone(home: Supervised) -> None:
    both = f"{TOKEN} and {HANDED}"
    record, done = home.run(
        {"mark": "PROGRESS", "text": f"1/2 found {both}"},
        {"say": f"I read {both}"},
        {"event": {"type": "tool", "tool": "execute", "name": "shell", "target": f"curl -H 'X: {both}'"}},
        {"mark": "DONE", "text": f"found {both}"},
        {"end": f"It is {both}."},
        MY_TOKEN=HANDED,
        OSRC_SECRET_ALLOW_VALUE="1",
    )
    assert done.returncode == 0, shown(done)
    assert done.stdout == b"It is [redacted:github-token] and [redacted:known].\n"
    assert "2 secret values taken out of the answer" in record["note"]
    said = [done.stdout, done.stderr]
    job_id = record["job_id"]
    for words in (
        ("logs", job_id),
        ("result", job_id),
        ("explain", job_id),
        ("status", "--json"),
        ("events", "--json"),
    ):
        ran = home.osrc(*words)
        said.append(ran.stdout + ran.stderr)
    assert [text for text in said if TOKEN.encode() in text] == []
    assert TOKEN.encode() in home.osrc("logs", "--raw", job_id).stdout
    home.ok("supervisor", "stop")
    for path in sorted(home.root.rglob("*")):
        if path.is_file() and path.name not in ("out.log", "err.log", "prompt.md"):
            data = path.read_bytes()
            assert TOKEN.encode() not in data, path
            assert HANDED.encode() not in data, path
    events = (home.root / "jobs" / job_id / "events.jsonl").read_text().splitlines()
    assert all(isinstance(json.loads(line), dict) for line in events)
