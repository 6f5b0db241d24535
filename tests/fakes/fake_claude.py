"""A program that speaks Claude Code's control protocol, for what the real one can't be made to do.

Each user message is a command:

    say WORDS     answers with them
    ask WORDS     asks whether it may run them; says "allowed" or "denied"
    work          stays at work until it is interrupted
    spent         ends its turn with its plan's limit
    die           leaves with exit code 3 in the middle of its turn
    stray         starts a child that ignores TERM and hang-ups, in a session of its own
    stay          from now on ignores its closed stdin and TERM
    id            says which conversation it is, and what was resumed

Every message it was ever given is appended to ``$HOME/given.log``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

ARGV = sys.argv[1:]
RESUMED = ARGV[ARGV.index("-r") + 1] if "-r" in ARGV else None
CONVERSATION = RESUMED or str(uuid.uuid4())
STAYS: list[bool] = []


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        while STAYS:
            time.sleep(1)
        sys.exit(0)
    return json.loads(line)


def control(message: dict[str, Any]) -> None:
    """Answer a control request."""
    error = message["request"].get("model") == "no-such-model"
    response = {
        "subtype": "error" if error else "success",
        "request_id": message["request_id"],
        "error": "no such model",
    }
    send(type="control_response", response=response)


def result(text: str, **more: Any) -> None:
    send(
        **{"type": "result", "subtype": "success", "is_error": False, "result": text, "session_id": CONVERSATION} | more
    )


def say(text: str) -> None:
    content = [{"type": "text", "text": text}]
    send(type="assistant", message={"model": "fake-1", "content": content}, session_id=CONVERSATION)


def ask(words: str) -> str:
    request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": words}, "tool_use_id": "t1"}
    send(type="control_request", request_id="ask-1", request=request)
    while True:
        message = hear()
        if message["type"] == "control_response":
            return "allowed" if message["response"]["response"]["behavior"] == "allow" else "denied"
        if message["request"]["subtype"] == "interrupt":
            control(message)
            return "interrupted"
        control(message)


def work() -> None:
    while True:
        message = hear()
        control(message)
        if message["request"]["subtype"] == "interrupt":
            result("", subtype="error_during_execution", is_error=True, terminal_reason="aborted_streaming")
            return


def stray() -> int:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); signal.signal(1, signal.SIG_IGN); time.sleep(600)"
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True).pid


def turn(text: str) -> None:
    with (Path(os.environ["HOME"]) / "given.log").open("a", encoding="utf-8") as file:
        file.write(json.dumps(text) + "\n")
    send(type="user", message={"role": "user", "content": text}, isReplay=True)
    send(type="system", subtype="init", session_id=CONVERSATION, model="fake-1")
    word, _, words = text.partition(" ")
    if each := os.environ.get("FAKE_EACH_TURN"):
        subprocess.run(["sh", "-c", each], check=False)
        word, words = "say", "did it"
    match word:
        case "ask":
            words = ask(words)
        case "work":
            say("working")
            work()
            return
        case "spent":
            result("You've hit your usage limit.", is_error=True)
            return
        case "die":
            sys.exit(3)
        case "stray":
            words = str(stray())
        case "stay":
            STAYS.append(True)
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "id":
            words = f"{CONVERSATION} {RESUMED}"
    say(words)
    result(words)


def main() -> None:
    if "--version" in ARGV:
        print("2.1.332 (Claude Code)")
        return
    while True:
        message = hear()
        if message["type"] == "control_request":
            control(message)
        elif message["type"] == "user":
            turn(message["message"]["content"][0]["text"])


main()
