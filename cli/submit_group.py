"""From the members of a fan-out to one accepted group."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ..messages.entity_ids import GROUP
from ..state.ids import new_job_id
from .reach import Reach
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
        return send_once(reach, body, group_id, f"osrc fanout status {group_id}")
    finally:
        remove_spooled(spooled)


def new_group_id() -> str:
    """Return an id that no group has."""
    return GROUP + new_job_id(time.time(), os.urandom(6))
