"""Jobs that are one piece of work: each does an earlier one anew (``retries``) or goes on with it (``continues``).

    heads(records, newest first) -> those of them that no later one of the same piece of work stands for

Such a job takes the earlier one's label over. A label then means the newest; the earlier ones are named by their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_LINKS = ("retries", "continues")


def heads(records: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the newest record of each piece of work, in the order given (newest first).

    What joins two records may be missing from them (it was removed): two that do the same job anew are one work.
    """
    given = list(records)
    earlier: dict[str, str] = {}

    def origin(job_id: str) -> str:
        while job_id in earlier:
            job_id = earlier[job_id]
        return job_id

    for record in given:
        for link in _LINKS:
            before = record.get(link)
            if isinstance(before, str):
                own, theirs = origin(str(record.get("job_id"))), origin(before)
                if own != theirs:
                    earlier[own] = theirs
    newest: dict[str, Mapping[str, Any]] = {}
    for record in given:
        newest.setdefault(origin(str(record.get("job_id"))), record)
    return list(newest.values())
