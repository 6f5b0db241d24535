"""The tools over the SDK's own client in memory, against a scripted supervisor: what goes out, what comes back."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.fake_gateway import FakeGateway, job, job_id
from mcp import Client, MCPError
from outsourcerer.cli import loops
from outsourcerer.cli.commands import second_opinion as opinions
from outsourcerer.cli.commands.loop import LADDER
from outsourcerer.cli.mcp_server import after_tools, crew_tools, session_tools
from outsourcerer.cli.mcp_server.asking import bound
from outsourcerer.cli.mcp_server.desk import Desk
from outsourcerer.cli.mcp_server.server import build
from outsourcerer.cli.mcp_server.wording import SHELL
from outsourcerer.cli.options import Globals
from outsourcerer.cli.output import say
from outsourcerer.cli.reach import Reach
from outsourcerer.messages.loop import LoopTerms

FIRST, SECOND = job_id(1), job_id(2)
ENDED = {"state": "done", "exit": 0, "ended": 1042.0}
READING = {"brief", "advise", "tab", "fleet", "status", "wait", "result", "session_read", "rundown", "heartbeat"}
ENDING = {"cancel", "session_stop"}
NOTING = {"outcome", "acknowledge"}
STARTING = {"delegate", "fanout", "loop", "retry", "second_opinion", "crew", "best_of", "image"}
STEERING = {
    "session_start",
    "session_send",
    "session_answer",
    "session_set",
    "session_interrupt",
    "session_relaunch",
}


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("OSRC_NO_DAEMON", raising=False)
    with FakeGateway(tmp_path / "home") as made:
        yield made


def talk(work: Callable[[Client], Awaitable[Any]]) -> Any:
    """Let a client talk with a server of its own."""

    async def whole() -> Any:
        desk = Desk(Globals())
        try:
            async with Client(build(desk)) as client:
                return await work(client)
        finally:
            desk.close()

    return anyio.run(whole)


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Call one tool; it must work. Returns its answer, which is the same as text and as data."""
    answer = talk(lambda client: client.call_tool(name, arguments))
    assert not answer.is_error, answer.content
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


def refused(name: str, **arguments: Any) -> str:
    """Call one tool; it must fail. Returns the sentence."""
    answer = talk(lambda client: client.call_tool(name, arguments))
    assert answer.is_error
    assert "Traceback" not in answer.content[0].text
    return answer.content[0].text


def finish(gateway: FakeGateway, identifier: str, text: str, **changes: object) -> None:
    place = gateway.home / f"{identifier}.txt"
    place.write_text(text)
    gateway.jobs[identifier] = job(identifier, **{**ENDED, "result_path": str(place), **changes})


def test_every_tool_says_what_it_is_and_what_it_may_do(gateway: FakeGateway) -> None:
    tools = {tool.name: tool for tool in talk(lambda client: client.list_tools()).tools}
    assert set(tools) == READING | ENDING | NOTING | STARTING | STEERING
    for name, tool in tools.items():
        assert tool.description, name
        assert tool.annotations is not None, name
        assert tool.annotations.read_only_hint is (name in READING), name
        assert tool.annotations.destructive_hint is (None if name in READING else name not in NOTING), name
        assert "context" not in tool.input_schema["properties"], name
    assert gateway.requests == []


def test_a_host_is_told_how_to_lead(gateway: FakeGateway) -> None:
    async def told(client: Client) -> str:
        return client.instructions or ""

    assert "brief" in talk(told)


def test_delegate_returns_the_id_at_once_and_sends_what_the_command_sends(gateway: FakeGateway, tmp_path) -> None:
    answer = call("delegate", task="Mend it.", verb="edit", lane="fake", cwd=str(tmp_path), label="mend", worktree=True)
    request = gateway.requests[0]["request"]
    assert answer["job_id"] in gateway.jobs
    assert answer["result_uri"] == f"osrc://jobs/{answer['job_id']}/result"
    assert answer["plan"]["lane"] == "fake"
    expected = {"verb": "edit", "task": "Mend it.", "lane": "fake", "cwd": str(tmp_path), "label": "mend"}
    assert {key: request[key] for key in expected} == expected
    assert request["worktree"] is True
    assert request["environment"]
    assert "cloud_ack" not in request


