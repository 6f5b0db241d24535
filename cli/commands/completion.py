"""``osrc completion``: the completion script of a shell."""

from __future__ import annotations

import click

from ..options import Command, Globals
from ..output import answer

_WHERE = {
    "bash": 'eval "$(osrc completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(osrc completion zsh)"     # in ~/.zshrc, after compinit',
    "fish": "osrc completion fish | source    # in ~/.config/fish/config.fish",
}

_EVERY_COMMA, _FIRST_COMMA = 'string split "," $completion', 'string split --max 1 "," $completion'
"""Click's script for fish (8.5) splits a line at every comma: a description would end at its first."""

_HELP = """Print the completion script for bash, zsh or fish.

\b
  eval "$(osrc completion bash)"      in ~/.bashrc
  eval "$(osrc completion zsh)"       in ~/.zshrc, after compinit
  osrc completion fish | source       in ~/.config/fish/config.fish
"""


@click.command(cls=Command, help=_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_obj
def completion(_options: Globals, shell: str) -> None:
    """Print the script that click makes for that shell, for both names of the program."""
    from click.shell_completion import ShellComplete, get_completion_class  # noqa: PLC0415 - only here

    from ..app import cli  # noqa: PLC0415 - the tree that is completed

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"No completion for {shell}.")
    answer(f"# {_WHERE[shell]}")
    for name in ("osrc", "outsourcerer"):
        maker = kind(cli, {}, name, "_OSRC_COMPLETE")
        # The base class's: bash's own would start a bash, only to warn of an old one.
        answer(ShellComplete.source(maker).replace(_EVERY_COMMA, _FIRST_COMMA))
