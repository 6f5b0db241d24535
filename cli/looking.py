"""Looking at jobs: through the supervisor when one runs, else straight from the state home."""

from __future__ import annotations

import os
from typing import Any

from ..messages.entity_ids import kind_of
from .errors import CliError
from .reach import Reach

Job = dict[str, Any]

_LABELS = 200
"""So many of the newest jobs are looked at for a label that was meant."""


def newest(reach: Reach, *, state: str | None, limit: int) -> tuple[list[Job], int]:
    """Return the newest jobs and how many were left out. ``limit`` 0 is no limit."""
    jobs, omitted, _ = newest_and_loops(reach, state=state, limit=limit)
    return jobs, omitted


def newest_and_loops(reach: Reach, *, state: str | None, limit: int) -> tuple[list[Job], int, list[dict[str, Any]]]:
    """Return the same, and the loops that have not ended, in brief; of one state there are none."""
    reply = _ask(reach, {"select": "all", "state": state, "limit": limit})
    if reply is not None:
        return list(reply.get("jobs", ())), int(reply.get("omitted", 0)), list(reply.get("loops", ()))
    files = _Files(reach.root)
    return *files.newest(state, limit), files.loops() if state is None else []


def named(reach: Reach, tokens: tuple[str, ...]) -> list[Job]:
    """Return the jobs that ids, prefixes or labels name. Raises CliError for one that is unknown or ambiguous."""
    try:
        return _named(reach, tokens)
    except CliError as error:
        if error.code != "no_such_job" or len(tokens) != 1:
            raise
        from .spelling import suggesting  # noqa: PLC0415 - only on the way to an error

        labels = [str(job["label"]) for job in newest(reach, state=None, limit=_LABELS)[0] if job.get("label")]
        raise suggesting(error, tokens[0], labels) from None


def _named(reach: Reach, tokens: tuple[str, ...]) -> list[Job]:
    for token in tokens:
        if kind_of(token) == "loop":
            raise CliError("no_such_job", f"{token[:60]} is a loop, not a job", f"osrc loop status {token[:60]}")
    reply = _ask(reach, {"select": "ids", "ids": list(tokens)})
    if reply is not None:
        return list(reply.get("jobs", ()))
    files = _Files(reach.root)
    return [files.one(token) for token in tokens]


def _ask(reach: Reach, selection: dict[str, Any]) -> dict[str, Any] | None:
    return reach.ask_running({"kind": "view.jobs", "selection": selection})


class _Files:
    """The state home, read without a supervisor. A live record whose processes are gone awaits its verdict."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._database = f"{root}/state.db"

    def newest(self, state: str | None, limit: int) -> tuple[list[Job], int]:
        if not self._is_there():
            return [], 0
        records, omitted = self._reader().jobs(state=state, limit=limit)
        return self._views(records), omitted

    def loops(self) -> list[dict[str, Any]]:
        """Return the loops that have not ended: nobody looks after them while no supervisor runs."""
        if not self._is_there():
            return []
        import time  # noqa: PLC0415 - beside its only use

        from ..state.loops_reader import running  # noqa: PLC0415 - not on the warm path

        return list(running(self._reader(), time.time()))

    def one(self, token: str) -> Job:
        found = self._reader().resolve(token) if self._is_there() else []
        if not found:
            raise no_such_job(token)
        if len(found) > 1:
            names = ", ".join(str(record.get("job_id")) for record in found[:8])
            raise CliError("ambiguous_job", f"{token!r} names {len(found)} jobs: {names}", "give more of the id")
        return self._views(found)[0]

    def _is_there(self) -> bool:
        """Whether there is anything to read. What can't be looked at is: the reader says what is wrong."""
        for path in (self._database, f"{self._root}/jobs"):
            try:
                os.lstat(path)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                return True
            return True
        return False

    def _reader(self) -> Any:  # noqa: ANN401 - typed where it is made; the import stays off the warm path
        from ..state.reader import Reader  # noqa: PLC0415 - not on the warm path

        return Reader(self._database)

    def _views(self, records: list[Job]) -> list[Job]:
        import time  # noqa: PLC0415 - beside its only use

        from ..state.identity import look  # noqa: PLC0415 - not on the warm path
        from ..state.views import derive, job_object  # noqa: PLC0415 - not on the warm path

        now = time.time()
        return [job_object(derive(record, look), self._root, now) for record in records]


def verdict_due(job: Job) -> bool:
    """Whether a job's processes are gone and nobody has judged it: a supervisor has to be started for that."""
    return job.get("supervision") == "none"


def no_such_job(token: str) -> CliError:
    """Return the refusal for an id, prefix or label that names nothing."""
    return CliError("no_such_job", f"no such job: {token}", "osrc status --all")
