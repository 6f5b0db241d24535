"""One golden file per variant of every union, never edited: what was once written is understood forever."""

import json
from pathlib import Path
from typing import get_args

import pytest
from outsourcerer.messages.base import Message, Observation
from outsourcerer.messages.commands import COMMAND, Command
from outsourcerer.messages.facts import FACT, Fact
from outsourcerer.messages.internal import Internal
from outsourcerer.messages.lane_events import LANE_EVENT, LaneEvent
from outsourcerer.messages.replies import REPLY, Reply
from pydantic import TypeAdapter, ValidationError

GOLDEN = Path(__file__).parents[2] / "golden" / "messages"
UNIONS = {
    "commands": (COMMAND, Command),
    "replies": (REPLY, Reply),
    "facts": (FACT, Fact),
    "lane_events": (LANE_EVENT, LaneEvent),
    "internal": (TypeAdapter(Internal), Internal),
}


def variants(union):
    """Kind → class of a discriminated union."""
    return {cls.model_fields["kind"].default: cls for cls in get_args(get_args(union)[0])}


CASES = [(name, kind) for name, (_, union) in UNIONS.items() for kind in variants(union)]


def golden(name, kind):
    return (GOLDEN / name / f"{kind}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_golden_file_round_trips(name, kind):
    adapter, union = UNIONS[name]
    text = golden(name, kind)
    value = adapter.validate_json(text)
    assert type(value) is variants(union)[kind]
    assert value.model_dump(mode="json", exclude_unset=True) == json.loads(text)
    assert adapter.validate_json(adapter.dump_json(value)) == value


@pytest.mark.parametrize("name", UNIONS)
def test_no_golden_file_lost_its_variant(name):
    files = {path.stem for path in (GOLDEN / name).glob("*.json")}
    assert files == set(variants(UNIONS[name][1]))


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_every_variant_says_who_sends_it_when(name, kind):
    cls = variants(UNIONS[name][1])[kind]
    line = (cls.__doc__ or "").strip().splitlines()[0]
    assert line.endswith((".", ";", ","))
    assert len(line.split()) >= 3
    assert cls.__doc__ not in (Message.__doc__, Observation.__doc__)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_no_variant_can_be_changed(name, kind):
    value = UNIONS[name][0].validate_json(golden(name, kind))
    with pytest.raises(ValidationError):
        value.kind = "other"


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_what_is_asked_is_strict_and_what_is_told_is_not(name, kind):
    """A command with an unknown field is refused by name; a newer program's fact still loads."""
    adapter, union = UNIONS[name]
    extended = {**json.loads(golden(name, kind)), "from_the_future": 1}
    if issubclass(variants(union)[kind], Message):
        with pytest.raises(ValidationError, match="from_the_future"):
            adapter.validate_python(extended)
    else:
        assert adapter.validate_python(extended) == adapter.validate_json(golden(name, kind))


@pytest.mark.parametrize("name", UNIONS)
@pytest.mark.parametrize("bad", [{}, {"kind": "no.such"}, {"kind": 3}, [], None, "hello"])
def test_what_is_no_variant_is_refused(name, bad):
    with pytest.raises(ValidationError):
        UNIONS[name][0].validate_python(bad)


def test_a_secret_is_in_no_repr():
    submit = COMMAND.validate_json(golden("commands", "job.submit"))
    assert "SE9NRT0vaAA=" not in repr(submit)
    accepted = FACT.validate_json(golden("facts", "job.accepted"))
    signed = accepted.record.model_copy(update={"marker_id": "very-secret"})
    assert "very-secret" not in repr(signed)
