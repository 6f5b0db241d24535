"""Global options, and the click classes that accept them at every level.

They are ordinary click options of each command and group, so click itself tells an option from an
option's value, from a task, and from what stands after ``--``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from ..messages.vocabulary import Effort, Tier
from .output import answer

CONTEXT = {"help_option_names": [], "max_content_width": 100}


class Globals:
    """What the global options said, wherever they stood."""

    __slots__ = ("cloud_ack", "home", "json", "no_daemon", "provider", "quiet", "verbose")

    def __init__(self) -> None:
        """Begin with nothing said."""
        self.provider: str | None = None
        self.cloud_ack = False
        self.home: str | None = None
        self.no_daemon = False
        self.json = False
        self.quiet = False
        self.verbose = 0


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Write a given option into the one Globals of this command line; a level that is silent changes nothing."""
    kept = context.ensure_object(Globals)
    if value and parameter.name is not None:
        setattr(kept, parameter.name, value)


def _show_help(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        answer(context.get_help())
        context.exit()


def _help_option() -> click.Option:
    """Return ``-h``. Click's own loads the translations of its one sentence, which takes a millisecond."""
    return click.Option(
        ["-h", "--help"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_show_help,
        help="Show this message.",
    )


def _global_options() -> list[click.Option]:
    """Return new option objects; cheap enough to make for each command that is loaded."""
    shared: dict[str, Any] = {"expose_value": False, "callback": _keep}
    return [
        click.Option(["--json"], is_flag=True, help="Print one JSON object.", **shared),
        click.Option(["--provider"], metavar="NAME", help="Lane, in the predecessor's words.", **shared),
        click.Option(["--cloud-ack"], is_flag=True, help="Agree that the task leaves this machine.", **shared),
        click.Option(["--home"], metavar="DIR", help="State home (default: $OSRC_HOME, ~/.outsourcerer).", **shared),
        click.Option(["--no-daemon"], is_flag=True, help="Supervise in this process.", **shared),
        click.Option(["-q", "--quiet"], is_flag=True, help="Errors and the answer only.", **shared),
        click.Option(["-v", "--verbose"], count=True, help="Say more.", **shared),
    ]


class Live(click.types.StringParamType):
    """A word as it is typed, which the shell completes from what is alive here (``completing.py``)."""

    def __init__(self, kind: str) -> None:
        """``kind``: one of ``completing.py``'s; ``file`` and ``dir`` are the shell's own."""
        self.kind = kind

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - click's own signature
        incomplete: str,
    ) -> list[click.shell_completion.CompletionItem]:
        """Return the words that there are."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only while completing

        from .completing import complete  # noqa: PLC0415 - as above

        if self.kind in {"file", "dir"}:
            return [CompletionItem(incomplete, type=self.kind)]
        return [CompletionItem(word) for word in complete(self.kind, ctx, incomplete)]


_KINDS = {
    "LANE": "lane",
    "LANE|any": "lane",
    "[LANE": "lane",
    "[LANE]...": "lane",
    "MODEL": "model",
    "[MODEL]]": "model",
    "JOB": "job",
    "[JOB|SESSION] TASK": "job",
    "GID": "group",
    "LOOP": "loop",
    "[LOOP]": "loop",
    "HOST": "host",
    "[HOST]...": "host",
    "KEY": "setting",
    "[VERB] TASK": "verb",
    "[COMMAND | TOPIC]": "topic",
    "DIR": "dir",
    "[DIR]": "dir",
    "F": "file",
    "FILE": "file",
    "PATH...": "file",
}
"""What stands for a value in the help → what completes it: so no command can forget it."""


class Near(click.Choice[Any]):
    """A choice that takes a word in any case, and suggests the nearest one for a word that it has not."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 - click's own signature
        """Return the choice. Fails for anything else, with the word that may have been meant."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            from .spelling import meant  # noqa: PLC0415 - only on the way to an error

            self.fail(error.message + meant(str(value), [str(choice) for choice in self.choices]), param, ctx)


def _complete(parameters: list[click.Parameter]) -> None:
    """Let the shell complete the values of plain words by what they stand for, and choices take any case."""
    for parameter in parameters:
        if type(parameter.type) is click.Choice:
            parameter.type = Near(parameter.type.choices, case_sensitive=False)
        if parameter.type is not click.STRING:
            continue
        shown = parameter.metavar
        kind = _KINDS.get(shown or "")
        if parameter.name in {"trust_lane", "provider"}:
            kind = "lane"
        elif kind is None and (shown.startswith("[NAME]") if shown else parameter.name == "name"):
            kind = "session"
        if kind is not None:
            parameter.type = Live(kind)


class Command(click.Command):
    """A click command with the global options, which its help keeps apart from its own. Arguments are click's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's own signature, passed through
        """Add the global options to those that were declared."""
        kwargs.setdefault("context_settings", CONTEXT)
        super().__init__(*args, **kwargs)
        added = _global_options()
        self.global_names = frozenset(option.name or "" for option in added)
        self.params = [*self.params, _help_option(), *added]
        _complete(self.params)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then the global ones."""
        own: list[tuple[str, str]] = []
        everywhere: list[tuple[str, str]] = []
        for parameter in self.params:
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                (everywhere if parameter.name in self.global_names else own).append(record)
        for title, rows in (("Options", own), ("Global options (anywhere before --)", everywhere)):
            with formatter.section(title):
                formatter.write_dl(rows)
                if rows is own:
                    self._format_units(formatter)

    def _format_units(self, formatter: click.HelpFormatter) -> None:
        """Say once how the times and sizes of these options are written."""
        kinds = {type(parameter.type) for parameter in self.params}
        for kind, words in _UNITS.items():
            if kind in kinds:
                formatter.write_paragraph()
                formatter.write_text(words)


class Group(Command, click.Group):
    """A click group with the global options, whose unknown words get the nearest real one suggested."""

    command_class = Command

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands first: they are what help is asked for."""
        self.format_commands(context, formatter)
        super().format_options(context, formatter)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with its whole first sentence: one that is cut off tells nothing."""
        rows = []
        for name in self.list_commands(context):
            command = self.get_command(context, name)
            if command is not None and not command.hidden:
                rows.append((name, first_sentence(command.help or "")))
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names. Raises UsageError with the nearest one."""
        word = args[0]
        command = self.get_command(context, word)
        if command is None and not context.resilient_parsing:
            from .spelling import unknown_word  # noqa: PLC0415 - only on the way to an error

            raise click.UsageError(unknown_word(word, self.list_commands(context), context.command_path), context)
        return (word if command else None), command, args[1:]


def first_sentence(text: str) -> str:
    """Return the first sentence of a help text, on one line."""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph, maxsplit=1)[0]


