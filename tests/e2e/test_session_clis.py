"""Sessions with the real CLIs, over their own protocols and the Agent Client Protocol, against a scripted model.

One session each: a task that changes a file is asked about and allowed, another is refused, the answer is read, a
turn is interrupted, the model is switched where the CLI offers one, the conversation is taken up again after a stop
where it can be, and no process is left (the world of the test fails otherwise).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fakes.real_clis import World, why_absent
from fakes.signed_in import MODELS, sign_in

pytestmark = pytest.mark.e2e


@dataclass(frozen=True)
class Case:
    """What is different between them."""

    transport: str = "acp"
    adapter: str | None = None
    """The program that speaks ACP for the lane's CLI, where that is no default of the lane's."""
    asks: bool = True
    switch: str | None = None
    """A model to switch to."""
    resumes: bool = True
    names_model: bool = True
    model: str | None = ""
    """What is said with ``-m``; empty: as for a job."""
    shell: bool = False
    """Its model writes with a command: over ACP Cline 3.0.65 offers no file tool that the server knows."""
    environ: dict[str, str] = field(default_factory=dict)


CASES = {
    "claude": Case(transport="native", switch="haiku"),
    "codex": Case(transport="native", switch="gpt-5.5", names_model=False),
    "pi": Case(transport="native", asks=False, switch="stub-model"),
    "gemini": Case(switch="gemini-2.5-pro", resumes=False),  # that takes up to a minute: see lanes/gemini/session.py
    "qwen": Case(names_model=False),
    "opencode": Case(switch="stub/stub-model", names_model=False),
    "copilot": Case(names_model=False),
    "cline": Case(
        model=None,
        shell=True,
        names_model=False,
        environ={"CLINE_API_KEY": "test", "CLINE_PROVIDER": "openai-compatible"},
    ),
    "droid": Case(names_model=False, environ={"FACTORY_API_KEY": "fk-test"}),
    "claude:adapter": Case(adapter="claude-agent-acp", switch="haiku"),
    "codex:adapter": Case(adapter="codex-acp", names_model=False),
}


class Talking:
    """One session, by the commands that a person would type."""

    def __init__(self, world: World, environ: dict[str, str]) -> None:
        self.world, self.environ = world, environ

    def osrc(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self.world.osrc("session", *words, "--json", **self.environ)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {"stderr": done.stderr}

    def told(self) -> list[dict[str, Any]]:
        return self.osrc("read", "one", "--since", "0")[1]["events"]

    def until(self, what: Callable[[], Any], seconds: float = 180.0) -> Any:
        return self.world.until(what, lambda: str(self.told()[-15:]), seconds)


def writing(path: Path, *, shell: bool) -> dict[str, str]:
    """A tool call that writes a file."""
    return {"shell": f"echo hello > {path.name}"} if shell else {"write": str(path), "content": "hello\n"}


@pytest.mark.parametrize("name", CASES)
def test_a_session_with_the_real_cli(make_world: Callable[[list[dict[str, Any]]], World], name: str) -> None:
    case, name = CASES[name], name.partition(":")[0]
    if case.adapter is not None and (reason := why_absent(case.adapter)) is not None:
        pytest.skip(reason)
    world = make_world([])
    talking = Talking(world, sign_in(world, name) | case.environ | {"OSRC_POLL": "0.5"})
    if name == "droid":  # without a key, its default model must be one's own
        place = world.root / "home" / ".factory" / "settings.json"
        # Without its cloud 0.215.0 asks the model for the session's title, beside the turn.
        default = {"sessionDefaultSettings": {"model": MODELS["droid"]}, "cloudSessionSync": True}
        place.write_text(json.dumps(json.loads(place.read_text()) | default))
    if name == "claude":  # the folder's own settings would send it elsewhere: they are not read
        (world.repo / ".claude").mkdir()
        elsewhere = {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}}
        (world.repo / ".claude" / "settings.json").write_text(json.dumps(elsewhere))
        (world.repo / "CLAUDE.md").write_text("The word of this folder is mulberry.")
    yes, no = (world.repo / "yes.txt", world.repo / "no.txt")
    world.server.steps = [
        {"text": "I will write.", "calls": [writing(yes, shell=case.shell)]},
        {"text": "It is written."},
        {"calls": [writing(no, shell=case.shell)]},
        {"text": "It is not written."},
    ]
    model = MODELS[name] if case.model == "" else case.model
    words = ("-m", model) if model is not None else ()
    words += ("--transport", case.transport) if case.adapter is not None else ()
    code, reply = talking.osrc("start", "--lane", name, "--name", "one", *words, "Write yes.txt.")
    assert code == 0, reply
    assert reply["session"]["transport"] == case.transport
    if case.asks:
        ask = talking.until(lambda: talking.osrc("read", "one", "--state")[1]["ask"])
        assert "yes.txt" in json.dumps(ask)
        assert not yes.exists()
        assert talking.osrc("answer", "one", "yes")[0] == 0
    talking.until(lambda: any(event["type"] == "end" for event in talking.told()))
    talking.until(lambda: talking.osrc("read", "one", "--state")[1]["state"] == "idle")
    told = talking.told()
    assert name != "claude" or "mulberry" in world.server.main_requests[0].text
    assert yes.read_text() == "hello\n"
    assert [event["tool"] for event in told if event["type"] == "tool"][:1] == ["execute" if case.shell else "write"]
    assert "It is written." in "".join(event["text"] for event in told if event["type"] == "text")
    assert [event["ok"] for event in told if event["type"] == "end"] == [True]
    if case.asks:
        code, reply = talking.osrc("send", "one", "Write no.txt.", "--wait")
        assert (code, "no.txt" in json.dumps(reply["ask"])) == (3, True), reply
        assert talking.osrc("answer", "one", "no")[0] == 0
        talking.until(lambda: sum(event["type"] == "end" for event in talking.told()) == 2)
        assert not no.exists()
    talking.until(lambda: talking.osrc("read", "one", "--state")[1]["state"] == "idle")

    world.server.steps = [{"text": "one two three four five six", "stall": 600}, {"text": "After all.", "repeat": 0}]
    if case.switch is not None:
        code, reply = talking.osrc("model", "one", case.switch)
        assert (code, reply["delivery"]) == (0, "done"), reply
    before = len(world.server.main_requests)
    code, reply = talking.osrc("send", "one", "Count.")
    talking.until(lambda: talking.osrc("read", "one", "--state")[1]["state"] == "working")
    talking.until(lambda: len(world.server.main_requests) > before)
    time.sleep(1.0)  # into the stall: what is interrupted is a turn of the model's, not its beginning
    assert talking.osrc("interrupt", "one")[0] == 0
    talking.until(lambda: talking.osrc("read", "one", "--state")[1]["state"] == "idle")
    ends = [event for event in talking.told() if event["type"] == "end"]
    assert ends[-1].get("failure") == "interrupted", talking.told()[-25:]
    code, reply = talking.osrc("send", "one", "Go on.", "--wait")
    assert (code, reply["end"]["text"].strip()) == (0, "After all."), reply

    code, reply = talking.osrc("stop", "one")
    assert (code, reply["session"]["state"]) == (0, "exited")
    conversation = reply["session"]["conversation"]
    assert conversation
    if case.names_model:
        assert reply["session"]["model_observed"]
    if case.resumes:
        code, reply = talking.osrc("relaunch", "one")
        assert code == 0, (reply, talking.told()[-5:])
        code, reply = talking.osrc("send", "one", "And now?", "--wait")
        assert (code, reply["end"]["text"].strip()) == (0, "After all."), reply
        assert "Write yes.txt." in world.server.main_requests[-1].text
        code, reply = talking.osrc("stop", "one")
        assert (code, reply["session"]["conversation"]) == (0, conversation)
