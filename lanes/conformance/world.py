"""Checks of how a lane judges, and that it asks nobody but its arguments."""

from __future__ import annotations

import builtins
import itertools
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from ...messages.job import ExitStatus
from ...messages.lane_events import FailureKind, TurnEnded
from ...messages.vocabulary import Effort, Verb
from ..contract import Ending, Host, ProbeFacts, ReadinessLevel
from .subject import ContractError, Subject, read, require


def classifies_doubt_as_the_task(subject: Subject) -> None:
    """Only what was seen is blamed on anybody else."""
    for ending, expected in (
        (Ending(exit=ExitStatus(code=1), turn=None), FailureKind.TASK),
        (Ending(exit=ExitStatus(signal=9), turn=None), FailureKind.INTERRUPTED),
        (Ending(exit=ExitStatus(lost=True), turn=None), FailureKind.INTERRUPTED),
        (Ending(exit=ExitStatus(error="gone"), turn=None), FailureKind.LAUNCH),
        (Ending(exit=ExitStatus(code=0), turn=TurnEnded(ok=True)), FailureKind.NONE),
    ):
        found = subject.lane.classify(ending)
        require(found is expected, f"{ending.exit} is {found}, not {expected}")


def probes_without_surprise(subject: Subject) -> None:
    """Whatever a program answers to ``--version``, a person gets words, and a way where it is absent."""
    bare = Host(environment={}, executables={}, python="/bin/python3")
    for host, output in itertools.product((bare, subject.host), (None, b"", b"\xff\xfe", b"9" * 9999, b"v1.2.3\n")):
        readiness = subject.lane.probe(ProbeFacts(host=host, version_output=output))
        require(readiness.detail.strip(), "no words on how ready it is")
        fixable = readiness.level is not ReadinessLevel.ABSENT or readiness.fix
        require(fixable, "absent, and no word on how to get it")


@contextmanager
def no_outside_world() -> Iterator[None]:
    """Raise :class:`ContractError` at any look at files, environment, processes, network or clock inside the block."""

    def forbidden(*_args: object, **_kwargs: object) -> None:
        raise ContractError("a lane reached for the outside world")

    nothing = mock.MagicMock(side_effect=forbidden)
    for name in ("__getitem__", "__contains__", "__iter__", "__len__"):
        setattr(nothing, name, mock.Mock(side_effect=forbidden))
    for name in ("get", "items", "keys", "values"):
        setattr(nothing, name, forbidden)
    with (
        mock.patch.object(builtins, "open", forbidden),
        mock.patch.object(os, "open", forbidden),
        mock.patch.object(os, "environ", nothing),
        mock.patch.object(os, "getenv", forbidden),
        mock.patch.object(os, "urandom", forbidden),
        mock.patch.object(subprocess, "Popen", forbidden),
        mock.patch.object(socket, "socket", forbidden),
        mock.patch.object(time, "time", forbidden),
        mock.patch.object(time, "monotonic", forbidden),
    ):
        yield


def touches_nothing_outside(subject: Subject) -> None:
    """All of a lane is pure: no file, no environment, no process, no socket, no clock."""
    subject.parser()  # a parser's module may be loaded at its first use
    with no_outside_world():
        for verb in Verb:
            subject.lane.plan(subject.task(verb=verb, effort=Effort.HIGH), subject.host)
        for recorded in subject.streams:
            read(subject, recorded)
        subject.lane.classify(Ending(exit=ExitStatus(code=1), turn=None, tail="connection refused"))
        subject.lane.probe(ProbeFacts(host=subject.host, version_output=b"1.2.3"))
