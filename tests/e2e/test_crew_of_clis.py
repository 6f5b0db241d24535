"""A fan-out over several real CLIs at once: each member on its own lane, all collected."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

LANES = ("claude", "codex", "opencode", "pi")


def test_each_member_on_its_own_cli_and_all_collected(make_world) -> None:
    answer: dict[str, Any] = {"text": "This answers {found}.", "find": r"errand-\w+", "mark": "DONE", "repeat": 0}
    world = make_world([answer])
    environ: dict[str, str] = {}
    for lane in LANES:
        environ |= sign_in(world, lane)
    agents = world.root / "agents"
    agents.mkdir()
    for lane in LANES:
        front = f"---\nname: {lane}\ntools: Read, Grep\nlane: {lane}\nmodel: {MODELS[lane]}\n---\n"
        (agents / f"{lane}.md").write_text(f"{front}You review. Do errand-{lane}.\n")
    words = ("fanout", "--agents", str(agents), "--task", "Say what you found.", "--max", "4")
    started = world.osrc(*words, **environ)
    assert started.returncode == 0, started.stderr
    group_id = started.stdout.strip()
    waited = world.osrc("fanout", "wait", group_id, "--json", timeout_s=400)
    group = json.loads(waited.stdout)
    assert waited.returncode == 0, (waited.stderr, group)
    seen = {job["label"]: (job["lane"], job["state"], job["verb"]) for job in group["jobs"]}
    assert seen == {lane: (lane, "done", "run") for lane in LANES}
    collected = world.osrc("fanout", "collect", group_id)
    assert collected.returncode == 0, collected.stderr
    whole = open(collected.stdout.strip(), encoding="utf-8").read()  # noqa: PTH123, SIM115  one read
    for lane in LANES:
        assert f"This answers errand-{lane}." in whole
    told = json.loads(world.osrc("tab", "--by", "group", "--json").stdout)
    assert group_id in json.dumps(told)
