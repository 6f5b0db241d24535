"""``osrc doctor``: check this machine, say what to fix."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import click

from ... import __version__
from ...lanes.catalog import Known
from ...lanes.catalog.denying import mistyped
from ...state.disk import weigh
from ...state.errors import StateError
from ...state.home import Home
from ...state.reader import Reader
from .. import launch, machine
from ..checks.choices import agreed, limits, parity
from ..checks.finding import Finding
from ..checks.installation import install
from ..checks.leftovers import leftovers
from ..checks.surroundings import images, keys, network, sockets, terminal
from ..client import Connection, NoConnectionError, ProtocolMismatchError
from ..errors import CliError
from ..options import Command, Globals
from ..output import answer, answer_json, say
from ..place import read_supervisor_file
from ..render.plan import disclosure

_LOW_DISK = 512 * 1024 * 1024
_MUCH_STATE = 1024 * 1024 * 1024
"""Bytes from which one folder of a CLI is named."""


@click.command(cls=Command)
@click.option("--fix", is_flag=True, help="Mend what can be mended without a loss: broken parity links, old tasks.")
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@click.option("--ping", is_flag=True, help="Also ask each lane that is here for one word; that costs what it costs.")
@click.pass_obj
def doctor(options: Globals, fix: bool, strict: bool, ping: bool) -> int:
    """Check the installation, the state home, the supervisor, lanes, limits and leftovers; say what to fix.

    Exit code 1 when something fails (with --strict: or is doubtful).
    """
    home = Home.resolve(os.environ, options.home)  # whatever is there: what is wrong with it is a finding
    checks: list[Callable[[Home], Iterator[Finding]]] = list(CHECKS)
    if ping:
        checks.append(partial(_ping, cloud_ack=options.cloud_ack))
    findings = [finding for check in checks for finding in _found(check, home, mend=fix)]
    bad = {"fail", "warn"} if strict else {"fail"}
    healthy = not any(finding.level in bad for finding in findings)
    if options.json:
        rows = [{"section": one.section, "level": one.level, "text": one.text, "fix": one.fix} for one in findings]
        answer_json({"healthy": healthy, "findings": rows})
    else:
        for one in findings:
            answer(f"{one.level:<5} {one.section:<11} {one.text}" + (f"\n{'':<18}fix: {one.fix}" if one.fix else ""))
    return 0 if healthy else 1


def _found(check: Callable[[Home], Iterator[Finding]], home: Home, *, mend: bool) -> list[Finding]:
    """Return a check's findings; with ``mend``, those that are left when what it can do about them is done."""
    findings = list(_safely(check, home))
    broken = [finding.mend for finding in findings if finding.mend is not None]
    if not mend or not broken:
        return findings
    for work in broken:
        try:
            say(f"fixed: {work()}")
        except (OSError, StateError, CliError) as error:
            say(f"could not be fixed: {error}")
    return list(_safely(check, home))