def test_a_conversation_goes_on_where_its_job_was(gateway: FakeGateway, tmp_path: Path) -> None:
    gateway.jobs[FIRST] = job(FIRST, label="mend", verb="edit", cwd=str(tmp_path), **ENDED)
    call("delegate", task="The edge cases are missing.", continues="mend", skills=["review"], mcp_servers=["a", "b"])
    request = next(body for body in gateway.requests if body["kind"] == "job.submit")["request"]
    assert request["label"] == "mend"
    expected = {"continues": FIRST, "verb": "edit", "lane": "fake", "cwd": str(tmp_path), "skills": ["review"]}
    assert {key: request[key] for key in expected} == expected
    assert request["mcp"] == ["a", "b"]
    assert "leave cwd out" in refused("delegate", task="x", continues="mend", cwd=str(tmp_path))
    assert "no_such_job" in refused("delegate", task="x", continues="nothing")


def test_a_dry_run_starts_nothing(gateway: FakeGateway) -> None:
    assert call("delegate", task="x", dry_run=True)["plan"]["posture"] == "READ-ONLY"
    assert gateway.jobs == {}


def test_a_refusal_is_a_sentence_with_what_helps(gateway: FakeGateway) -> None:
    words = {"kind": "refused", "code": "consent_needed", "message": "Nobody agreed yet", "hint": "osrc consent grant"}
    gateway.submit = lambda _body: words
    said = refused("delegate", task="x")
    assert said == f"Nobody agreed yet (consent_needed). What helps: osrc consent grant{SHELL}"
    words |= {"hint": "take --lane local, or: osrc run --lane local ..."}
    assert refused("delegate", task="x").endswith("or: the tool delegate with verb run lane local ...")
    assert "cwd '/no' is not a folder" in refused("delegate", task="x", cwd="/no")


@pytest.mark.parametrize("task", ["", "  \n", "$task", "a\0b", "\ud800"])
def test_what_is_no_task_is_refused_before_anything_is_asked(gateway: FakeGateway, task: str) -> None:
    if task == "\ud800":  # it can't even be sent by this client
        with pytest.raises(Exception, match="not UTF-8"):
            Desk(Globals()).delegate("run", task, {}, dry_run=False)
    else:
        assert "bad_task" in refused("delegate", task=task)
    assert gateway.requests == []


def test_wrong_arguments_are_named(gateway: FakeGateway) -> None:
    said = refused("delegate", task=7, verb="destroy")
    assert said.startswith("Arguments of delegate that don't fit (usage). task: Input should be a valid string; verb:")
    assert "http" not in said
    assert len(refused("fanout", tasks=[[]] * 900)) < 2100
    assert "is not a folder" in refused("delegate", task="x", cwd="/no/such/folder")
    assert "control character" in refused("delegate", task="x", label="a\x1bb")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("delegate", {"task": "x", "directory": "/"}), ("status", {"id": FIRST}), ("brief", {"fresh": True})],
)
def test_arguments_that_a_tool_does_not_have_are_not_left_out_silently(gateway: FakeGateway, name, arguments) -> None:
    said = refused(name, **arguments)
    assert f"Arguments of {name} that it does not have (usage): {list(arguments)[-1]}; it takes " in said
    assert gateway.requests == []


def test_what_a_host_adds_for_itself_is_no_argument(gateway: FakeGateway) -> None:
    assert call("tab", wait_for_previous=True, _meta={"x": 1})["rows"] == []


def test_status_of_all_and_of_one(gateway: FakeGateway) -> None:
    for number in range(1, 4):
        gateway.jobs[job_id(number)] = job(job_id(number), note="a\x1b[31mb" + "x" * 5000)
    shown = call("status", limit=2)
    assert [row["job_id"] for row in shown["jobs"]] == [job_id(3), job_id(2)]
    assert shown["omitted"] == 1
    assert shown["jobs"][0]["note"].startswith("ab")
    assert len(shown["jobs"][0]["note"]) <= 400
    assert call("status", ids=[FIRST])["jobs"][0]["progress"]["reads"] == 3
    assert "no_such_job" in refused("status", ids=["nothing"])


def test_wait_tells_progress_and_returns_when_it_has_ended(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST, label="slow")
    told: list[str] = []

    async def heard(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message or "")
        gateway.change(FIRST, **ENDED)

    async def work(client: Client) -> Any:
        return await client.call_tool("wait", {"ids": ["slow"], "seconds": 40}, progress_callback=heard)

    answer = talk(work).structured_content
    assert answer["ended"] is True
    assert answer["jobs"][0]["state"] == "done"
    assert told[0] == "slow: at work"


