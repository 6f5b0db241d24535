"""Shell completion of job ids and labels."""

from __future__ import annotations

import click


def complete_job(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the ids and labels of the newest jobs that start with ``incomplete``; nothing when they can't be read."""
    from .looking import newest  # noqa: PLC0415 - only while completing
    from .options import Globals  # noqa: PLC0415 - only while completing
    from .reach import Reach  # noqa: PLC0415 - only while completing

    try:
        jobs, _ = newest(Reach(context.ensure_object(Globals)), state=None, limit=200)
    except Exception:  # noqa: BLE001 - a completion that fails completes nothing; a trace would garble the prompt
        return []
    words = [str(job[key]) for job in jobs for key in ("job_id", "label") if job.get(key)]
    return [word for word in dict.fromkeys(words) if word.startswith(incomplete)]
