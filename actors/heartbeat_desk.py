"""What ``osrc heartbeat`` and ``osrc rundown`` ask of a supervisor. Runs in the thread of the connection that asked."""

from __future__ import annotations

import os
import time

from ..lanes.secrets.wording import guarded
from ..messages.alarm import (
    BearingsView,
    HeartbeatAcknowledge,
    HeartbeatCommand,
    HeartbeatStart,
    HeartbeatState,
    HeartbeatStop,
    ViewBearings,
)
from ..messages.refusals import RefusalCode, Refused
from ..messages.replies import Reply
from ..state.alarms_reader import open_alarms
from ..state.bearings import bearings
from ..state.bearings_reader import sight
from ..state.errors import StateError
from ..state.heartbeat_file import armed_by
from ..state.heartbeat_view import heartbeat_object
from ..state.reader import Reader
from ..state.settings import Settings, config_file, read_config
from .base import ask
from .heartbeat import Acknowledge, StartHeartbeat, StopHeartbeat
from .host import decode_environment
from .services import Services

ASK_S = 30.0


def answer(command: HeartbeatCommand, services: Services) -> Reply:
    """Return the reply to one of them."""
    match command:
        case HeartbeatStart():
            return _start(command, services)
        case HeartbeatStop():
            return _told(StopHeartbeat(), services)
        case HeartbeatAcknowledge(words=words):
            return _acknowledge(words, services)
        case ViewBearings():
            return _bearings(services)


def _start(command: HeartbeatStart, services: Services) -> Reply:
    try:
        environment = decode_environment(command.environment)
        path = config_file(environment)
        settings = Settings.load(environment, read_config(path), command.given, source=path)
        brought = armed_by(settings, environment)
    except ValueError as error:
        return Refused(code=RefusalCode.BAD_REQUEST, message=str(error))
    except StateError as error:
        return error.refusal
    return _told(StartHeartbeat(brought), services)


def _acknowledge(words: tuple[str, ...], services: Services) -> Reply:
    with Reader(services.home.database) as reader:
        alarms = open_alarms(reader)
        named: set[str] = {str(alarm["alarm_id"]) for alarm in alarms} if not words else set()
        for word in words:
            owners = {str(row.get("job_id")) for row in reader.resolve(word)}
            owners |= {str(row.get("session_id")) for row in reader.resolve_session(word)}
            found = {
                str(alarm["alarm_id"])
                for alarm in alarms
                if word in (alarm["alarm_id"], alarm.get("entity"), alarm.get("label"))
                or {alarm.get("job_id"), alarm.get("session_id")} & owners
            }
            if not found:
                return Refused(
                    code=RefusalCode.NO_SUCH_ALARM,
                    message=f"no open alarm is about {word!r}",
                    hint="osrc heartbeat status lists them",
                )
            named |= found
    return _told(Acknowledge(tuple(sorted(named))), services)


def _told(message: object, services: Services) -> Reply:
    handle = services.directory.find("heartbeat")
    if handle is None:
        return Refused(
            code=RefusalCode.STOPPING,
            message="there is no heartbeat here: it lives in the supervisor process, and this command has none",
            hint="run it without --no-daemon, where a supervisor can be had",
        )
    told = ask(handle, message, ASK_S)
    if isinstance(told, Refused):
        return told
    with Reader(services.home.database) as reader:
        shown = heartbeat_object(reader, services.home, time.time(), running=True)
    return HeartbeatState(heartbeat=shown)


def _bearings(services: Services) -> BearingsView:
    """Draw the picture afresh. Whoever asks has looked at what runs."""
    now = services.clock.now().wall

    def word(sentence: str) -> str:
        settings = services.settings
        return guarded(sentence, guard=settings.flag("vocab_guard"), aggressive=settings.flag("vocab_guard_aggressive"))

    services.heartbeat_watch.seen.looked_at_all(now)
    with Reader(os.fspath(services.home.database)) as reader:
        return BearingsView(bearings=bearings(sight(reader, now, word)))
