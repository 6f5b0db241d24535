"""Lanes that a person declares without code: ``lanes.d/NAME.toml``.

    summary = "My agent"
    argv = ["my-agent", "run", ["--model", "{model}"], "--json"]
    stdin = "prompt"                 # or "none", with {prompt} or {prompt_file} in argv
    output = "text"                  # osrc-jsonl | claude-stream-json | codex-jsonl
                                     # acp: argv is an agent that speaks the Agent Client Protocol
    [verbs]
    run = "READ-ONLY"
    edit = { posture = "MUTATING", argv = ["--write"] }

A list inside ``argv`` is one group: it is left out when a placeholder in it has no value. Only whole
placeholder words in braces mean anything; what replaces them is never read again.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ..messages.refusals import RefusalCode, Refused
from ..messages.sentences import what_is_wrong
from ..messages.vocabulary import Tier, Verb
from . import credentials, failures
from .contract import (
    Billing,
    EffortSupport,
    Host,
    Lane,
    Launch,
    Liveness,
    Locality,
    Parser,
    Posture,
    PrivateFile,
    ProbeFacts,
    Readiness,
    ReadinessLevel,
    Task,
    Wall,
)
from .launching import ARGV_PROMPT_LIMIT, NESTING, missing_program, prompt_bytes, version_of

PLACEHOLDERS = ("prompt", "prompt_file", "model", "cwd", "effort", "python")
OUTPUTS = {
    "text": (".text", "TextParser"),
    "osrc-jsonl": (".osrc_jsonl", "OsrcParser"),
    "claude-stream-json": (".vehicles.claude_code.events", "ClaudeParser"),
    "codex-jsonl": (".vehicles.codex_cli.events", "CodexParser"),
    "acp": (".osrc_jsonl", "OsrcParser"),
}
PROMPT_FILE = "prompt.txt"

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")

Word = Annotated[str, StringConstraints(min_length=1, max_length=4096, pattern=r"^[^\x00]*$")]


def _one_line(text: str) -> str:
    """Return words that are shown to people as they are. Raises ValueError for what would be more than one line."""
    if not text.isprintable():
        raise ValueError("is shown as it is: one line of printable characters, no control sequence")
    return text


Line = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_one_line)]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\*?$")]
Argv = tuple[Word | tuple[Word, ...], ...]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class VerbRow(_Table):
    """What a verb is on the lane, and what it adds to the command."""

    posture: Posture
    argv: Argv = ()

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: object) -> object:
        return {"posture": value} if isinstance(value, str) else value


class BillingRow(_Table):
    """Who pays."""

    kind: Literal["free", "plan", "metered", "unknown"] = "unknown"
    pool: Line | None = None
    words: Line | None = None
    plan: Line | None = None


_COST_WORDS = {
    "free": "$0, as the lane's file says",
    "plan": "$0 cash, spends the plan's limits, as the lane's file says",
    "metered": "is paid by use; how much is not known here",
    "unknown": "its cost is not known here",
}
"""What is said of the cost where the file gives no words."""


class EnvRow(_Table):
    """Changes of the environment. Values are not secret: the file is readable by its owner only."""

    set: dict[Variable, str] = Field(default_factory=dict, repr=False)
    strip: tuple[Variable, ...] = ()
    keep: tuple[Variable, ...] = ()
    """Credentials of the caller's environment that its program needs."""


class LaneFile(_Table):
    """One ``lanes.d`` file."""

    argv: Annotated[Argv, Field(min_length=1)]
    verbs: Annotated[dict[Verb, VerbRow], Field(min_length=1)]
    summary: Line = "A lane declared by its user."
    homepage: Line | None = None
    install: Line | None = None
    stdin: Literal["prompt", "none"] = "prompt"
    output: Literal["text", "osrc-jsonl", "claude-stream-json", "codex-jsonl", "acp"] = "text"
    streamed: bool = True
    agentic: bool = True
    scaffold: bool = True
    local: bool = False
    model: Line | None = None
    tier: Tier = Tier.MID
    effort: EffortSupport = EffortSupport.ADVISORY
    wall: Wall = Wall.OWN
    state: tuple[Word, ...] = ()
    billing: BillingRow = BillingRow()
    env: EnvRow = EnvRow()
    version_argv: tuple[Word, ...] = ("--version",)

    @model_validator(mode="after")
    def _consistent(self) -> LaneFile:
        program = self.argv[0]
        if not isinstance(program, str):
            raise ValueError("argv: the first item is the program, not a group")  # noqa: TRY004 - pydantic's way
        if "{" in program and program != "{python}":
            raise ValueError("argv: the program is a name, an absolute path or {python}")
        words = [word for row in (self.argv, *(row.argv for row in self.verbs.values())) for word in _flat(row)]
        used = {name for word in words for name in _PLACEHOLDER.findall(word)}
        if unknown := sorted(used.difference(PLACEHOLDERS)):
            raise ValueError(f"argv: {{{unknown[0]}}} is no placeholder; there are {', '.join(PLACEHOLDERS)}")
        ways = [self.stdin == "prompt", "prompt" in used, "prompt_file" in used]
        if self.output == "acp" and ways != [True, False, False]:
            raise ValueError('output = "acp": the protocol carries the prompt; leave stdin and {prompt} out')
        if ways.count(True) != 1:
            raise ValueError('the prompt goes one way: stdin = "prompt", {prompt} or {prompt_file} in argv')
        for verb, row in self.verbs.items():
            if verb.read_only and row.posture is not Posture.READ_ONLY:
                raise ValueError(f'verbs.{verb}: {verb} promises that nothing is changed; its posture is "READ-ONLY"')
        return self


