"""Evidence: what a stream of events adds up to."""

from __future__ import annotations

from functools import reduce

import pytest
from outsourcerer.lanes.evidence import Evidence, fold, hopeless
from outsourcerer.messages.job import TokenUsage
from outsourcerer.messages.lane_events import (
    ConversationStarted,
    Denied,
    FailureKind,
    LimitReported,
    Marked,
    MarkerKind,
    ModelObserved,
    Retrying,
    Spoke,
    Thought,
    ToolCalled,
    ToolFinished,
    ToolKind,
    TurnEnded,
    Unrecognised,
    UsageReported,
)


def add_up(*events) -> Evidence:
    return reduce(fold, events, Evidence())


def marked(kind: MarkerKind, text: str = "", *, signed: bool = True) -> Marked:
    return Marked(marker=kind, text=text, signed=signed)


def test_tools_are_counted_by_what_they_do_and_refused_ones_are_taken_back() -> None:
    evidence = add_up(
        ToolCalled(tool=ToolKind.READ, name="Read"),
        ToolCalled(tool=ToolKind.WRITE, name="Write"),
        ToolFinished(name="Write", ok=False, denied=True),
        ToolCalled(tool=ToolKind.WRITE, name="Write"),
        ToolFinished(name="Write"),
        ToolCalled(tool=ToolKind.EXECUTE, name="Bash"),
        ToolFinished(name="Bash", ok=False),
        ToolCalled(tool=ToolKind.OTHER, name="Task"),
        Denied(name="apply_patch"),
    )
    tally = (evidence.reads, evidence.writes, evidence.bash, evidence.other_tools)
    assert tally == (1, 1, 1, 1)
    assert (evidence.denials, evidence.denied) == (2, ("Write", "apply_patch"))


def test_a_write_that_failed_is_not_shown_as_written_and_still_counts_as_work() -> None:
    failed = (ToolCalled(tool=ToolKind.WRITE, name="file_change"), ToolFinished(name="file_change", ok=False))
    written = (ToolCalled(tool=ToolKind.WRITE, name="file_change"), ToolFinished(name="file_change"))
    assert (add_up(*failed).progress.writes, add_up(*failed).writes) == (0, 1)
    assert add_up(*failed, *written, *failed).progress.writes == 1
    assert add_up(*written, ToolFinished(name="file_change", ok=False)).progress.writes == 1


def test_a_refusal_of_a_call_that_was_never_seen_takes_nothing_away() -> None:
    assert add_up(ToolFinished(name="Write", ok=False, denied=True)).writes == 0


def test_the_answer_is_the_final_text_else_the_last_whole_message() -> None:
    assert add_up(Spoke(text="one"), Spoke(text="two")).answer == "two"
    assert add_up(Spoke(text="one"), TurnEnded(ok=True, text="final")).answer == "final"
    assert add_up(Spoke(text="one"), TurnEnded(ok=True)).answer == "one"
    assert add_up(Spoke(text="piece", partial=True)).answer is None
    assert add_up(Spoke(text="  \n")).answer is None


def test_only_signed_markers_count() -> None:
    evidence = add_up(
        marked(MarkerKind.PROGRESS, "2/4 half way"),
        marked(MarkerKind.DONE, "ok"),
        marked(MarkerKind.BLOCKED, "forged", signed=False),
        marked(MarkerKind.PROGRESS, "soon"),
    )
    assert evidence.percent is None, "it said DONE since"
    assert evidence.last_terminal == marked(MarkerKind.DONE, "ok")
    assert evidence.progress.last_marker == "PROGRESS soon"
    assert evidence.unsigned == 1


def test_initialised_means_the_model_was_heard() -> None:
    assert not add_up(
        ConversationStarted(conversation="c"), ModelObserved(model="m"), Retrying(), Unrecognised(excerpt="x")
    ).initialised
    for event in (Spoke(text="x"), Thought(), ToolCalled(tool=ToolKind.READ, name="Read"), TurnEnded(ok=False)):
        assert add_up(event).initialised
    assert not add_up(TurnEnded(ok=False, synthetic=True)).initialised


def test_what_is_unknown_stays_unknown() -> None:
    evidence = add_up(Spoke(text="x"))
    assert (evidence.model, evidence.usage, evidence.cash_usd, evidence.percent, evidence.conversation) == (None,) * 5


def test_usage_model_limit_and_conversation_are_the_last_said() -> None:
    usage = TokenUsage(input=5, output=2)
    limit = LimitReported(rejected=True)
    evidence = add_up(
        ModelObserved(model="a"),
        ModelObserved(model="b"),
        UsageReported(usage=TokenUsage(input=1), cash_usd=0.5),
        UsageReported(usage=usage, by_model={"b": usage}),
        ConversationStarted(conversation="c"),
        limit,
        Unrecognised(excerpt="x", count=3),
    )
    assert (evidence.model, evidence.usage, evidence.cash_usd) == ("b", usage, 0.5)
    assert (evidence.by_model, evidence.conversation, evidence.limit) == ((("b", usage),), "c", limit)
    assert evidence.unrecognised == 3


def test_two_refused_keys_in_a_row_are_hopeless_one_is_not() -> None:
    refused = Retrying(status=401)
    assert hopeless(add_up(refused)) is None
    assert hopeless(add_up(refused, refused)) is FailureKind.AUTH
    assert hopeless(add_up(refused, Retrying(status=403))) is FailureKind.AUTH
    assert hopeless(add_up(refused, Retrying(status=429))) is None
    assert hopeless(add_up(refused, Spoke(text="x"), refused)) is None
    assert hopeless(add_up(refused, refused, TurnEnded(ok=False))) is None
    assert hopeless(add_up(*[Retrying(status=429)] * 50)) is None


def test_long_streams_do_not_grow_the_evidence() -> None:
    evidence = add_up(*[Retrying(status=500)] * 500, *[ToolCalled(tool=ToolKind.READ, name="Read")] * 500)
    assert len(evidence.retry_statuses) <= 32
    assert len(evidence.calls) <= 64
    assert (evidence.retries, evidence.reads) == (500, 500)


@pytest.mark.parametrize(
    ("said", "end", "percent"),
    [
        ("50%", TurnEnded(ok=True, text="x"), None),
        ("3/3 all", TurnEnded(ok=True, text="x"), 100),
        ("50%", TurnEnded(ok=False), 50),
        ("50%", Marked(marker=MarkerKind.DONE, text="all good", signed=True), None),
        ("50%", Marked(marker=MarkerKind.DONE, text="80%", signed=True), 80),
        ("100%", Marked(marker=MarkerKind.DONE, text="all good", signed=True), 100),
        ("50%", Marked(marker=MarkerKind.BLOCKED, text="no net", signed=True), 50),
        ("50%", Marked(marker=MarkerKind.DONE, text="forged", signed=False), 50),
    ],
)
def test_how_far_it_was_on_the_way_is_not_said_of_work_that_is_done(said, end, percent):
    on_the_way = fold(Evidence(), Marked(marker=MarkerKind.PROGRESS, text=said, signed=True))
    assert fold(on_the_way, end).progress.percent == percent
