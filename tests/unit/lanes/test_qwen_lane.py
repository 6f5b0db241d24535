"""The qwen lane: what each verb becomes, how its stream is read, and when its retries are pointless."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import pytest
from fakes.recorded import STREAMS, TASK, cases, reading, replay
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Host, Launch, ProbeFacts, ReadinessLevel, Stream, Task
from outsourcerer.lanes.jsonl import coalesce
from outsourcerer.lanes.qwen import LANE
from outsourcerer.lanes.qwen.events import MOST_ATTEMPTS
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import FailureKind, Retrying, Spoke, TurnEnded
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, JobState, Verb

FOLDER = "qwen/0.24.4-2026-11-30"
OPENAI = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://x/v1", "OPENAI_MODEL": "m"}
OK = ExitStatus(code=0)

# case: verdict, outcome, answer, (reads, writes, commands), refusals
CASES = {
    "b": ("done?", "unverified", "Done: created hello.txt and ran the command.", (0, 1, 1), 0),
    "bypass": ("done?", "unverified", "Bypassed.", (0, 1, 1), 0),
    "c": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "c401": ("failed", "auth", None, (0, 0, 0), 0),
    "c529": ("interrupted", "interrupted", None, (0, 0, 0), 0),
    "cplan": ("interrupted", "interrupted", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("done?", "unverified", "partial answer recovered after the drop", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 2),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 0), 1),
    "noauth": ("failed", "auth", None, (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "quota": ("failed", "plan-limit", None, (0, 0, 0), 0),
}
BY_SIGNAL = ("sigint", "sigterm")
"""The server was gone by the time it gave up: the same sentence of transport, and words before it."""


def host(**environment: str) -> Host:
    return Host(environment=environment, executables={"qwen": "/bin/qwen"})


def launch(where: Host | None = None, verb: Verb = Verb.RUN, **fields) -> Launch:
    result = LANE.plan(Task(verb=verb, prompt="do it", cwd="/w", **fields), where or host())
    assert isinstance(result, Launch), result
    return result


# What is recorded


@pytest.mark.parametrize(("case", "expected"), CASES.items())
def test_each_recorded_case_has_its_verdict(case: str, expected: tuple) -> None:
    replayed = replay(LANE, FOLDER, case)
    assert replayed.row == expected
    assert replayed.seen.unrecognised == 0


@pytest.mark.parametrize("case", BY_SIGNAL)
def test_an_end_by_signal_tells_what_it_was_doing(case: str) -> None:
    verdict = replay(LANE, FOLDER, case).verdict
    assert (verdict.state, verdict.outcome) == ("failed", "transport")


def test_every_recorded_case_is_in_the_tables() -> None:
    assert cases(FOLDER) == sorted((*CASES, *BY_SIGNAL))


def test_model_conversation_and_tokens() -> None:
    seen = replay(LANE, FOLDER, "b").seen
    assert seen.model == "stub-model"
    assert seen.conversation == "9cb05ea6-ed64-4c2e-bc04-9f3baeefac94"
    assert seen.usage == TokenUsage(input=3102, cached_input=600, output=168)
    assert replay(LANE, FOLDER, "c401").seen.usage is None  # zeros of a failed turn are no count


def test_refusals_are_named_once() -> None:
    assert replay(LANE, FOLDER, "eshell").verdict.note == "1 tool use refused (run_shell_command)"


# Retries


def line(**fields) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def told(attempt: int, words: str = "[API Error: 429 Rate limit reached]") -> bytes:
    return f"Retrying in {60 * attempt}s (attempt {attempt}/10): {words}\n".encode()


def announced(attempt: int) -> bytes:
    return line(type="system", subtype="retry", session_id="s", data={"attempt": attempt, "delayMs": 60000 * attempt})


SPENT = "[API Error: 429 You exceeded your current quota, please check your plan and billing details.]"


def test_a_retry_is_one_event_whichever_stream_tells_it_first() -> None:
    parser = LANE.parser(TASK)
    (event,) = parser.feed(told(1), Stream.ERR)
    assert (event.attempt, event.status, event.delay_s) == (1, 429, 60.0)
    assert [e for e in parser.feed(announced(1)) if isinstance(e, Retrying)] == []
    assert [e.delay_s for e in parser.feed(announced(2)) if isinstance(e, Retrying)] == [120.0]


def test_a_spent_account_is_final_at_the_first_wait() -> None:
    events = LANE.parser(TASK).feed(told(1, SPENT), Stream.ERR)
    (end,) = [event for event in events if isinstance(event, TurnEnded)]
    assert (end.ok, end.failure, end.synthetic) == (False, FailureKind.PLAN_LIMIT, False)
    assert "would go on retrying" in end.message


def test_a_busy_service_is_waited_for_but_not_for_ever() -> None:
    parser = LANE.parser(TASK)
    events = [event for attempt in range(1, MOST_ATTEMPTS) for event in parser.feed(told(attempt), Stream.ERR)]
    assert not any(isinstance(event, TurnEnded) for event in events)
    (end,) = [event for event in parser.feed(told(MOST_ATTEMPTS), Stream.ERR) if isinstance(event, TurnEnded)]
    assert end.failure is FailureKind.RATE_LIMIT
    assert [event for event in parser.finish(ExitStatus(signal=15)) if isinstance(event, TurnEnded)] == []


def test_a_model_that_is_heard_again_reopens_the_turn() -> None:
    parser = LANE.parser(TASK)
    parser.feed(told(1, SPENT), Stream.ERR)
    block = {"type": "text", "text": "Back."}
    events = parser.feed(line(type="assistant", session_id="s", parent_tool_use_id=None, message={"content": [block]}))
    events += parser.feed(line(type="result", session_id="s", is_error=False, result="Back."))
    assert [event.ok for event in events if isinstance(event, TurnEnded)] == [True]


def test_its_own_error_sentences_are_not_the_models_words() -> None:
    assert not any(isinstance(event, Spoke) for event in replay(LANE, FOLDER, "c401").events)
    assert not any(isinstance(event, Spoke) for event in replay(LANE, FOLDER, "quota").events)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("[API Error: 401 Incorrect API key provided: test.]", FailureKind.AUTH),
        ("[API Error: 404 The model `x` does not exist]", FailureKind.MODEL_GONE),
        ("[API Error: 503 busy]", FailureKind.TRANSPORT),
        ("[API Error: Connection error. (cause: connect ECONNREFUSED 127.0.0.1:1)]", FailureKind.TRANSPORT),
        ("[API Error: terminated (cause: Response does not match the HTTP/1.1 protocol)]", FailureKind.TRANSPORT),
        ("Quota exhausted: hour allocated quota exceeded, it will reset at 15:04", FailureKind.PLAN_LIMIT),
        ("[API Error: 429 Rate limit reached for x]", FailureKind.RATE_LIMIT),
        ("I could not find the function", FailureKind.TASK),
    ],
)
def test_why_a_turn_failed(words: str, kind: FailureKind) -> None:
    data = line(type="result", subtype="error_during_execution", is_error=True, error={"message": words})
    assert reading(LANE, data, status=ExitStatus(code=1)).seen.turn.failure is kind


# Any bytes


def whole(out: bytes, err: bytes, cuts: list[int]) -> list:
    parser = LANE.parser(TASK)
    places = sorted({0, len(out), *(cut % (len(out) + 1) for cut in cuts)})
    events = [event for start, end in pairwise(places) for event in parser.feed(out[start:end])]
    return coalesce(events + parser.feed(err, Stream.ERR) + parser.finish(OK))


@pytest.mark.parametrize("case", CASES)
@given(cuts=st.lists(st.integers(0, 20_000), max_size=6))
def test_the_same_events_for_any_cut(case: str, cuts: list[int]) -> None:
    place = STREAMS / FOLDER
    out, err = (place / f"{case}.out").read_bytes(), (place / f"{case}.err").read_bytes()
    assert whole(out, err, cuts) == whole(out, err, [])


@given(case=st.sampled_from(sorted(CASES)), seed=st.integers(0, 2**32), garbage=st.binary(max_size=60))
def test_mangled_streams_never_raise_and_end_well_only_by_their_final_event(
    case: str, seed: int, garbage: bytes
) -> None:
    lines = (STREAMS / FOLDER / f"{case}.out").read_bytes().splitlines(keepends=True)
    chance = random.Random(seed)
    mangled = chance.sample(lines, k=chance.randint(0, len(lines))) + chance.sample(lines, k=min(2, len(lines)))
    mangled.insert(chance.randint(0, len(mangled)), garbage)
    data = b"".join(mangled)[: chance.randint(0, 30_000)]
    replayed = reading(LANE, data, garbage)
    if b'"is_error":false,"duration_ms"' not in data:
        assert replayed.verdict.state not in (JobState.DONE, JobState.DONE_UNVERIFIED)
    assert sum(isinstance(event, TurnEnded) for event in replayed.events) >= 1


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["type", "message", "content", "text", "id", "usage", "data"]), inner)
        ),
    )
)
def test_any_object_of_a_known_type_is_harmless(value: object) -> None:
    for kind in ("system", "assistant", "user", "result", "stream_event"):
        shapes = {"message": value, "usage": value, "error": value, "data": value, "permission_denials": value}
        reading(LANE, line(type=kind, subtype="retry", event=value, session_id=value, **shapes))


# Commands


def test_read_only_is_plan_mode_that_makes_no_worktree() -> None:
    for verb in (Verb.RUN, Verb.EXPLORE):
        plan = launch(verb=verb, model="m")
        assert plan.argv == (
            *("/bin/qwen", "-o", "stream-json", "--allowed-mcp-server-names", "__none__", "-m", "m"),
            *("--approval-mode", "plan", "--exclude-tools", "enter_worktree", "exit_worktree", "cron_create"),
        )
        assert plan.stdin == b"do it"
        assert "CLAUDECODE" in plan.env_strip


def test_write_verbs_name_their_mode() -> None:
    assert launch(verb=Verb.EDIT).argv[-4:] == ("--approval-mode", "auto-edit", "--allowed-tools", "run_shell_command")
    assert launch(verb=Verb.YOLO).argv[-2:] == ("--approval-mode", "yolo")
    result = LANE.plan(Task(verb=Verb.RESEARCH, prompt="x", cwd="/"), host())
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.VERB_UNSUPPORTED
    assert "codex" in result.hint


def test_a_users_own_servers_only_when_asked_for() -> None:
    assert "--allowed-mcp-server-names" not in launch(host(OSRC_QWEN_USER_MCP="1")).argv


def test_who_pays_follows_the_environment() -> None:
    assert launch(host(**OPENAI)).billing.pool == "openai-compatible"
    assert launch(host(OPENAI_API_KEY="k")).billing is None
    assert LANE.billing.kind == "unknown"
    assert not any(item == "k" for item in launch(host(**OPENAI)).argv)


def test_a_named_model_completes_what_the_environment_leaves_open() -> None:
    where = host(OPENAI_API_KEY="k", OPENAI_BASE_URL="https://x/v1")
    assert launch(where, model="q").env_set == {"OPENAI_MODEL": "q"}
    assert launch(where, model="q").billing.pool == "openai-compatible"
    assert launch(host(**OPENAI), model="q").env_set == {}


def test_effort_is_said_to_be_words_only() -> None:
    assert "in the prompt only" in launch(effort=Effort.HIGH).notices[0]
    assert launch().notices == ()


def test_readiness() -> None:
    def level(where: Host, version: bytes = b"0.24.4\n", *credentials: str) -> ReadinessLevel:
        return LANE.probe(ProbeFacts(host=where, version_output=version, credentials=frozenset(credentials))).level

    assert level(Host(environment={}, executables={})) is ReadinessLevel.ABSENT
    assert level(host()) is ReadinessLevel.INSTALLED
    assert level(host(OPENAI_API_KEY="k")) is ReadinessLevel.INSTALLED  # no provider without a base URL and a model
    assert level(host(**OPENAI)) is ReadinessLevel.SIGNED_IN
    assert level(host(), b"0.24.4", "~/.qwen/settings.json") is ReadinessLevel.SIGNED_IN
    assert level(host(**OPENAI), b"0.1.0") is ReadinessLevel.INSTALLED
