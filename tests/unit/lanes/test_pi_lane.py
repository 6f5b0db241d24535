"""The pi lane: its command, its recorded streams, and lines that no recording holds."""

from __future__ import annotations

import json

import pytest
from fakes.recorded import cases, reading, replay
from outsourcerer.lanes.contract import Host, Launch, Posture, ProbeFacts, Task
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.job import ExitStatus, TokenUsage
from outsourcerer.messages.lane_events import Retrying, TurnEnded
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Verb

LANE = builtin("pi")
FOLDER = "pi/0.73.1-2026-11-30"


def plan(verb: Verb = Verb.RUN, environ: dict[str, str] | None = None, **fields: object) -> Launch:
    host = Host(environment=environ or {}, executables={"pi": "/bin/pi"})
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
    "c529": ("failed", "transport", None, (0, 0, 0), 0),
    "cplan": ("failed", "plan-limit", None, (0, 0, 0), 0),
    "crate": ("done?", "unverified", "recovered after one 429", (0, 0, 0), 0),
    "d": ("done?", "unverified", "one two three four five six", (0, 0, 0), 0),
    "drop": ("done?", "unverified", "recovered after the drop", (0, 0, 0), 0),
    "e": ("done?", "unverified", "I could not edit the file.", (0, 0, 0), 1),
    "edeny": ("done?", "unverified", "I could not edit the file.", (0, 1, 1), 0),
    "edit": ("done?", "unverified", "Edited.", (1, 1, 0), 0),
    "eforce": ("done?", "unverified", "Forced edit attempted.", (0, 0, 0), 1),
    "eshell": ("done?", "unverified", "Shell write attempted.", (0, 0, 0), 1),
    "nokey": ("failed", "auth", None, (0, 0, 0), 0),
    "nomodel": ("failed", "model-gone", None, (0, 0, 0), 0),
    "proxy": ("done?", "unverified", "Hello from the stub. All good.", (0, 0, 0), 0),
    "resume": ("done?", "unverified", "Second turn answered.", (0, 0, 0), 0),
    "sigint": ("interrupted", "interrupted", None, (0, 0, 0), 0),
    "sigterm": ("interrupted", "interrupted", None, (0, 0, 0), 0),
}


@pytest.mark.parametrize("case", CASES)
def test_each_recorded_run_has_its_verdict(case: str) -> None:
    replayed = replay(LANE, FOLDER, case)
    assert replayed.row == CASES[case]
    assert replayed.seen.unrecognised == 0


def test_every_recorded_run_is_in_the_table() -> None:
    assert cases(FOLDER) == sorted(CASES)


def test_there_is_no_sandbox_for_research() -> None:
    host = Host(environment={}, executables={"pi": "/bin/pi"})
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
    host = Host(environment=environ or {}, executables={"pi": "/bin/pi"})
    return LANE.probe(ProbeFacts(host=host, version_output=output, credentials=frozenset(credentials)))


def test_absent_says_how_to_get_it() -> None:
    bare = Host(environment={}, executables={})
    absent = LANE.probe(ProbeFacts(host=bare))
    assert absent.level == "absent"
    assert "npm install" in absent.fix
    refused = LANE.plan(Task(verb=Verb.RUN, prompt="x", cwd="/"), bare)
    assert isinstance(refused, Refused)
    assert "npm install" in refused.hint


READ_ONLY = " --tools read,grep,find,ls --no-extensions"


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        (Verb.RUN, READ_ONLY),
        (Verb.EXPLORE, READ_ONLY),
        (Verb.EDIT, " --tools read,bash,edit,write,grep,find,ls"),
        (Verb.YOLO, ""),
    ],
)
def test_verbs_are_tool_lists(verb: Verb, words: str) -> None:
    assert flags(plan(verb)) == f"-p --mode json{words}"
    assert LANE.verbs[Verb.EDIT] is Posture.MUTATING


def test_that_it_asks_nobody_is_said_under_edit() -> None:
    assert "asks nobody" in plan(Verb.EDIT).notices[0]
    assert plan(Verb.RUN).notices == ()


def test_model_and_effort() -> None:
    assert flags(plan(model="openai/gpt-5.5", effort=Effort.HIGH)).endswith("--model openai/gpt-5.5 --thinking high")
    most = plan(effort=Effort.MAX)
    assert flags(most).endswith("--thinking xhigh")
    assert most.notices == ("pi has no effort max; xhigh is used.",)


def test_ready_by_key_or_own_models() -> None:
    alone = readiness(b"0.73.1\n")
    assert (alone.level, alone.tested) == ("installed", True)
    assert "can't be seen" in alone.detail
    assert "/login" in alone.fix
    for found in (
        readiness(b"0.73.1\n", credentials=("~/.pi/agent/models.json",)),
        readiness(b"0.73.1\n", environ={"OPENAI_API_KEY": "sk-secret"}),
    ):
        assert (found.level, found.version, found.tested) == ("signed-in", "0.73.1", True)
        assert "sk-secret" not in repr(found)


