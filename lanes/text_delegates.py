"""What the lanes over our own text delegates share: their command line, their refusals."""

from __future__ import annotations

from collections.abc import Mapping

from ..messages.lane_events import FailureKind, TurnEnded
from ..messages.refusals import RefusalCode, Refused
from ..messages.vocabulary import Verb
from .contract import Ending, Host, Launch, Parser, Task
from .launching import NESTING, prompt_bytes
from .osrc_jsonl import OsrcParser
from .text import ending_kind

CHAT_MODULE = "outsourcerer.actors.delegates.chat"
EMBEDDED_MODULE = "outsourcerer.actors.delegates.embedded"
"""Named, not imported: lanes plan a process, they don't know its code."""

TEXT_VERBS = (Verb.RUN, Verb.EXPLORE)


def refuse_verb(task: Task, lane: str) -> Refused | None:
    """Refuse a verb that needs tools: a text delegate has none."""
    if task.verb in TEXT_VERBS:
        return None
    return Refused(
        code=RefusalCode.VERB_UNSUPPORTED,
        message=f"The {lane} lane answers in text only: it can't {task.verb}.",
        hint="claude and codex can; or use run or explore here",
    )


def launch(
    task: Task, host: Host, module: str, options: Mapping[str, str | None], *, notices: tuple[str, ...] = ()
) -> Launch | Refused:
    """Return the launch of one of our delegate programs, the prompt on its stdin.

    ``-P`` keeps the job's folder off the module path: a file called ``json.py`` in a work tree must not
    run. ``--name=value`` is one item, because a value may start with a dash; a value None is a bare flag.
    """
    prompt = prompt_bytes(task.prompt)
    if isinstance(prompt, Refused):
        return prompt
    items = (f"--{name}" if value is None else f"--{name}={value}" for name, value in options.items())
    argv = (host.python, "-P", "-m", module, *items)
    return Launch(argv=argv, env_strip=NESTING, stdin=prompt, notices=notices)


def positive_number(text: str | None) -> float | None:
    """Read a setting's number; None for anything that is not a sensible positive one."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 < value < 1e9 else None


def parser(_task: Task) -> Parser:
    """Return a parser of what our delegate programs print."""
    return OsrcParser()


def classify(ending: Ending) -> FailureKind:
    """Believe our own program's final event; without one, the way the process ended."""
    if isinstance(ending.turn, TurnEnded):
        return ending.turn.failure
    return ending_kind(ending.exit)