class Whole(click.ParamType[int]):
    """A whole number from 0 on, as large as any count here can be."""

    name = "number"
    MOST = 2**53

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's own signature
        """Return the number. Fails for anything else."""
        word = str(value).strip()
        number = int(word) if word.isascii() and word.isdigit() and len(word) < 20 else -1
        if not 0 <= number <= self.MOST:
            self.fail(f"{word[:40]!r} is not a whole number from 0 to {self.MOST}.", param, ctx)
        return number


class Duration(click.ParamType[float]):
    """Seconds, or a number with a unit: ``90``, ``90s``, ``10m``, ``2h``, ``1d``."""

    name = "seconds"
    _FORM = r"(\d{1,9}(?:\.\d{1,6})?)([smhd]?)"
    _UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}  # noqa: RUF012 - click's base is no dataclass

    def __init__(self, *, zero: bool = False, days: int = 365) -> None:
        """``zero``: whether 0 is a time too; ``days``: the longest one."""
        self._zero = zero
        self._days = days

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's own signature
        """Return seconds. Fails for anything else, and for zero unless it means something."""
        if isinstance(value, int | float):
            return float(value)
        match = re.fullmatch(self._FORM, str(value).strip(), re.ASCII)
        seconds = float(match[1]) * self._UNITS[match[2]] if match else -1.0
        if seconds < 0 or (seconds == 0 and not self._zero):
            self.fail(f"{value!r} is not a time; give seconds, or 90s, 10m, 2h, 1d.", param, ctx)
        if seconds > self._days * 86400:
            self.fail(f"{value!r} is too long; at most {self._days}d.", param, ctx)
        return seconds


