"""``osrc cleanup|gc``: remove jobs that have ended."""

from __future__ import annotations

from typing import Any

import click

from .. import exit_codes
from ..completing import complete_job
from ..options import Age, Command, Globals, Size
from ..output import answer, answer_json, say
from ..reach import Reach
from ..render.plain import one_line


@click.command(cls=Command)
@click.argument("words", metavar="ID|GROUP...", nargs=-1, required=True, shell_complete=complete_job)
@click.option("--force", is_flag=True, help="Also work that was not committed or not merged: it is lost.")
@click.pass_obj
def cleanup(options: Globals, words: tuple[str, ...], force: bool) -> int:
    """Remove jobs that have ended: record, folder, and the work tree and branch that were made for them.

    A job whose work tree has uncommitted changes, or commits that no other branch has, stays. Nothing else of
    the repository is touched.
    """
    reach = Reach(options)
    reply = reach.request({"kind": "job.cleanup", "words": list(words), "force": force})
    reach.close()
    return _show(options, reply)


@click.command(cls=Command)
@click.option("--older-than", metavar="D", type=Age(), help="Ended so long ago: days, or 12h (default: job_ttl_days).")
@click.option("--max-size", metavar="SIZE", type=Size(), help="Then the oldest, until the rest takes at most that: 2G.")
@click.option("--dry-run", is_flag=True, help="Say what would go; remove nothing.")
@click.pass_obj
def gc(options: Globals, older_than: float | None, max_size: int | None, dry_run: bool) -> int:
    """Remove ended jobs by age and size, with clean and merged work trees, and ended sessions by age.

    Work that was not committed or not merged always stays.
    """
    reach = Reach(options)
    body = {"kind": "job.gc", "older_than_s": older_than, "most_bytes": max_size, "dry_run": dry_run}
    reply = reach.request(body)
    reach.close()
    _show(options, reply)
    return exit_codes.DONE


def _show(options: Globals, reply: dict[str, Any]) -> int:
    removed, kept = list(reply.get("removed", ())), list(reply.get("kept", ()))
    if options.json:
        shown = ("removed", "sessions", "kept", "notes", "freed_bytes", "dry_run")
        answer_json({key: reply.get(key) for key in shown})
    else:
        word = "would be removed" if reply.get("dry_run") else "removed"
        for job_id in removed:
            answer(f"{job_id} {word}")
        for session_id in reply.get("sessions", ()):
            answer(f"{session_id} (session) {word}")
        for job in kept:
            answer(f"{job.get('job_id')} stays: {one_line(str(job.get('why')), 400)}")
        if not options.quiet:
            say(f"{len(removed)} {word}, {_size(int(reply.get('freed_bytes') or 0))}; {len(kept)} stay")
            for note in reply.get("notes", ()):
                say(one_line(str(note), 400))
    return exit_codes.REFUSED if kept else exit_codes.DONE


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
