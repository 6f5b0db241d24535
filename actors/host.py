"""What a lane may know of the machine, read for one caller: programs on its PATH, servers, runtimes."""

from __future__ import annotations

import base64
import binascii
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ..lanes.contract import Billing, Host, Lane, ProbeFacts, Readiness, ReadinessLevel
from ..messages.paths import home_of
from ..state.errors import StateError
from ..state.settings import Settings
from .redaction import named_so, remember
from .secrets import named_secrets
from .windows_argv import APART, find_program, startable
from .withholding import withhold

VERSION_S = 60.0
"""Longest wait for a CLI's ``--version`` (opencode needs 4 s, gemini up to 7 s on two cores that do nothing else)."""
VERSION_LIMIT = 64 * 1024
BRIDGE_TOKEN = "OSRC_CLAUDEX_TOKEN"  # noqa: S105  a name
STATUS_S = 30.0
"""Longest wait for a CLI to say whether somebody is signed in."""


def decode_environment(block: str) -> dict[str, str]:
    """Return the caller's environment from its wire form: base64 of NUL-joined ``NAME=value`` bytes.

    Raises ValueError when it is none.
    """
    try:
        raw = base64.b64decode(block, validate=False)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"the environment is not base64: {error}") from None
    environment: dict[str, str] = {}
    for item in raw.split(b"\0"):
        name, equals, value = item.partition(b"=")
        if equals and name:
            environment[os.fsdecode(name)] = os.fsdecode(value)
    return environment


def host_for(
    lane: Lane, environment: Mapping[str, str], settings: Settings, *, keys_from: Mapping[str, str] | None = None
) -> Host:
    """Return the facts that ``lane`` plans by. Asks the network only for a lane that needs a server.

    ``keys_from`` is the environment in which the lane's keys are looked for, where ``environment`` was cleared of them.
    """
    path = environment.get("PATH", os.defpath)
    programs = {name: _which(name, path, environment) for name in _programs(lane)}
    keys = environment if keys_from is None else keys_from
    secrets = named_secrets(lane.secrets, keys)
    server, models = _server(environment, settings) if "server" in lane.needs else (None, ())
    if "bridge" in lane.needs:
        server, models, token = _bridge(keys, settings)
        secrets |= {BRIDGE_TOKEN: token} if token else {}
    remember((*secrets.values(), *named_so(keys)))
    runtime, demo = _embedded() if "embedded" in lane.needs else (False, None)
    return Host(
        environment=environment,
        executables={name: os.path.abspath(found) if found else None for name, found in programs.items()},  # noqa: PTH100  no symlink may be resolved: a program may look at the name it was called by
        python=sys.executable,
        home=home_of(environment),
        is_root=hasattr(os, "geteuid") and os.geteuid() == 0,
        trust_folder=settings.flag("trust_folder"),
        platform=sys.platform,
        server=server,
        server_models=models,
        embedded_model=demo,
        embedded_runtime=runtime,
        secrets=secrets,
    )


def probe(lane: Lane, environment: Mapping[str, str], settings: Settings, *, ask_version: bool = True) -> Readiness:
    """Return how ready a lane is. Runs the CLI's own ``--version`` and nothing else of it."""
    host = host_for(lane, environment, settings)
    output: bytes | None = None
    code: int | None = None
    program = host.executables.get(lane.binary) if lane.binary else None
    given, _ = withhold(environment, lane, None, settings)
    if program is not None and ask_version:
        output, code = _version((program, *lane.version_argv), given)
    status: bytes | None = None
    if program is not None and ask_version and lane.status_argv is not None:
        status, _ = run_quick((program, *lane.status_argv), given, STATUS_S, subprocess.STDOUT)
    seen = frozenset(name for name in lane.credential_files if _exists(name, host.home))
    facts = ProbeFacts(host=host, version_output=output, version_exit=code, status_output=status, credentials=seen)
    return lane.probe(facts)


def usable(lane: Lane, readiness: Readiness) -> bool:
    """Whether a job may be sent there without being asked to: what a lane needs of the machine must answer."""
    least = (ReadinessLevel.ABSENT, ReadinessLevel.INSTALLED) if lane.needs else (ReadinessLevel.ABSENT,)
    return readiness.level not in least


def billed(lane: Lane, environment: Mapping[str, str], settings: Settings) -> Billing:
    """Return who pays for a plain run on a lane, here."""
    return lane.billing if lane.payer is None else lane.payer(host_for(lane, environment, settings))


def why_unready(lane: Lane, readiness: Readiness) -> str | None:
    """Return why no job is sent there by itself, in words: it is not usable, or seen to lack a sign-in or key."""
    if not usable(lane, readiness):
        return readiness.detail
    return "no sign-in found" if readiness.signed_in is False else None


def _which(name: str, path: str, environment: Mapping[str, str]) -> str | None:
    """Return the file that a program's name means to this caller, or None."""
    if os.name == "nt":
        return find_program(name, path, environment.get("PATHEXT", ""), os.path.isfile)
    return shutil.which(name, path=path)


def _programs(lane: Lane) -> tuple[str, ...]:
    return (*((lane.binary,) if lane.binary else ()), *lane.executables)


def _server(environment: Mapping[str, str], settings: Settings) -> tuple[str | None, tuple[str, ...]]:
    from .local_servers import PROBE_S, ServerSettings, find_server  # noqa: PLC0415  httpx costs 15 MB, and most jobs need none

    found = find_server(
        environment,
        ServerSettings(
            url=settings.text("local_url"),
            allow_remote=settings.flag("local_allow_remote"),
            key=settings.text("local_key"),
            timeout_s=settings.number("local_timeout") or PROBE_S,
        ),
    )
    return (found.base_url, found.models) if found else (None, ())


def _bridge(environment: Mapping[str, str], settings: Settings) -> tuple[str | None, tuple[str, ...], str | None]:
    from .bridge import find_bridge  # noqa: PLC0415  as above

    found = find_bridge(
        environment,
        url=settings.text("claudex_url"),
        token=settings.text("claudex_token"),
        config=settings.text("claudex_config"),
    )
    return found.base_url, found.models, found.token


def _embedded() -> tuple[bool, str | None]:
    from .local_servers import embedded_facts  # noqa: PLC0415  as above

    facts = embedded_facts()
    return facts.runtime, facts.demo_model


def _version(argv: tuple[str, ...], environment: Mapping[str, str]) -> tuple[bytes | None, int | None]:
    output, code = run_quick(argv, environment, VERSION_S, subprocess.DEVNULL)
    if code == 0 and not output:  # pi 0.73.1 says it on stderr; others warn there, so stdout is asked first
        output, code = run_quick(argv, environment, VERSION_S, subprocess.STDOUT)
    return output, code


def run_quick(
    argv: tuple[str, ...], environment: Mapping[str, str], within_s: float, errors: int, *, cwd: str | None = None
) -> tuple[bytes | None, int | None]:
    """Return the output and exit code of a quick command of a CLI; None where it did not end in time."""
    env = {name: value for name, value in environment.items() if not name.startswith("CLAUDE_CODE_")}
    try:
        done = subprocess.run(
            startable(argv, env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=env,
            cwd=cwd,
            timeout=within_s,
            check=False,
            start_new_session=True,
            creationflags=APART,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None, None
    return done.stdout[:VERSION_LIMIT], done.returncode


def _exists(name: str, home: str) -> bool:
    path = home + name[1:] if name.startswith("~") else name
    try:
        return Path(path).exists()
    except (OSError, ValueError, StateError):
        return False
