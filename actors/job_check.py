"""A job's own check: a command of the person's, run when the delegate has answered, whose exit status decides.

It is run once, whoever asks (``check_run.py``): a supervisor that is killed meanwhile is followed by one that waits
for the same run. What the check consists of is noted before the delegate may change it: a green check that the
delegate had a hand in vouches for nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

from ..messages.internal import JobChecked
from ..messages.job import JobRecord
from ..state.job_folder import JobFolder
from .base import Handle
from .check_files import changes, look_at_check
from .check_run import Check, CheckResult, Verdict, run_check
from .git import GitError
from .host import decode_environment
from .tree import in_background
from .worktrees import Worktree, off_branch

RUN = "check"
"""Folder of the run, in the job's folder."""
BEFORE, CHANGED = "check.before", "check.changed"
"""Files in the job's folder: what the check consisted of, and what of that the delegate changed."""
MOST_NAMED = 5


def note_check(folder: JobFolder, record: JobRecord) -> None:
    """Keep what the check consists of, before the first attempt. Raises StateError; blocks."""
    if record.check is not None and folder.read_json(BEFORE) is None:
        folder.write_json(BEFORE, dict(look_at_check(record.check, record.cwd)))


def check_in_background(  # noqa: PLR0913, PLR0917  what a run depends on
    folder: JobFolder, record: JobRecord, command: str, umask: int, stop: threading.Event, to: Handle
) -> None:
    """Run the check, or wait for the run that there is; tells ``JobChecked``. ``stop`` ends it early."""
    in_background(
        f"check:{folder.job_id}",
        to,
        lambda: _checked(folder, record, command, umask, stop),
        otherwise=JobChecked(verified=None, sentence="its check could not be run"),
    )


def _checked(folder: JobFolder, record: JobRecord, command: str, umask: int, stop: threading.Event) -> JobChecked:
    changed = _changed(folder, record, command)
    request = folder.read_request()
    kept = request.get("environment") if isinstance(request, dict) else None
    environment = decode_environment(str(kept or "")) | {"PWD": record.cwd}
    wanted = Check(command, record.cwd, environment, record.check_timeout_s, umask)
    astray = _astray(record)
    return told(run_check(folder.path / RUN, wanted, stop), changed, astray)


def _astray(record: JobRecord) -> str | None:
    """Return why the check sees what the job's branch, which is all that can be taken, does not hold."""
    if record.worktree is None or record.branch is None or record.base is None:
        return None
    try:
        return off_branch(Worktree(path=record.worktree, branch=record.branch, base=record.base))
    except GitError as error:
        return f"what its branch holds can't be told: {error}"


def _changed(folder: JobFolder, record: JobRecord, command: str) -> tuple[str, ...] | None:
    """Return what of the check the delegate changed; None where it was not noted. Looked at once, before the run."""
    known = folder.read_json(CHANGED)
    if known is not None and isinstance(known.get("files"), list):
        return tuple(str(path) for path in known["files"])
    before = folder.read_json(BEFORE)
    if before is None:
        return None
    found = changes(_look(before), look_at_check(command, record.cwd))
    folder.write_json(CHANGED, {"files": list(found)})
    return found


def _look(kept: Mapping[str, object]) -> dict[str, str]:
    return {path: str(digest) for path, digest in kept.items()}


def told(result: CheckResult, changed: tuple[str, ...] | None, astray: str | None = None) -> JobChecked:
    """Return what a run of the check says of the work."""
    words = f"its check {result.words()}"
    if result.verdict in (Verdict.FAILED, Verdict.TIMED_OUT):
        where = f"; its output: {result.output_path}" if result.output_path else ""
        return JobChecked(verified=False, sentence=f"{words}{where}")
    if result.verdict is not Verdict.PASSED:
        return JobChecked(verified=None, sentence=words)
    if astray is not None:
        return JobChecked(verified=None, sentence=f"{words}, but {astray}")
    if changed is None:
        return JobChecked(verified=None, sentence=f"{words}, but what it consists of was not noted before")
    if changed:
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        named = ", ".join(changed[:MOST_NAMED])
        return JobChecked(
            verified=None, sentence=f"{words}, but the delegate changed what it consists of: {named}{more}"
        )
    return JobChecked(verified=True, sentence=words)
