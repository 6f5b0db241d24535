"""``osrc help``: a command's help, or one of the topic pages."""

from __future__ import annotations

import click

from .. import exit_codes
from ..errors import CliError
from ..options import Command, Globals
from ..output import answer, answer_json
from ..render.table import columns

TOPICS = ("lanes", "exit-codes", "env", "json")

_LANES = """\
A lane is who runs your work and who is billed for it: a CLI that you have, an API, or a model on this machine.

  osrc lanes              which ones are ready here, and what is missing
  osrc lanes show LANE    everything about one

Choose one with --lane NAME, or let the model decide: -m MODEL. Without either, the setting "model" or
"provider" holds, else the best lane that is ready. A model and a lane that contradict each other are refused.

What the delegate may do is the verb, not a flag:

  run, explore    read only
  research        may execute tools, in a sandbox
  edit            may change files in the folder
  yolo            everything, no sandbox

A lane that can't honour a verb refuses it and names those that can. osrc run --dry-run "..." prints the plan
(lane, command, posture, cost) and starts nothing.

Your own lane is one file, lanes.d/NAME.toml in the state home:

  summary = "My agent"
  argv = ["my-agent", "run", ["--model", "{model}"]]
  stdin = "prompt"
  output = "text"
  [verbs]
  run = "READ-ONLY"
  edit = { posture = "MUTATING", argv = ["--write"] }

A list inside argv is left out when a placeholder in it has no value.

Any agent that speaks the Agent Client Protocol is a lane by its command alone: --lane "acp:gemini --acp". In a
file, output = "acp" says the same of argv. It is asked before it acts where it asks; run and explore refuse.

A model on this machine (-m local) answers in text on run and explore; on edit and yolo Claude Code, or with
OSRC_LOCAL_API=responses Codex, works with it, without an account.

--with skills=a,b (or all) gives a delegate skills of yours, --with mcp=x a server of ~/.claude.json: whole, by
the road its lane has, or the job is refused. Nothing of yours reaches it unasked.
"""

_JSON = """\
--json prints one object on one line of stdout, with "schema_version": "1", stable keys and no colour. With
--follow, and for events and watch, it is one object a line. Errors are objects too, also those of usage:

  {"schema_version": "1", "error": {"code": "no_such_job", "message": "...", "hint": "..."}}

status, wait, cancel   {"schema_version", "jobs": [JOB...], "omitted": N}; with exactly one ID (status, wait) the
                       job's own keys stand beside "jobs"
run, explore ...       JOB and "result" (the final message, null when there is none)
bg                     {"schema_version", "job_id", "plan"}
run --dry-run          {"schema_version", "plan"}
result                 {"schema_version", "job_id", "state", "result"}
logs                   {"schema_version", "job_id", "lines"}
explain                JOB and "meaning", "verdict": {"label", "reason"}, "errors", "evidence"
classify               {"schema_version", "job_id", "label", "reason"}
events                 {"schema_version", "seq", "at", "type", "job_id", ...the fact's own keys}
lanes                  {"schema_version", "lanes": [...], "problems": [...]}
doctor                 {"schema_version", "healthy", "findings": [...]}
supervisor status      {"schema_version", "running", "pid", "version", ...}

JOB has schema_version job_id label group_id provider lane vehicle verb shape model model_observed tier effort
state status exit reason outcome started ended accepted_at age_s cwd worktree branch
progress{last_marker,reads,writes,bash,percent} cost{kind,cash_usd,measured,plan,tokens} supervision
result_path log_path note conversation continues retries hops[] wake_at.
"status" equals "state". Unknown is null, never 0. Times are epoch seconds.
"""

_STATES = """\
States of a job
  live:  queued launching running stalled? exploring? no-progress-writes waiting-limit needs-answer
  ended: done done? blocked permission-blocked interrupted timeout wedged failed canceled
"""


@click.command("help", cls=Command)
@click.argument("words", metavar="[COMMAND | TOPIC]", nargs=-1)
@click.pass_context
def help_command(context: click.Context, words: tuple[str, ...]) -> None:
    """Help for a command, or a topic: lanes, exit-codes, env, json."""
    root = context.find_root()
    options = context.ensure_object(Globals)
    if not words:
        answer(root.get_help())
        return
    if len(words) == 1 and words[0].lower() in TOPICS:
        _topic(options, words[0].lower())
        return
    answer(_command_help(root, words))


def _command_help(root: click.Context, words: tuple[str, ...]) -> str:
    command: click.Command = root.command
    context = root
    for word in words:
        found = command.get_command(context, word) if isinstance(command, click.Group) else None
        if found is None:
            raise _unknown(
                word, [*(command.list_commands(context) if isinstance(command, click.Group) else []), *TOPICS]
            )
        context = click.Context(found, info_name=word, parent=context)
        command = found
    return command.get_help(context)


def _unknown(word: str, known: list[str]) -> CliError:
    from ..spelling import nearest  # noqa: PLC0415 - only on the way to an error

    near = nearest(word, known)
    hint = f"osrc help {near}" if near else "osrc help"
    return CliError("usage", f"no help for {word!r}", hint)


def _topic(options: Globals, topic: str) -> None:
    if topic == "exit-codes":
        if options.json:
            answer_json({"exit_codes": {str(code): words for code, words in exit_codes.MEANINGS.items()}})
            return
        answer("\n".join(columns([("CODE", "MEANING"), *((str(c), w) for c, w in exit_codes.MEANINGS.items())])))
        answer("\n" + _STATES.rstrip())
    elif topic == "env":
        _environment(options)
    elif options.json:
        answer_json({"topic": topic, "text": _LANES if topic == "lanes" else _JSON})
    else:
        answer((_LANES if topic == "lanes" else _JSON).rstrip())


def _environment(options: Globals) -> None:
    from ...state.settings import SETTINGS  # noqa: PLC0415 - only for this page

    rows = [
        (name, "-" if setting.default is None else str(setting.default), setting.unit or "-", setting.doc)
        for setting in SETTINGS.values()
        if setting.effective
        for name in setting.names
    ]
    rows += [
        ("OSRC_HOME", "~/.outsourcerer", "-", "the state home"),
        ("OSRC_DEBUG", "-", "-", "1: show the trace of a fault of osrc itself"),
        ("NO_COLOR", "-", "-", "set: no colour"),
    ]
    if options.json:
        answer_json({"environment": {row[0]: {"default": row[1], "unit": row[2], "meaning": row[3]} for row in rows}})
        return
    answer("\n".join(columns([("VARIABLE", "DEFAULT", "UNIT", "MEANING"), *sorted(rows)])))
    answer("\nThe same keys in lower case, without the prefix, stand in config.toml (osrc config path).")