class Age(Duration):
    """The same, but a bare number means days: ``3``, ``12h``, ``0``."""

    name = "days"
    _UNITS = {"": 86400.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}  # noqa: RUF012 - as above

    def __init__(self) -> None:
        """Up to ten years."""
        super().__init__(zero=True, days=3650)


class Size(click.ParamType[int]):
    """Bytes, or a number with a unit: ``500M``, ``2G``."""

    name = "size"
    _UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}  # noqa: RUF012 - as above

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's own signature
        """Return bytes. Fails for anything else."""
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([kmgt]?)i?b?", str(value).strip().lower(), re.ASCII)
        if match is None:
            self.fail(f"{value!r} is not a size; give bytes, or 500M, 2G.", param, ctx)
        return int(float(match[1]) * self._UNITS[match[2]])


_UNITS = {
    Duration: "S: seconds, or a number with its unit: 90s, 10m, 2h, 1d.",
    Age: "D: days, or a number with its unit: 12h, 90m, 3d.",
    Size: "SIZE: bytes, or a number with its unit: 500M, 2G.",
}
"""What stands for a time or a size in the help → how it is written: said once in every help that has one."""


def check_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command whose job may have a check of its own."""
    for decorator in reversed(
        (
            click.option(
                "--check",
                "job_check",
                metavar="CMD",
                help="Run this when the answer is in: exit 0 is done, anything else is failed.",
            ),
            click.option(
                "--check-timeout", "job_check_timeout", metavar="S", type=Duration(days=30), help="Its bound (5m)."
            ),
        )
    ):
        function = decorator(function)
    return function


def task_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that starts a job."""
    for decorator in reversed(
        (
            click.option("-m", "--model", metavar="MODEL", help="Model or alias; the lane follows from it."),
            click.option("--lane", metavar="LANE", help="Who runs it and who is billed (osrc lanes)."),
            click.option(
                "--effort",
                "--reasoning",
                "effort",
                type=click.Choice([word.value for word in Effort]),
                help="Reasoning effort.",
            ),
            click.option(
                "--tier", type=click.Choice([word.value for word in Tier]), help="Capability class of the model."
            ),
            click.option(
                "--with",
                "grants",
                metavar="skills=A,B|mcp=X",
                multiple=True,
                help="Give it skills or MCP servers of yours: skills=a,b, skills=all, mcp=x.",
            ),
            click.option("--cwd", metavar="DIR", help="Folder the delegate works in (default: this one)."),
            click.option(
                "--timeout",
                metavar="S",
                type=Duration(days=30),
                help="Hard cap; never extended.",
            ),
            click.option(
                "--worktree/--no-worktree",
                default=None,
                help="Work in a git work tree of its own, on a branch of its own.",
            ),
            click.option(
                "--after", metavar="JOB", multiple=True, help="Start once this job is done; skip it if that fails."
            ),
            click.option(
                "--priority",
                metavar="N",
                type=click.IntRange(-1000, 1000),
                default=0,
                help="The greater one starts first where jobs wait (0).",
            ),
            click.option(
                "--wait-limit", is_flag=True, help="Wait for a limit to end instead of being refused or moved."
            ),
            click.option("--no-advise", is_flag=True, help="Choose as always, whatever the driving mode says."),
            click.option("--label", metavar="L", help="A name for the job, accepted wherever an id is."),
            click.option("--allow-downgrade", is_flag=True, help="Permit a weaker protection where a lane needs it."),
            click.option("--trust-lane", metavar="L", help="Trust this lane for this one job."),
            click.option("--task-file", metavar="F", help="Read the task from a file."),
            click.option("--dry-run", is_flag=True, help="Print the plan; start nothing."),
        )
    ):
        function = decorator(function)
    return function
