"""``osrc mcp``: serve the Model Context Protocol to the host that started it."""

from __future__ import annotations

import importlib.util
import os
import sys

import click

from .. import exit_codes
from ..errors import CliError
from ..options import Command, Globals
from ..output import say

INSTALL = "pip install 'outsourcerer[mcp]'"


@click.command(cls=Command)
@click.pass_obj
def mcp(options: Globals) -> int:
    """Serve these commands as tools to an AI host, over stdin and stdout (Model Context Protocol).

    The host starts it: give it the command "osrc mcp". Needs the extra mcp: pip install 'outsourcerer[mcp]'.
    """
    if importlib.util.find_spec("mcp") is None:
        raise CliError("not_installed", "osrc mcp needs the Python package mcp, which is not installed here", INSTALL)
    if sys.stdin is None or sys.stdin.isatty():
        say("osrc mcp speaks to an AI host, which starts it itself; Ctrl-C ends it.")
    from ..mcp_server.ancestry import ancestors, inherit_depth  # noqa: PLC0415 - as below
    from ..mcp_server.desk import Desk  # noqa: PLC0415 - loads the SDK
    from ..mcp_server.server import serve  # noqa: PLC0415 - as above

    inherit_depth(os.environ, ancestors())
    serve(Desk(options))
    return exit_codes.DONE
