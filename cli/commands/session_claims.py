"""``osrc session claim``, ``reply`` and ``release``: terminals that were there before us."""

from __future__ import annotations

import os

import click

from .. import exit_codes
from ..errors import CliError
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import full_home
from ..task import read_task


@click.command("claim", cls=Command)
@click.argument("name", metavar="EXT")
@click.argument("pane")
@click.option("--server", metavar="S", help="The tmux server: its socket's path, or its name as after -L.")
@click.pass_obj
def claim(options: Globals, name: str, pane: str, server: str | None) -> int:
    """Claim the tmux pane PANE (%3, main:1.0) under the name EXT. Prints its secret, once.

    Put the secret into OSRC_SESSION_CLAIM_TOKEN: reply and release want it, and the same controller
    (OSRC_CONTROLLER_ID, else the tmux session you are in). A claim whose pane has died makes room.
    """
    from ...actors import external  # noqa: PLC0415 - beside its only use

    made, token = external.claim(full_home(os.environ, options.home), name, pane, server, os.environ)
    if options.json:
        answer_json({"name": name, "pane": made.endpoint, "server": made.server, "cli": made.cli, "token": token})
    else:
        answer(token)
    if not options.quiet:
        say(f"claimed {name}: pane {made.endpoint} ({made.cli}), controller {made.controller_id}")
        say("the secret is shown this once: OSRC_SESSION_CLAIM_TOKEN=...")
    return exit_codes.DONE


@click.command("reply", cls=Command)
@click.argument("name", metavar="EXT")
@click.argument("words", metavar="TEXT", nargs=-1, required=True)
@click.pass_obj
def reply(options: Globals, name: str, words: tuple[str, ...]) -> int:
    """Type TEXT into a claimed pane's composer, once. Needs OSRC_EXTERNAL_SEND=1 and the claim's secret.

    It passes the gate first, as what a session is sent does: secret values, files with credentials in the folder that
    the pane's program works in, your consent.

    Nothing is typed unless the composer is seen to be empty, twice. Exit code 0: a turn was seen to start; 2: it was
    typed, but no turn was seen: it is not typed again; 1: nothing was typed.
    """
    from ...actors import external  # noqa: PLC0415 - beside its only use

    home, text = full_home(os.environ, options.home), read_task(words, None)
    receipt = external.reply(home, name, text, os.environ, cloud_ack=options.cloud_ack)
    if not isinstance(receipt, external.Receipt):
        raise CliError(receipt.code, receipt.message, receipt.hint)
    if not options.quiet:
        for line in receipt.disclosure:
            say(line)
    if options.json:
        answer_json({"name": name, "delivery": receipt.delivery, "reason": receipt.reason})
    else:
        answer(f"{name} {receipt.delivery}")
        if receipt.delivery != "turn-started" and not options.quiet:
            say(receipt.reason)
    codes = {"turn-started": exit_codes.DONE, "unverified": exit_codes.UNVERIFIED}
    return codes.get(receipt.delivery, exit_codes.REFUSED)


@click.command("release", cls=Command)
@click.argument("name", metavar="EXT")
@click.pass_obj
def release(options: Globals, name: str) -> int:
    """Give a claim up. Needs its secret, unless the pane's program has died."""
    from ...actors import external  # noqa: PLC0415 - beside its only use

    external.release(full_home(os.environ, options.home), name, os.environ)
    if options.json:
        answer_json({"name": name, "released": True})
    elif not options.quiet:
        say(f"released {name}")
    return exit_codes.DONE
