"""The click tree: one lazy group over the static table."""

from __future__ import annotations

from importlib import import_module

import click

from .options import Globals, Group
from .output import answer
from .table import COMMANDS, FAMILIES, SYNONYMS

HELP = """Delegate work to the AI coding tools on this machine, watch it, and get an honest result back.

\b
  osrc run "find out why the build fails"     answer on stdout
  osrc bg edit "fix the typo in README.md"    prints the job's id
  osrc status                                 what is going on
"""

EPILOG = "Topics: osrc help lanes | exit-codes | env | json.  Help for a command: osrc COMMAND -h."


class LazyGroup(Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        """Return every command in the help's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's own signature
        """Import and return one command."""
        row = COMMANDS.get(SYNONYMS.get(cmd_name, cmd_name))
        if row is None:
            return None
        command = getattr(import_module(f".commands.{row.module}", __package__), row.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{row.module}.{row.attribute} is no command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's own signature
        """Write the table, one section a family, importing nothing."""
        for family in FAMILIES:
            rows = [(name, row.summary) for name, row in COMMANDS.items() if row.family == family]
            if rows:
                with formatter.section(family):
                    formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[click.shell_completion.CompletionItem]:
        """Complete a command's name without importing any."""
        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            click.shell_completion.CompletionItem(name, help=row.summary)
            for name, row in COMMANDS.items()
            if name.startswith(incomplete)
        ]


def _version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from .. import __version__  # noqa: PLC0415 - beside its only use

        answer(f"outsourcerer {__version__}")
        context.exit()


cli = LazyGroup(name="osrc", help=HELP, epilog=EPILOG, invoke_without_command=True, no_args_is_help=False)
cli.params.append(
    click.Option(
        ["-V", "--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_version,
        help="Print the version.",
    )
)


@cli.result_callback()
@click.pass_context
def _hand_on(_context: click.Context, result: int | None) -> int | None:
    return result


def _root() -> None:
    """Without a command: the help."""
    context = click.get_current_context()
    context.ensure_object(Globals)
    if context.invoked_subcommand is None:
        answer(context.get_help())


cli.callback = _root
