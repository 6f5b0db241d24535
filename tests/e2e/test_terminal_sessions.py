"""The real interfaces in a terminal, against a scripted model: one rich session each.

From the first screens of a new home (a question about trust is answered, never skipped) to a tool call that is
asked about and allowed, an answer that is read, a model that is switched, and no process left (the world of the
test fails otherwise). Seen on the versions that ``tests/install_clis.sh`` pins.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from fakes.real_clis import World
from fakes.signed_in import sign_in

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Case:
    """What is different between them."""

    first: tuple[str, ...] = ()
    """What is chosen in its first screens, by a part of the label."""
    asks: int = 2
    """How many permissions it asks for."""
    switch: str | None = None
    observed: str | None = None
    """The model that is then seen to answer."""
    effort: bool = False
    """Whether it is started anew with another effort, in its conversation."""
    model: str | None = None
    """What is said with ``-m``."""
    files: dict[str, Any] = field(default_factory=dict)
    """Files of the home, so that it starts without a network."""


CASES = {
    "claude": Case(
        first=("Yes, I trust this folder", "Yes"),
        switch="fable",
        observed="claude-fable-5-2",
        effort=True,
        files={".claude.json": {"hasCompletedOnboarding": True, "theme": "dark"}},
    ),
    "codex": Case(
        first=("Trust and continue", "Use existing model"), asks=0, switch="gpt-6-luna", observed="GPT-6-Luna"
    ),
    "gemini": Case(first=("Trust folder",), switch="gemini-3.8-flash"),
    "qwen": Case(),
    "opencode": Case(),
    "copilot": Case(first=("Yes, and remember",), model="stub-model", effort=True),
    "pi": Case(asks=0, model="stub/stub-model"),
    "cline": Case(model="stub-model"),
}


AGREEING = ("yes", "allow", "approve", "proceed")
"""How the labels begin that ``yes`` stands for."""


class Terminal:
    """One session, by the commands that a person would type."""

    def __init__(self, world: World, environ: dict[str, str]) -> None:
        self.world, self.environ, self.answered = world, environ, set()

    def osrc(self, *words: str) -> tuple[int, dict[str, Any]]:
        done = self.world.osrc("session", *words, "--json", **self.environ)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else {"stderr": done.stderr}

    def events(self, kind: str) -> list[dict[str, Any]]:
        told = self.osrc("read", "one", "--since", "0")[1]["events"]
        return [event for event in told if event["type"] == kind]

    def until(self, what: Callable[[], Any], seconds: float = 90.0) -> Any:
        def shown() -> str:
            return str((self.osrc("read", "one", "--since", "0"), self.osrc("read", "one", "--screen")))

        return self.world.until(what, shown, seconds)

    def asked(self, choice: str) -> tuple[dict[str, Any], str] | None:
        """The dialog that is open and offers a choice, with the label of that.

        A program that starts anew draws its last dialog once more as it goes: that one offers what was chosen already.
        """
        ask = self.osrc("read", "one", "--state")[1]["ask"]
        if ask is None or ask["request"] in self.answered:
            return None
        labels = [option["label"] for option in ask["options"]]
        said = next((label for label in labels if label.startswith(choice)), None)
        if said is None and choice == "yes" and any(label.casefold().startswith(AGREEING) for label in labels):
            said = choice
        return None if said is None else (ask, said)

    def choose(self, choice: str) -> None:
        """Wait for a dialog that offers it and choose; one that was drawn anew meanwhile is another question."""

        def answer() -> bool:
            found = self.asked(choice)
            if found is None:
                return False
            ask, label = found
            self.answered.add(ask["request"])
            code, told = self.osrc("answer", "one", label, "--request", ask["request"])
            gone = any(words in json.dumps(told) for words in ("not open any more", "not answered: "))
            assert code == 0 or gone, (told, ask)
            return code == 0

        self.until(answer)

    def idle(self) -> bool:
        return bool(self.osrc("read", "one", "--state")[1]["state"] == "idle")


def anew(tui: Terminal) -> None:
    """Give it another effort; it goes on in the same conversation, and has everything that was said in it."""
    before = tui.osrc("list")[1]["sessions"][0]
    code, told = tui.osrc("effort", "one", "high")
    assert code == 0, json.dumps(told)
    after = tui.osrc("list")[1]["sessions"][0]
    assert (after["effort"], after["session_id"]) == ("high", before["session_id"])
    tui.until(tui.idle)
    tui.world.server.steps.append({"text": "And the third, with more effort."})
    code, told = tui.osrc("send", "one", "Once more?", "--wait", "--for", "120")
    assert (code, "And the third" in told["end"]["text"]) == (0, True), json.dumps(told)
    assert "Do as scripted." in tui.world.server.main_requests[-1].text


@pytest.mark.parametrize("lane", CASES)
def test_a_terminal_session_from_the_first_screen_to_the_end(make_world, lane: str) -> None:
    case = CASES[lane]
    world: World = make_world([])
    environ = sign_in(world, lane)
    for name in ("GEMINI_CLI_NO_RELAUNCH", "QWEN_CODE_NO_RELAUNCH"):
        environ.pop(name, None)  # an answer about trust makes Gemini CLI start anew
    for name, content in case.files.items():
        (world.root / "home" / name).write_text(json.dumps(content))
    world.server.steps = [
        {"text": "I will write.", "calls": [{"write": f"{world.repo}/hello.txt", "content": "hello\n"}]},
        {"calls": [{"shell": "touch made-by-a-command"}]},
        {"text": "All of it is done, said the interface."},
        {"text": "And that was the second answer."},
    ]
    tui = Terminal(world, environ)
    words = (
        "start",
        "--lane",
        lane,
        "--transport",
        "pty",
        "--name",
        "one",
        "--detach",
        "Do as scripted.\nIn two lines.",
    )
    assert tui.osrc(*words, *(("-m", case.model) if case.model else ()))[0] == 0
    for choice in case.first:
        tui.choose(choice)
    for _ in range(case.asks):
        tui.choose("yes")
    end = tui.until(lambda: tui.events("end"))[0]
    assert "All of it is done, said the interface." in end["text"]
    assert (world.repo / "hello.txt").read_text() == "hello\n"
    assert (world.repo / "made-by-a-command").exists()
    assert [event["state"] for event in tui.events("delivery") if event["number"] == 1][-1] == "turn-started"
    assert world.server.main_requests[0].text.count("Do as scripted.\nIn two lines.") == 1

    tui.until(tui.idle)
    if case.switch is not None:
        code, told = tui.osrc("model", "one", case.switch)
        assert code == 0, json.dumps(told)
    code, told = tui.osrc("send", "one", "And again?", "--wait", "--for", "120")
    assert code == 0, json.dumps(told)
    assert "And that was the second answer." in told["end"]["text"]
    assert "second answer" in tui.until(lambda: tui.osrc("read", "one", "--screen")[1]["screen"])
    if case.observed is not None:
        found = tui.osrc("list")[1]["sessions"][0]
        assert (found["model_observed"], found["model_pin"]) == (case.observed, "kept")
    assert len(world.server.main_requests) == 4
    if case.effort:
        anew(tui)
    assert tui.osrc("stop", "one")[0] == 0
    shutil.rmtree(world.root / "home" / ".codex" / "tmp", ignore_errors=True)
