"""``python -m outsourcerer.actors.delegates.chat``: a text delegate over any OpenAI-compatible server.

The prompt comes on stdin, the answer goes out as OSRC JSON lines. A key comes from the environment
variable that ``--key-env`` names, never from argv. Exit 0 with an answer, 1 without.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from .chat_client import Question, ask
from .emit import Emitter


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="outsourcerer.actors.delegates.chat", allow_abbrev=False)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--key-env", default="OSRC_LOCAL_KEY")
    parser.add_argument("--connect-s", type=float, default=10.0)
    parser.add_argument("--answer-s", type=float, default=900.0)
    parser.add_argument("--allow-remote", action="store_true")
    return parser


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """Ask once and return the exit code."""
    dying_quietly()
    options = build_parser().parse_args(argv)
    question = Question(
        base_url=options.base_url,
        model=options.model,
        prompt=read_prompt(),
        key=environ.get(options.key_env) or None,
        connect_s=options.connect_s,
        answer_s=options.answer_s,
        allow_remote=options.allow_remote,
    )
    return ask(question, Emitter())


def read_prompt() -> str:
    """All of stdin, as text whatever its bytes are."""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def dying_quietly() -> None:
    """End on SIGINT and SIGPIPE as other programs do, instead of with a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
