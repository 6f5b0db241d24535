"""What is going to be run, in words."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from .plain import one_line


def banner(plan: Mapping[str, Any]) -> str:
    """Return the line said about a job that was accepted, how it takes effort, and its notices under them."""
    parts = [
        f"lane {_word(plan, 'lane')}",
        f"model {_word(plan, 'model', 'its own default')}",
        f"tier {_word(plan, 'tier')}",
        f"{_word(plan, 'verb')}: {_word(plan, 'posture')}",
    ]
    parts.append(_word(plan, "cost", "cost unknown"))
    return "\n".join(
        [
            " · ".join(parts),
            f">>> [effort] {_effort(plan)}",
            *(f"note: {one_line(str(text), 400)}" for text in plan.get("notices") or ()),
        ]
    )


def _effort(plan: Mapping[str, Any]) -> str:
    """Return what becomes of the effort that was asked for: no two lanes take it alike."""
    if not plan.get("effort"):
        return "not given: the model's own default"
    asked, sent = _word(plan, "effort"), plan.get("effort_sent")
    if isinstance(sent, str):
        how = ": the lane's own setting" if sent == asked else f": {one_line(sent, 40)} is what the lane is told"
    elif plan.get("verb") == "session":
        how = ": this lane's sessions are told of none"
    elif "effort_sent" in plan and plan.get("effort_support") == "native":
        how = ": as words in the prompt, this lane is told of none here"
    else:
        how = _EFFORT.get(str(plan.get("effort_support")), "")
    return f"{asked}{how}"


_EFFORT = {
    "native": ": the lane's own setting",
    "advisory": ": as words in the prompt, this lane has no setting",
}


def disclosure(plan: Mapping[str, Any], *, short: bool = False) -> str:
    """Return what is said before work leaves this machine, or nothing; ``short``: its first line alone."""
    lines = [one_line(str(text), 1000) for text in plan.get("disclosure") or ()]
    return "\n  ".join(lines[:1] if short else lines)


def plan_lines(plan: Mapping[str, Any]) -> list[str]:
    """Return a dry run's plan, one ``key: value`` a line; secrets were masked where it was made."""
    rows = [
        ("lane", _word(plan, "lane")),
        ("vehicle", _word(plan, "vehicle")),
        ("model", _word(plan, "model", "its own default")),
        ("tier", _word(plan, "tier")),
        ("effort", _effort(plan)),
        ("verb", _word(plan, "verb")),
        ("posture", _word(plan, "posture")),
        ("command", _argv(plan.get("argv") or ())),
        ("folder", _word(plan, "cwd")),
        ("stdin", _word(plan, "stdin")),
        ("env set", " ".join(map(str, plan.get("env_set") or ())) or "-"),
        ("env removed", " ".join(map(str, plan.get("env_stripped") or ())) or "-"),
        ("env withheld", " ".join(map(str, plan.get("env_withheld") or ())) or "-"),
        ("gate", _word(plan, "gate", limit=1000)),
        *(("disclosure", one_line(str(text), 1000)) for text in plan.get("disclosure") or ()),
        ("cost", _word(plan, "cost", "unknown")),
        *([("budget", f"REFUSED: {_word(plan, 'budget', limit=400)}")] if plan.get("budget") else []),
        *(("note", one_line(str(text), 400)) for text in plan.get("notices") or ()),
    ]
    return [f"{key + ':':<13} {value}" for key, value in rows]


def would_begin(plan: Mapping[str, Any]) -> bool:
    """Whether nothing that a dry run has asked, gate or budget, would refuse it."""
    return bool(plan.get("gate_open", True)) and not plan.get("budget")


def _argv(argv: Any) -> str:  # noqa: ANN401 - a list of strings from JSON
    return " ".join(one_line(_quoted(str(item)), 400) for item in argv)


def _quoted(word: str) -> str:
    """Return a word as it would be typed here."""
    if sys.platform == "win32":
        import subprocess  # noqa: PLC0415 - only for a dry run

        return subprocess.list2cmdline([word])
    import shlex  # noqa: PLC0415 - as above

    return shlex.quote(word)


def _word(plan: Mapping[str, Any], key: str, missing: str = "?", limit: int = 200) -> str:
    value = plan.get(key)
    return missing if value in (None, "") else one_line(str(value), limit)
