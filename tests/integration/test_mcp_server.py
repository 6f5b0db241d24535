"""``osrc mcp`` as a host starts it: a real process that speaks over its pipes, a real supervisor, fake delegates."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import anyio
from fakes.lanes import READ_VERBS, lane_toml, steps, write_lane
from fakes.osrc_process import command
from fakes.repos import repository, run_git
from fakes.sessions import Sessions
from fakes.supervised import Supervised
from mcp import Client, StdioServerParameters
from outsourcerer.cli.commands.mcp import PACKAGE

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


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
            for change in ({"model": "fable"}, {"mode": "plan"}):
                assert (await answered(client, "session_set", session="fix", **change))["delivery"] == "done"
            unasked = await client.call_tool("session_set", {"session": "fix", "mode": "edits"})
            assert (unasked.is_error, "the person wants" in unasked.content[0].text) == (True, True)
            await answered(client, "session_send", session="fix", text="work")
            assert (await answered(client, "session_interrupt", session="fix"))["delivery"] == "done"
            running = await client.call_tool("session_relaunch", {"session": "fix"})
            assert (running.is_error, "session_stop" in running.content[0].text) == (True, True)
            assert [one["name"] for one in (await answered(client, "status"))["sessions"]] == ["fix"]
            assert (await answered(client, "session_stop", session="fix"))["session"]["state"] == "exited"
            again = await answered(client, "session_relaunch", session="fix")
            assert (again["up"], again["session"]["name"]) == (True, "fix")
            await answered(client, "session_stop", session="fix")

    anyio.run(whole)
    assert sessions.given()[-1] == "work"


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
    assert f"{shlex.quote(sys.executable)} -m pip install '{PACKAGE}'".encode() in done.stderr
    assert PACKAGE in tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]["mcp"]


ORACLE = """\
import sys
sys.stdin.read()
print(sys.argv[sys.argv.index("--model") + 1])
"""


def test_a_host_has_several_models_work_and_their_work_judged(home: Supervised) -> None:
    program = home.scratch / "oracle.py"
    program.write_text(ORACLE)
    argv: list[str | list[str]] = [sys.executable, "-I", "-S", str(program), ["--model", "{model}"]]
    write_lane(home.root, "oracle", lane_toml(argv=argv, output="text", agentic=False, verbs=READ_VERBS))
    repo = repository(home.scratch / "repo", files={"a.txt": "one\n", "b.txt": "one\n"})
    base = run_git(repo, "rev-parse", "HEAD")
    good, bad, more = (
        steps({"write": f"{name}.txt", "content": f"{text}\n"}, {"mark": "DONE"}, {"end": "did it"})
        for name, text in (("a", "two"), ("b", "bad"), ("b", "more"))
    )

    async def whole() -> None:
        async with Client(parameters(home)) as client:
            asked = await answered(client, "second_opinion", question="What?", models=["oracle:42", "oracle:42.0"])
            crew = await answered(
                client, "crew", tasks=[good, bad], check="! grep -q bad ?.txt", lane="fake", cwd=str(repo)
            )
            await until_ended(client, asked["errand_id"])
            told = (await answered(client, "result", job=asked["errand_id"]))["result"]
            assert (told["outcome"], len(told["members"])) == ("consensus", 2), told
            await until_ended(client, crew["errand_id"])
            kept = (await answered(client, "result", job=crew["errand_id"]))["result"]
            assert [row["verdict"] for row in kept["members"]] == ["kept", "red"], kept
            assert kept["landed"] == run_git(repo, "rev-parse", "HEAD") != base
            again = await answered(client, "crew", resume=kept["group_id"])
            await until_ended(client, again["errand_id"])
            assert (await answered(client, "result", job=again["errand_id"]))["result"]["landed"] == kept["landed"]

            tried = await answered(
                client,
                "best_of",
                number=2,
                task=more,
                check="grep -q more b.txt",
                allow_green=True,
                lane="fake",
                cwd=str(repo),
            )
            await until_ended(client, tried["errand_id"])
            best = (await answered(client, "result", job=tried["group_id"]))["result"]
            assert (best["winner"]["verdict"], best["base"]) == ("passed", kept["landed"]), best

            failed = await answered(client, "fanout", tasks=[steps({"exit": 3}), more], lane="fake")
            await until_ended(client, failed["group_id"])
            anew = await answered(client, "retry", job=failed["group_id"])
            assert (await until_ended(client, anew["group_id"]))["group"]["summary"]["total"] == 1
            one = (await answered(client, "status", ids=[failed["group_id"]]))["group"]["jobs"][1]["job_id"]
            assert (await answered(client, "outcome", job=one, became="passed"))["outcome"] == "passed"
            assert (await answered(client, "rundown"))["schema_version"] == "1"
            assert (await answered(client, "heartbeat"))["state"] == "watching"
            groups.append(failed["group_id"])

    groups: list[str] = []
    anyio.run(whole)
    # The commands take the group, too.
    told = json.loads(home.ok("explain", groups[0], "--json"))
    assert [(one["state"], one["verdict"]["label"]) for one in told["members"]][1] == ("done", "REUSE-OUTPUT"), told
    assert "2 members: 1 done, 1 failed" in home.ok("explain", groups[0])
    assert "2 members" in home.ok("cancel", groups[0])
    anew = json.loads(home.ok("retry", groups[0], "--bg", "--lane", "fake", "--json"))
    assert (anew["summary"]["total"], anew["jobs"][0]["label"]) == (1, told["members"][0]["label"])
    assert (
        json.loads(home.ok("cancel", anew["group_id"], "--now", "--json"))["groups"][0]["group_id"] == anew["group_id"]
    )
    unknown = home.osrc("explain", "fanout-20300101")
    assert (unknown.returncode, b"there is no group" in unknown.stderr) == (1, True)
