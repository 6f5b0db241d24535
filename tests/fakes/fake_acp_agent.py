"""A small scripted ACP agent, for what the real ones can't be made to do.

fake_acp_agent.py MODE
    talk        says two words and ends its turn
    mute        never answers
    die         complains and leaves in the middle of the turn
    noise       prints usage text on stdout and leaves
    long        sends an update of 20 MB, then an answer
    huge        sends an answer of 20 MB
    stay        ends its turn, ignores its closed stdin and TERM, and has a grandchild that does too
    wait        is silent until it is canceled
    silent      takes the prompt and says nothing
    spent       the same, but for a complaint about its plan on stderr
    auth        wants a sign-in
    servers     says which MCP servers it was given
    strange     sends what is no JSON-RPC, and asks for what nobody offered, before it talks
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

MODE = sys.argv[1]
SERVERS: list[Any] = []


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    content = {"type": "text", "text": text}
    send(
        method="session/update",
        params={"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "content": content}},
    )


def end(number: Any, reason: str = "end_turn") -> None:
    send(id=number, result={"stopReason": reason})


def prompt(number: Any) -> None:
    if MODE == "die":
        sys.exit("Error: connection refused")
    if MODE == "wait":
        say("waiting")
        while (json.loads(sys.stdin.readline()))["method"] != "session/cancel":
            pass
        end(number, "cancelled")
        return
    if MODE in ("silent", "spent"):
        if MODE == "spent":
            print("You have exhausted your daily quota on this model.", file=sys.stderr, flush=True)
        sys.stdin.read()
        return
    if MODE == "huge":
        send(id=number, result={"stopReason": "end_turn", "x": "y" * 20_000_000})
        return
    if MODE == "servers":
        say(json.dumps(SERVERS))
        end(number)
        return
    if MODE == "long":
        say("y" * 20_000_000)
    if MODE == "strange":
        for line in (
            "[1]",
            '{"id": {}, "result": 1}',
            '{"method": 7}',
            "{",
            '{"id": 99, "error": "x"}',
            "",
            "[" * 100_000,
        ):
            print(line, flush=True)
        send(id="r1", method="fs/read_text_file", params={"path": "/etc/passwd"})
        assert json.loads(sys.stdin.readline())["error"]["code"] == -32601
        send(method="_own/news", params=[])
    say("two ")
    say("words")
    end(number)


def main() -> None:
    if MODE == "noise":
        print("usage: fake [--help]")
        return
    if MODE == "stay":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(
            [sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)"]
        )
    for line in sys.stdin:
        message = json.loads(line)
        number = message.get("id")
        match message.get("method"):
            case "initialize" if MODE != "mute":
                send(id=number, result={"protocolVersion": 1})
            case "session/new" if MODE == "auth":
                send(id=number, error={"code": -32000, "message": "Authentication required"})
            case "session/new":
                assert message["params"]["cwd"] == str(Path.cwd())
                SERVERS.extend(message["params"]["mcpServers"])
                send(id=number, result={"sessionId": "s"})
            case "session/prompt":
                prompt(number)
    while MODE == "stay":
        signal.pause()


main()
