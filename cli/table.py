"""Every command: its group in the help, the file that holds it, and its one help line.

A static table, so that a command is found by name without importing any other.
"""

from __future__ import annotations

from typing import Final


class Row:
    """One command: ``outsourcerer.cli.commands.<module>`` has it as ``<attribute>``."""

    __slots__ = ("attribute", "family", "module", "summary")

    def __init__(self, family: str, module: str, attribute: str, summary: str) -> None:
        """Keep the four (a NamedTuple would cost 0.3 ms to define)."""
        self.family = family
        self.module = module
        self.attribute = attribute
        self.summary = summary


FAMILIES: Final = (
    "Work",
    "Watch",
    "Steer",
    "Crews and loops",
    "Choose and pay",
    "Safety",
    "Set up",
    "Hosts",
)
"""The groups of the help, in order. One that has no command is not shown."""

PARITY_HOSTS: Final = ("codex", "droid", "cursor", "hermes")
"""Tools that older scripts name in one word with the command."""

SYNONYMS: Final[dict[str, str]] = {
    "cont": "continue",
    "deals": "suggest",
    "second": "second-opinion",
    **{f"parity-{host}": "parity" for host in PARITY_HOSTS},
}
"""Words that older scripts know, which the help does not list."""

COMMANDS: Final[dict[str, Row]] = {
    "run": Row("Work", "work", "run", "Have a task done, changing nothing; follow it to its end."),
    "explore": Row("Work", "work", "explore", "The same as run: look around, change nothing."),
    "research": Row("Work", "work", "research", "May also execute tools, in a sandbox."),
    "edit": Row("Work", "work", "edit", "May change files in the folder."),
    "yolo": Row("Work", "work", "yolo", "May do everything, without a sandbox."),
    "bg": Row("Work", "bg", "bg", "The same, detached: prints the job's id."),
    "continue": Row("Work", "again", "again", "Go on with the conversation of an earlier job."),
    "retry": Row("Work", "retry", "retry", "Have an ended job's task done anew, perhaps elsewhere."),
    "loop": Row("Crews and loops", "loop", "loop", "Work that is checked, and repeated until the check passes."),
    "status": Row("Watch", "status", "status", "Jobs and their states, newest first."),
    "watch": Row("Watch", "follow", "watch", "A job's life, a line at each change."),
    "wait": Row("Watch", "follow", "wait", "Wait for jobs to end; the exit code tells how."),
    "events": Row("Watch", "events", "events", "Every journalled fact, in order, resumable."),
    "bearings": Row("Watch", "bearings", "bearings", "What needs you, landed, is under way, comes next; at once."),
    "rundown": Row("Watch", "bearings", "rundown", "The same, drawn afresh."),
    "dash": Row("Watch", "bearings", "dash", "The same, live."),
    "heartbeat": Row("Watch", "heartbeat", "heartbeat", "Who is woken when something needs them: start, stop, status."),
    "result": Row("Watch", "result", "result", "A job's final message, alone."),
    "logs": Row("Watch", "logs", "logs", "The end of a delegate's raw output."),
    "explain": Row("Watch", "explain", "explain", "Why a job is in the state it is in."),
    "classify": Row("Watch", "explain", "classify", "Whether a job's output can be used, or another lane tried."),
    "fleet": Row("Watch", "fleet", "fleet", "Every AI coding session of this machine."),
    "pause": Row("Steer", "queue", "pause", "Hold jobs back that wait; what runs goes on."),
    "resume": Row("Steer", "queue", "resume", "Let paused jobs start again."),
    "cleanup": Row("Steer", "cleanup", "cleanup", "Remove ended jobs, their work trees and branches."),
    "gc": Row("Steer", "cleanup", "gc", "Remove ended jobs by age and size."),
    "cancel": Row("Steer", "cancel", "cancel", "End jobs; harmless when they have ended."),
    "session": Row("Steer", "session", "session", "A live delegate: start, send, read, answer, model, stop."),
    "supervisor": Row("Steer", "supervisor", "supervisor", "The background process: status, stop, restart, logs."),
    "fanout": Row("Crews and loops", "fanout", "fanout", "Many jobs as one group: start, wait, collect."),
    "crew": Row("Crews and loops", "crew", "crew", "Many edits at once; what keeps a check green is kept."),
    "best-of": Row("Crews and loops", "best_of", "best_of", "Several tries at one task; the best one's branch."),
    "second-opinion": Row(
        "Crews and loops", "second_opinion", "second_opinion", "One question, several makers' models: what stands."
    ),
    "image": Row("Work", "image", "image", "Have an image made; the path of its file."),
    "advise": Row("Choose and pay", "advise", "advise", "Which model and lane a task should go to, and why."),
    "mode": Row("Choose and pay", "mode", "mode", "How work is handed on: auto, manual or hybrid."),
    "outcome": Row("Choose and pay", "outcome", "outcome", "Whether a job's result passed, failed or was reverted."),
    "models": Row("Choose and pay", "models", "models", "Words that name models: lane, tier, price."),
    "lanes": Row("Choose and pay", "lanes", "lanes", "Who can run work here, and what is missing."),
    "consent": Row("Safety", "consent", "consent", "Whether cloud lanes may get work: status, grant, revoke."),
    "posture": Row("Safety", "posture", "posture", "What holds before work is handed on; what is remembered."),
    "limits": Row("Choose and pay", "limits", "limits", "Lanes that are down, daily quotas, budgets."),
    "tab": Row("Choose and pay", "tab", "tab", "What all runs have spent: cash, plans, tokens."),
    "suggest": Row("Choose and pay", "suggest", "suggest", "Free and cheap models, by the cached catalogue."),
    "estimate": Row("Choose and pay", "estimate", "estimate", "What a task would cost, lane by lane."),
    "brief": Row("Choose and pay", "brief", "brief", "Lanes here, limits, and what to spare, at a glance."),
    "sanitize": Row("Safety", "sanitize", "sanitize", "Neutral words in prose files: a report, or the change."),
    "config": Row("Set up", "config", "config", "Settings: show, get, set, path."),
    "doctor": Row("Set up", "doctor", "doctor", "Check this machine; say what to fix."),
    "canary": Row("Set up", "canary", "canary", "Whether the CLIs here still are what was tested."),
    "import": Row("Set up", "importing", "import_", "Take over what the predecessor kept."),
    "tap": Row("Set up", "tap", "tap", "The Claude plan's gauges from your own status line."),
    "parity": Row("Hosts", "parity", "parity", "Your skills and MCP servers for your other AI tools."),
    "completion": Row("Set up", "completion", "completion", "The completion script for bash, zsh or fish."),
    "mcp": Row("Hosts", "mcp", "mcp", "These commands as tools of an AI host (MCP server)."),
    "skill": Row("Hosts", "skill", "skill", "The skill and plugin for AI hosts: where they are."),
    "hook": Row("Hosts", "hook", "hook", "What the plugin's hooks run."),
    "help": Row("Set up", "topics", "help_command", "Help for a command or a topic."),
}
