"""The acp lanes: one for each command, made when it is named (``acp:gemini --acp``)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import PurePath

from ...messages.lane_events import FailureKind
from ...messages.refusals import RefusalCode, Refused
from .. import credentials
from ..contract import (
    Billing,
    Ending,
    Host,
    Lane,
    Launch,
    Liveness,
    Parser,
    ProbeFacts,
    Readiness,
    ReadinessLevel,
    SessionLaunch,
    SessionTask,
    Task,
    Wall,
)
from ..failures import classify as by_evidence
from ..launching import missing_program, version_of
from ..osrc_jsonl import OsrcParser
from ..vehicles.acp.argv import VERBS, launch
from ..vehicles.acp.session import over_acp

PREFIX = "acp:"
HINT = 'name the agent\'s command, for example: --lane "acp:gemini --acp"'
TESTED: Mapping[str, tuple[str, ...]] = {
    "claude-agent-acp": ("0.101.0",),
    "codex-acp": ("2.6.0",),
    "gemini": ("0.61.0",),
    "qwen": ("0.24.4",),
}
"""Program → versions that were driven over ACP, end to end."""

_WINDOWS_PATH = re.compile(r'"?(?:[A-Za-z]:[\\/]|\\\\)')
FIRST_OUTPUT_S = 240.0
COMMAND_CHARS = 500
"""So that the lane's name still fits where names do."""


def _words(command: str) -> tuple[str, ...]:
    r"""Return the words of a command. One that begins with a path of Windows (``C:\``, ``\\``) keeps its backslashes.

    Raises ValueError where a quotation mark is open.
    """
    if _WINDOWS_PATH.match(command) is None:
        return tuple(shlex.split(command))
    return tuple(word.replace('"', "") for word in shlex.split(command, posix=False))


def lane_of(command: str) -> Lane | Refused:
    """Return the lane of an agent's command, as a shell would read its words; no shell ever sees it."""
    try:
        words = _words(command)
    except ValueError as error:
        return _bad(f"the command of {PREFIX}{command} can't be read: {error}")
    if not words or not words[0] or words[0].startswith("-"):
        return _bad("acp: needs the command of an agent")
    if len(command) > COMMAND_CHARS or not command.isprintable():
        return _bad(f"the command of an acp lane has at most {COMMAND_CHARS} printable characters")
    program = words[0]
    if PurePath(program).name != program and not PurePath(program).is_absolute():
        return _bad(f"{program} is a relative path: give a program on PATH, or an absolute path")
    return replace(
        LANE,
        name=f"{PREFIX}{shlex.join(words)}",
        vehicle=PurePath(program).name,
        summary=f"{PurePath(program).name} over the Agent Client Protocol.",
        install=f"Install {program}, or name it by an absolute path.",
        binary=program,
        own=credentials.of_command(words),
        tested_versions=TESTED.get(PurePath(program).name, ()),
        sessions={"acp": partial(session, words)},
        plan=partial(plan, words),
        probe=partial(probe, words),
    )


def _bad(message: str) -> Refused:
    return Refused(code=RefusalCode.UNKNOWN_LANE, message=message, hint=HINT)


def plan(words: tuple[str, ...], task: Task, host: Host) -> Launch | Refused:
    """Return the launch of one prompt turn."""
    if not words:
        return Refused(code=RefusalCode.LANE_NOT_READY, message="The lane acp needs an agent's command.", hint=HINT)
    program = _program(words, host)
    if program is None:
        return missing_program(words[0], f"Install {words[0]}, or name it by an absolute path.")
    return launch(task, host, (program, *words[1:]), first_output_s=FIRST_OUTPUT_S)


def session(words: tuple[str, ...], task: SessionTask, host: Host) -> SessionLaunch | Refused:
    """Return the launch of a session with the agent."""
    program = _program(words, host)
    if program is None:
        return missing_program(words[0], f"Install {words[0]}, or name it by an absolute path.")
    return over_acp(task, (program, *words[1:]))


def probe(words: tuple[str, ...], facts: ProbeFacts) -> Readiness:
    """Judge by the program alone: whether it speaks the protocol is only known by asking it."""
    if not words:
        return Readiness(level=ReadinessLevel.ABSENT, detail="an agent is a lane once its command is named", fix=HINT)
    program = _program(words, facts.host)
    if program is None:
        fix = f"Install {words[0]}, or name it by an absolute path."
        return Readiness(level=ReadinessLevel.ABSENT, detail=f"{words[0]} is not on PATH", fix=fix)
    version = version_of(facts.version_output)
    tested = None if version is None else version in TESTED.get(PurePath(words[0]).name, ())
    detail = f"{program}, spoken to over ACP"
    return Readiness(level=ReadinessLevel.INSTALLED, detail=detail, version=version, tested=tested)


def _program(words: tuple[str, ...], host: Host) -> str | None:
    return words[0] if PurePath(words[0]).is_absolute() else host.executables.get(words[0])


def parser(_task: Task) -> Parser:
    """Return a parser of what our delegate prints."""
    return OsrcParser()


def classify(ending: Ending) -> FailureKind:
    """Return why a turn failed: our delegate has read the agent's own error already."""
    return by_evidence(ending)


LANE = Lane(
    name="acp",
    provider="acp",
    vehicle="acp",
    summary='Any agent that speaks the Agent Client Protocol, by its command: --lane "acp:COMMAND".',
    homepage="https://agentclientprotocol.com",
    install=f"Install an agent and {HINT}.",
    binary=None,
    verbs=VERBS,
    # Whether it asks before it acts is the agent's own affair.
    wall=Wall.OURS,
    goes_to="wherever that agent sends it",
    billing=Billing(kind="unknown", pool="acp", words="its cost is the agent's own affair: not known here"),
    # A slow agent needs fifteen seconds to be ready, and its model may think for minutes.
    liveness=Liveness(first_output_s=FIRST_OUTPUT_S),
    # Many of them read nothing outside of their folder (gemini 0.61): skills go as text.
    mcp=True,
    no_resume="an agent has to be started anew for each job",
    no_bundle="what an agent may read is its own affair",
    plan=partial(plan, ()),
    parser=parser,
    classify=classify,
    probe=partial(probe, ()),
)
