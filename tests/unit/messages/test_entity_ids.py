"""What an id is of."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.entity_ids import kind_of


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("20261130-010203-0123456789ab", "job"),
        ("loop-20261130-010203-0123456789ab", "loop"),
        ("loop-20261130", "loop"),
        ("fanout-20261130-010203-0123456789ab", "group"),
        ("fanout-20261130-01", "group"),
        ("loop-2026", "job"),
        ("loop-\u0662\u0660\u0662\u0666\u0661\u0661\u0663\u0660", "job"),
        ("crew-20261130-010203-0123456789ab", "group"),
        ("nightly-20261130", "job"),
        ("fanout-fix", "job"),
        ("a-20261130", "job"),
        ("a label of mine", "job"),
        ("-", "job"),
        ("", "job"),
    ],
)
def test_what_an_id_is_of(word, kind):
    assert kind_of(word) == kind


@settings(max_examples=60)
@given(st.text(max_size=40))
def test_no_word_is_too_odd(word):
    assert kind_of(word) in ("job", "loop", "group")
