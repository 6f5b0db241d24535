"""The opencode lane: its command, its rules, its recorded streams, and lines that no recording holds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fakes.recorded import cases, reading, replay
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, Stream, Task, Wall
from outsourcerer.lanes.opencode.rules import config, permission
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, LaneEvent, Retrying, TurnEnded
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

LANE = builtin("opencode")
FOLDER = "opencode/1.18.33-2026-11-30"


def plan(
    verb: Verb = Verb.RUN, environ: dict[str, str] | None = None, *, walled: bool = False, **fields: Any
) -> Launch:
    host = Host(environment=environ or {}, executables={"opencode": "/bin/opencode"}, walled=walled)
    result = LANE.plan(Task(verb=verb, prompt="do it", cwd="/w", **fields), host)
    assert isinstance(result, Launch), result
    return result


def lines(*items: dict[str, object]) -> bytes:
    return b"".join(json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items)


def step(reason: str, **part: object) -> dict[str, object]:
    return {"type": "step_finish", "sessionID": "ses_1", "part": {"reason": reason, **part}}


# case: verdict, outcome, answer, (reads, writes, commands), refusals
CASES = {
    "a": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "ask": ("permission-blocked", "permission", "I go", (0, 0, 0), 1),
    "b": ("done?", "unverified", "Done: created hello.txt and ran the command.", (0, 1, 1), 0),
    "bypass": ("done?", "unverified", "Bypassed.", (0, 1, 1), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "c529": ("failed", "transport", None, (0, 0, 0), 0),
    "cplan": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("done?", "unverified", "recovered after the drop", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 1), 0),
    "length": ("failed", "output-limit", "cut off", (0, 0, 0), 0),
    "noagent": ("failed", "launch", "Hello there.", (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "resume": ("done?", "unverified", "Second turn answered.", (0, 0, 0), 0),
    "sigint": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "sigterm": ("interrupted", "interrupted", None, (0, 0, 0), 0),
    "wall": ("done?", "unverified", "I could not.", (0, 0, 0), 2),
}


@pytest.mark.parametrize("case", CASES)
def test_each_recorded_run_has_its_verdict(case: str) -> None:
    replayed = replay(LANE, FOLDER, case)
    assert replayed.row == CASES[case]
    assert replayed.seen.unrecognised == 0
    assert (replayed.seen.conversation or "").startswith("ses_")


def test_every_recorded_run_is_in_the_table() -> None:
    assert cases(FOLDER) == sorted(CASES)


def test_tokens_are_the_sum_of_the_steps_and_a_price_of_zero_is_none() -> None:
    seen = replay(LANE, FOLDER, "b").seen
    assert seen.usage == TokenUsage(input=3102, cached_input=600, cache_write=0, output=168, reasoning=0)
    assert seen.cash_usd is None
    assert seen.model is None  # the stream never says
    priced = reading(LANE, lines(step("tool-calls", tokens={"input": 1}, cost=0.25), step("stop", tokens={}, cost=0.5)))
    assert priced.seen.cash_usd == 0.25


def test_a_plan_limit_says_until_when() -> None:
    turn = replay(LANE, FOLDER, "cplan").seen.turn
    assert turn is not None
    assert turn.until == 1796030851


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        ({"name": "ProviderAuthError", "data": {"message": "no key"}}, FailureKind.AUTH),
        ({"name": "MessageOutputLengthError", "data": {}}, FailureKind.OUTPUT_LIMIT),
        ({"name": "MessageAbortedError", "data": {"message": "Aborted"}}, FailureKind.INTERRUPTED),
        ({"name": "APIError", "data": {"message": "Payment Required", "statusCode": 402}}, FailureKind.PLAN_LIMIT),
        ({"name": "APIError", "data": {"message": "slow down", "statusCode": 429}}, FailureKind.RATE_LIMIT),
        ({"name": "APIError", "data": {"message": "x", "statusCode": 404}}, FailureKind.MODEL_GONE),
        ({"name": "APIError", "data": {"message": "fetch failed: ECONNREFUSED"}}, FailureKind.TRANSPORT),
        ({"name": "UnknownError", "data": {"message": "Unexpected server error."}}, FailureKind.TASK),
        ({"name": 3, "data": []}, FailureKind.TASK),
        (None, FailureKind.TASK),
    ],
)
def test_why_it_failed_is_in_the_error(error: object, failure: FailureKind) -> None:
    replayed = reading(LANE, lines({"type": "error", "sessionID": "s", "error": error}), status=ExitStatus(code=1))
    assert replayed.seen.turn is not None
    assert replayed.seen.turn.failure is failure


def test_words_about_limits_in_an_answer_are_no_failure() -> None:
    text = "A 429 means too many requests; buy credits or wait. Usage limit has been reached is its text."
    item = {"type": "text", "sessionID": "s", "part": {"text": text}}
    assert reading(LANE, lines(item, step("stop"))).row[:2] == ("done?", "unverified")


def test_a_step_after_the_end_is_a_turn_of_its_own() -> None:
    first = [{"type": "text", "sessionID": "s", "part": {"text": "one"}}, step("stop")]
    second = [{"type": "step_start", "sessionID": "s", "part": {}}, step("length")]
    ends = [event for event in reading(LANE, lines(*first, *second)).events if isinstance(event, TurnEnded)]
    assert [end.ok for end in ends] == [True, False]


def test_an_end_in_the_middle_of_tools_is_no_answer() -> None:
    item = {"type": "text", "sessionID": "s", "part": {"text": "I will now"}}
    assert reading(LANE, lines(item, step("tool-calls"))).row[0] == "failed"


def test_a_command_that_met_our_wall_was_refused() -> None:
    state = {"status": "completed", "input": {"command": "touch x"}, "output": "touch: Read-only file system"}
    item = {"type": "tool_use", "part": {"tool": "bash", "state": state | {"metadata": {"exit": 1}}}}
    seen = reading(LANE, lines(item, step("stop"))).seen
    assert (seen.bash, seen.denials) == (0, 1)


@pytest.mark.parametrize("stderr_first", [True, False])
def test_another_agent_than_was_told_never_counts_as_good(stderr_first: bool) -> None:
    parser = LANE.parser(Task(verb=Verb.RUN, prompt="x", cwd="/"))
    out = lines({"type": "text", "sessionID": "s", "part": {"text": "hi"}}, step("stop"))
    feeds = [(b'! agent "osrc-read" not found. Falling back to default agent\n', Stream.ERR), (out, Stream.OUT)]
    events = [event for data, stream in (feeds if stderr_first else feeds[::-1]) for event in parser.feed(data, stream)]
    last = [event for event in [*events, *parser.finish(ExitStatus(code=0))] if isinstance(event, TurnEnded)][-1]
    assert (last.ok, last.failure) == (False, FailureKind.LAUNCH)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_part_breaks_it(part: object) -> None:
    for kind in ("step_start", "text", "reasoning", "tool_use", "step_finish", "error"):
        reading(LANE, lines({"type": kind, "sessionID": part, "part": part, "error": part}))


# What only its log tells

LOG = 'timestamp=2026-11-30T12:43:00.390Z level=ERROR run=348f34d1 message="{}" providerID=stub small=false {}\n'


def logged(words: str) -> bytes:
    return LOG.format("stream error", f"error.error={json.dumps(words)}").encode()


def heard(*feeds: tuple[bytes, Stream], code: int = 0) -> list[LaneEvent]:
    parser = LANE.parser(Task(verb=Verb.RUN, prompt="x", cwd="/"))
    events = [event for data, stream in feeds for event in parser.feed(data, stream)]
    return [*events, *parser.finish(ExitStatus(code=code))]


def test_a_request_that_failed_is_a_retry_with_the_provider_s_words() -> None:
    said = 'Rate limit "x" reached.\nPlease try again in 2s.'
    answer = lines({"type": "text", "sessionID": "s", "part": {"text": "hi"}}, step("stop"))
    events = heard((logged(f"AI_APICallError: {said}"), Stream.ERR), (answer, Stream.OUT))
    assert [event.message for event in events if isinstance(event, Retrying)] == [said]
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [True]


def test_a_spent_plan_ends_the_turn_although_it_would_wait_for_hours() -> None:
    events = heard((logged("AI_APICallError: The usage limit has been reached"), Stream.ERR))
    assert [type(event) for event in events] == [TurnEnded]
    (end,) = [event for event in events if isinstance(event, TurnEnded)]
    assert (end.ok, end.failure, end.synthetic) == (False, FailureKind.PLAN_LIMIT, False)


def test_an_error_line_after_it_says_more() -> None:
    body = json.dumps({"error": {"resets_at": 1796046005}})
    data = {"message": "The usage limit has been reached", "statusCode": 429, "responseBody": body}
    error = lines({"type": "error", "sessionID": "s", "error": {"name": "APIError", "data": data}})
    last = heard((logged("AI_APICallError: The usage limit has been reached"), Stream.ERR), (error, Stream.OUT))[-1]
    assert isinstance(last, TurnEnded)
    assert last.until == 1796046005


@pytest.mark.parametrize(
    "line",
    [
        LOG.format("Failed to fetch models.dev", 'cause="The usage limit has been reached"').encode(),
        b'He said: message="stream error" error.error="The usage limit has been reached"\n',
        LOG.format("stream error", "error.error=none").encode(),
        LOG.format("stream error", 'error.error="').encode(),
    ],
)
def test_other_lines_say_nothing(line: bytes) -> None:
    answer = lines({"type": "text", "sessionID": "s", "part": {"text": "hi"}}, step("stop"))
    events = heard((line, Stream.ERR), (answer, Stream.OUT))
    assert not [event for event in events if isinstance(event, Retrying)]
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [True]


@pytest.mark.parametrize("words", ["database is locked", "Failed query: \n  CREATE TABLE `workspace` (\n"])
def test_a_database_that_another_start_holds_is_no_task(words: str) -> None:
    shown = f"\x1b[91m\x1b[1mError: \x1b[0mUnexpected error\n\n{words}\n".encode()
    assert heard((shown, Stream.ERR), code=1)[-1].failure is FailureKind.CONTENDED
    begun = lines({"type": "step_start", "sessionID": "s"})
    assert heard((begun, Stream.OUT), (shown, Stream.ERR), code=1)[-1].failure is FailureKind.LAUNCH


def test_the_log_is_not_taken_for_its_last_words() -> None:
    noise = LOG.format("Failed to fetch models.dev", 'cause="Transport error"').encode()
    assert heard((noise, Stream.ERR), code=1)[-1].message == "OpenCode ended in the middle of its work"
    refused = heard((noise, Stream.ERR), (logged("AI_APICallError: fetch failed"), Stream.ERR), code=1)[-1]
    assert (refused.message, refused.failure) == ("fetch failed", FailureKind.TRANSPORT)


# The command


def test_the_prompt_goes_over_stdin_and_no_title_is_asked_for() -> None:
    launch = plan()
    assert launch.stdin == b"do it"
    assert launch.argv == (
        "/bin/opencode",
        *("run", "--format", "json", "--thinking", "--print-logs", "--log-level=ERROR"),
        *("--title=Outsourcerer job", "--agent=osrc-read"),
    )
    assert {"CLAUDECODE", "OPENCODE_PID", "OPENCODE_AUTO_SHARE"} <= launch.env_strip


def test_it_never_approves_everything() -> None:
    for verb in LANE.verbs:
        assert "--auto" not in plan(verb).argv


def rules(verb: Verb, *, walled: bool = False, servers: bool = False) -> dict[str, str]:
    return permission(verb, walled=walled, user_servers=servers)


def allowed(table: dict[str, str], tool: str) -> bool:
    """As OpenCode decides: the last rule that matches."""
    return [answer for name, answer in table.items() if name in ("*", tool)][-1] == "allow"


@pytest.mark.parametrize("verb", [Verb.RUN, Verb.EXPLORE])
def test_a_read_only_verb_has_no_tool_that_writes(verb: Verb) -> None:
    table = rules(verb, servers=True)
    assert not any(allowed(table, tool) for tool in ("edit", "bash", "task", "question", "external_directory"))
    assert all(allowed(table, tool) for tool in ("read", "glob", "grep", "webfetch"))


def test_behind_our_wall_it_has_a_shell() -> None:
    table = rules(Verb.RUN, walled=True)
    assert allowed(table, "bash")
    assert not allowed(table, "edit")


def test_nothing_is_ever_asked() -> None:
    for verb in LANE.verbs:
        assert "ask" not in rules(verb).values()


def test_tools_of_the_users_servers_are_denied_unless_wanted() -> None:
    assert not allowed(rules(Verb.EDIT), "mine_greet")
    assert allowed(rules(Verb.EDIT, servers=True), "mine_greet")
    assert allowed(rules(Verb.YOLO), "mine_greet")


def test_only_yolo_leaves_the_folder() -> None:
    assert not allowed(rules(Verb.EDIT), "external_directory")
    assert allowed(rules(Verb.YOLO), "external_directory")


@pytest.mark.parametrize("inherited", [None, "", "no json", "[]", "{" * 100_000])
def test_a_configuration_that_is_none_is_left_out(inherited: str | None) -> None:
    value = json.loads(config(Verb.EDIT, walled=False, user_servers=False, inherited=inherited))
    assert set(value["agent"]) == {"osrc-edit"}
    assert (value["autoupdate"], value["share"]) == (False, "disabled")


def test_the_callers_own_configuration_stays() -> None:
    theirs = json.dumps({"model": "a/b", "agent": {"mine": {"prompt": "x"}}, "permission": {"bash": "ask"}})
    launch = plan(Verb.EDIT, {"OPENCODE_CONFIG_CONTENT": theirs})
    value = json.loads(launch.env_set["OPENCODE_CONFIG_CONTENT"])
    assert value["model"] == "a/b"
    assert set(value["agent"]) == {"mine", "osrc-edit"}
    assert value["permission"]["bash"] == "allow"


def test_model_effort_and_free_words() -> None:
    launch = plan(model="stub/m", effort=Effort.MAX)
    assert {"--model=stub/m", "--variant=max"} <= set(launch.argv)
    assert "--model=opencode/big-pickle" in plan(model="free").argv
    assert any("PROVIDER/MODEL" in notice for notice in plan(model="m").notices)


def test_the_reading_agent_can_be_chosen() -> None:
    environ = {"OSRC_OPENCODE_READ_AGENT": "plan"}
    assert "--agent=plan" in plan(Verb.RUN, environ).argv
    assert "--agent=osrc-edit" in plan(Verb.EDIT, environ).argv


def test_there_is_no_sandbox_for_research() -> None:
    host = Host(environment={}, executables={"opencode": "/bin/opencode"})
    result = LANE.plan(Task(verb=Verb.RESEARCH, prompt="x", cwd="/"), host)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.VERB_UNSUPPORTED
    assert (LANE.verbs[Verb.EDIT], LANE.wall) == (Posture.MUTATING, Wall.OURS)


def test_ready_by_sign_in_or_configuration() -> None:
    host = Host(environment={}, executables={"opencode": "/bin/opencode"})
    bare = LANE.probe(ProbeFacts(host=host, version_output=b"1.18.33\n"))
    assert (bare.level, bare.fix) == ("installed", "opencode auth login")
    signed = ProbeFacts(host=host, version_output=b"1.18.33\n", credentials=frozenset({LANE.credential_files[0]}))
    assert (LANE.probe(signed).level, LANE.probe(signed).tested) == ("signed-in", True)
    assert LANE.probe(ProbeFacts(host=Host(environment={}, executables={}))).level == "absent"
