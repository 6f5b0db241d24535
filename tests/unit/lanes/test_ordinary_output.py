"""A corpus of ordinary output that talks about limits, keys and networks: it must all read as the task's failure.

Anything else would be retried elsewhere, or tell a person that a plan is used up which is not.
"""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest
from fakes.recorded import STREAMS, cases, replay
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes import failures
from outsourcerer.lanes.contract import Ending, Stream, Task
from outsourcerer.lanes.evidence import Evidence, fold
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.messages.job import ExitStatus
from outsourcerer.messages.lane_events import FailureKind, TurnEnded
from outsourcerer.messages.vocabulary import Verb

CORPUS = Path(__file__).parents[2] / "golden" / "ordinary_output.txt"
LINES = [line for line in CORPUS.read_text().splitlines() if line and not line.startswith("# ")]
BADLY = ExitStatus(code=1)
TASK = Task(verb=Verb.RUN, prompt="x", cwd="/")


def test_the_corpus_is_large_and_has_no_line_twice() -> None:
    assert len(LINES) >= 200
    assert len(set(LINES)) == len(LINES)


def test_words_alone() -> None:
    assert {line: kind for line in LINES if (kind := failures.by_words(line))} == {}
    assert failures.by_words("\n".join(LINES)) is None


@pytest.mark.parametrize("name", names())
def test_a_turn_that_failed_with_such_words(name: str) -> None:
    classify = builtin(name).classify
    ends = [TurnEnded(ok=False, failure=FailureKind.TASK, message=line) for line in LINES]
    ends += [end.model_copy(update={"synthetic": True}) for end in ends]
    told = {end.message: kind for end in ends if (kind := classify(Ending(exit=BADLY, turn=end))) != "task"}
    assert told == {}


@pytest.mark.parametrize("name", names())
def test_such_words_on_stderr_of_a_program_that_gave_no_final_event(name: str) -> None:
    lane = builtin(name)
    told = {}
    for line in LINES:
        parser = lane.parser(TASK)
        noise = f"starting\n{line}\n".encode()
        seen = reduce(fold, [*parser.feed(noise, Stream.ERR), *parser.finish(BADLY)], Evidence())
        kinds = {
            lane.classify(Ending(exit=BADLY, turn=seen.turn)),
            lane.classify(Ending(exit=BADLY, turn=None, tail=line)),
        }
        if kinds != {FailureKind.TASK}:
            told[line] = kinds
    assert told == {}


KINDS = {
    "auth": {"c401", "nokey", "noauth", "s401"},
    "transport": {"c529", "drop"},
    "plan-limit": {"c", "cplan", "oauthplan", "quota", "c402"},
    "model-gone": {"c404", "nomodel"},
}
LIMITS = {"plan-limit", "rate-limit"}
SAID_NOTHING = {
    ("cc", "c401"),  # it was ended while it retried: the statuses of its retries tell
    ("claude", "s401"),
    ("droid", "c529"),  # ended in its retries, of which it says nothing
    ("qwen", "c529"),
    ("qwen", "cplan"),
}
"""Recorded runs whose last words do not name what happened."""


def test_every_recorded_failure_of_a_service_still_has_its_kind() -> None:
    wrong = []
    for folder in sorted(STREAMS.glob("*/*")):
        name = folder.parent.name
        for case in cases(f"{name}/{folder.name}"):
            wanted = {kind for kind, of_kind in KINDS.items() if case in of_kind}
            wanted = wanted | LIMITS if wanted & LIMITS else wanted
            outcome = replay(builtin(name), f"{name}/{folder.name}", case).verdict.outcome
            failed = outcome not in ("completed", "unverified")
            if wanted and failed and (name, case) not in SAID_NOTHING and outcome not in wanted:
                wrong.append((name, case, outcome))
    assert wrong == []


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("API Error: 429 Rate limit exceeded", "rate-limit"),
        ("Error: 429 Too Many Requests", "rate-limit"),
        ("Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-5'}}", "rate-limit"),
        ('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "transport"),
        ('API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"x"}}', "auth"),
        ('{"error":{"code":401,"status":"UNAUTHENTICATED","message":"no"}}', None),
        ('{"error":{"message":"Incorrect API key provided: sk-x","code":"invalid_api_key"}}', "auth"),
        ("Error: Connection refused: 127.0.0.1:1", "transport"),
        ("connection refused", "transport"),
        ("  connection refused", None),
        ("starting\nError: fetch failed\nbye", "transport"),
    ],
)
def test_where_words_count(said: str, kind: str | None) -> None:
    assert failures.by_words(said) == kind


@given(st.sampled_from(LINES), st.sampled_from(["I saw: ", "tests: ", 'log> "', "// ", "+ ", "why: "]))
def test_a_quoted_sentence_is_no_complaint(line: str, lead: str) -> None:
    assert failures.by_words(lead + line) is None


@given(st.text(st.sampled_from("error: 429[({\"'api \n*!>.·"), max_size=400))
def test_no_words_are_too_strange(words: str) -> None:
    failures.by_words(words)
