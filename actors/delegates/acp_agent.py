"""``python -m outsourcerer.actors.delegates.acp_agent --verb VERB -- AGENT ...``: one prompt turn of an ACP agent.

The prompt comes on stdin; what the agent does goes out as OSRC JSON lines. The agent is started here, as
a child with pipes of its own, asked once, and ended with all of its tree. Exit 0 with a turn that ended
well, 1 without, 128 + N after signal N.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...messages.vocabulary import Verb
from .acp_tree import Agent, AgentMissingError
from .chat import read_prompt
from .emit import Emitter

if TYPE_CHECKING:
    from .acp_session import Session

CANCEL_S = 2.0
"""How long a canceled agent may take to say so."""


def build_parser() -> argparse.ArgumentParser:
    """Return the command line."""
    parser = argparse.ArgumentParser(prog="outsourcerer.actors.delegates.acp_agent", allow_abbrev=False)
    parser.add_argument("--verb", type=Verb, required=True)
    parser.add_argument("--model")
    parser.add_argument("--mcp-config", help="a file with the servers that the agent is to use")
    parser.add_argument("--quiet", type=float, help="longest wait for its first word after the prompt, seconds")
    parser.add_argument("agent", nargs="+", help="the agent's command, after --")
    return parser


def main(argv: Sequence[str]) -> int:
    """Ask once and return the exit code."""
    # What the library would log, our lines say better; a trace tells a person nothing.
    logging.disable(logging.CRITICAL)
    options = build_parser().parse_args(argv)
    return asyncio.run(_run(options, read_prompt(), Emitter()))


async def _run(options: argparse.Namespace, prompt: str, emitter: Emitter) -> int:
    stopped: list[int] = []
    running: list[tuple[Session, asyncio.Future[bool]]] = []
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        stopped.append(number)
        for session, turn in running if len(stopped) == 1 else ():
            loop.create_task(session.cancel())  # noqa: RUF006 - the loop ends with the turn that it ends
            loop.call_later(CANCEL_S, turn.cancel)

    _heed(loop, stop)
    try:
        agent = await Agent.start(options.agent)
    except AgentMissingError as error:
        emitter.emit({"type": "end", "ok": False, "failure": "launch", "message": str(error)})
        return 1
    try:
        # Half a second of imports, while the agent is getting ready.
        from .acp_session import Session, Stopped  # noqa: PLC0415 - as said
    except ImportError as error:
        message = f"the library of the protocol can't be loaded ({error}): pip install agent-client-protocol"
        emitter.emit({"type": "end", "ok": False, "failure": "launch", "message": message})
        await agent.end()
        return 1
    session = Session(
        agent, options.verb, emitter, model=options.model, servers=options.mcp_config, quiet_s=options.quiet
    )
    turn = asyncio.ensure_future(session.ask(prompt))
    running.append((session, turn))
    if stopped:
        turn.cancel()
    try:
        ok = await turn
    except (asyncio.CancelledError, Stopped):
        emitter.emit_all(session.turn.end({"stopReason": "cancelled"}, canceled=True))
        ok = False
    finally:
        await session.close()
        await agent.end()
    return 128 + stopped[0] if stopped else 0 if ok else 1


def _heed(loop: asyncio.AbstractEventLoop, stop: Callable[[int], None]) -> None:
    """Have ``stop`` called in the loop for each signal that asks us to end, where there are any."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if not hasattr(signal, name):
            continue
        number = int(getattr(signal, name))
        try:
            loop.add_signal_handler(number, stop, number)
        except NotImplementedError:  # Windows' loops
            signal.signal(number, lambda seen, _frame: loop.call_soon_threadsafe(stop, seen))


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    # A thread that still reads a pipe of somebody who escaped must not hold us.
    os._exit(code)
