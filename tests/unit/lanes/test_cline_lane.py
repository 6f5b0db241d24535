"""The cline lane: its command, its recorded streams, and lines that no recording holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.recorded import cases, reading, replay
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, Task, Wall
from outsourcerer.lanes.launching import ARGV_PROMPT_LIMIT
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, ToolCalled
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

LANE = builtin("cline")
FOLDER = "cline/3.0.65-2026-11-30"


def plan(verb: Verb = Verb.RUN, environ: dict[str, str] | None = None, prompt: str = "do it", **fields: Any) -> Launch:
    host = Host(environment=environ or {}, executables={"cline": "/bin/cline"})
    result = LANE.plan(Task(verb=verb, prompt=prompt, cwd="/w", **fields), host)
    assert isinstance(result, Launch), result
    return result


def lines(*items: dict[str, object]) -> bytes:
    return b"".join(json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items)


def agent(**event: object) -> dict[str, object]:
    return {"ts": "2026-11-30T00:00:00.000Z", "type": "agent_event", "event": event}


def ended(reason: str, text: str = "") -> dict[str, object]:
    return {"ts": "2026-11-30T00:00:00.000Z", "type": "run_result", "finishReason": reason, "text": text}


# case: verdict, outcome, answer, (reads, writes, commands), refusals
CASES = {
    "a": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "b": ("done?", "unverified", "Done: created hello.txt and ran the command.", (0, 1, 1), 0),
    "bypass": ("done?", "unverified", "Bypassed.", (0, 1, 1), 0),
    "c": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "cplan": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("done?", "unverified", "recovered after the drop", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 1), 0),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 2),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 0), 1),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "resume": ("failed", "launch", None, (0, 0, 0), 0),
    "sigint": ("failed", "no-final-event", None, (0, 0, 0), 0),
    "sigterm": ("interrupted", "interrupted", None, (0, 0, 0), 0),
}


@pytest.mark.parametrize("case", CASES)
def test_each_recorded_run_has_its_verdict(case: str) -> None:
    replayed = replay(LANE, FOLDER, case)
    assert replayed.row == CASES[case]
    assert replayed.seen.unrecognised == 0
    assert replayed.seen.conversation is None  # there is no session id in the stream


def test_every_recorded_run_is_in_the_table() -> None:
    assert cases(FOLDER) == sorted(CASES)


def test_cached_tokens_are_apart_and_a_price_of_zero_is_none() -> None:
    seen = replay(LANE, FOLDER, "b").seen
    assert seen.usage == TokenUsage(input=3102, cached_input=600, cache_write=0, output=168)
    assert (seen.cash_usd, seen.model) == (None, "stub-model")


def test_zeros_without_an_answer_are_unknown() -> None:
    assert replay(LANE, FOLDER, "c401").seen.usage is None


def test_a_complaint_on_stderr_is_told_in_its_words() -> None:
    reason = replay(LANE, FOLDER, "resume").verdict.reason or ""
    assert "requires a prompt argument" in reason
    assert "{" not in reason


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("INFERENCE_CAP_ERROR: weekly limit reached", FailureKind.PLAN_LIMIT),
        ("Daily free limit reached for this model", FailureKind.PLAN_LIMIT),
        ("Rate limit reached. Please try again in 2s.", FailureKind.RATE_LIMIT),
        ("Cannot connect to API: ECONNREFUSED", FailureKind.TRANSPORT),
        ("The model `x` does not exist or you do not have access to it", FailureKind.MODEL_GONE),
        ("the tests fail", FailureKind.TASK),
        ("", FailureKind.TASK),
    ],
)
def test_why_it_failed_is_in_the_result(text: str, failure: FailureKind) -> None:
    replayed = reading(LANE, lines(ended("error", text)), status=ExitStatus(code=1))
    assert replayed.seen.turn is not None
    assert replayed.seen.turn.failure is failure


def test_an_error_event_explains_an_end_without_a_result() -> None:
    out = lines(agent(type="error", error={"message": "The usage limit has been reached"}, recoverable=False))
    replayed = reading(LANE, out, status=ExitStatus(code=1))
    assert replayed.seen.unrecognised == 0
    assert replayed.seen.turn is not None
    assert replayed.seen.turn.failure is FailureKind.PLAN_LIMIT


def test_words_about_limits_in_an_answer_are_no_failure() -> None:
    text = "Weekly limit reached is what it says at 429; insufficient credits too."
    assert reading(LANE, lines(ended("completed", text))).row[:2] == ("done?", "unverified")


def test_a_command_that_met_our_wall_was_refused() -> None:
    row = {"query": "touch x", "error": "Command exited with code 1", "success": False}
    row["result"] = "[stderr]\ntouch: cannot touch 'x': Read-only file system"
    call = {"contentType": "tool", "toolName": "run_commands", "toolCallId": "1"}
    start = agent(type="content_start", **call, input={"commands": ["touch x", "ls"]})
    replayed = reading(LANE, lines(start, agent(type="content_end", **call, output=[row]), ended("completed", "ok")))
    assert (replayed.seen.bash, replayed.seen.denials) == (0, 1)
    assert [event.target for event in replayed.events if isinstance(event, ToolCalled)] == ["touch x"]


def test_a_command_that_failed_was_not_refused() -> None:
    call = {"contentType": "tool", "toolName": "run_commands", "toolCallId": "1"}
    row = {"query": "false", "error": "Command exited with code 1", "success": False, "result": ""}
    start = agent(type="content_start", **call, input={"commands": ["false"]})
    seen = reading(LANE, lines(start, agent(type="content_end", **call, output=[row]), ended("completed", "ok"))).seen
    assert (seen.bash, seen.denials) == (1, 0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_event_breaks_it(value: object) -> None:
    for kind in ("content_start", "content_end", "content_update", "usage", "done"):
        for content in ("text", "tool", "reasoning"):
            event = agent(type=kind, contentType=content, text=value, input=value, output=value, toolName=value)
            reading(LANE, lines(event, {"type": "run_result", "usage": value, "model": value, "text": value}))


# The command


def test_the_prompt_is_an_argument_behind_the_options() -> None:
    launch = plan()
    assert launch.argv == ("/bin/cline", "--json", "--plan", "--", "do it")
    assert launch.stdin is None
    assert {"CLAUDECODE", "CLINE_RUN_AS_HUB_DAEMON"} <= launch.env_strip


@pytest.mark.parametrize("prompt", ["x y" * ARGV_PROMPT_LIMIT, "word", "  word\n", "what is {job} here?"])
def test_what_can_not_be_one_lies_in_a_file(prompt: str) -> None:
    launch = plan(prompt=prompt)
    assert launch.argv[-1].startswith("Your whole task is in the file {job}/cline-prompt.md.")
    assert {file.name: file.content for file in launch.files}["cline-prompt.md"] == prompt.encode()


def test_no_hub_is_started_and_nothing_updates_itself() -> None:
    environ = plan().env_set
    assert (environ["CLINE_SESSION_BACKEND_MODE"], environ["CLINE_NO_AUTO_UPDATE"]) == ("local", "1")


def test_the_users_own_tool_servers_stay_out_unless_wanted() -> None:
    launch = plan()
    assert launch.env_set["CLINE_MCP_SETTINGS_PATH"] == "{job}/cline-mcp.json"
    assert [json.loads(file.content) for file in launch.files] == [{"mcpServers": {}}]
    assert "CLINE_MCP_SETTINGS_PATH" not in plan(environ={"OSRC_CLINE_USER_MCP": "1"}).env_set


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (Verb.RUN, ("--plan",)),
        (Verb.EXPLORE, ("--plan",)),
        (Verb.EDIT, ("--auto-approve", "true")),
        (Verb.YOLO, ("--auto-approve", "true")),
    ],
)
def test_verbs_are_modes(verb: Verb, words: tuple[str, ...]) -> None:
    assert plan(verb).argv[2 : 2 + len(words)] == words


def test_model_and_effort() -> None:
    launch = plan(model="m", effort=Effort.MAX)
    assert launch.argv[3:-2] == ("-m", "m", "--thinking", "xhigh")
    assert "no effort max" in launch.notices[0]
    assert plan(effort=Effort.HIGH).notices == ()


def test_there_is_no_sandbox_for_research() -> None:
    host = Host(environment={}, executables={"cline": "/bin/cline"})
    result = LANE.plan(Task(verb=Verb.RESEARCH, prompt="x", cwd="/"), host)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.VERB_UNSUPPORTED
    assert (LANE.verbs[Verb.EDIT], LANE.wall, LANE.state) == (Posture.MUTATING, Wall.OURS, ("~/.cline",))


def test_ready_by_its_providers_file() -> None:
    host = Host(environment={}, executables={"cline": "/bin/cline"})
    bare = LANE.probe(ProbeFacts(host=host, version_output=b"3.0.65\n"))
    assert (bare.level, bare.fix) == ("installed", "cline auth")
    signed = ProbeFacts(host=host, version_output=b"3.0.65\n", credentials=frozenset(LANE.credential_files))
    assert (LANE.probe(signed).level, LANE.probe(signed).tested) == ("signed-in", True)
    old = ProbeFacts(host=host, version_output=b"3.0.35\n", credentials=frozenset(LANE.credential_files))
    assert LANE.probe(old).level == "installed"
