"""``osrc mcp`` as a host starts it: a real process that speaks over its pipes, a real supervisor, fake delegates."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import anyio
from fakes.lanes import steps
from fakes.osrc_process import command
from fakes.sessions import Sessions
from fakes.supervised import Supervised
from mcp import Client, StdioServerParameters


def parameters(home: Supervised) -> StdioServerParameters:
    program, *words = map(str, command("mcp"))
    return StdioServerParameters(command=program, args=words, env=home.environment(), cwd=home.work)


async def answered(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    """What a tool says; it must work."""
    answer = await client.call_tool(name, arguments)
    assert not answer.is_error, (name, answer.content)
    assert answer.structured_content is not None
    return answer.structured_content


async def until_ended(client: Client, word: str) -> dict[str, Any]:
    """Wait in turns, as a host does."""
    for _ in range(20):
        shown = await answered(client, "wait", ids=[word], seconds=5)
        if shown["ended"]:
            return shown
    raise AssertionError(f"{word} did not end")


def test_a_host_delegates_steers_and_reads(home: Supervised) -> None:
    sessions = Sessions(home)

    async def whole() -> None:
        async with Client(parameters(home)) as client:
            await answered(client, "brief")
            task = steps(
                {"say": "working"}, {"write": "made.txt", "content": "x"}, {"end": "It is made.", "mark": "DONE"}
            )
            made = await answered(client, "delegate", task=task, verb="edit", lane="fake", label="one")
            assert (await until_ended(client, made["job_id"]))["jobs"][0]["state"].startswith("done")
            assert "It is made." in (await answered(client, "result", job="one"))["result"]
            read = await client.read_resource(made["result_uri"])
            assert "It is made." in read.contents[0].text

            tasks = [steps({"end": "first"}), {"task": steps({"end": "second"}), "label": "b"}]
            group = await answered(client, "fanout", tasks=tasks, lane="fake")
            assert (await until_ended(client, group["group_id"]))["group"]["summary"]["total"] == 2
            found = (await answered(client, "result", job=group["group_id"]))["findings"]
            assert [(one["label"], one["result"].strip()) for one in found] == [("task-01", "first"), ("b", "second")]

            lap = steps({"run": ["sh", "-c", "echo x >> laps"]}, {"end": "one more"})
            check = "test $(cat laps 2>/dev/null | wc -l) -ge 2"
            begun = await answered(client, "loop", shape="verify", task=lap, check=check, lane="fake")
            looped = (await until_ended(client, begun["loop_id"]))["loop"]
            assert (looped["state"], looped["laps"]) == ("success", 2)

            long = await answered(client, "delegate", task=steps({"sleep": 300}), lane="fake")
            await answered(client, "cancel", ids=[long["job_id"]], now=True)
            assert (await until_ended(client, long["job_id"]))["jobs"][0]["state"] == "canceled"

            started = await answered(client, "session_start", task="say hello", name="fix", lane="claude")
            assert (started["up"], started["session"]["name"]) == (True, "fix")
            sent = await answered(client, "session_send", session="fix", text="ask rm -rf build", wait_s=40)
            assert sent["ask"]["target"] == "rm -rf build"
            seen = await answered(client, "session_read", session="fix")
            assert seen["ask"]["target"] == "rm -rf build"
            await answered(client, "session_answer", session="fix", choice="no")
            last = await answered(client, "session_send", session="fix", text="say later", wait_s=40)
            assert last["end"]["ok"]
            news = await answered(client, "session_read", session="fix", since=seen["cursor"])
            assert "later" in [event["text"] for event in news["events"] if event["type"] == "text"]
            assert [one["name"] for one in (await answered(client, "status"))["sessions"]] == ["fix"]
            assert (await answered(client, "session_stop", session="fix"))["session"]["state"] == "exited"

    anyio.run(whole)
    assert sessions.given()[-1] == "say later"


def test_without_a_supervisor_the_server_supervises_by_itself(home: Supervised) -> None:
    home.environ["OSRC_NO_DAEMON"] = "1"

    async def whole() -> None:
        async with Client(parameters(home)) as client:
            made = await answered(client, "delegate", task=steps({"end": "alone"}), lane="fake")
            await until_ended(client, made["job_id"])
            assert (await answered(client, "result", job=made["job_id"]))["result"].strip() == "alone"

    anyio.run(whole)
    assert home.daemons() == []


def test_it_leaves_when_its_host_does_and_says_nothing_of_its_own(home: Supervised) -> None:
    done = subprocess.run(
        command("mcp"), input=b"", capture_output=True, env=home.environment(), cwd=home.work, timeout=240, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_without_the_extra_it_says_what_to_install(home: Supervised) -> None:
    hidden = "import sys; sys.modules['mcp'] = None; sys.argv = ['osrc', 'mcp']; from outsourcerer.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", hidden], input=b"", capture_output=True, env=home.environment(), timeout=240, check=False
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"pip install 'outsourcerer[mcp]'" in done.stderr
