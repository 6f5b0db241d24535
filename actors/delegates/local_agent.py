"""``python -m outsourcerer.actors.delegates.local_agent ... -- CLI ...``: a vendor's CLI on a model of this machine.

``--vehicle=claude`` starts a server that translates between the CLI's dialect and the model server's, for
as long as the CLI runs; ``--vehicle=codex`` needs none and becomes the CLI. The first line on stdout says
which of them prints the rest. The prompt on stdin, the folder and the exit code are the CLI's own.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from ..windows_argv import startable
from .anthropic_server import AnthropicServer, Upstream
from .emit import Emitter

KEY = "OSRC_LOCAL_KEY"


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="outsourcerer.actors.delegates.local_agent", allow_abbrev=False)
    parser.add_argument("--vehicle", choices=("claude", "codex"), required=True)
    parser.add_argument("--direct", action="store_true", help="the model server speaks the CLI's own dialect")
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    parser.add_argument("--connect-s", type=float, default=10.0)
    parser.add_argument("--answer-s", type=float, default=900.0)
    parser.add_argument("command", nargs="+", help="the CLI's command, after --")
    return parser


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the CLI and return its exit code."""
    options = build_parser().parse_args(argv)
    emitter = Emitter()
    emitter.emit({"type": "vehicle", "vehicle": options.vehicle})
    if options.vehicle == "codex" or options.direct:
        return _become(options.command, environ)
    upstream = Upstream(
        base_url=options.base_url,
        model=options.model,
        key=environ.get(KEY) or None,
        connect_s=options.connect_s,
        answer_s=options.answer_s,
    )
    with AnthropicServer(upstream) as server:
        ours = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": server.token}
        kept = {name: value for name, value in environ.items() if name != KEY}  # the CLI's commands need no key
        return _run(options.command, {**kept, **ours})


def _become(command: Sequence[str], environ: Mapping[str, str]) -> int:
    if sys.platform == "win32":
        return _run(command, environ)  # there nothing becomes another program: its starter would see us end
    try:
        os.execve(command[0], list(command), dict(environ))  # noqa: S606 - no shell is wanted
    except OSError as error:
        return _missing(command, error)


def _missing(command: Sequence[str], error: OSError) -> int:
    sys.stderr.write(f"{json.dumps(command[0])} can't be started: {error.strerror}\n")
    return 127


def _run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run the CLI on our own stdin, stdout and stderr; and pass signals on. What it leaves behind, the shim ends."""
    if sys.platform == "win32":
        return _run_plainly(command, environ)
    # Blocked while there is nobody to pass them to: none may be lost between the start and the handlers.
    passed = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    signal.pthread_sigmask(signal.SIG_BLOCK, passed)
    try:
        process = subprocess.Popen(command, env=dict(environ), preexec_fn=_unblocked)  # noqa: PLW1509 - no thread forks
    except OSError as error:
        return _missing(command, error)
    for number in passed:
        signal.signal(number, lambda number, _frame: process.send_signal(number))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, passed)
    code = process.wait()
    return code if code >= 0 else 128 - code


def _run_plainly(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """The same where there are no signals to pass on: whoever ends us ends all that is in our job object."""
    try:
        return subprocess.run(startable(command, environ), env=dict(environ), check=False).returncode
    except OSError as error:
        return _missing(command, error)
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 127


def _unblocked() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


if __name__ == "__main__":
    result = main(sys.argv[1:], os.environ)
    sys.stderr.flush()
    # A request that is still answered for nobody must not hold us.
    os._exit(result)
