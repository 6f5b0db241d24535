"""A small failing project is put right by real CLIs in loops: lap by lap, up a ladder, and by a council.

Seen on Claude Code 2.1.332 and pi 0.73.1.
"""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import pytest
from fakes.real_clis import World
from fakes.repos import run_git
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e

PARTS = ("add", "double", "half")
"""Modules that the project's test wants; none of them is there."""
TEST = """\
import importlib, sys
for name, wanted in (("add", 6), ("double", 6), ("half", 1.5)):
    try:
        made = importlib.import_module(name).work(3)
    except ImportError:
        sys.exit(f"{name} is missing")
    assert made == wanted, f"{name}(3) is {made}"
print("all well")
"""
BODIES = {"add": "x + 3", "double": "x * 2", "half": "x / 2"}
SONNET, HAIKU = "claude-sonnet-5", "claude-haiku-4-5"


def prepared(world: World) -> str:
    """Put the failing project into the repository; return its check."""
    (world.repo / "test_parts.py").write_text(TEST)
    return f"{shlex.quote(sys.executable)} -B test_parts.py"


def written(world: World, name: str) -> list[dict[str, Any]]:
    """A turn that writes one module, and says so."""
    content = f"def work(x):\n    return {BODIES[name]}\n"
    path = str(world.repo / f"{name}.py")
    return [{"calls": [{"write": path, "content": content}]}, {"text": f"Wrote {name}.", "mark": "DONE"}]


def looped(world: World, *words: str, **environ: str) -> tuple[dict[str, Any], int]:
    done = world.osrc("loop", *words, "--json", **environ)
    assert "Traceback" not in done.stderr, done.stderr
    return json.loads(done.stdout), done.returncode


def seen(loop: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(one["role"], one["lap"], one["state"]) for one in loop["steps"]]


def test_in_three_laps_and_on_the_second_rung(make_world) -> None:
    world = make_world([])
    check, environ = prepared(world), sign_in(world, "claude")
    world.server.steps = [step for name in PARTS for step in written(world, name)]
    words = ("verify", "--lane", "claude", "-m", MODELS["claude"], "--check", check, "Make the tests pass.")
    found, code = looped(world, *words, **environ)
    assert (found["state"], code, found["laps"]) == ("success", 0, 3), found
    assert seen(found)[-2:] == [("build", 3, "done"), ("check", 3, "passed")]
    told = [request.text for request in world.server.main_requests]
    assert "add is missing" in told[0]
    assert "double is missing" in told[2]
    assert "half is missing" in told[4]

    for name in PARTS[1:]:
        (world.repo / f"{name}.py").unlink()
    world.server.steps = [{"text": "I can't see how.", "mark": "DONE"}]
    world.server.steps += [
        {"calls": written(world, "double")[0]["calls"] + written(world, "half")[0]["calls"]},
        {"text": "Both.", "mark": "DONE"},
    ]
    words = ("escalate", "--lane", "claude", "--ladder", f"{HAIKU},{SONNET},opus", "--per-tier", "1", "--check", check)
    found, code = looped(world, *words, "Make the tests pass.", **environ)
    assert (found["state"], code, found["unused_models"]) == ("success", 0, ["opus"]), found
    models = [one["model"] for one in found["steps"] if one["role"] == "build"]
    assert (len(models), HAIKU in models[0], SONNET in models[1]) == (2, True, True), models


def test_in_laps_of_one_session(make_world) -> None:
    world = make_world([])
    check, environ = prepared(world), sign_in(world, "claude")
    world.server.steps = [step for name in PARTS for step in written(world, name)]
    words = ("verify", "--session", "--lane", "claude", "-m", MODELS["claude"], "--check", check)
    found, code = looped(world, *words, "Make the tests pass.", **environ)
    assert (found["state"], code, found["laps"]) == ("success", 0, 3), found
    assert seen(found)[-2:] == [("build", 3, "done?"), ("check", 3, "passed")]
    assert len({one["session_id"] for one in found["steps"] if one["role"] == "build"}) == 1
    told = [request.text for request in world.server.main_requests]
    assert told[4].count("Make the tests pass.") == 1  # one conversation, which was told its task once
    assert "half is missing" in told[4]


def test_by_a_council_through_its_gate(make_world) -> None:
    world = make_world([])
    check, environ = prepared(world), sign_in(world, "pi")
    for name in PARTS[:2]:
        (world.repo / f"{name}.py").write_text(f"def work(x):\n    return {BODIES[name]}\n")
    run_git(world.repo, "add", ".")
    run_git(world.repo, "commit", "--quiet", "-m", "first")
    plans = [{"text": text, "mark": "DONE"} for text in ("Plan one: guess.", "Plan two: halve it.", "Halve it.")]
    world.server.steps = plans
    model = MODELS["pi"]
    seats = f"pi:{model},pi:stub/other-model"
    words = ("council", "--lane", "pi", "-m", model, "--seats", seats, "--rounds", "1", "--check", check)
    found, code = looped(world, *words, "--judge", f"pi:{model}", "Make the tests pass.", **environ)
    assert (found["state"], code, found["reason"]) == ("blocked", 3, "the plan waits for your go"), found
    assert not (world.repo / "half.py").exists()

    world.server.steps = [*written(world, "half"), {"text": "It is.\n\nVERDICT: AS PLANNED", "mark": "DONE"}]
    done = world.osrc("loop", "resume", found["loop_id"], "--launch", **environ)
    assert (done.returncode, done.stdout) == (0, "success\n"), done.stderr
    told = [request.text for request in world.server.main_requests]
    assert "Plan one: guess." in told[2]
    assert "Halve it." in told[3]
    assert "New file half.py:\ndef work(x):\n    return x / 2" in told[-1]
