"""The droid lane: its command, its recorded streams, and lines that no recording holds."""

from __future__ import annotations

import json

import pytest
from fakes.recorded import cases, reading, replay
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, SessionTask, Task
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, TurnEnded
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

LANE = builtin("droid")
FOLDER = "droid/0.215.0-2026-11-30"


def plan(verb: Verb = Verb.RUN, environ: dict[str, str] | None = None, **fields: object) -> Launch:
    host = Host(environment=environ or {}, executables={"droid": "/bin/droid"})
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
    "c": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "c529": ("failed", "empty-output", None, (0, 0, 0), 0),
    "cplan": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("done?", "unverified", "recovered after the drop", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 1), 0),
    "early": (
        "permission-blocked",
        "permission",
        "Exec ended early: insufficient permission to proceed. Re-run with --auto high. For destructive commands, use --skip-permissions-unsafe.",
        (0, 0, 0),
        1,
    ),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 1, 1), 0),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 1), 0),
    "nokey": ("failed", "auth", None, (0, 0, 0), 0),
    "nomodel": ("failed", "model-gone", None, (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "resume": ("failed", "exit-nonzero", None, (0, 0, 0), 0),
    "sigint": ("failed", "empty-output", None, (0, 0, 0), 0),
    "sigterm": ("failed", "empty-output", None, (0, 0, 0), 0),
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
    host = Host(environment={}, executables={"droid": "/bin/droid"})
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
    host = Host(environment=environ or {}, executables={"droid": "/bin/droid"})
    return LANE.probe(ProbeFacts(host=host, version_output=output, credentials=frozenset(credentials)))


def test_absent_says_how_to_get_it() -> None:
    bare = Host(environment={}, executables={})
    absent = LANE.probe(ProbeFacts(host=bare))
    assert absent.level == "absent"
    assert "npm install" in absent.fix
    refused = LANE.plan(Task(verb=Verb.RUN, prompt="x", cwd="/"), bare)
    assert isinstance(refused, Refused)
    assert "npm install" in refused.hint


WORK_TOOLS = "Read,LS,Grep,Glob,Execute,Edit,Create,ApplyPatch,TaskOutput,TaskStop,Skill"


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (Verb.RUN, "--only-tools Read,LS,Grep,Glob"),
        (Verb.EXPLORE, "--only-tools Read,LS,Grep,Glob"),
        (Verb.EDIT, f"--auto medium --only-tools {WORK_TOOLS}"),
        (Verb.YOLO, f"--skip-permissions-unsafe --only-tools {WORK_TOOLS}"),
    ],
)
def test_verbs_are_tool_lists_and_autonomy_levels(verb: Verb, words: str) -> None:
    assert flags(plan(verb)) == f"exec -o stream-json {words}"
    assert LANE.verbs[Verb.EDIT] is Posture.MUTATING


def test_the_persons_servers_come_only_when_they_are_wanted() -> None:
    host = Host(environment={"OSRC_DROID_USER_MCP": "1"}, executables={"droid": "/bin/droid"})
    wanted = LANE.plan(Task(verb=Verb.EDIT, prompt="do it", cwd="/w"), host)
    assert flags(wanted) == "exec -o stream-json --auto medium"
    reading = LANE.plan(Task(verb=Verb.RUN, prompt="do it", cwd="/w"), host)
    assert flags(reading) == "exec -o stream-json --only-tools Read,LS,Grep,Glob"


def test_model_and_effort() -> None:
    assert flags(plan(model="glm-5.3", effort=Effort.MAX)).endswith("-m glm-5.3 -r max")


def test_a_model_of_the_persons_own_is_not_billed_by_factory() -> None:
    assert plan(model="custom:Mine-0").billing.pool == "own-provider"
    assert plan(model="glm-5.3").billing is None
    assert LANE.billing.pool == "factory"


def test_the_autonomy_of_a_session_around_it_is_not_inherited() -> None:
    assert {"FACTORY_EXEC_TARGET_AUTONOMY", "FACTORY_DISABLE_SETTINGS_PERSISTENCE"} <= plan().env_strip
    assert "FACTORY_API_KEY" not in plan().env_strip


def test_ready_by_key_sign_in_or_own_models() -> None:
    assert readiness(b"0.215.0\n").level == "installed"
    for found in (
        readiness(b"0.215.0\n", credentials=("~/.factory/settings.json",)),
        readiness(b"0.215.0\n", environ={"FACTORY_API_KEY": "fk-secret"}),
    ):
        assert (found.level, found.version, found.tested) == ("signed-in", "0.215.0", True)
        assert "fk-secret" not in repr(found)
    assert readiness(b"0.100.0").level == "installed"


def test_names_model_conversation_and_uncached_tokens() -> None:
    seen = replay(LANE, FOLDER, "b").seen
    assert seen.model == "custom:Stub-0"
    assert seen.conversation == "857fe34d-d196-4f9e-81dd-3cc71fe2c82b"
    assert seen.usage == TokenUsage(input=3102, cached_input=600, cache_write=0, output=168)
    assert seen.cash_usd is None


