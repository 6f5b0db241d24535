"""A spent plan on the real CLIs whose makers let them try again for a minute and more: what each does about it.

Seen on Codex 0.171.0, OpenCode 1.18.33, Cline 3.0.65, GitHub Copilot CLI 1.0.102, Droid 0.215.0 and pi 0.73.1, with an answer of the
provider's that names when the limit ends. ``Retry-After`` decides: Copilot gives up at once where it is an hour, Cline
and OpenCode take a short one as their pause, and OpenCode and Codex sleep for as long as a long one says; of a 429
Codex tells no words, so that the end of its pause is the end of the limit. Droid heeds none: it
tries a 429 for 90 s, and takes a 402 (Factory's own answer where a plan is spent) for final.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

AN_HOUR = {"retry-after": "3600"}
SOON = {"retry-after-ms": "20"}

RESETS_AT = (int(time.time()) // 3600 + 2) * 3600 + 37 * 60
WHEN = time.strftime("%Y-%m-%d %H:%M", time.gmtime(RESETS_AT))
IN_WORDS = f"Usage limit reached for 5 hour. Your limit will reset at {WHEN}:00"
"""As z.ai's coding plan tells it, in the machine's own zone."""

CASES: dict[str, tuple[str, dict[str, Any], int]] = {
    # lane, what the provider answers for ever, requests that the CLI makes at most
    "opencode": ("opencode", {"error": 429, "kind": "plan", "headers": SOON}, 6),
    "opencode, asleep": ("opencode", {"error": 429, "message": IN_WORDS, "headers": AN_HOUR}, 1),
    "codex, asleep": ("codex", {"error": 429, "message": IN_WORDS, "headers": AN_HOUR}, 1),
    "codex, asleep at 402": ("codex", {"error": 402, "message": IN_WORDS, "headers": AN_HOUR}, 1),
    "cline": ("cline", {"error": 429, "message": IN_WORDS, "headers": SOON}, 6),
    "copilot": ("copilot", {"error": 429, "kind": "plan", "headers": AN_HOUR}, 1),
    "droid": ("droid", {"error": 402, "message": IN_WORDS}, 1),
    "pi": ("pi", {"error": 429, "kind": "plan", "message": IN_WORDS, "headers": SOON}, 12),
}


@pytest.mark.parametrize("case", CASES)
def test_a_spent_plan_is_told_with_its_end(make_world, case: str) -> None:
    lane, answer, requests = CASES[case]
    world = make_world([answer | {"resets_at": RESETS_AT, "repeat": 0}])
    environ = sign_in(world, lane) | {"TZ": "UTC", "OSRC_POLL": "0.5", "OSRC_FINAL_GRACE": "2"}
    job, done = world.job("run", "--lane", lane, "-m", MODELS[lane], "Do it.", **environ)
    assert (job["state"], job["outcome"], done.returncode) == ("failed", "plan-limit", 1), job
    if case == "codex, asleep":  # what it knows is how long it was to wait
        assert "the limit ends at " in job["note"], job
    else:
        assert f"the limit ends at {WHEN} UTC" in job["note"], job
    assert job["reason"].startswith("the plan's limit is used up: "), job
    assert 1 <= len(world.server.main_requests) <= requests
