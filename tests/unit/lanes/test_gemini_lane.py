"""The gemini lane: what each verb, model and effort becomes on either vehicle, and how both are read."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from fakes.recorded import STREAMS, TASK, cases, reading, replay
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, ReadinessLevel, Stream, Task
from outsourcerer.lanes.gemini import LANE
from outsourcerer.lanes.gemini.models import Vehicle, choose, newest
from outsourcerer.lanes.gemini.phrases import by_exit
from outsourcerer.lanes.jsonl import coalesce
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, Retrying, TurnEnded
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, JobState, Verb

FOLDER = "gemini/0.61.0-2026-11-30"
GEMINI, BOTH = {"gemini": "/bin/gemini", "agy": None}, {"gemini": "/bin/gemini", "agy": "/bin/agy"}
OK = ExitStatus(code=0)

# case: verdict, outcome, answer, (reads, writes, commands), refusals
CASES = {
    "b": ("done?", "unverified", "Done: created hello.txt and ran the command.", (0, 1, 1), 0),
    "bypass": ("done?", "unverified", "Bypassed.", (0, 1, 1), 0),
    "c": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "c404": ("failed", "model-gone", None, (0, 0, 0), 0),
    "c529": ("failed", "transport", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("failed", "transport", "partial answer ", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 2),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 0), 1),
    "nokey": ("failed", "auth", None, (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "sigint": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "untrusted": ("failed", "launch", None, (0, 0, 0), 0),
}


def host(programs: dict[str, str | None] | None = None, **environment: str) -> Host:
    return Host(environment=environment, executables=programs or GEMINI)


def launch(where: Host, verb: Verb = Verb.RUN, **fields) -> Launch:
    result = LANE.plan(Task(verb=verb, cwd="/w", **({"prompt": "do it"} | fields)), where)
    assert isinstance(result, Launch), result
    return result


def refused(where: Host, verb: Verb = Verb.RUN) -> Refused:
    result = LANE.plan(Task(verb=verb, prompt="do it", cwd="/w"), where)
    assert isinstance(result, Refused), result
    return result


# What is recorded


@pytest.mark.parametrize(("case", "expected"), CASES.items())
def test_each_recorded_case_has_its_verdict(case: str, expected: tuple) -> None:
    replayed = replay(LANE, FOLDER, case)
    assert replayed.row == expected
    assert replayed.seen.unrecognised == 0


def test_every_recorded_case_is_in_the_table() -> None:
    assert cases(FOLDER) == sorted(CASES)


def test_the_model_that_ran_is_named_not_the_one_asked_for_nor_the_router() -> None:
    seen = replay(LANE, FOLDER, "b").seen
    assert seen.model == "gemini-3.8-flash"
    assert seen.conversation == "a034fc29-cb11-4c7f-81de-4658a92959ae"
    assert dict(seen.by_model) == {
        "gemini-3.5-flash-lite": TokenUsage(input=1034, cached_input=200, output=56),
        "gemini-3.8-flash": TokenUsage(input=3102, cached_input=600, output=168),
    }
    assert seen.usage == TokenUsage(input=4136, cached_input=800, output=224)
    assert replay(LANE, FOLDER, "c").seen.model is None  # only the router ever answered
    assert replay(LANE, FOLDER, "c404").seen.usage is None  # zeros are no count


def test_retries_are_read_from_stderr_with_their_status() -> None:
    retries = [event for event in replay(LANE, FOLDER, "c529").events if isinstance(event, Retrying)]
    assert [event.attempt for event in retries] == list(range(1, 11))
    assert {event.status for event in retries[:9]} == {503}
    (retry,) = [event for event in replay(LANE, FOLDER, "crate").events if isinstance(event, Retrying)]
    assert (retry.attempt, retry.status) == (1, 429)


def test_a_limit_that_names_its_wait_has_its_time() -> None:
    line = (
        b'{"type":"result","timestamp":"2026-11-30T08:00:00.000Z","status":"error","error":{"type":"unknown",'
        b'"message":"[API Error: You have exhausted your capacity on this model. Your quota will reset after 1h30m0s.]"},'
        b'"stats":{}}\n'
    )
    seen = reading(LANE, line, status=ExitStatus(code=173)).seen
    assert seen.turn.failure is FailureKind.PLAN_LIMIT
    assert seen.turn.until == datetime(2026, 11, 30, 9, 30, tzinfo=UTC).timestamp()


def test_exit_codes_are_statuses_modulo_256() -> None:
    assert by_exit(173) is FailureKind.RATE_LIMIT
    assert by_exit(145) is FailureKind.AUTH
    assert by_exit(247) is FailureKind.TRANSPORT
    assert by_exit(148) is FailureKind.MODEL_GONE
    assert by_exit(1) is None
    assert reading(LANE, b"", b"something odd\n", ExitStatus(code=173)).verdict.outcome == "rate-limit"


def test_a_signed_line_after_a_tool_call_stands_on_its_own() -> None:
    from fakes.lane_driver import MARKER  # noqa: PLC0415 - needs no CLI, but its module does
    from outsourcerer.lanes.markers import MarkerScanner  # noqa: PLC0415 - as above

    def line(kind: str, **fields: str) -> bytes:
        rest = "".join(f',"{name}":"{value}"' for name, value in fields.items())
        return f'{{"type":"{kind}","timestamp":"2026-11-30T08:00:00Z"{rest}}}\n'.encode()

    parser, scanner = LANE.parser(TASK), MarkerScanner(MARKER)
    data = line("init", session_id="s", model="m") + line("message", role="assistant", content="I look")
    data += line("tool_use", tool_name="glob", tool_id="1") + line("tool_result", tool_id="1", status="success")
    data += line("message", role="assistant", content=f"OSRC::DONE #{MARKER} fine")
    kinds = [event.kind for event in scanner.scan(parser.feed(data) + parser.finish(OK))]
    assert "marked" in kinds


# Any bytes


def whole(out: bytes, err: bytes, cuts: list[int], status: ExitStatus = OK) -> list:
    parser = LANE.parser(TASK)
    events = parser.feed(err, Stream.ERR)
    places = sorted({0, len(out), *(cut % (len(out) + 1) for cut in cuts)})
    for start, end in pairwise(places):
        events += parser.feed(out[start:end])
    return coalesce(events + parser.finish(status))


@pytest.mark.parametrize("case", CASES)
@given(cuts=st.lists(st.integers(0, 20_000), max_size=6))
def test_the_same_events_for_any_cut(case: str, cuts: list[int]) -> None:
    place = STREAMS / FOLDER
    out, err = (place / f"{case}.out").read_bytes(), (place / f"{case}.err").read_bytes()
    assert whole(out, err, cuts) == whole(out, err, [])


@given(
    case=st.sampled_from(sorted(set(CASES) - {"nokey", "untrusted"})),
    seed=st.integers(0, 2**32),
    garbage=st.binary(max_size=60),
)
def test_mangled_streams_never_raise_and_end_well_only_by_their_final_event(
    case: str, seed: int, garbage: bytes
) -> None:
    first, *lines = (STREAMS / FOLDER / f"{case}.out").read_bytes().splitlines(keepends=True)
    chance = random.Random(seed)
    mangled = chance.sample(lines, k=chance.randint(0, len(lines))) + chance.sample(lines, k=min(2, len(lines)))
    mangled.insert(chance.randint(0, len(mangled)), garbage)
    data = b"".join([first, *mangled])[: len(first) + chance.randint(0, 20_000)]
    replayed = reading(LANE, data, garbage)
    if b'"status":"success","stats"' not in data:
        assert replayed.verdict.state not in (JobState.DONE, JobState.DONE_UNVERIFIED)
    assert sum(isinstance(event, TurnEnded) for event in replayed.events) >= 1


# Text of agy


@pytest.mark.parametrize(
    ("out", "err", "code", "expected"),
    [
        (b"Forty-two.\n", b"", 0, ("done?", "unverified")),
        (b'  {"answer": 42}\n', b"", 0, ("done?", "unverified")),
        (b"Error: timeout waiting for response\n", b"", 0, ("failed", "failed")),
        (b"", b"Error: timeout waiting for response\n", 1, ("failed", "exit-nonzero")),
        (b"The code says: error: timeout waiting for response. I fixed it.\n", b"", 0, ("done?", "unverified")),
        (b"Invalid model: gemini-9 is not offered\n", b"", 0, ("failed", "model-gone")),
        (b"", b"Error: Individual quota reached. Resets in 2h.\n", 1, ("failed", "plan-limit")),
        (b"", b"authentication required\n", 1, ("failed", "auth")),
        (b"", b"", 0, ("failed", "empty-output")),
    ],
)
def test_text_is_read_as_agys(out: bytes, err: bytes, code: int, expected: tuple[str, str]) -> None:
    verdict = reading(LANE, out, err, ExitStatus(code=code)).verdict
    if out or code:
        assert (verdict.state, verdict.outcome) == expected
    else:
        assert verdict.state is JobState.FAILED


# Commands


def test_read_only_is_plan_mode_without_its_way_out() -> None:
    plan = launch(host(GEMINI_API_KEY="k"), model="gemini-flash")
    assert plan.argv == (
        *("/bin/gemini", "-o", "stream-json", "--allowed-mcp-server-names", "__none__", "-m", "flash"),
        *("--approval-mode", "plan", "--policy", "{job}/read-only.toml"),
    )
    (policy,) = plan.files
    assert {b'"exit_plan_mode"', b'"run_shell_command"'} <= set(
        policy.content.replace(b",", b" ").replace(b"[", b" ").replace(b"]", b" ").split()
    )
    assert b'decision = "deny"' in policy.content
    assert plan.stdin == b"do it"
    assert plan.env_set == {"GEMINI_CLI_TRUST_WORKSPACE": "true"}
    assert "CLAUDECODE" in plan.env_strip


def test_write_verbs_of_gemini_cli() -> None:
    edit = launch(host(), Verb.EDIT)
    assert edit.argv[-4:] == ("--approval-mode", "auto_edit", "--policy", "{job}/shell.toml")
    assert b'decision = "allow"' in edit.files[0].content
    yolo = launch(host(), Verb.YOLO)
    assert (yolo.argv[-2:], yolo.files) == (("--approval-mode", "yolo"), ())


def test_a_users_own_servers_only_when_asked_for() -> None:
    assert "--allowed-mcp-server-names" not in launch(host(OSRC_GEMINI_USER_MCP="1")).argv


def test_gemini_cli_has_no_sandbox_for_research_but_agy_has() -> None:
    answer = refused(host(), Verb.RESEARCH)
    assert answer.code is RefusalCode.VERB_UNSUPPORTED
    assert "codex" in answer.hint
    assert "--sandbox" in launch(host(BOTH), Verb.RESEARCH).argv
    assert refused(host(BOTH, OSRC_GEMINI_VEHICLE="gemini"), Verb.RESEARCH).code is RefusalCode.VERB_UNSUPPORTED
    assert LANE.verbs[Verb.RESEARCH] is Posture.SANDBOXED


def test_agy_comes_first_unless_the_other_is_forced() -> None:
    assert launch(host(BOTH)).argv[0] == "/bin/agy"
    assert launch(host(BOTH, OSRC_GEMINI_VEHICLE="gemini")).argv[0] == "/bin/gemini"
    assert launch(host(BOTH, OSRC_GEMINI_VEHICLE="auto")).argv[0] == "/bin/agy"
    assert refused(host(GEMINI, OSRC_GEMINI_VEHICLE="agy")).code is RefusalCode.LANE_NOT_READY
    assert refused(host(BOTH, OSRC_GEMINI_VEHICLE="bard")).code is RefusalCode.BAD_CONFIG


def test_agys_command() -> None:
    plan = launch(host(BOTH), Verb.EDIT, model="gemini-3.1-pro", effort=Effort.MAX)
    assert plan.argv == (
        *("/bin/agy", "-p", "do it", "--sandbox", "--dangerously-skip-permissions"),
        *("--model", "gemini-3.1-pro", "--effort", "high", "--print-timeout", "60m"),
    )
    assert plan.stdin is None
    assert launch(host(BOTH, OSRC_AGY_PRINT_TIMEOUT="5m")).argv[-1] == "5m"
    assert launch(host(BOTH, OSRC_AGY_PRINT_TIMEOUT="5m; rm")).argv[-1] == "60m"
    assert "--sandbox" not in launch(host(BOTH), Verb.YOLO).argv
    assert not {"--sandbox", "--dangerously-skip-permissions"} & set(launch(host(BOTH), Verb.RUN).argv)


def test_agy_takes_a_long_prompt_by_file() -> None:
    plan = launch(host(BOTH), prompt="x" * 20_000)
    assert plan.files[0].content == b"x" * 20_000
    assert plan.files[0].name in plan.argv[2]
    assert max(map(len, plan.argv)) < 300


@pytest.mark.parametrize(
    ("environment", "pool"),
    [
        ({}, "gemini-code-assist"),
        ({"GEMINI_API_KEY": "k"}, "gemini-api"),
        ({"GEMINI_API_KEY": "k", "GOOGLE_GENAI_USE_GCA": "true"}, "gemini-code-assist"),
        ({"GEMINI_API_KEY": "k", "GOOGLE_GENAI_USE_VERTEXAI": "true"}, "google-cloud"),
    ],
)
def test_who_pays_for_gemini_cli(environment: dict[str, str], pool: str) -> None:
    assert launch(host(**environment)).billing.pool == pool
    assert launch(host(BOTH, **environment)).billing.pool == "antigravity"


def test_a_key_found_elsewhere_goes_into_the_environment_alone() -> None:
    where = Host(environment={}, executables=GEMINI, secrets={"GEMINI_API_KEY": "found"})
    plan = launch(where)
    assert plan.env_set["GEMINI_API_KEY"] == "found"
    assert plan.billing.pool == "gemini-api"
    assert not any("found" in item for item in plan.argv)


# Models and efforts


@pytest.mark.parametrize(
    ("model", "effort", "vehicle", "expected"),
    [
        ("gemini-pro", None, "gemini", ("pro", None)),
        ("gemini-flash-lite", None, "gemini", ("flash-lite", None)),
        ("gemini-3.5-flash", Effort.HIGH, "gemini", ("gemini-3.5-flash", None)),
        ("gemini-flash", None, "agy", ("gemini-3.8-flash", "medium")),
        ("gemini-flash-lite", Effort.LOW, "agy", ("gemini-3.8-flash", "low")),
        ("gemini-pro", None, "agy", ("gemini-3.1-pro", "high")),
        ("gemini-pro", Effort.MINIMAL, "agy", ("gemini-3.1-pro", "low")),
        ("gemini-3.1-pro-low", None, "agy", ("gemini-3.1-pro-low", None)),
        ("gemini-3.1-pro-low", Effort.HIGH, "agy", ("gemini-3.1-pro-low", None)),
        ("claude-opus-4-6", Effort.MEDIUM, "agy", ("claude-opus-4-6", "medium")),
        (None, Effort.HIGH, "agy", (None, None)),
        (None, None, "gemini", (None, None)),
    ],
)
def test_what_a_model_and_an_effort_become(model, effort, vehicle, expected) -> None:
    chosen = choose(model, effort, Vehicle(vehicle), {})
    assert (chosen.model, chosen.effort) == expected


@pytest.mark.parametrize(
    ("model", "effort", "vehicle", "words"),
    [
        ("gemini-flash-lite", Effort.LOW, "agy", "no flash-lite"),
        ("gemini-pro", Effort.MEDIUM, "agy", "no effort medium; high"),
        ("gemini-flash", Effort.MAX, "agy", "no effort max; high"),
        ("gemini-3.1-pro-low", Effort.HIGH, "agy", "names its own effort: low"),
        (None, Effort.HIGH, "agy", "in the prompt only"),
        ("gemini-pro", Effort.HIGH, "gemini", "no effort setting"),
    ],
)
def test_a_change_is_always_said(model, effort, vehicle, words: str) -> None:
    assert words in " ".join(choose(model, effort, Vehicle(vehicle), {}).notices)


def test_a_pin_outranks_a_catalogue_and_a_catalogue_the_last_known() -> None:
    catalogue = ("gemini-3.9-flash-preview", "gemini-3.9-flash-high", "gemini-3.10-flash-low", "gemini-4.0-pro", "x")
    assert newest(catalogue, "flash") == "gemini-3.10-flash"
    assert newest(catalogue[:2], "flash") == "gemini-3.9-flash"
    assert newest(catalogue, "flash-lite") is None
    assert choose("gemini-flash", None, Vehicle.AGY, {}, catalogue).model == "gemini-3.10-flash"
    pinned = {"OSRC_AGY_FLASH_DEFAULT": "gemini-3.7-flash", "OSRC_GEMINI_PRO_API_ID": "--evil"}
    assert choose("gemini-flash", None, Vehicle.AGY, pinned, catalogue).model == "gemini-3.7-flash"
    assert choose("gemini-pro", None, Vehicle.GEMINI, pinned).model == "pro"
    gone = choose("gemini-3.1-pro", Effort.LOW, Vehicle.AGY, {}, catalogue)
    assert gone.model == "gemini-4.0-pro"
    assert "no longer lists gemini-3.1-pro" in gone.notices[0]
    assert choose("gemini-3.9-flash", None, Vehicle.AGY, {}, catalogue).model == "gemini-3.9-flash"


# Readiness


def test_readiness_of_each_vehicle() -> None:
    def level(where: Host, version: bytes | None = b"0.61.0\n", *credentials: str) -> ReadinessLevel:
        return LANE.probe(ProbeFacts(host=where, version_output=version, credentials=frozenset(credentials))).level

    nothing = {"gemini": None, "agy": None}
    assert level(host(nothing)) is ReadinessLevel.ABSENT
    assert level(host(GEMINI)) is ReadinessLevel.INSTALLED
    assert level(host(GEMINI, GEMINI_API_KEY="k")) is ReadinessLevel.SIGNED_IN
    assert level(host(GEMINI), b"0.61.0", "~/.gemini/oauth_creds.json") is ReadinessLevel.SIGNED_IN
    assert level(host(GEMINI), b"0.61.0", "~/.gemini/antigravity-cli") is ReadinessLevel.INSTALLED
    assert level(host(BOTH)) is ReadinessLevel.INSTALLED
    assert level(host(BOTH), None, "~/.gemini/antigravity-cli") is ReadinessLevel.SIGNED_IN
    assert level(host(BOTH, OSRC_GEMINI_VEHICLE="bard")) is ReadinessLevel.ABSENT
    assert level(host(GEMINI), b"0.1.9") is ReadinessLevel.INSTALLED
    assert LANE.probe(ProbeFacts(host=host(BOTH))).tested is False
