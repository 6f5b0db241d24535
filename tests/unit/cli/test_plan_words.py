"""What is said about a job before it runs."""

from __future__ import annotations

import pytest
from outsourcerer.cli.render.plan import banner

PLAN = {"lane": "codex", "model": None, "tier": "mid", "verb": "run", "posture": "READ-ONLY", "cost": "$0"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ">>> [effort] not given: the model's own default"),
        ({"effort": "high", "effort_support": "native"}, ">>> [effort] high: the lane's own setting"),
        (
            {"effort": "high", "effort_support": "advisory"},
            ">>> [effort] high: as words in the prompt, this lane has no setting",
        ),
        ({"effort": "high"}, ">>> [effort] high"),
        (
            {"effort": "max", "effort_support": "native", "effort_sent": "xhigh"},
            ">>> [effort] max: xhigh is what the lane is told",
        ),
        (
            {"effort": "max", "effort_support": "native", "effort_sent": "max"},
            ">>> [effort] max: the lane's own setting",
        ),
        (
            {"effort": "high", "effort_support": "advisory", "effort_sent": "high"},
            ">>> [effort] high: the lane's own setting",
        ),
        (
            {"effort": "high", "effort_support": "native", "effort_sent": None},
            ">>> [effort] high: as words in the prompt, this lane is told of none here",
        ),
        ({"effort": "h\x1b[31m\nigh", "effort_support": "\x1b"}, ">>> [effort] h igh"),
    ],
)
def test_what_becomes_of_an_effort_is_always_said(given: dict[str, str], said: str) -> None:
    first, second, *notes = banner({**PLAN, **given, "notices": ["a\nnote"]}).splitlines()
    assert first == "lane codex · model its own default · tier mid · run: READ-ONLY · $0"
    assert second == said
    assert notes == ["note: a note"]
