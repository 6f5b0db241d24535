"""What the plans of several lanes share: prompts as bytes, nested-session variables, versions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Effort
from .contract import Host, ProbeFacts, Readiness, ReadinessLevel, Task

ARGV_PROMPT_LIMIT = 16 * 1024
"""Bytes of a prompt that may ride in a command line; beyond it, stdin or a private file."""

SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
"""What may be a server's name in a command that lists names: it is read as nothing else."""

NESTING = frozenset(
    {
        "CLAUDECODE",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_CHILD_SESSION",
        "CLAUDE_CODE_EXECPATH",
        "CLAUDE_CODE_SSE_PORT",
        "CLAUDE_EFFORT",
        "CLAUDE_PID",
        "AI_AGENT",
        "CODEX_SANDBOX",
        "CODEX_SANDBOX_NETWORK_DISABLED",
        "CODEX_THREAD_ID",
        "OSRC_MARK",
    }
)
"""Variables that tell a CLI it runs inside another session. Being run from inside one is our main use,
so each delegate starts without them. Keys and base URLs of the user are kept."""

_VERSION = re.compile(r"(\d{1,5})\.(\d{1,5})(?:\.(\d{1,6}))?")


def prompt_bytes(prompt: str) -> bytes | Refused:
    """Return the prompt as the delegate reads it, or refuse what no program would read whole.

    Bytes of the command line that were not UTF-8 arrive as they were.
    """
    if "\x00" in prompt:
        return Refused(
            code=RefusalCode.BAD_TASK,
            message="The prompt holds a NUL character, which programs take for its end.",
            hint="remove it, for example with: tr -d '\\000'",
        )
    return prompt.encode("utf-8", "surrogateescape" if _only_escaped(prompt) else "replace")


def effort_word(program: str, asked: Effort | None, words: Mapping[Effort, str]) -> tuple[str | None, tuple[str, ...]]:
    """Return a program's own word for an effort, and what is said where that is another than was asked for."""
    if asked is None:
        return None, ()
    word = words[asked]
    return word, () if word == asked else (f"{program} has no effort {asked}; {word} is used.",)


def resumed(task: Task, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that take up the task's conversation (``Lane.resume``); nothing for a new one."""
    if task.conversation is None:
        return ()
    return tuple(word.replace("{conversation}", task.conversation) for word in words)


def _only_escaped(prompt: str) -> bool:
    return not any("\ud800" <= char < "\udc80" or "\udcff" < char <= "\udfff" for char in _surrogates(prompt))


def _surrogates(prompt: str) -> list[str]:
    return [] if prompt.isascii() else re.findall("[\ud800-\udfff]", prompt)


def missing_program(program: str, install: str) -> Refused:
    """Return the refusal of a lane whose program is not there."""
    return Refused(
        code=RefusalCode.LANE_NOT_READY,
        message=f"The program {program} was not found on PATH.",
        hint=install,
    )


def program_and_prompt(task: Task, host: Host, binary: str, install: str) -> tuple[str, bytes] | Refused:
    """Return where a lane's program is and the prompt as it reads it, or why it can't be started with that."""
    program = host.executables.get(binary)
    if program is None:
        return missing_program(binary, install)
    prompt = prompt_bytes(task.prompt)
    return prompt if isinstance(prompt, Refused) else (program, prompt)


def version_of(output: bytes | None) -> str | None:
    """Return the version number in the output of ``--version``, or None."""
    if output is None:
        return None
    match = _VERSION.search(output[:4096].decode("utf-8", "replace"))
    return match[0] if match else None


def version_tuple(version: str | None) -> tuple[int, ...] | None:
    """Return a version as numbers, or None."""
    match = _VERSION.fullmatch(version) if version else None
    return tuple(int(part) for part in match.groups() if part is not None) if match else None


def cli_readiness(  # noqa: PLR0913 - keyword-only facts of one CLI
    facts: ProbeFacts,
    *,
    binary: str,
    install: str,
    sign_in: str,
    keys: tuple[str, ...],
    min_version: tuple[int, ...],
    tested: tuple[str, ...],
    keyless: bool = False,
) -> Readiness:
    """Return how ready a CLI is, from what was seen of it. Whether it answers is only known by asking it."""
    program = facts.host.executables.get(binary)
    if program is None:
        return Readiness(level=ReadinessLevel.ABSENT, detail=f"{binary} is not on PATH", fix=install)
    key = next((name for name in keys if facts.host.environment.get(name)), None)
    signed = key or next(iter(sorted(facts.credentials)), None)
    signed_in = signed is not None or keyless
    version = version_of(facts.version_output)
    unasked = version is None and facts.version_exit is None  # or it gave no answer in time
    if version is None and not (unasked and not signed_in):
        return Readiness(
            level=ReadinessLevel.INSTALLED,
            detail=f"{program}, but `{binary} --version` told no version",
            fix=f"{binary} --version",
            signed_in=signed_in,
        )
    if version is not None and (version_tuple(version) or ()) < min_version:
        least = ".".join(map(str, min_version))
        return Readiness(
            level=ReadinessLevel.INSTALLED,
            detail=f"{binary} {version} is older than {least}, the oldest that is supported",
            version=version,
            tested=False,
            fix=install,
            signed_in=signed_in,
        )
    if not signed_in:
        return Readiness(
            level=ReadinessLevel.INSTALLED,
            detail=f"{f'{binary} {version}' if version else program}, no sign-in found",
            version=version,
            tested=version in tested if version else None,
            fix=sign_in,
            signed_in=False,
        )
    return Readiness(
        level=ReadinessLevel.SIGNED_IN,
        detail=f"{binary} {version}, {signed or 'cloud account'} is there",
        version=version,
        tested=version in tested,
        signed_in=True,
    )
