"""Amounts of money in JSON: exact as written, everywhere, and nothing else changed."""

from __future__ import annotations

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.cli.cash import written
from outsourcerer.cli.mcp_server.bounds import job_row
from outsourcerer.cli.output import answer_json

NOISY = 0.1 + 0.2


def test_every_answer_in_json_has_amounts_as_they_are_written(capsys) -> None:
    value = {"jobs": [{"cost": {"cash_usd": NOISY}, "age_s": NOISY}], "usd": {"by": [NOISY, None, {"x": NOISY}]}}
    answer_json(value)
    assert json.loads(capsys.readouterr().out) == {
        "schema_version": "1",
        "jobs": [{"cost": {"cash_usd": 0.3}, "age_s": NOISY}],
        "usd": {"by": [0.3, None, {"x": 0.3}]},
    }
    assert value["jobs"][0]["cost"]["cash_usd"] == NOISY, "what was handed in is changed"
    assert job_row({"cost": {"kind": "metered", "cash_usd": NOISY}})["cost"]["cash_usd"] == 0.3


@settings(max_examples=60)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_amount_becomes_another(amount: float) -> None:
    found = written({"cash_usd": amount})["cash_usd"]
    assert math.isclose(found, amount, rel_tol=1e-11)
    assert (found == 0) is (amount == 0)
    assert written({"cash_usd": found})["cash_usd"] == found


@settings(max_examples=60)
@given(st.integers(0, 10**12))
def test_what_the_ledger_counts_is_kept_to_its_last_digit(nano: int) -> None:
    assert written({"usd": nano / 1_000_000_000})["usd"] == nano / 1_000_000_000


def test_what_is_no_amount_is_as_it_was() -> None:
    value = {"a": [NOISY, (1, True, None, "usd")], "usd_word": "0.30000000000000004", "n_usd": True, "m_usd": 7}
    assert json.dumps(written(value)) == json.dumps(value)
