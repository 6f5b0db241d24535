"""Tables on a terminal of 80 columns: no line is longer, and nothing that matters is left out."""

from __future__ import annotations

import pytest
from outsourcerer.cli.commands.lanes import lane_lines
from outsourcerer.cli.render.table import job_table

JOB = {
    "job_id": "20261130-172526-57a14d5a577a",
    "state": "no-progress-writes",
    "age_s": 7322.0,
    "model": "a-model-with-a-name-that-is-rather-long",
    "label": "notes",
    "reason": "it answered without its signed DONE line",
    "ended": 1.0,
    "progress": {"reads": 120, "writes": 33, "bash": 14},
}
LANES = [
    (
        "codex",
        "absent",
        "-",
        "run explore research edit yolo",
        "$0 cash, spends your ChatGPT plan limits",
        "fix it " * 20,
    ),
    ("embedded", "signed-in", "1.2.3 (untested)", "run explore", "$0 cash + $0 plan", "-"),
]


@pytest.mark.parametrize("width", [110, 120])
def test_jobs_fit_the_terminal(width: int) -> None:
    lines = job_table([JOB], width=width)
    assert [line for line in lines if len(line) > width] == []
    assert JOB["job_id"] in lines[1]
    assert "no-progress-writes" in lines[1]
    assert "[notes]" in lines[1]


def test_usual_jobs_fit_80_columns() -> None:
    usual = JOB | {"state": "done?", "age_s": 20.0, "progress": {"reads": 0, "writes": 0, "bash": 0}}
    lines = job_table([usual, usual | {"label": None}], width=80)
    assert [line for line in lines if len(line) > 80] == []
    assert "[notes] it" in lines[1]
    assert "a-model" in lines[1]


def test_a_pipe_gets_the_whole_name_of_the_model_column() -> None:
    assert "a-model-with-a-name-that-is" in job_table([JOB], width=None)[1]


@pytest.mark.parametrize("width", [80, 120])
def test_lanes_fit_the_terminal_whole(width: int) -> None:
    lines = lane_lines(LANES, width)
    assert [line for line in lines if len(line) > width] == []
    said = " ".join(" ".join(lines).split())
    for row in LANES:
        assert row[0] in said
        assert f"cost: {row[4]}" in said
    assert ("fix it " * 20).strip() in said
    assert said.count("fix:") == 1


def test_a_pipe_gets_a_line_for_each_lane() -> None:
    assert len(lane_lines(LANES, None)) == 3
    assert lane_lines(LANES, None)[0].split() == ["LANE", "READY", "VERSION", "VERBS", "COST", "FIX"]