def lane_name(source: str) -> str:
    """Return the lane's name: the file's name without its ending."""
    return PurePath(source).name.removesuffix(".toml")


def load(name: str, content: bytes, source: str) -> Lane | Refused:
    """Return the lane that ``content`` declares, or what is wrong with it: the file, the key, the fix."""
    if not _NAME.fullmatch(name):
        return _bad(source, f"{name!r} is no lane name", "use lower-case letters, digits, - and _, a letter first")
    try:
        row = LaneFile.model_validate(tomllib.loads(content.decode("utf-8")))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        return _bad(source, f"not readable as TOML: {error}", "see osrc help lanes for an example")
    except ValidationError as error:
        key, words = what_is_wrong(error)
        return _bad(source, f"{key} {words}".strip(), "see osrc help lanes for the keys")
    return _lane(name, row, source)


def _bad(source: str, message: str, hint: str) -> Refused:
    return Refused(code=RefusalCode.BAD_CONFIG, message=f"{source}: {message}", hint=hint)


def _flat(argv: Argv) -> Iterable[str]:
    for item in argv:
        if isinstance(item, str):
            yield item
        else:
            yield from item


def _lane(name: str, row: LaneFile, source: str) -> Lane:
    program = str(row.argv[0])
    binary = None if program == "{python}" else program
    return Lane(
        name=name,
        provider=name,
        vehicle=PurePath(program).name if binary else name,
        summary=row.summary,
        homepage=row.homepage or "",
        install=_install(row),
        binary=binary,
        version_argv=row.version_argv,
        verbs={verb: what.posture for verb, what in row.verbs.items()},
        effort=row.effort,
        wall=row.wall,
        state=row.state,
        billing=Billing(
            kind=row.billing.kind,
            pool=row.billing.pool or name,
            words=row.billing.words or _COST_WORDS[row.billing.kind],
            plan=row.billing.plan,
        ),
        locality=Locality.LOCAL if row.local else Locality.CLOUD,
        agentic=row.agentic,
        scaffold=row.scaffold,
        liveness=Liveness(streamed=row.streamed),
        default_tier=row.tier,
        plan=partial(_plan, name, row),
        parser=partial(_parser, row.output),
        classify=failures.classify,
        probe=partial(_probe, name, row),
        own=_own(row),
        source=source,
    )


def _own(row: LaneFile) -> credentials.Own:
    """Return what the file keeps, and what a known program in its command takes for its own."""
    known = credentials.of_command(_flat(row.argv))
    return replace(known, names=(*known.names, *row.env.keep))


def _install(row: LaneFile) -> str:
    return row.install or f"Install {row.argv[0]}, or name it by an absolute path in the lane's file."


def _parser(output: str, _task: Task) -> Parser:
    module, class_name = OUTPUTS[output]
    make: Callable[[], Parser] = getattr(importlib.import_module(module, __package__), class_name)
    return make()


