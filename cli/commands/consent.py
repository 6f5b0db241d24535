"""``osrc consent``: whether work may leave this machine for cloud lanes. Asked once, ever."""

from __future__ import annotations

import os
import time

import click

from ...state import consent as kept
from ...state.consent import Consent
from ..errors import CliError
from ..options import Command, Globals, Group
from ..output import answer, answer_json
from ..place import full_home

_DEPTHS = ("OUTSOURCERER_DEPTH", "OSRC_DEPTH")


@click.group(cls=Group)
def consent() -> None:
    """Whether cloud lanes may get work: the task, and what they read while they work."""


@consent.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> None:
    """Say whether consent was given, by whom, when and how."""
    home = full_home(os.environ, options.home)
    found = kept.read_consent(home)
    if options.json:
        answer_json({"granted": found is not None, "path": str(kept.consent_file(home)), **_object(found)})
    elif found is None:
        answer("no consent: cloud lanes are refused; osrc consent grant agrees")
    else:
        answer(f"granted at {found.at} by {found.by} ({found.how}); osrc consent revoke takes it back")


@consent.command("grant", cls=Command)
@click.pass_obj
def grant(options: Globals) -> None:
    """Agree, once and for all, that work leaves this machine for cloud lanes."""
    refuse_delegate("agree")
    home = full_home(os.environ, options.home)
    home.preflight()
    given = kept.grant(home, how="osrc consent grant", now=time.time())
    if options.json:
        answer_json({"granted": True, "path": str(kept.consent_file(home)), **_object(given)})
    else:
        answer(f"granted at {given.at} by {given.by}: {kept.SCOPE}; osrc consent revoke takes it back")


@consent.command("revoke", cls=Command)
@click.pass_obj
def revoke(options: Globals) -> None:
    """Take consent back: cloud lanes are refused from now on, also for jobs that wait in the queue."""
    had = kept.revoke(full_home(os.environ, options.home))
    if options.json:
        answer_json({"granted": False, "revoked": had})
    else:
        answer("revoked: what runs goes on, nothing new leaves" if had else "there was no consent to take back")


def refuse_delegate(doing: str) -> None:
    """Raise CliError inside a delegate: what a person decides, no delegate decides for them."""
    name = next((name for name in _DEPTHS if os.environ.get(name, "0").strip() not in ("", "0")), None)
    if name is not None:
        raise CliError("recursion", f"a delegate runs this ({name} is set): it may not {doing}", "do it yourself")


def _object(found: Consent | None) -> dict[str, object]:
    if found is None:
        return {"granted_at": None, "granted_by": None, "how": None}
    return {"granted_at": found.at, "granted_by": found.by, "how": found.how}
