"""Lanes from TOML files: what they may say, and what becomes of a prompt."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.contract import Host, Lane, Launch, Locality, Posture, ProbeFacts, ReadinessLevel, Task
from outsourcerer.lanes.custom import load
from outsourcerer.lanes.osrc_jsonl import OsrcParser
from outsourcerer.lanes.text import TextParser
from outsourcerer.messages.lane_events import FailureKind, TurnEnded
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Effort, Tier, Verb

LANES_DOC = Path(__file__).parents[3] / "docs" / "lanes.md"
BASIC = """
argv = ["agent", "go", ["--model", "{model}"], ["--effort={effort}"], "--json"]
output = "osrc-jsonl"
local = true
[verbs]
run = "READ-ONLY"
edit = { posture = "MUTATING", argv = ["--write"] }
[env]
set = { MODE = "quiet" }
strip = ["SECRET_*"]
"""
HOST = Host(environment={}, executables={"agent": "/bin/agent"}, python="/bin/python3")


def lane(text: str = BASIC, name: str = "mine") -> Lane:
    result = load(name, text.encode(), f"lanes.d/{name}.toml")
    assert isinstance(result, Lane), result
    return result


def task(prompt: str = "do it", **fields) -> Task:
    return Task(**{"verb": Verb.RUN, "prompt": prompt, "cwd": "/srv/a tree", **fields})


def launch(text: str, prompt: str = "do it", **fields) -> Launch:
    result = lane(text).plan(task(prompt, **fields), HOST)
    assert isinstance(result, Launch), result
    return result


def test_a_file_becomes_a_lane() -> None:
    mine = lane()
    assert (mine.name, mine.provider, mine.vehicle, mine.binary) == ("mine", "mine", "agent", "agent")
    assert mine.verbs == {Verb.RUN: Posture.READ_ONLY, Verb.EDIT: Posture.MUTATING}
    assert (mine.locality, mine.default_tier, mine.source) == (Locality.LOCAL, Tier.MID, "lanes.d/mine.toml")
    assert isinstance(mine.parser(task()), OsrcParser)
    assert mine.liveness.streamed
    assert not lane(BASIC.replace("local = true", "streamed = false")).liveness.streamed


BARE = """
argv = ["/opt/agent"]
[verbs]
run = "READ-ONLY"
"""


def test_a_model_that_the_file_has_no_place_for_is_refused() -> None:
    refused = lane(BARE).plan(task(model="m"), HOST)
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.UNKNOWN_MODEL
    assert "{model}" in refused.message
    assert launch('model = "m"' + BARE, model="m").argv == ("/opt/agent",), "the file itself says that it is this one"


@pytest.mark.parametrize(("extra", "words"), [("", "only asked for"), ("scaffold = false", "does not reach")])
def test_an_effort_that_the_file_has_no_place_for_is_said(extra: str, words: str) -> None:
    (notice,) = launch(extra + BARE, effort=Effort.HIGH).notices
    assert words in notice
    assert launch(BARE).notices == launch(BASIC, effort=Effort.HIGH).notices == ()


def test_a_program_that_can_not_be_executed_is_absent() -> None:
    looked = replace(HOST, executables={"/opt/agent": None})
    readiness = lane(BARE).probe(ProbeFacts(host=looked))
    assert (readiness.level, readiness.detail) == (ReadinessLevel.ABSENT, "/opt/agent can't be executed")
    assert isinstance(lane(BARE).plan(task(), looked), Refused)


@pytest.mark.parametrize(("kind", "words"), [("free", "$0"), ("plan", "plan's limits"), ("metered", "paid by use")])
def test_who_pays_is_never_contradicted_by_the_words_for_it(kind: str, words: str) -> None:
    said = lane(BARE + f'[billing]\nkind = "{kind}"').billing.words
    assert words in said
    assert "its cost is not known" not in said


def test_groups_are_left_out_when_a_value_is_missing() -> None:
    assert launch(BASIC).argv == ("/bin/agent", "go", "--json")
    full = launch(BASIC, model="m", effort=Effort.HIGH, verb=Verb.EDIT)
    assert full.argv == ("/bin/agent", "go", "--model", "m", "--effort=high", "--json", "--write")
    assert full.stdin == b"do it"
    assert full.env_set == {"MODE": "quiet"}
    assert {"SECRET_*", "CLAUDECODE"} <= full.env_strip


def by_argv(argv: str) -> str:
    return f'argv = {argv}\nstdin = "none"\n[verbs]\nrun = "READ-ONLY"\n'


@given(st.text(st.characters(blacklist_characters="\x00", blacklist_categories=["Cs"]), min_size=1, max_size=50))
def test_a_prompt_in_a_command_line_is_taken_word_for_word(prompt: str) -> None:
    plan = launch(by_argv('["agent", "--", "{prompt}"]'), prompt)
    assert plan.argv == ("/bin/agent", "--", prompt)
    assert plan.stdin is None
    assert plan.files == ()


def test_what_replaces_a_placeholder_is_never_read_again() -> None:
    plan = launch(by_argv('["agent", "-p", "{prompt}", "{cwd}"]'), "{cwd} {model} {prompt} {job}")
    assert plan.argv[2:] == ("{cwd} {model} {prompt} {job}", "/srv/a tree")


@pytest.mark.parametrize(
    ("prompt", "words"), [("-rf", "starts with a dash"), ("x" * 17_000, "too long"), ("a\x00b", "NUL")]
)
def test_a_prompt_that_a_command_line_would_spoil_is_refused(prompt: str, words: str) -> None:
    result = lane(by_argv('["agent", "{prompt}"]')).plan(task(prompt), HOST)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.BAD_TASK
    assert words in result.message


def test_a_prompt_file_is_private_and_of_any_size() -> None:
    plan = launch(by_argv('["agent", "-f", "{prompt_file}"]'), "x" * 3_000_000)
    assert plan.argv == ("/bin/agent", "-f", "{job}/prompt.txt")
    assert [(file.name, len(file.content)) for file in plan.files] == [("prompt.txt", 3_000_000)]


def test_a_program_may_be_python_or_a_path_and_must_be_there() -> None:
    text = BASIC.replace('"agent"', '"{python}"')
    assert launch(text).argv[0] == "/bin/python3"
    assert launch(BASIC.replace('"agent"', '"/opt/agent"')).argv[0] == "/opt/agent"
    missing = lane(BASIC.replace('"agent"', '"elsewhere"')).plan(task(), HOST)
    assert isinstance(missing, Refused)
    assert missing.code is RefusalCode.LANE_NOT_READY
    assert lane().probe(ProbeFacts(host=HOST, version_output=b"agent 1.2.3\n")).version == "1.2.3"
    assert lane().probe(ProbeFacts(host=Host(environment={}, executables={}))).level == "absent"


def test_a_verb_that_is_not_declared_is_refused_with_those_that_are() -> None:
    result = lane().plan(task(verb=Verb.YOLO), HOST)
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.VERB_UNSUPPORTED
    assert "run, edit" in result.message


@pytest.mark.parametrize("output", ["text", "osrc-jsonl", "claude-stream-json", "codex-jsonl"])
def test_every_output_format_has_a_parser(output: str) -> None:
    parser = lane(BASIC.replace('"osrc-jsonl"', f'"{output}"')).parser(task())
    assert (type(parser) is TextParser) is (output == "text")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("argv = [", "TOML"),
        ("", "argv"),
        ('argv = ["a"]', "verbs"),
        (BASIC.replace("local = true", "locale = true"), "locale"),
        (BASIC.replace('"READ-ONLY"', '"HARMLESS"'), "verbs.run.posture"),
        (BASIC.replace('run = "READ-ONLY"', 'run = "MUTATING"'), "promises that nothing is changed"),
        (BASIC.replace('run = "READ-ONLY"', 'fly = "READ-ONLY"'), "verbs.fly"),
        (BASIC.replace("{model}", "{modle}"), "{modle} is no placeholder"),
        (BASIC.replace("{model}", "{prompt}"), "the prompt goes one way"),
        ('argv = ["a"]\nstdin = "none"\n[verbs]\nrun = "READ-ONLY"', "the prompt goes one way"),
        (BASIC.replace('"agent"', '["agent"]'), "the first item is the program"),
        (BASIC.replace('"agent"', '"{cwd}/agent"'), "the program is a name"),
        (BASIC.replace('"--json"', '"a\\u0000b"'), "argv"),
        (BASIC.replace('"osrc-jsonl"', '"xml"'), "output"),
        (BASIC.replace("MODE", "NOT-A-NAME"), "env.set"),
        ('summary = "a\\nREADY: all of them"\n' + BASIC, "summary is shown as it is: one line"),
        ('summary = "\\u001b[2Ja"\n' + BASIC, "summary is shown as it is: one line"),
        ('homepage = "a\\tb"\n' + BASIC, "homepage is shown"),
        ('install = "a\\rb"\n' + BASIC, "install is shown"),
        ('model = "a\\u202eb"\n' + BASIC, "model is shown"),
        (BASIC + '[billing]\nwords = "$0\\n\\nfree"', "billing.words is shown as it is: one line"),
        (BASIC + '[billing]\nplan = "\\u009b1mx"', "billing.plan is shown"),
        (BASIC + '[billing]\npool = "a\\nb"', "billing.pool is shown"),
        (f'summary = "{"x" * 501}"\n' + BASIC, "summary"),
    ],
)
def test_a_faulty_file_is_refused_by_file_and_key(text: str, words: str) -> None:
    result = load("mine", text.encode(), "lanes.d/mine.toml")
    assert isinstance(result, Refused)
    assert result.code is RefusalCode.BAD_CONFIG
    assert result.message.startswith("lanes.d/mine.toml: ")
    assert words in result.message
    assert result.hint


@pytest.mark.parametrize(
    ("word", "failure"),
    [*((kind.value, kind.value) for kind in FailureKind if kind is not FailureKind.NONE), (None, "task")],
)
def test_a_failure_word_is_what_it_says(word: str | None, failure: str) -> None:
    end = ended({"type": "end", "ok": False, "failure": word, "message": "m"})
    assert (end.failure, end.message) == (failure, "m")
    assert f"`{failure}`" in LANES_DOC.read_text(), "the words are documented"


@pytest.mark.parametrize("word", ["rate_limit", "none", "", "x" * 500, "a\nb", 7, ["auth"], {"a": 1}])
def test_a_failure_word_that_is_none_is_told_with_the_list(word: object) -> None:
    end = ended({"type": "end", "ok": False, "failure": word})
    assert end.failure is FailureKind.TASK
    assert "is none of transport, plan-limit, rate-limit, auth, permission, model-gone, output-limit" in (
        end.message or ""
    )
    assert (end.message or "").isprintable()
    assert "own words" in (ended({"type": "end", "ok": False, "failure": word, "message": "own words"}).message or "")
    assert ended({"type": "end", "ok": True, "failure": word}).failure is FailureKind.NONE


def ended(line: dict[str, object]) -> TurnEnded:
    (end,) = OsrcParser().feed(json.dumps(line).encode() + b"\n")
    assert isinstance(end, TurnEnded)
    return end


@given(st.binary(max_size=200))
def test_any_bytes_are_a_lane_or_a_refusal(content: bytes) -> None:
    assert isinstance(load("mine", content, "x.toml"), (Lane, Refused))


@pytest.mark.parametrize("name", ["", "Mine", "a b", "-x", "1x", "a/b", "x" * 70])
def test_a_lane_has_a_plain_name(name: str) -> None:
    assert isinstance(load(name, BASIC.encode(), "x.toml"), Refused)
