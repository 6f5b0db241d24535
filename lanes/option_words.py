"""Which options of a CLI a lane uses, and which a help text lists. Pure.

for command, options in used(lane, host).items():      # ("exec",) → {"--json", "-s", ...}
    gone = options - offered(output_of_help)
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ..messages.vocabulary import Effort, Verb
from .contract import Host, Lane, Launch, Task

_OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
_MODELS = (None, "a-model")
_EFFORTS = (None, Effort.LOW, Effort.MAX)
_BRIDGE_TOKEN = "OSRC_CLAUDEX_TOKEN"  # noqa: S105 - a name
_PLACE = "http://127.0.0.1:9/v1"


def used(lane: Lane, host: Host) -> Mapping[tuple[str, ...], frozenset[str]]:
    """Return the options that ``lane`` gives its program, by the command they belong to (``()``: the program's own).

    Every verb is planned, with and without a model, an effort, and a conversation to go on with. What the lane
    lacks on this machine but its program (keys, servers) is made up: nothing of it is run. Empty where the
    program is not there. One that a delegate of ours starts stands behind that one's own words.
    """
    program = host.executables.get(lane.binary) if lane.binary else None
    found: dict[tuple[str, ...], set[str]] = {}
    if program is None:
        return {}
    for plan in _plans(lane, host):
        if program not in plan.argv:
            continue
        command, rest = _split(plan.argv[plan.argv.index(program) + 1 :])
        found.setdefault(command, set()).update(rest)
    return {command: frozenset(options) for command, options in found.items()}


def _plans(lane: Lane, host: Host) -> Iterator[Launch]:
    complete = replace(
        host,
        secrets={**dict.fromkeys((*lane.secrets, _BRIDGE_TOKEN), "made up"), **host.secrets},
        server=host.server or _PLACE,
        server_models=host.server_models or ("a-model",),
    )
    for verb, model, effort in itertools.product((verb for verb in Verb if verb in lane.verbs), _MODELS, _EFFORTS):
        task = Task(verb=verb, prompt="two words", cwd="/", model=model, effort=effort)
        for asked in (task, replace(task, conversation="a-conversation")) if lane.resume else (task,):
            plan = lane.plan(asked, complete)
            if isinstance(plan, Launch):
                yield plan


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the leading words that name a command, and the options before ``--``."""
    command = tuple(itertools.takewhile(lambda word: not word.startswith("-"), words))
    before = itertools.takewhile(lambda word: word != "--", words[len(command) :])
    return command, frozenset(word.partition("=")[0] for word in before if _OPTION.match(word))


def offered(output: bytes) -> frozenset[str]:
    """Return every option that a help text names."""
    return frozenset(_OPTION.findall(output.decode("utf-8", "replace")))