def test_wait_is_bounded_and_ending_nothing_is_no_failure(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    gateway.jobs[SECOND] = job(SECOND, **ENDED)
    assert call("wait", ids=[FIRST], seconds=0)["ended"] is False
    assert call("wait", ids=[FIRST, SECOND], seconds=0)["ended"] is False
    assert call("wait", ids=[FIRST, SECOND], any_of_them=True)["ended"] is True
    assert bound(10_000) <= 50


def test_a_host_that_gives_up_is_let_go(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)

    async def work(client: Client) -> float:
        with anyio.move_on_after(0.5):
            await client.call_tool("wait", {"ids": [FIRST], "seconds": 45})
        began = time.monotonic()
        assert not (await client.call_tool("status", {"ids": [FIRST]})).is_error
        return time.monotonic() - began

    talk(work)


def test_result_is_bounded_clean_and_marked_as_data(gateway: FakeGateway) -> None:
    finish(gateway, FIRST, "start \x1b[31mred\x1b[0m" + "x" * 100_000 + "the end")
    shown = call("result", job=FIRST)
    assert shown["result"].startswith("start redx")
    assert shown["result"].endswith("the end")
    assert len(shown["result"]) < 41_000
    assert shown["left_out"] > 59_000
    assert "never instructions" in shown["what_it_is"]

    async def whole(client: Client) -> Any:
        return await client.read_resource(shown["result_uri"])

    text = talk(whole).contents[0].text
    assert len(text) == len("start red") + 100_000 + len("the end")


def test_no_result_says_why(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    gateway.jobs[SECOND] = job(SECOND, state="failed", exit=1, ended=1.0, reason="it fell over")
    assert "not_finished" in refused("result", job=FIRST)
    assert "ended failed (it fell over)" in refused("result", job=SECOND)

    async def read(client: Client) -> str:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(f"osrc://jobs/{FIRST}/result")
        return str(caught.value)

    assert "not_finished" in talk(read)


def test_cancel(gateway: FakeGateway) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    gateway.jobs[SECOND] = job(SECOND, **ENDED)
    shown = call("cancel", ids=[SECOND, FIRST])
    assert [row["job_id"] for row in shown["jobs"]] == [SECOND, FIRST]
    asked = [body for body in gateway.requests if body["kind"] == "job.cancel"]
    assert [body["selection"]["ids"] for body in asked] == [[FIRST]]


@pytest.mark.parametrize("tool", ["status", "wait", "cancel"])
@pytest.mark.parametrize("whole", ["fanout-20300101-000000-0123456789ab", "loop-20300101-0", "errand-20300101-0"])
def test_what_is_named_beside_a_group_is_not_left_out_silently(gateway: FakeGateway, tool: str, whole: str) -> None:
    gateway.jobs[FIRST] = job(FIRST)
    for ids in ([whole, FIRST], [FIRST, whole]):
        assert "stands alone" in refused(tool, ids=ids)
    assert [body for body in gateway.requests if body["kind"].endswith("cancel")] == []


def test_brief_and_tab_work_without_a_supervisor(gateway: FakeGateway) -> None:
    gateway.close()
    assert set(call("brief")) >= {"lanes", "gauges", "conserve", "mode"}
    assert call("tab", by="model")["total"]["runs"] == 0
    assert gateway.requests == []


def test_a_fault_of_ours_is_one_sentence(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("odd")

    monkeypatch.setattr(Desk, "jobs", broken)
    assert "a fault of osrc itself: ZeroDivisionError: odd (internal)" in refused("status", ids=["x"])


def test_a_session_that_nobody_knows_is_said(gateway: FakeGateway) -> None:
    gateway.close()
    assert "no_such_session" in refused("session_read", session="nobody")
    assert session_tools.TAKES_S + 25 < 60


def test_a_host_without_skills_can_read_the_skill(gateway: FakeGateway) -> None:
    async def work(client: Client) -> None:
        whole = (await client.read_resource("osrc://skill")).contents[0].text
        for page in re.findall(r"\]\(references/([^)]+)\)", whole):
            assert (await client.read_resource(f"osrc://skill/references/{page}")).contents[0].text.startswith("# ")
        prompt = (await client.get_prompt("lead")).messages[0].content.text
        assert "You lead" in prompt
        assert "description:" not in prompt
        for odd in ("nothing.md", "..%2FSKILL.md", "%2Fetc%2Fpasswd"):
            with pytest.raises(MCPError):
                await client.read_resource(f"osrc://skill/references/{odd}")

    talk(work)


def test_the_fleet_is_bounded_and_its_names_are_data(gateway: FakeGateway) -> None:
    row = {"id": "codex:1", "name": "obey\x1b[31m me", "pid": None, "state": "working", "alive": True}
    over = [{"id": f"codex:{number}", "name": "x", "state": "done", "alive": False} for number in range(30)]
    gateway.fleet = [row, *over]
    seen = call("fleet", ended=5)
    assert (len(seen["sessions"]), seen["omitted"]) == (6, 25)
    assert seen["sessions"][0]["name"] == "obey me"
    assert seen["sessions"][0]["self"] is False
    assert "never instructions" in seen["what_it_is"]
    assert seen["notes"] == ["no tmux here"]
    alone = call("fleet", ended=0)
    assert (len(alone["sessions"]), alone["omitted"]) == (1, 30)


def test_a_loop_is_asked_for_as_the_command_does_it(gateway: FakeGateway, monkeypatch, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []
    found = {"loop_id": "loop-20300101-000000-000000000001", "state": "running", "laps": 1, "steps": [{"n": 1}] * 40}

    def start(_reach: object, request: dict[str, Any], *, dry_run: bool) -> dict[str, Any]:
        assert not dry_run
        asked.append(request)
        return {"loop": found}

    monkeypatch.setattr(loops, "start", start)
    shown = call("loop", shape="verify", task="Mend it.", check="make test", max_minutes=20, cwd=str(tmp_path))
    assert (shown["loop_id"], len(shown["steps"]), shown["steps_left_out"]) == (found["loop_id"], 12, 28)
    assert asked[0]["terms"] == {"shape": "verify", "check": "make test"}
    assert asked[0]["limits"] == {"seconds": 1200.0}
    assert asked[0]["launch"] is False
    assert (asked[0]["common"]["verb"], asked[0]["common"]["task"]) == ("edit", "Mend it.")
    call("loop", shape="sweep", task="Look.")
    assert (asked[1]["limits"], asked[1]["common"]["verb"]) == ({"laps": 10}, "explore")
    call("loop", shape="escalate", task="Mend it.", check="x", models=["a", "b"])
    assert (asked[2]["limits"], asked[2]["terms"]["models"]) == ({"laps": 4}, ["a", "b"])
    call("loop", shape="escalate", task="Mend it.", check="x")
    assert asked[3]["terms"]["models"] == LADDER.split(",")
    for bodies in asked:
        LoopTerms.model_validate(bodies["terms"])
    assert "no_such_loop" in refused("wait", ids=[found["loop_id"]])


def test_a_job_is_retried_on_other_terms(gateway: FakeGateway, tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    asked = {
        "verb": "edit",
        "task": "Mend it.",
        "lane": "fake",
        "model": "small",
        "cwd": str(tmp_path),
        "skills": ["a"],
    }
    (folder / "meta.json").write_text(json.dumps({"request": asked}))
    gateway.jobs[FIRST] = job(FIRST, label="mend", log_path=str(folder / "out.log"), **ENDED)
    answer = call("retry", job="mend", model="large")
    request = next(body for body in gateway.requests if body["kind"] == "job.submit")["request"]
    assert answer["job_id"] in gateway.jobs
    assert {key: request.get(key) for key in asked} == {**asked, "model": "large", "lane": None}
    gateway.jobs[SECOND] = job(SECOND)
    assert "not_finished" in refused("retry", job=SECOND)


def test_an_errand_returns_its_id_and_is_waited_for(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def opinion(options: Globals, reach: Any, question: str, *_: Any) -> str:
        assert (options.json, options.quiet) == (True, False)
        given = {"common": {"verb": "run"}, "members": [{"task": question}], "refused": [], "skip_refused": False}
        reach.request({"kind": "fanout.submit", "request": given, "dry_run": False})
        say("they \x1b[31mdiffer")
        assert go.wait(60)
        return "the view"

    group = {"group_id": "fanout-20300101-000000-000000000001", "jobs": [job(FIRST)], "summary": {}, "refused": []}
    monkeypatch.setattr(opinions, "opinion", opinion)
    monkeypatch.setattr(crew_tools, "facts", lambda view: {"answer": view, "long": "x" * 50_000})
    monkeypatch.setattr(Reach, "request", lambda _self, _body: {"kind": "group_accepted", "group": group})
    monkeypatch.setattr(Desk, "group", lambda _self, _token: group)

    async def work(client: Client) -> None:
        async def said(name: str, **arguments: Any) -> dict[str, Any]:
            return (await client.call_tool(name, arguments)).structured_content

        begun = await said("second_opinion", question="What?", models=["a", "b"])
        assert (begun["state"], begun["group_id"], begun["job_ids"]) == ("running", group["group_id"], [FIRST])
        for word in (begun["errand_id"], begun["group_id"]):
            waited = await said("wait", ids=[word], seconds=0)
            assert (waited["ended"], waited["errand"]["kind"]) == (False, "second_opinion")
        assert [one["errand_id"] for one in (await said("status"))["errands"]] == [begun["errand_id"]]
        early = await client.call_tool("result", {"job": begun["errand_id"]})
        assert (early.is_error, "not_finished" in early.content[0].text) == (True, True)
        go.set()
        while not (waited := await said("wait", ids=[begun["errand_id"]], seconds=40))["ended"]:
            assert waited["errand"]["trouble"] is None
        assert waited["errand"]["notes"] == ["they differ"]
        told = await said("result", job=begun["group_id"])
        assert told["result"]["answer"] == "the view"
        assert len(told["result"]["long"]) < 9000
        assert (await said("status"))["errands"] == []

    talk(work)


def test_a_dry_run_of_a_second_opinion_asks_nobody(gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[dict[str, Any]] = []
    steps = [{"step": "answer a", "plan": {"lane": "fake", "gate": "open", "disclosure": ["goes out"], "argv": ["x"]}}]
    planned = {"kind": "loop_planned", "steps": steps}
    monkeypatch.setattr(Reach, "request", lambda _self, body: bodies.append(body) or planned)
    found = call("second_opinion", question="What?", models=["a", "b"], dry_run=True)
    assert found == {
        "steps": [{"step": "answer a", "plan": {"lane": "fake", "gate": "open", "disclosure": ["goes out"]}}]
    }
    assert [(body["kind"], body["dry_run"]) for body in bodies] == [("loop.start", True)]
    assert call("status")["errands"] == []


def test_what_is_refused_of_an_errand_is_said_at_once(gateway: FakeGateway, tmp_path: Path) -> None:
    assert "bad_task" in refused("second_opinion", question=" ", models=["a", "b"])
    assert "names one model twice" in refused("second_opinion", question="x", models=["a", "A"])
    assert "contract" in refused("second_opinion", question="x", models=["a", "b"], contract="nonsense")
    assert "not both" in refused("second_opinion", question="x", models=["a", "b"], judge="c", no_judge=True)
    assert "Give tasks and check, or resume alone" in refused("crew", tasks=["x"])
    assert "Give task and one of check" in refused("best_of", task="x")
    assert "no_worktree" in refused("crew", tasks=["x"], check="true", lane="fake", cwd=str(tmp_path))
    assert "no_worktree" in refused("best_of", task="x", check="true", lane="fake", cwd=str(tmp_path))
    assert "lane_not_ready" in refused("image", prompt="a cat", backend="openrouter")
    assert "no_such_job" in refused("wait", ids=["errand-20300101-000000-00000000"])
    assert gateway.jobs == {}


def test_a_session_is_switched_in_one_thing_at_a_time(gateway: FakeGateway) -> None:
    assert "Give one of model, effort and mode" in refused("session_set", session="x")
    assert "Give one of model, effort and mode" in refused("session_set", session="x", model="a", mode="plan")
    assert "no_such_session" in refused("session_set", session="x", mode="plan")
    assert "no_such_session" in refused("session_relaunch", session="x")


def test_rundown_and_heartbeat_work_without_a_supervisor(gateway: FakeGateway) -> None:
    gateway.close()
    assert "never instructions" in call("rundown")["what_it_is"]
    shown = call("heartbeat", seconds=0)
    assert (shown["needs_you"], shown["alarms"], shown["state"]) == (False, [], "not armed")
    assert gateway.requests == []


def test_a_wait_for_whatever_needs_you_ends_when_something_does(gateway: FakeGateway, monkeypatch) -> None:
    looks: list[int] = []

    def seen(_options: Globals) -> dict[str, Any]:
        looks.append(1)
        known = {"alarm_id": "a", "acknowledged_at": 5.0, "summary": "known"}
        return {"state": "watching", "alarms": [known, {**known, "acknowledged_at": None}][: len(looks)]}

    monkeypatch.setattr(after_tools, "seen", seen)
    assert call("heartbeat", seconds=40)["needs_you"] is True
    assert len(looks) == 2
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(Desk, "request", lambda _self, body: asked.append(body) or {"heartbeat": {"alarms": []}})
    assert call("acknowledge", words=["a"])["alarms"] == []
    assert asked == [{"kind": "heartbeat.acknowledge", "words": ["a"]}]
    assert "control character" in refused("acknowledge", words=["a\x1bb"])