def test_the_reason_comes_before_the_end_and_is_kept() -> None:
    why = {"type": "error", "source": "agent_loop", "message": "503 no capacity"}
    end = {"type": "error", "source": "cli", "message": "Exec failed"}
    ended = reading(LANE, lines(why, end), status=ExitStatus(code=1))
    assert ended.verdict.outcome == "transport"
    assert ended.seen.turn == TurnEnded(ok=False, failure=FailureKind.TRANSPORT, message="503 no capacity")
    cut = reading(LANE, lines(why), status=ExitStatus(code=1))
    assert (cut.verdict.outcome, cut.seen.turn.synthetic) == ("transport", True)
    alone = reading(LANE, lines(end), status=ExitStatus(code=1))
    assert (alone.verdict.outcome, alone.seen.turn.message) == ("failed", "Exec failed")


def test_a_payment_that_is_due_is_a_plan_limit() -> None:
    out = lines(
        {"type": "error", "source": "agent_loop", "message": "402 Payment Required"},
        {"type": "error", "source": "cli", "message": "Exec failed"},
    )
    assert reading(LANE, out, status=ExitStatus(code=1)).verdict.outcome == "plan-limit"


def test_refused_tools_are_named() -> None:
    assert replay(LANE, FOLDER, "wall").verdict.note == "2 tool uses refused (Create, Execute)"


def test_zero_tokens_are_unknown_tokens() -> None:
    usage = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0}
    ended = reading(LANE, lines({"type": "completion", "finalText": "x", "usage": usage}))
    assert ended.seen.usage is None
    assert ended.seen.answer == "x"


def test_an_answer_over_the_cap_is_still_an_end() -> None:
    long = lines({"type": "completion", "finalText": "y" * 1_200_000})
    ended = reading(LANE, lines({"type": "message", "role": "assistant", "text": "short"}) + long)
    assert ended.verdict.state == "done?"
    assert "only in the log" in ended.verdict.note
    dead = reading(LANE, lines({"type": "message", "role": "assistant", "text": "z" * 1_200_000}))
    assert dead.seen.initialised
    assert dead.verdict.state == "failed"


def told(launch: Launch) -> dict[str, object] | None:
    """The settings of the run that the command brings with it."""
    assert launch.env_set.get("FACTORY_RUNTIME_SETTINGS_PATH", "{job}/").startswith("{job}/")
    return json.loads(launch.files[0].content) if launch.files else None


def test_no_server_is_started_unless_the_persons_own_are_wanted():
    for verb in (Verb.RUN, Verb.EDIT):
        launch = plan(verb)
        assert told(launch) == {"mcpPolicy": {"enabled": True, "allowlist": []}}
        assert launch.env_set["FACTORY_RUNTIME_SETTINGS_PATH"] == "{job}/" + launch.files[0].name
    wanted = plan(Verb.EDIT, {"OSRC_DROID_USER_MCP": "1"})
    assert (told(wanted), dict(wanted.env_set)) == (None, {})
    for transport in ("acp", "pty"):
        host = Host(environment={}, executables={"droid": "/bin/droid"})
        session = LANE.sessions[transport](SessionTask(cwd="/w"), host)
        assert json.loads(session.files[0].content)["mcpPolicy"]["enabled"] is True


def test_granted_servers_and_no_others_are_allowed():
    rows = {
        "mine": {"command": "npx", "args": ["-y", "a-server"], "env": {"A": "1"}},
        "far": {"url": "https://mcp.example:8443/x"},
    }
    settings = json.loads(LANE.servers(rows))
    mark, host = settings["mcpPolicy"]["allowlist"]
    mine, far = (settings["mcp"]["mcpServers"][name] for name in ("mine", "far"))
    assert (mine["command"], mine["args"], mine["env"]) == ("/usr/bin/env", [mark, "npx", "-y", "a-server"], {"A": "1"})
    assert (far["type"], far["url"], host) == ("http", "https://mcp.example:8443/x", "mcp.example")
    assert settings["mcpAutonomyOverrides"] == {name: {"defaultLevel": "low"} for name in rows}
    assert mark.startswith("OSRC_GRANTED=")
    assert json.loads(LANE.servers({"far": rows["far"]}))["mcpPolicy"]["allowlist"] == ["mcp.example"]
    for odd in ({"url": "http://[x"}, {"command": None, "args": 3}, {}):
        assert json.loads(LANE.servers({"odd": odd}))["mcpPolicy"]["enabled"] is True


def test_a_granted_server_is_named_among_the_tools_or_refused():
    launch = plan(servers=("mine",))
    assert flags(launch).endswith("--only-tools Read,LS,Grep,Glob,MCP:mine")
    assert launch.env_set == {"FACTORY_RUNTIME_SETTINGS_PATH": "{job}/mcp.json"}
    assert launch.files == ()
    host = Host(environment={}, executables={"droid": "/bin/droid"})
    for name in ("a,b", "a b", "-x", "ü"):
        refused = LANE.plan(Task(verb=Verb.RUN, prompt="x", cwd="/w", servers=(name,)), host)
        assert isinstance(refused, Refused)
        assert refused.code is RefusalCode.BAD_GRANT
