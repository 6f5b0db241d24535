"""From the members of a fan-out to one accepted group."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ..messages.entity_ids import GROUP
from ..state.ids import new_job_id
from .output import say
from .reach import Reach
from .render.plan import disclosure
from .sending import remove_spooled, send_once, spool


def submit_group(reach: Reach, request: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
    """Send one request; return ``group_accepted`` or ``group_planned``. Raises CliError where it was refused.

    The group's id is chosen here, or was before.
    """
    group_id = str(request.setdefault("group_id", new_group_id()))
    reach.channel()  # it makes the state home
    members = json.dumps(request["members"], separators=(",", ":")).encode()
    spooled = spool(reach.root, members, "json", "the members")
    if spooled is not None:
        request |= {"members": [], "members_file": spooled}
    try:
        body = {"kind": "fanout.submit", "request": request, "dry_run": dry_run}
        reply = send_once(reach, body, group_id, f"osrc fanout status {group_id}")
    finally:
        remove_spooled(spooled)
    _disclose(reach, reply)
    return reply


def _disclose(reach: Reach, reply: dict[str, Any]) -> None:
    """Say what leaves this machine, once for each that it goes to."""
    planned = [one["plan"].get("disclosure") for one in reply.get("members") or ()]
    told: set[str] = set()
    for lines in reply.get("disclosures") or planned:
        if lines and lines[0] not in told:
            told.add(lines[0])
            say(disclosure({"disclosure": lines}, short=reach.options.quiet))


def new_group_id() -> str:
    """Return an id that no group has."""
    return GROUP + new_job_id(time.time(), os.urandom(6))
