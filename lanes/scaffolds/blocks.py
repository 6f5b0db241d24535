"""The blocks of the scaffolds, as data. None of them holds a marker."""

from __future__ import annotations

from collections.abc import Mapping

from ...messages.vocabulary import Effort, Tier, Verb

TASK_HEADING = "## Task"

_OWNER = """\
You own the task below from start to result. You were given it by another session that will read only
your final message, so put everything that it needs there: what you found or did, how you know, and
what is left. Decide what is yours to decide; nobody is there to answer questions while you work."""

_PLANNED = """\
You are given one task by another session that will read only your final message.

1. Before anything else, write a short plan of at most six steps.
2. Work through it. Check each result before you build on it.
3. Finish with a message under these headings, each on its own line:
   Result: what you found or did, complete in itself.
   Verification: what you ran or looked at to know that it is right; say so if you could not check.
   Open items: what is missing or doubtful, or "none".

Stay within the task. Where it leaves a choice open, take the simplest one and name it."""

_ORDER = """\
This is a work order. Follow it exactly and do nothing beyond it.

- Take at most 5 steps. Say each step in one line before you take it.
- If the same step fails twice, stop and report that.
- Do not guess file names, commands or facts: look, or say that you don't know.
- Finish with exactly three headings, each on its own line, and nothing after them but the last status line:
  RESULT
  ASSUMPTIONS
  NOT DONE"""

FRAMES: Mapping[Tier, str] = {
    Tier.FRONTIER: _OWNER,
    Tier.CAPABLE: _OWNER,
    Tier.MID: _PLANNED,
    Tier.BUDGET: _ORDER,
}
"""The frame of each tier; ``raw`` has none."""

VERBS: Mapping[Verb | None, str] = {
    Verb.RUN: "You may look at anything in the current folder, but you must not change anything.",
    Verb.EXPLORE: (
        "Explore the current folder and answer with what you find: name files and lines. You must not change anything."
    ),
    Verb.RESEARCH: (
        "You may run commands and write scratch files to find things out. Leave the project's files as they are."
    ),
    Verb.EDIT: "You may change files in the current folder. Change what the task needs and nothing else.",
    Verb.YOLO: "You may use every tool, without asking. Take care: nothing stops a mistake.",
    None: "You have no tools: answer from the task's text alone, and say what you can't know.",
}
"""What each verb allows, in words; None is a delegate without tools."""

WRITE_EARLY = """\
Write early: put a first working version into the files before you polish anything, then improve it in
small steps that each leave it working. Long thinking without a change on disk is taken for a stall.
Before you finish, look at your whole change once and run what checks the project has."""

EFFORT: Mapping[Effort, str] = {
    Effort.MINIMAL: "Effort: minimal. Answer at once with the obvious result.",
    Effort.LOW: "Effort: low. Take the direct road and check only the result.",
    Effort.MEDIUM: "Effort: medium. Weigh the main alternatives, then work and check.",
    Effort.HIGH: "Effort: high. Think it through, look at the edge cases, and check your work.",
    Effort.XHIGH: "Effort: very high. Be thorough: consider alternatives, test edge cases, re-read your result.",
    Effort.MAX: "Effort: maximal. Take all the care you can, look for what others would miss, and prove your result.",
}
