"""What a file holds is a record only if that can be journalled and read again."""

import json

import pytest
from outsourcerer.messages.kept import kept
from outsourcerer.messages.loop import LoopRecord

WHOLE = {
    "loop_id": "loop-20261130-010203-0123456789ab",
    "terms": {"shape": "verify", "check": "make"},
    "limits": {},
    "verb": "edit",
    "cwd": "/w",
    "accepted_at": 1.0,
    "segment_began": 1.0,
}


def test_a_whole_record_is_taken_as_it_is():
    found = kept(LoopRecord, json.dumps(WHOLE | {"label": "ümlaut"}))
    assert found == LoopRecord.model_validate(WHOLE | {"label": "ümlaut"})
    assert kept(LoopRecord, found.model_dump_json().encode()) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[" * 100_000,
        json.dumps(WHOLE)[:-9],
        json.dumps(WHOLE | {"label": "\ud800"}),
        json.dumps(WHOLE | {"accepted_at": float("nan")}),
        json.dumps(WHOLE | {"ended": float("nan")}),
        json.dumps(WHOLE).replace("1.0", "1e999"),
        json.dumps(WHOLE | {"limits": {"usd": float("inf")}}),
    ],
)
def test_what_could_not_be_kept_again_is_none(text):
    assert kept(LoopRecord, text) is None
