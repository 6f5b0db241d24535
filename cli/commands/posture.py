"""``osrc posture``: what holds before work is handed on, and what lanes are remembered to refuse."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

import click

from ...state import consent as consents
from ...state import lane_posture
from ...state.errors import StateError
from ...state.home import Home
from ...state.lane_posture import Mark
from ...state.settings import Settings, config_file, read_config
from ...state.trusted_lanes import read_trusted, trusted_file
from ..in_delegate import refuse_delegate
from ..options import Command, Globals, Group
from ..output import answer, answer_json
from ..place import full_home
from ..render.lines import age
from ..render.plain import one_line
from .consent import cloud_ack, holds

_RULES = (
    "protected_paths",
    "model_denylist",
    "launches_per_hour",
    "min_free_memory",
    "min_free_disk",
    "max_depth",
    "secret_allow_value",
)


@click.group(cls=Group)
def posture() -> None:
    """What holds here before work is handed on, and what lanes are remembered to refuse."""


@posture.command("status", cls=Command)
@click.pass_obj
def status(options: Globals) -> None:
    """Print consent, trusted lanes, the bounds that are in force, and remembered restrictions."""
    home = full_home(os.environ, options.home)
    place = config_file(os.environ)
    settings = Settings.load(os.environ, read_config(place), source=place)
    rows = {row.key: row for row in settings.describe()}
    trusted = read_trusted(trusted_file(os.environ))
    marks = lane_posture.marks(home)
    agreed, words = _consent(home, settings)
    if options.json:
        answer_json(
            {
                "consent": agreed,
                "trusted_lanes": {lane: list(folders) for lane, folders in trusted.lanes.items()},
                "trusted_lanes_problem": trusted.problem,
                "rules": {key: rows[key].value for key in _RULES},
                "remembered": [{"lane": one.lane, "key": one.key, "value": one.value, "at": one.at} for one in marks],
            }
        )
        return
    answer(f"consent: {words}")
    answer(f"trusted lanes: {trusted.problem or _trusted(trusted.lanes)} ({trusted.path})")
    for key in _RULES:
        answer(f"{key}: {rows[key].value or 'none'} ({rows[key].origin})")
    answer("remembered: " + ("; ".join(map(_said, marks)) or "nothing"))


@posture.command("reset", cls=Command)
@click.pass_obj
def reset(options: Globals) -> None:
    """Forget what lanes are remembered to refuse. Consent and settings stay."""
    refuse_delegate("forget it")
    gone = lane_posture.reset(full_home(os.environ, options.home))
    if options.json:
        answer_json({"forgotten": [{"lane": one.lane, "key": one.key, "value": one.value} for one in gone]})
    else:
        answer("forgotten: " + ("; ".join(map(_said, gone)) or "nothing was remembered"))


def _consent(home: Home, settings: Settings) -> tuple[bool, str]:
    """Return whether work may leave, and why."""
    ack, origin = cloud_ack(settings)
    if ack is False:
        return False, f"cloud lanes are refused by {origin}"
    try:
        found = consents.read_consent(home)
    except StateError as error:
        return bool(ack), error.message + (f"; {origin} agrees" if ack else "")
    if found is None and ack:
        return True, f"none is kept yet, but {origin} agrees"
    return holds(ack, found), f"given at {found.at} by {found.by}" if found else "none: cloud lanes are refused"


def _trusted(lanes: Mapping[str, tuple[str, ...]]) -> str:
    if not lanes:
        return "none"
    return one_line("; ".join(f"{lane}: {', '.join(folders)}" for lane, folders in sorted(lanes.items())), 1000)


def _said(mark: Mark) -> str:
    return f"{mark.lane} {mark.key} {mark.value} (for {age(time.time() - mark.at)})"