def test_adds_up_the_tokens_and_list_price_of_its_messages() -> None:
    seen = replay(LANE, FOLDER, "b").seen
    assert seen.model == "stub-model"
    assert seen.conversation == "01a22ba6-8f9d-730d-947d-876655e49440"
    usage = TokenUsage(input=3102, cached_input=600, cache_write=0, output=168)
    assert seen.usage == usage
    assert seen.by_model == (("stub-model", usage),)
    assert seen.cash_usd == pytest.approx(0.003438)


def message(stop: str, text: str = "Said.", **fields: object) -> dict[str, object]:
    body = {"role": "assistant", "content": [{"type": "text", "text": text}], "model": "m", "stopReason": stop}
    return {"type": "message_end", "message": body | fields}


END = {"type": "agent_end", "messages": []}


def test_its_exit_code_says_nothing_and_its_last_message_all() -> None:
    assert reading(LANE, lines(message("stop"), END)).verdict.state == "done?"
    for stop, outcome in (("length", "output-limit"), ("aborted", "interrupted"), ("a-new-one", "failed")):
        ended = reading(LANE, lines(message(stop), END))
        assert ended.verdict.outcome == outcome
        assert not ended.seen.turn.synthetic
    gone = reading(LANE, lines(message("error", errorMessage="401 Incorrect API key provided"), END))
    assert gone.verdict.outcome == "auth"


def test_an_error_is_final_only_when_nobody_tries_again() -> None:
    failed = message("error", errorMessage="503 busy")
    again = {"type": "auto_retry_start", "attempt": 1, "delayMs": 2000, "errorMessage": "503 busy"}
    start = {"type": "agent_start"}
    recovered = reading(LANE, lines(failed, END, again, start, message("stop"), END))
    assert recovered.verdict.state == "done?"
    [retry] = [event for event in recovered.events if isinstance(event, Retrying)]
    assert (retry.attempt, retry.status, retry.delay_s) == (1, 503, 2.0)
    given_up = {"type": "auto_retry_end", "success": False, "attempt": 3, "finalError": "503 busy"}
    ended = reading(LANE, lines(failed, END, again, start, failed, END, given_up))
    assert ended.verdict.outcome == "transport"
    assert sum(isinstance(event, TurnEnded) for event in ended.events) == 1
    killed = reading(LANE, lines(failed, END, again), status=ExitStatus(signal=9))
    assert killed.verdict.state == "interrupted"


def test_an_error_before_a_retry_is_not_the_answer() -> None:
    cut = message("error", text="Half of", errorMessage="terminated")
    assert reading(LANE, lines(cut, END)).seen.answer is None
    assert reading(LANE, lines(cut, END)).verdict.outcome == "transport"
    said = message("error", errorMessage="the contract was terminated by us")
    assert reading(LANE, lines(said, END)).verdict.outcome == "failed"


def test_the_model_that_answered_outranks_the_one_that_was_asked() -> None:
    assert reading(LANE, lines(message("stop", responseModel="m-2026"), END)).seen.model == "m-2026"


def test_zero_tokens_are_unknown_tokens() -> None:
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    assert reading(LANE, lines(message("stop", usage=nothing), END)).seen.usage is None
    unpriced = {"input": 5, "output": 2, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    seen = reading(LANE, lines(message("stop", usage=unpriced), END)).seen
    assert seen.usage == TokenUsage(input=5, cached_input=0, cache_write=0, output=2)
    assert seen.cash_usd is None


def test_lines_over_the_cap_are_read_at_their_ends() -> None:
    long = message("stop", text="y" * 1_200_000)
    whole = lines(message("toolUse", text="First."), long, {"type": "agent_end", "messages": [long["message"]]})
    ended = reading(LANE, whole)
    assert ended.verdict.state == "done?"
    assert "only in the log" in ended.verdict.note
    assert ended.seen.unrecognised == 0
    hidden = lines({"type": "agent_end", "messages": ["z" * 1_200_000]})
    assert reading(LANE, hidden).verdict.state == "failed"


def test_refused_tools_are_named() -> None:
    assert replay(LANE, FOLDER, "e").verdict.note == "1 tool use refused (Bash)"


def test_a_tool_that_failed_is_not_a_refusal() -> None:
    result = {"content": [{"type": "text", "text": "No such file"}]}
    end = {"type": "tool_execution_end", "toolName": "read", "result": result, "isError": True}
    assert reading(LANE, lines(end, message("stop"), END)).seen.denials == 0
