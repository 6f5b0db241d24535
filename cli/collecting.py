"""The findings of a group as files: one a member, and all of them in COLLECTED.md and COLLECTED.json."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any

from .cash import written
from .errors import CliError
from .following import read_result, terminal
from .render.lines import beyond, words_for
from .render.plain import one_line

Finding = dict[str, Any]

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_NAME_LIMIT = 60
_SHOWN = 1024 * 1024
"""Bytes of one finding that COLLECTED.md shows; its own file has all."""


def collect(group: Mapping[str, Any], folder: str) -> tuple[str, list[Finding]]:
    """Write ``findings/NN-label.md``, ``COLLECTED.md`` and ``.json``; return the path of the second, and its parts.

    A member that left no final message gets no file, and says so in the whole. Raises CliError.
    """
    from ..state.errors import StateError  # noqa: PLC0415 - off the hot paths
    from ..state.files import write_private  # noqa: PLC0415 - as above

    whole = f"{folder}/COLLECTED.md"
    findings: list[Finding] = []
    texts: list[bytes | None] = []
    width = max(2, len(str(len(group["jobs"]))))
    try:
        _make_private(f"{folder}/findings")
        for number, job in enumerate(group["jobs"], 1):
            text = read_result(job) if terminal(job) else None
            path = f"{folder}/findings/{number:0{width}}-{file_word(str(job.get('label') or job['job_id']))}.md"
            if text is not None:
                write_private(path, text if text.endswith(b"\n") else text + b"\n")
            findings.append(_finding(job, path if text is not None else None, text))
            texts.append(
                text
                if text is None or len(text) <= _SHOWN
                else text[:_SHOWN] + f"\n\n(cut: all of it is in {path})".encode()
            )
        write_private(whole, _markdown(group, findings, texts))
        summary = {key: value for key, value in group.items() if key != "jobs"}
        kept = {**summary, "findings": findings}
        write_private(f"{folder}/COLLECTED.json", json.dumps(written(kept), indent=1).encode() + b"\n")
    except StateError as error:
        raise CliError(error.code, error.message, error.hint) from None
    except OSError as error:
        raise CliError(
            "state_unwritable", f"can't write to {folder}: {error.strerror}", "osrc fanout collect GID --out DIR"
        ) from None
    return whole, findings


def _make_private(path: str) -> None:
    """Make a folder, and those above it that are missing, for its owner alone: ``makedirs`` does so with the last."""
    above = os.path.dirname(path)  # noqa: PTH120 - no pathlib in the front end
    if above and not os.path.isdir(above):  # noqa: PTH112 - as above
        _make_private(above)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)  # noqa: PTH102 - as above


def file_word(label: str) -> str:
    """Return a label as a part of a file's name.

    >>> file_word("a/b c"), file_word("../..")
    ('a-b-c', 'member')
    """
    word = "".join(character if character in _PLAIN else "-" for character in label)[:_NAME_LIMIT].strip(".-")
    return word or "member"


def _finding(job: Mapping[str, Any], path: str | None, text: bytes | None) -> Finding:
    keys = ("job_id", "label", "state", "reason", "lane", "model", "model_observed", "cost", "worktree", "branch")
    return {**{key: job.get(key) for key in keys}, "path": path, "bytes": None if text is None else len(text)}


def _markdown(group: Mapping[str, Any], findings: list[Finding], texts: list[bytes | None]) -> bytes:
    counts = group["summary"]
    said = ", ".join(f"{counts[word]} {word}" for word in ("done", "unverified", "blocked", "failed", "removed"))
    live = int(counts["running"]) + int(counts["queued"])
    head = [
        f"# {group['group_id']}",
        "",
        f"{counts['total']} member{'s' * (counts['total'] != 1)}: {said}" + (f", {live} not ended yet" * (live > 0)),
    ]
    head += ["", "| # | member | state | lane | model |", "| --- | --- | --- | --- | --- |"]
    for number, one in enumerate(findings, 1):
        model = one["model_observed"] or one["model"] or "?"
        cells = (number, one["label"], one["state"], one["lane"], model)
        head.append("| " + " | ".join(_cell(str(cell)) for cell in cells) + " |")
    head += [f"| - | {_cell(str(one['label']))} | refused | - | - |" for one in group["refused"]]
    parts = ["\n".join(head).encode()]
    for number, (one, text) in enumerate(zip(findings, texts, strict=True), 1):
        title = f"## {number}. {one_line(str(one['label']), 100)} ({one['state']})"
        why = beyond(one["state"], one["reason"]) or words_for(str(one["state"]))
        parts.append(title.encode() + b"\n\n" + (text.strip(b"\n") if text else f"No final message: {why}".encode()))
    for one in group["refused"]:
        why = one_line(str(one["message"]), 300)
        parts.append(f"## {one_line(str(one['label']), 100)} (refused)\n\nNot started: {why}".encode())
    return b"\n\n".join(parts) + b"\n"


def _cell(text: str) -> str:
    return one_line(text, 80).replace("|", "\\|")