def _safely(check: Callable[[Home], Iterator[Finding]], home: Home) -> Iterator[Finding]:
    """Yield a check's findings; one that breaks is a finding itself and hides no other."""
    try:
        yield from check(home)
    except (StateError, CliError) as error:
        yield Finding(_name(check), "fail", error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - a doctor that dies of the patient helps nobody
        yield Finding(_name(check), "fail", f"the check broke: {type(error).__name__}: {error}")


def _name(check: Callable[[Home], Iterator[Finding]]) -> str:
    of = check.func if isinstance(check, partial) else check
    return of.__name__.strip("_")


def _platform(_home: Home) -> Iterator[Finding]:
    yield Finding(
        "platform",
        "ok",
        f"outsourcerer {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
    )


def _home(home: Home) -> Iterator[Finding]:
    if not home.look():
        yield Finding("home", "ok", f"{home.root} does not exist yet; the first command that needs it creates it")
        return
    free = shutil.disk_usage(home.root).free
    text = f"{home.root} can be written, {free // 2**20:,} MiB free"
    if free < _LOW_DISK:
        yield Finding("home", "warn", text, "free some space, or choose another disk with OSRC_HOME=/path")
    else:
        yield Finding("home", "ok", text)
    with Reader(home.database) as reader:
        live = len(reader.live())
        _, rest = reader.jobs(limit=1)
        kept = rest + bool(reader.jobs(limit=1)[0])
        yield Finding("home", "ok", f"{kept} job{'s' * (kept != 1)} kept, {live} live")
        for note in reader.notes:
            yield Finding("home", "warn", note)


def _settings(home: Home) -> Iterator[Finding]:
    known = machine.settings()
    rows = [row for row in known.describe() if row.origin != "default"]
    yield Finding("settings", "ok", f"{len(rows)} set" + (": " + ", ".join(row.key for row in rows) if rows else ""))
    for row in rows:
        if not row.effective:
            yield Finding("settings", "note", f"{row.key} ({row.origin}) is known but has no effect in this version")
    own = machine.model_book(home).own(machine.registry(home).names())
    for slip in mistyped(known.words("model_denylist"), Known(own=own.rows)):
        yield Finding("settings", "warn", f"model_denylist: {slip}", "osrc models shows what each rule stops")


def _supervisor(home: Home) -> Iterator[Finding]:
    seen = read_supervisor_file(str(home.root))
    if seen is None:
        yield Finding("supervisor", "ok", "not running; the first command that needs it starts it")
        return
    try:
        connection = Connection(seen["socket"])
    except NoConnectionError as error:
        if launch.alive(seen):
            yield Finding(
                "supervisor",
                "fail",
                f"pid {seen.get('pid')} runs but can't be reached: {error}",
                "osrc supervisor restart",
            )
        else:
            yield Finding("supervisor", "note", "the last one did not leave by itself; the next start takes over")
        return
    except ProtocolMismatchError as error:
        yield Finding("supervisor", "warn", f"it speaks protocol {error.theirs}", "osrc supervisor restart")
        return
    connection.close()
    level = "ok" if connection.version == __version__ else "warn"
    fix = None if level == "ok" else "osrc supervisor restart"
    yield Finding("supervisor", level, f"running: pid {seen.get('pid')}, version {connection.version}", fix)


def _models(home: Home) -> Iterator[Finding]:
    book = machine.model_book(home)
    own = book.own(machine.registry(home).names())
    if own.rows:
        yield Finding("models", "ok", f"{len(own.rows)} of your own in {book.own_path}")
    for problem in own.problems[:20]:
        yield Finding("models", "warn", problem, "osrc models")


def _lanes(home: Home) -> Iterator[Finding]:
    found, problems = machine.usable_lanes(machine.registry(home))
    ready = machine.probe_all(found, machine.settings())
    usable = 0
    for lane, state in zip(found, ready, strict=True):
        present = state.level.value != "absent"
        usable += present
        text = (
            f"{lane.name}: {state.level.value}" + (f" {state.version}" if state.version else "") + f"; {state.detail}"
        )
        if present and state.tested is False:
            yield Finding("lanes", "warn", f"{text} (a version that was not tested)", state.fix)
        else:
            yield Finding("lanes", "ok" if present else "note", text, state.fix)
    for problem in problems:
        yield Finding("lanes", "warn", problem)
    if not usable:
        yield Finding("lanes", "fail", "no lane can run anything here", "osrc lanes")


def _ping(home: Home, *, cloud_ack: bool) -> Iterator[Finding]:
    """Ask each lane that is here a question: only its answer shows that a sign-in holds."""
    found, _ = machine.usable_lanes(machine.registry(home))
    known = machine.settings()
    ready = machine.probe_all(found, known)
    here = [lane for lane, state in zip(found, ready, strict=True) if state.level.value != "absent"]
    answers = machine.pings(here, known, home, cloud_ack=cloud_ack, tell=_disclose)
    for lane, answered in zip(here, answers, strict=True):
        words = "; ".join(answered.notes)
        left = machine.credits_left(lane, known)
        if left is not None and left <= 0:
            fix = "add some at https://openrouter.ai/settings/credits"
            yield Finding("ping", "warn", f"{lane.name}: its credits are used up", fix)
            continue
        if answered.ok is None:
            yield Finding("ping", "note", f"{lane.name}: was not asked: {words}")
        elif answered.ok:
            yield Finding("ping", "ok", f"{lane.name}: answers" + (f"; ${left:.2f} of credits left" if left else ""))
        else:
            yield Finding("ping", "warn", f"{lane.name}: {words}", f"osrc lanes show {lane.name}")


def _disclose(lines: Sequence[str]) -> None:
    if words := disclosure({"disclosure": lines}):
        say(words)


def _disk(home: Home) -> Iterator[Finding]:
    """Say what the CLIs of the lanes keep on disk for themselves: that is theirs, and grows unseen."""
    found, _ = machine.usable_lanes(machine.registry(home))
    users: dict[str, list[str]] = {}
    for lane in found:
        for folder in lane.state:
            users.setdefault(folder, []).append(lane.name)
    total, known = 0, True
    for folder, names in sorted(users.items()):
        weight = weigh(os.path.expanduser(folder))  # noqa: PTH111 - as the lane wrote it, not as a Path
        if weight is None:
            continue
        total += weight.taken
        known = known and weight.whole
        if weight.taken >= _MUCH_STATE:
            text = f"{folder} ({', '.join(names)}) takes {_mebibytes(weight.taken, whole=weight.whole)}"
            yield Finding("disk", "note", text)
    yield Finding("disk", "ok", f"the CLIs of the lanes keep {_mebibytes(total, whole=known)} of their own state")


def _mebibytes(size: int, *, whole: bool) -> str:
    return f"{'' if whole else 'at least '}{size // 2**20:,} MiB"


def _interpreter(_home: Home) -> Iterator[Finding]:
    if not sys.executable:
        yield Finding(
            "interpreter", "fail", "the Python that runs this can't be found again", "use a plain installation"
        )


CHECKS: tuple[Callable[[Home], Iterator[Finding]], ...] = (
    _platform,
    _interpreter,
    install,
    _home,
    _settings,
    _supervisor,
    sockets,
    agreed,
    _lanes,
    keys,
    _models,
    limits,
    images,
    terminal,
    network,
    parity,
    _disk,
    leftovers,
)
"""In the order in which they are printed."""
