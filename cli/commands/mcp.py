"""``osrc mcp``: serve the Model Context Protocol to the host that started it."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys

import click

from .. import exit_codes
from ..errors import CliError
from ..options import Command, Globals
from ..output import say

PACKAGE = "mcp>=2.2,<3"
"""As the extra mcp has it."""


@click.command(cls=Command)
@click.pass_obj
def mcp(options: Globals) -> int:
    """Serve these commands as tools to an AI host, over stdin and stdout (Model Context Protocol).

    The host starts it: give it the command "osrc mcp". Needs the extra mcp: pip install 'outsourcerer[mcp]'.
    """
    if (missing := what_is_missing()) is not None:
        raise CliError("not_installed", *missing)
    if sys.stdin is None or sys.stdin.isatty():
        say("osrc mcp speaks to an AI host, which starts it itself; Ctrl-C ends it.")
    from ..mcp_server.ancestry import ancestors, inherit_depth  # noqa: PLC0415 - as below
    from ..mcp_server.desk import Desk  # noqa: PLC0415 - loads the SDK
    from ..mcp_server.server import serve  # noqa: PLC0415 - as above

    inherit_depth(os.environ, ancestors())
    serve(Desk(options))
    return exit_codes.DONE


def what_is_missing() -> tuple[str, str] | None:
    """Return what the server needs that is not here, in words, and the command that installs it; None: all is here."""
    if importlib.util.find_spec("mcp") is not None:
        return None
    # By the package's own name, into this very Python: what else is called outsourcerer is none of ours.
    line = f"{shlex.quote(sys.executable or 'python3')} -m pip install {shlex.quote(PACKAGE)}"
    return "osrc mcp needs the Python package mcp, which is not installed here", line
