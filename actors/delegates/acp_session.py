"""One conversation with an ACP agent: greet it, open a session, put it in a mode that asks, prompt it once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.meta import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION

from ... import __version__
from ...lanes import failures
from ...lanes.values import as_object
from ...lanes.vehicles.acp import policy
from ...lanes.vehicles.acp.updates import PHRASES, Turn, failure_of
from ...lanes.vehicles.acp.waiting import silent, spent
from ...messages.lane_events import FailureKind
from ...messages.vocabulary import Verb
from .acp_pipe import AgentPipe
from .acp_tree import Agent
from .emit import Emitter

READY_S = 90.0
"""How long an agent may take for each step before its turn (opencode 1.18 needs 15 s)."""

LOOK_S = 1.0
"""How often it is looked whether an agent that has not begun ever will."""
SET_MODEL = "session/set_model"
"""Older than the library's own table; gemini 0.61 and droid 0.215 take it."""


class Stopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The turn was canceled before it began."""


class _CantError(Exception):
    """Why there is no turn: a failure and its words."""

    def __init__(self, failure: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = failure


class Session:
    """Drives one agent through one turn."""

    def __init__(  # noqa: PLR0913 - by name
        self,
        agent: Agent,
        verb: Verb,
        emitter: Emitter,
        *,
        model: str | None = None,
        servers: str | None = None,
        quiet_s: float | None = None,
    ) -> None:
        """``servers`` is the path of a file of MCP servers, in Claude's form.

        ``quiet_s`` is how long it may say nothing at all after the prompt; None: for ever.
        """
        self._quiet_s = quiet_s
        self._heard = asyncio.Event()
        """Whether its turn has begun: it said something, or asked."""
        self.turn = Turn()
        self._agent, self._verb, self._emitter = agent, verb, emitter
        self._model, self._servers = model, servers
        self._session: str | None = None
        self._canceled = False
        self._step = "initialize"
        assert agent.process.stdout is not None  # noqa: S101 - it was started with pipes
        assert agent.process.stdin is not None  # noqa: S101 - as above
        self._pipe = AgentPipe(agent.process.stdout, agent.process.stdin)
        self._connection = Connection(self._handle, self._pipe)

    async def ask(self, prompt: str) -> bool:
        """Have one turn and print all of it; return whether it ended well. Raises Stopped."""
        try:
            opened = await self._open()
            await self._prepare(opened)
            if self._canceled:
                raise Stopped
            words = {"sessionId": self._session, "prompt": [{"type": "text", "text": prompt}]}
            result = await self._prompted(words)
        except _CantError as error:
            return self._failed(error.failure, str(error))
        except RequestError as error:
            return self._failed(*failure_of(error.code, str(error), error.data))
        except TimeoutError:
            said = f"; it printed: {self._pipe.noise}" if self._pipe.noise else ""
            message = f"{self._agent.name} did not answer {self._step} within {READY_S:g} s: is it an ACP agent?{said}"
            return self._failed(FailureKind.LAUNCH, message)
        except (ConnectionError, OSError):
            return self._failed(*await self._gone())
        lines = self.turn.end(result, canceled=self._canceled)
        self._emitter.emit_all(lines)
        return bool(lines[-1]["ok"])

    async def _prompted(self, words: Mapping[str, Any]) -> object:
        """Return the answer to the prompt; give up on an agent that has not begun, and says why or says nothing."""
        asked = asyncio.ensure_future(self._request(AGENT_METHODS["session_prompt"], words, None))
        watching = asyncio.ensure_future(self._hopeless())
        try:
            await asyncio.wait({asked, watching}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done() and (given_up := watching.result()) is not None:
                raise given_up
            return await asked
        finally:
            watching.cancel()
            asked.cancel()

    async def _hopeless(self) -> _CantError | None:
        """Return why the turn will not begin, or None once it has."""
        loop = asyncio.get_running_loop()
        begun, seen = loop.time(), self._agent.written
        while not self._heard.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._heard.wait(), LOOK_S)
                return None
            lines, seen = self._agent.said_since(seen), self._agent.written
            if (words := next(filter(None, map(spent, lines)), None)) is not None:
                return _CantError(FailureKind.PLAN_LIMIT, words)
            if self._quiet_s is not None and loop.time() - begun > self._quiet_s:
                return _CantError(FailureKind.TRANSPORT, silent(self._agent.name, self._quiet_s))
        return None

    async def cancel(self) -> None:
        """Ask the agent to stop its turn."""
        self._canceled = True
        if self._session is not None:
            with contextlib.suppress(OSError, RuntimeError):  # it may have left already
                await self._connection.send_notification(AGENT_METHODS["session_cancel"], {"sessionId": self._session})

    async def close(self) -> None:
        """Close the agent's stdin and stop listening."""
        with contextlib.suppress(OSError, RuntimeError):  # it may have left already
            await self._connection.close()

    async def _open(self) -> Mapping[str, Any]:
        """Greet the agent and open a session; return what it said of it."""
        # No file system is offered: gemini 0.61 would read each file through us, and can't create one then.
        can = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        us = {"name": "outsourcerer", "version": __version__}
        hello = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": can, "clientInfo": us}
        told = as_object(await self._request(AGENT_METHODS["initialize"], hello))
        if told.get("protocolVersion") != PROTOCOL_VERSION:
            version = told.get("protocolVersion")
            message = f"{self._agent.name} speaks version {version!r} of the protocol, not {PROTOCOL_VERSION}"
            raise _CantError(FailureKind.LAUNCH, message)
        servers = _servers(self._servers)
        if (unfit := policy.unfit_server(servers, told)) is not None:
            raise _CantError(FailureKind.LAUNCH, f"{self._agent.name} can't use the MCP server {unfit}")
        new = {"cwd": os.getcwd(), "mcpServers": servers}  # noqa: PTH109 - a string is sent
        opened = as_object(await self._request(AGENT_METHODS["session_new"], new))
        name = opened.get("sessionId")
        if not isinstance(name, str) or not name:
            raise _CantError(FailureKind.LAUNCH, f"{self._agent.name} opened no session")
        self._session = name
        self._emitter.emit({"type": "start", "conversation": name})
        return opened

    async def _prepare(self, opened: Mapping[str, Any]) -> None:
        mode = policy.asking_mode(opened)
        if mode is not None:
            await self._request(AGENT_METHODS["session_set_mode"], {"sessionId": self._session, "modeId": mode})
        if self._model is None:
            self._emitter.emit_all(self.turn.model(policy.current_model(opened)))
            return
        offered = policy.models_of(opened)
        if self._model not in offered:
            there = ", ".join(offered[:20]) or "it lets nobody choose: leave out -m"
            raise _CantError(FailureKind.MODEL_GONE, f"{self._agent.name} has no model {self._model} ({there})")
        option = policy.model_option(opened)
        if option is not None:
            choice = {"sessionId": self._session, "configId": option, "value": self._model}
            opened = as_object(await self._request(AGENT_METHODS["session_set_config_option"], choice))
            self._emitter.emit_all(self.turn.model(policy.current_model(opened)))
        else:
            # Its answer is empty: which model it is, only the turn can tell.
            await self._request(SET_MODEL, {"sessionId": self._session, "modelId": self._model})

    async def _request(self, method: str, params: Mapping[str, Any], limit_s: float | None = READY_S) -> object:
        self._step = method
        return await asyncio.wait_for(self._connection.send_request(method, dict(params)), limit_s)

    async def _handle(self, method: str, params: object, is_notification: bool) -> object:
        """Answer what the agent asks of us."""
        given = as_object(params)
        if method == CLIENT_METHODS["session_update"]:
            lines = self.turn.update(given.get("update"))
            if lines:
                self._heard.set()
            self._emitter.emit_all(lines)
            return None
        if method == CLIENT_METHODS["session_request_permission"]:
            return self._permission(given)
        if is_notification:
            return None
        raise RequestError.method_not_found(method)

    def _permission(self, given: Mapping[str, Any]) -> object:
        call = given.get("toolCall")
        self._heard.set()
        if self._canceled:
            return {"outcome": {"outcome": "cancelled"}}
        option, granted = policy.choose(self._verb, self.turn.kind_of(call), given.get("options"))
        self._emitter.emit_all(self.turn.permission(call, granted=granted))
        if option is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": option}}

    def _failed(self, failure: FailureKind, message: str) -> bool:
        if self._canceled:
            raise Stopped
        self._emitter.emit_all(self.turn.failed(failure, message))
        return False

    async def _gone(self) -> tuple[FailureKind, str]:
        """Say why the connection ended."""
        if self._pipe.overlong:
            return FailureKind.TASK, f"{self._agent.name} sent a message of {self._pipe.overlong} bytes"
        said = await self._agent.last_words() or self._pipe.noise or ""
        code = self._agent.process.returncode
        how = "closed its output" if code is None else f"ended with {code}"
        before = self._step != AGENT_METHODS["session_prompt"]
        kind = failures.by_words(said, PHRASES) or (FailureKind.LAUNCH if before else FailureKind.TASK)
        return kind, f"{self._agent.name} {how} before it answered {self._step}" + (f": {said}" if said else "")


def _servers(path: str | None) -> list[dict[str, Any]]:
    """Return the MCP servers of a file in Claude's form as the protocol wants them."""
    if path is None:
        return []
    return policy.mcp_servers(json.loads(Path(path).read_bytes()))