def _plan(name: str, row: LaneFile, task: Task, host: Host) -> Launch | Refused:
    verb = row.verbs.get(task.verb)
    if verb is None:
        return Refused(
            code=RefusalCode.VERB_UNSUPPORTED,
            message=f"The lane {name} can't {task.verb}: its file declares {', '.join(row.verbs)}.",
        )
    prompt = prompt_bytes(task.prompt)
    if isinstance(prompt, Refused):
        return prompt
    program = _program(row, host)
    if program is None:
        return missing_program(str(row.argv[0]), _install(row))
    values = {
        "prompt": task.prompt,
        "prompt_file": f"{{job}}/{PROMPT_FILE}",
        "model": task.model or row.model or "",
        "cwd": task.cwd,
        "effort": task.effort or "",
        "python": host.python,
    }
    items = (*row.argv[1:], *verb.argv)
    used = {word for item in _flat(items) for word in _PLACEHOLDER.findall(item)}
    refused = _model_without_place(name, row, task, used) or _unfit_for_argv(items, task, len(prompt))
    if refused is not None:
        return refused
    if row.output == "acp":
        return _agent(row, task, host, (program, *_expand(items, values)))
    by_file = any("{prompt_file}" in word for word in _flat(items))
    return Launch(
        argv=(program, *_expand(items, values)),
        env_set=dict(row.env.set),
        env_strip=frozenset({*NESTING, *row.env.strip}),
        stdin=prompt if row.stdin == "prompt" else None,
        files=(PrivateFile(name=PROMPT_FILE, content=prompt),) if by_file else (),
        notices=() if task.effort is None or "effort" in used else (_effort_notice(name, row, task.effort),),
        model=task.model or row.model,
        effort=task.effort if "effort" in used else None,
    )


def _agent(row: LaneFile, task: Task, host: Host, command: tuple[str, ...]) -> Launch | Refused:
    """Return the launch of our own delegate, which speaks the protocol with the command."""
    from .vehicles.acp.argv import launch  # noqa: PLC0415 - only for the lanes that need it

    launched = launch(task, host, command)
    if isinstance(launched, Refused):
        return launched
    model = task.model or row.model
    return replace(launched, env_set=dict(row.env.set), env_strip=frozenset({*NESTING, *row.env.strip}), model=model)


def _model_without_place(name: str, row: LaneFile, task: Task, used: set[str]) -> Refused | None:
    """Refuse a model that could not reach the program. An agent is told over its protocol."""
    if task.model in (None, row.model) or "model" in used or row.output == "acp":
        return None
    return Refused(
        code=RefusalCode.UNKNOWN_MODEL,
        message=f"The lane {name} takes no model: its file has no {{model}} in argv.",
        hint="leave out -m, or put {model} in the lane's file",
    )


def _effort_notice(name: str, row: LaneFile, effort: str) -> str:
    reach = "is only asked for in the prompt's words" if row.scaffold else "does not reach its program"
    return f"The lane {name} has no {{effort}} in its file: effort {effort} {reach}."


def _program(row: LaneFile, host: Host) -> str | None:
    program = str(row.argv[0])
    if program == "{python}":
        return host.python
    named = program if PurePath(program).is_absolute() else None
    return host.executables.get(program, named)  # one that was looked for and can't be executed is None


def _unfit_for_argv(items: Argv, task: Task, size: int) -> Refused | None:
    """Refuse what can't ride in a command line as it is."""
    used = {name for word in _flat(items) for name in _PLACEHOLDER.findall(word)}
    by_argv = "prompt" in used
    if by_argv and size > ARGV_PROMPT_LIMIT:
        message = f"The prompt of {size} bytes is too long for a command line."
    elif used >= {"cwd", "prompt_file"} and "{job}" in task.cwd:
        message = "The folder's name holds {job}, which stands for the job's own folder in this command."
    elif by_argv and task.prompt.startswith("-") and not _guarded(list(_flat(items))):
        message = "The prompt starts with a dash and the program would read it as an option."
    else:
        return None
    return Refused(
        code=RefusalCode.BAD_TASK,
        message=message,
        hint='in the lane\'s file, take stdin = "prompt" or {prompt_file}, or put "--" before {prompt}',
    )


def _guarded(words: list[str]) -> bool:
    """Whether each bare {prompt} comes after an option or ``--``, which takes it as a value."""
    return all(place > 0 and words[place - 1].startswith("-") for place, word in enumerate(words) if word == "{prompt}")


def _expand(items: Argv, values: dict[str, str]) -> Iterable[str]:
    for item in items:
        group = (item,) if isinstance(item, str) else item
        used = {name for word in group for name in _PLACEHOLDER.findall(word)}
        if all(values[name] for name in used):
            yield from (_PLACEHOLDER.sub(lambda match: values[match[1]], word) for word in group)


def _probe(name: str, row: LaneFile, facts: ProbeFacts) -> Readiness:
    program = _program(row, facts.host)
    if program is None:
        absolute = PurePath(str(row.argv[0])).is_absolute()
        missing = "can't be executed" if absolute else "is not on PATH"
        return Readiness(level=ReadinessLevel.ABSENT, detail=f"{row.argv[0]} {missing}", fix=_install(row))
    version = version_of(facts.version_output)
    return Readiness(level=ReadinessLevel.INSTALLED, detail=f"{program}, declared as {name}", version=version)
