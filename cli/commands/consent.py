"""``osrc consent``: whether work may leave this machine for cloud lanes. Asked once, ever."""

from __future__ import annotations

import os
import time

import click

from ...state import consent as kept
from ...state.consent import Consent
from ...state.settings import Settings, config_file, read_config
from ..in_delegate import refuse_delegate
from ..options import Command, Globals, Group
from ..output import answer, answer_json
from ..place import full_home


@click.group(cls=Group)
def consent() -> None:
    """Whether cloud lanes may get work: the task, and what they read while they work."""


@consent.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> None:
    """Say whether consent was given, by whom, when and how."""
    home = full_home(os.environ, options.home)
    found = kept.read_consent(home)
    place = config_file(os.environ)
    ack, origin = cloud_ack(Settings.load(os.environ, read_config(place), source=place))
    if options.json:
        setting = None if ack is None else {"cloud_ack": ack, "origin": origin}
        shown = {"granted": found is not None, "path": str(kept.consent_file(home)), **_object(found)}
        answer_json({**shown, "in_force": holds(ack, found), "setting": setting})
        return
    kept_words = (
        f"granted at {found.at} by {found.by} ({found.how}); osrc consent revoke takes it back"
        if found
        else "no consent"
    )
    if ack is False:
        answer(f"cloud lanes are refused by {origin}, whatever was agreed to ({kept_words})")
    elif found is None and ack:
        answer(f"none is kept yet, but {origin} agrees with the first work for a cloud lane")
    else:
        answer(kept_words if found else "no consent: cloud lanes are refused; osrc consent grant agrees")


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


def cloud_ack(settings: Settings) -> tuple[bool | None, str]:
    """Return what the setting ``cloud_ack`` says (None: nothing), and where it comes from."""
    if not settings.is_set("cloud_ack"):
        return None, ""
    return settings.flag("cloud_ack"), settings.origin("cloud_ack")


def holds(ack: bool | None, found: Consent | None) -> bool:
    """Tell whether work may leave: the setting says no over everything, and yes where nothing is kept."""
    return (found is not None or bool(ack)) and ack is not False


def _object(found: Consent | None) -> dict[str, object]:
    if found is None:
        return {"granted_at": None, "granted_by": None, "how": None}
    return {"granted_at": found.at, "granted_by": found.by, "how": found.how}
