"""The copilot lane: its command, its recorded streams, and lines that no recording holds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fakes.recorded import TASK, cases, reading, replay
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, SessionLaunch, SessionTask, Stream, Task
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, LaneEvent, Retrying, UsageReported
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

LANE = builtin("copilot")
FOLDER = "copilot/1.0.102-2026-11-30"


def plan(verb: Verb = Verb.RUN, environ: dict[str, str] | None = None, **fields: object) -> Launch:
    host = Host(environment=environ or {}, executables={"copilot": "/bin/copilot"})
    result = LANE.plan(Task(verb=verb, prompt="do it", cwd="/w", **fields), host)
    assert isinstance(result, Launch), result
    return result


def flags(launch: Launch) -> str:
    return " ".join(launch.argv[1:])


def lines(*items: dict[str, object]) -> bytes:
    return b"".join(json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items)


# case: verdict, outcome, answer, (reads, writes, commands), refusals
CASES = {
    "a": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "b": ("done?", "unverified", "Done: created hello.txt and ran the command.", (0, 1, 1), 0),
    "bypass": ("done?", "unverified", "Bypassed.", (0, 1, 1), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "c529": ("failed", "transport", None, (0, 0, 0), 0),
    "cplan": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("done?", "unverified", "recovered after the drop", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 1, 0), 1),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 0), 1),
    "nokey": ("failed", "auth", None, (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "resume": ("done?", "unverified", "Second turn answered.", (0, 0, 0), 0),
    "sigint": ("failed", "transport", None, (0, 0, 0), 0),
    "sigterm": ("failed", "transport", None, (0, 0, 0), 0),
    "wall": ("done?", "unverified", "I could not.", (0, 0, 0), 2),
}


@pytest.mark.parametrize("case", CASES)
def test_each_recorded_run_has_its_verdict(case: str) -> None:
    replayed = replay(LANE, FOLDER, case)
    assert replayed.row == CASES[case]
    assert replayed.seen.unrecognised == 0


def test_every_recorded_run_is_in_the_table() -> None:
    assert cases(FOLDER) == sorted(CASES)


def test_there_is_no_sandbox_for_research() -> None:
    host = Host(environment={}, executables={"copilot": "/bin/copilot"})
    result = LANE.plan(Task(verb=Verb.RESEARCH, prompt="x", cwd="/"), host)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.VERB_UNSUPPORTED
    assert "codex" in result.hint


def test_the_prompt_goes_over_stdin() -> None:
    launch = plan()
    assert launch.stdin == b"do it"
    assert "do it" not in flags(launch)
    assert "CLAUDECODE" in launch.env_strip


def readiness(output: bytes | None, *, credentials: tuple[str, ...] = (), environ: dict[str, str] | None = None):
    host = Host(environment=environ or {}, executables={"copilot": "/bin/copilot"})
    return LANE.probe(ProbeFacts(host=host, version_output=output, credentials=frozenset(credentials)))


def test_absent_says_how_to_get_it() -> None:
    bare = Host(environment={}, executables={})
    absent = LANE.probe(ProbeFacts(host=bare))
    assert absent.level == "absent"
    assert "npm install" in absent.fix
    refused = LANE.plan(Task(verb=Verb.RUN, prompt="x", cwd="/"), bare)
    assert isinstance(refused, Refused)
    assert "npm install" in refused.hint


USAGE = "--usage-output-file={job}/usage.json"
READ_ONLY = "--available-tools=view,grep,glob --deny-tool=write --deny-tool=shell"


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (Verb.RUN, READ_ONLY),
        (Verb.EXPLORE, READ_ONLY),
        (Verb.EDIT, "--allow-tool=write --allow-tool=shell"),
        (Verb.YOLO, "--allow-all"),
    ],
)
def test_verbs_are_tools_that_exist_and_tools_that_are_allowed(verb: Verb, words: str) -> None:
    assert flags(plan(verb)) == f"--output-format json --no-auto-update --no-ask-user {words} {USAGE}"
    assert LANE.verbs[Verb.EDIT] is Posture.MUTATING


@pytest.mark.parametrize("transport", [None, "acp", "pty"])
def test_each_server_of_the_persons_is_kept_out_by_its_name(transport: str | None) -> None:
    host = Host(environment={}, executables={"copilot": "/bin/copilot"}, own_servers=("mine", "-x"))

    def launch(host: Host) -> Launch | SessionLaunch | Refused:
        if transport is None:
            return LANE.plan(Task(verb=Verb.EDIT, prompt="do it", cwd="/w"), host)
        return LANE.sessions[transport](SessionTask(cwd="/w"), host)

    words = {"--disable-mcp-server=mine", "--disable-mcp-server=-x"}
    assert words <= set(launch(host).argv)
    assert not words & set(launch(replace(host, environment={"OSRC_COPILOT_USER_MCP": "1"})).argv)
    unknown = launch(replace(host, own_servers=None))
    assert isinstance(unknown, Refused)
    assert "OSRC_COPILOT_USER_MCP=1" in unknown.hint


def test_model_and_effort() -> None:
    assert flags(plan(model="gpt-5.5", effort=Effort.XHIGH)).endswith(
        f"--model gpt-5.5 --reasoning-effort xhigh {USAGE}"
    )


def test_nothing_in_the_environment_grants_more_than_the_verb() -> None:
    assert {"COPILOT_ALLOW_ALL", "COPILOT_ASSISTED_APPROVAL", "COPILOT_AGENT_SESSION_ID"} <= plan().env_strip
    kept = {"COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "COPILOT_MODEL"}
    assert not kept & plan().env_strip


def test_a_provider_of_the_persons_own_is_who_pays() -> None:
    own = plan(environ={"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1", "COPILOT_PROVIDER_API_KEY": "sk-secret"})
    assert own.billing.pool == "own-provider"
    assert "COPILOT_PROVIDER_BASE_URL" in own.notices[0]
    assert "sk-secret" not in repr(own)
    assert plan().billing == LANE.billing
    assert LANE.billing.pool == "copilot"


def test_ready_by_token_the_github_clis_sign_in_or_provider() -> None:
    version = b"GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.\n"
    alone = readiness(version)
    assert (alone.level, alone.tested) == ("installed", True)
    assert "can't be seen" in alone.detail
    assert alone.fix.startswith("copilot login")
    for found in (
        readiness(version, credentials=("~/.config/gh/hosts.yml",)),
        readiness(version, environ={"GH_TOKEN": "gho-secret"}),
        readiness(version, environ={"COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1"}),
    ):
        assert (found.level, found.version, found.tested) == ("signed-in", "1.0.102", True)
        assert "gho-secret" not in repr(found)


def report(**models: tuple[int, int, int, int]) -> bytes:
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    rows = {name: {"usage": dict(zip(names, counts, strict=True))} for name, counts in models.items()}
    return json.dumps({"totalUserRequests": 1, "modelMetrics": rows}, indent=2).encode()


def told(data: bytes) -> list[LaneEvent]:
    return LANE.parser(TASK).feed(data, Stream.REPORT)


def test_tokens_come_in_a_file_of_the_job_cached_ones_within() -> None:
    assert [(file.name, file.content) for file in plan().files] == [(LANE.report, b"")]
    one = TokenUsage(input=1034, cached_input=200, cache_write=0, output=56)
    assert told(report(m=(1234, 56, 200, 0))) == [UsageReported(usage=one, by_model={"m": one})]
    [both] = told(report(m=(1234, 56, 200, 0), small=(10, 5, 0, 0)))
    assert both.usage == TokenUsage(input=1044, cached_input=200, cache_write=0, output=61)
    assert list(both.by_model) == ["m", "small"]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"modelMetrics": 3}', report(m=(0, 0, 0, 0)), report()])
def test_a_report_without_tokens_leaves_them_unknown(data: bytes) -> None:
    assert told(data) == []


def test_what_one_model_leaves_unknown_is_unknown_in_sum() -> None:
    rows = {"a": {"usage": {"inputTokens": 5, "outputTokens": 1}}, "b": {"usage": {"outputTokens": 2}}}
    [event] = told(json.dumps({"modelMetrics": rows}).encode())
    assert event.usage == TokenUsage(output=3)


def test_names_model_and_conversation_and_no_tokens_without_the_file() -> None:
    seen = replay(LANE, FOLDER, "b").seen
    assert seen.model == "stub-model"
    assert seen.conversation == "bde38a73-19dc-4034-bbaa-6351b9cbd7b8"
    assert seen.usage is None
    assert seen.cash_usd is None


def test_a_request_is_retried_only_where_it_says_so() -> None:
    events = replay(LANE, FOLDER, "c401").events
    assert [(e.attempt, e.status) for e in events if isinstance(e, Retrying)] == [(1, 401), (2, 401)]
    events = replay(LANE, FOLDER, "drop").events
    assert [(e.attempt, e.status) for e in events if isinstance(e, Retrying)] == [(1, None)]


def test_a_spent_quota_is_a_plan_limit() -> None:
    for error in (
        {"errorType": "quota", "message": "No more of them this month."},
        {"errorType": "rate_limit", "message": "Last error: 429 The usage limit has been reached", "statusCode": 429},
    ):
        out = lines({"type": "session.error", "data": error}, {"type": "result", "exitCode": 1})
        assert reading(LANE, out, status=ExitStatus(code=1)).verdict.outcome == "plan-limit"


@pytest.mark.parametrize(
    ("body", "until"),
    [
        ('{"type":"usage_limit_reached","resets_at":1796046005}', 1796046005),
        ('{"resets_at":"soon"}', None),
        ("The usage limit has been reached", None),
        ("[" * 5000, None),
        (7, None),
    ],
)
def test_when_a_limit_ends_is_in_the_provider_s_own_words(body: object, until: float | None) -> None:
    failure = {"type": "model.call_failure", "data": {"statusCode": 429, "errorMessage": body}}
    error = {"errorType": "rate_limit", "message": "429 The usage limit has been reached", "statusCode": 429}
    out = lines(failure, {"type": "session.error", "data": error}, {"type": "result", "exitCode": 1})
    turn = reading(LANE, out, status=ExitStatus(code=1)).seen.turn
    assert turn is not None
    assert (turn.failure, turn.until) == (FailureKind.PLAN_LIMIT, until)


def test_an_error_that_it_got_over_is_none() -> None:
    error = {"type": "session.error", "data": {"errorType": "query", "message": "hiccup"}}
    said = {"type": "assistant.message", "data": {"content": "All good.", "model": "m"}}
    end = {"type": "result", "exitCode": 0, "sessionId": "s"}
    assert reading(LANE, lines(error, said, end)).verdict.state == "done?"
    assert reading(LANE, lines(said, error, end)).verdict.state == "failed"
    assert reading(LANE, lines(said, end | {"exitCode": 1}), status=ExitStatus(code=1)).verdict.state == "failed"
    assert reading(LANE, lines(said, error), status=ExitStatus(code=1)).seen.turn.synthetic


def test_words_of_a_sub_agent_are_not_the_answer() -> None:
    own = {"type": "assistant.message", "data": {"content": "Mine.", "model": "big"}}
    other = {"type": "assistant.message", "data": {"content": "Theirs.", "model": "small", "parentToolCallId": "c"}}
    seen = reading(LANE, lines(own, other, {"type": "result", "exitCode": 0})).seen
    assert (seen.answer, seen.model) == ("Mine.", "big")


def test_kinds_of_a_known_family_are_never_noise_and_others_are() -> None:
    seen = reading(LANE, lines({"type": "session.some_new_thing", "data": {}}, {"type": "elsewhere.thing"})).seen
    assert seen.unrecognised == 1
    seen = reading(LANE, lines({"ephemeral": True, "type": "hook.start"}, {"id": 1, "type": "results"})).seen
    assert seen.unrecognised == 1


def test_refused_tools_are_named() -> None:
    assert replay(LANE, FOLDER, "wall").verdict.note == "2 tool uses refused (create, bash)"
    assert replay(LANE, FOLDER, "e").verdict.note == "1 tool use refused (create)"


@pytest.mark.parametrize("result", [[{"type": "result", "exitCode": 1}], []], ids=["a result", "none"])
@pytest.mark.parametrize(
    ("status", "went_on", "kind"),
    [(401, False, FailureKind.AUTH), (401, True, FailureKind.TASK), (None, False, FailureKind.TASK)],
)
def test_the_last_call_tells_why_where_no_error_is_told(status, went_on, kind, result) -> None:
    failure = {"type": "model.call_failure", "data": {"statusCode": status}}
    message = {"type": "assistant.message", "data": {"content": "so far"}}
    parser = LANE.parser(TASK)
    events = parser.feed(lines(failure, *([message] if went_on else []), *result))
    events += parser.finish(ExitStatus(code=1))
    [end] = [event for event in events if event.kind == "turn_ended"]
    assert (end.ok, end.failure) == (False, kind)


def test_granted_servers_start_and_their_tools_may_be_used() -> None:
    launch = plan(Verb.RUN, servers=("mine", "two"))
    words = flags(launch)
    assert "--available-tools=view,grep,glob,mine,two" in words
    assert "--additional-mcp-config=@{job}/mcp.json --allow-tool=mine --allow-tool=two" in words
    told = json.loads(LANE.servers({"mine": {"command": "x"}, "two": {"url": "https://x", "tools": ["a"]}}))
    assert told == {
        "mcpServers": {"mine": {"tools": ["*"], "command": "x"}, "two": {"tools": ["a"], "url": "https://x"}}
    }


def test_a_namesake_of_the_persons_gives_way_to_a_granted_server() -> None:
    host = Host(environment={}, executables={"copilot": "/bin/copilot"}, own_servers=("mine", "other"))
    launch = LANE.plan(Task(verb=Verb.EDIT, prompt="x", cwd="/w", servers=("mine",)), host)
    assert isinstance(launch, Launch)
    assert "--disable-mcp-server=other" in launch.argv
    assert "--disable-mcp-server=mine" not in launch.argv


@pytest.mark.parametrize("name", ["shell", "Write", "bash", "view", "a,b", "a(b)", "-x", "url"])
def test_a_server_that_would_be_taken_for_a_tool_is_refused(name: str) -> None:
    host = Host(environment={}, executables={"copilot": "/bin/copilot"})
    refused = LANE.plan(Task(verb=Verb.RUN, prompt="x", cwd="/w", servers=(name,)), host)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.BAD_GRANT
