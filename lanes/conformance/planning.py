"""Checks of what a lane says of itself, and of the commands it plans."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from pathlib import PurePath

from ...messages.refusals import RefusalCode, Refused
from ...messages.vocabulary import Effort, Verb
from ..contract import Launch, Posture
from ..launching import ARGV_PROMPT_LIMIT
from .subject import ContractError, Subject, launched, require

SECRET = "sk-0123456789-secret"  # noqa: S105 - a made-up one that the checks look for
SECRET_NAMES = ("ANTHROPIC_API_KEY", "CODEX_API_KEY", "OPENAI_API_KEY", "OSRC_LOCAL_KEY", "CLAUDE_CODE_OAUTH_TOKEN")
PAYING = (*SECRET_NAMES, "GEMINI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "COPILOT_PROVIDER_BASE_URL")
"""What makes a program have somebody else pay."""
_PLACE, _CONVERSATION = "{conversation}", "0f1e2d3c-conversation"
HOSTILE_PROMPTS = (
    "plain",
    "two\nlines\r\n\ttabbed",
    '\'; rm -rf ~ "$(id)" `id` %s {job} {prompt} {model} ${HOME} \\n \\',
    "--dangerously-skip-permissions",
    "\u00e9\u4e2d\U0001f600 \u202e",
    "\udcff not unicode",
    "x" * 200_000,
    "y" * (2 * 1024 * 1024),
)
"""Prompts that a shell, a template, an option parser or a decoder would change."""


def describes_itself(subject: Subject) -> None:
    """A person is told what the lane is; a read-only verb is read-only."""
    lane = subject.lane
    require(re.fullmatch(r"[a-z][a-z0-9_-]*(:.+)?", lane.name), f"{lane.name!r} is no lane name")
    for name, words in (("summary", lane.summary), ("install", lane.install), ("billing", lane.billing.words)):
        require(words.strip(), f"no words for {name}")
    require(lane.verbs, "it can do nothing")
    for verb, posture in lane.verbs.items():
        safe = not verb.read_only or posture is Posture.READ_ONLY
        require(safe, f"{verb} promises that nothing is changed")


def honours_exactly_its_verbs(subject: Subject) -> None:
    """What is declared is launched, and the rest refused as a verb that the lane does not know."""
    for verb in Verb:
        result = subject.lane.plan(subject.task(verb=verb), subject.host)
        if verb in subject.verbs:
            require(isinstance(result, Launch), f"{verb} is declared, and refused: {result}")
        elif isinstance(result, Refused):
            require(result.code is RefusalCode.VERB_UNSUPPORTED, f"{verb} is refused as {result.code}")
        else:
            raise ContractError(f"{verb} is not declared, and launched")


def plans_a_clean_command(subject: Subject) -> None:
    """One answer to one question: an absolute program, no empty word, no NUL."""
    for verb, effort in itertools.product(subject.verbs, (None, *Effort)):
        task = subject.task(verb=verb, effort=effort)
        plan = launched(subject, task)
        require(plan == subject.lane.plan(task, subject.host), "the same question has two answers")
        require(PurePath(plan.argv[0]).is_absolute(), "the program is not an absolute path")
        require(all(plan.argv), "an empty item in the command")
        require(not any("\x00" in item for item in plan.argv), "a NUL in the command")


def says_beforehand_who_pays(subject: Subject) -> None:
    """What a person is told before a run is what its launch says, with keys in the environment and without."""
    for here in (subject, subject.holding(PAYING, SECRET)):
        lane = here.lane
        told = lane.billing if lane.payer is None else lane.payer(here.host)
        paid = launched(here, here.task()).billing or lane.billing
        require(paid == told, f"it says {told.words!r}, and launches {paid.words!r}")


def never_interprets_a_prompt(subject: Subject) -> None:
    """The prompt arrives word for word, one way, and changes nothing else of the command."""
    usual = _others(launched(subject, subject.task("usual")), "usual", subject)
    for prompt in HOSTILE_PROMPTS:
        raw = prompt.encode("utf-8", "surrogateescape")
        result = subject.lane.plan(subject.task(prompt), subject.host)
        if isinstance(result, Refused):
            require(subject.small_prompts_only, f"refused a prompt of {len(raw)} bytes: {result.message}")
            require(result.code is RefusalCode.BAD_TASK, f"a long prompt is refused as {result.code}")
            continue
        rest = _others(result, prompt, subject)
        # An option may stand before the prompt in one form and be part of its word in the other.
        kept = rest <= usual if subject.prompt_by_argument else rest == usual
        require(kept, f"a prompt changed the command: {list((rest - usual) + (usual - rest))}")
        said = [item for item in result.argv if _says(item, prompt, subject)]
        ways = [result.stdin == raw, *(True for _ in said), *(file.content == raw for file in result.files)]
        require(ways.count(True) == 1, "the prompt must go one way, word for word")
        require(len(raw) <= ARGV_PROMPT_LIMIT or not said, "a long prompt in the command line")


def _says(item: str, prompt: str, subject: Subject) -> bool:
    return item == prompt or (subject.prompt_by_argument and item.startswith("-") and item.endswith(f"={prompt}"))


def _others(plan: Launch, prompt: str, subject: Subject) -> Counter[str]:
    """Return the words of a command that neither are the prompt nor point to it."""
    raw = prompt.encode("utf-8", "surrogateescape")
    files = [f"{{job}}/{file.name}" for file in plan.files if file.content == raw] if subject.prompt_by_argument else []
    return Counter(
        item for item in plan.argv if not _says(item, prompt, subject) and not any(path in item for path in files)
    )


def takes_up_the_conversation_it_is_told(subject: Subject) -> None:
    """The words of ``Lane.resume`` are added to the command and nothing else is, or the plan is refused."""
    lane = subject.lane
    require(lane.resume or lane.no_resume.strip(), "no word on why a conversation can't be continued")
    if not lane.resume:
        return
    require(any(_PLACE in word for word in lane.resume), f"no {_PLACE} in the words that continue one")
    for verb in subject.verbs:
        task = subject.task(verb=verb)
        result = lane.plan(replace(task, conversation=_CONVERSATION), subject.host)
        if isinstance(result, Refused):
            continue
        told = Counter(word.replace(_PLACE, _CONVERSATION) for word in lane.resume)
        added = Counter(result.argv) - Counter(launched(subject, task).argv)
        require(added == told, f"{verb}: {sorted(added)} was added to continue, not {sorted(told)}")


def refuses_what_no_program_reads(subject: Subject) -> None:
    """A NUL would be taken for the prompt's end: refused, not cut out."""
    refused = isinstance(subject.lane.plan(subject.task("a\x00b"), subject.host), Refused)
    require(refused, "a prompt with a NUL was launched")


def keeps_secrets_out_of_sight(subject: Subject) -> None:
    """No key in the command, in what people are told, in a file, in what is printed of a plan."""
    holding = subject.holding(SECRET_NAMES, SECRET)
    for verb in holding.verbs:
        plan = launched(holding, holding.task(verb=verb))
        require(SECRET not in " ".join((*plan.argv, *plan.notices)), "a secret in the command or a notice")
        require(SECRET not in repr(plan), "a secret in what is printed of a plan")
        written = [plan.stdin or b"", *(file.content for file in plan.files)]
        require(not any(SECRET.encode() in content for content in written), "a secret in a file or on stdin")
