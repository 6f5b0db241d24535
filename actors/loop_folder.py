"""A loop's private folder, ``loops/<id>/``: what was asked, and what its checks and answers were.

task.md         the task
request.json    what holds for every lap, without the task and without secrets
guard-<n>.json  what the check consisted of when the loop was begun, or resumed the n-th time
check-<n>/      the check that was step n (``check_run.py``)
answer-<n>.md   what a session answered, where step n was a turn of it
findings.json   sweep: what was found, by the round
findings.txt    the same for people
rubric.md       optimize: by what it is judged
plan.md         council: what is to be built
ruling-<n>.json opinion: the mark behind which the judge of step n rules, and in which order it saw the answers
verdict.json    opinion: what the answers come to
record.json     the loop as it was seen last: what a store that was lost is filled from
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..lanes.loop_prompts import key_of
from ..messages.job import JobRequest
from ..messages.kept import kept
from ..messages.loop import LoopRecord
from ..state.errors import StateError, from_os_error
from ..state.files import read_private, write_private
from ..state.home import Home
from .base import log

TASK, REQUEST, RUBRIC, PLAN, RECORD = "task.md", "request.json", "rubric.md", "plan.md", "record.json"
FINDINGS, FINDINGS_TEXT, VERDICT = "findings.json", "findings.txt", "verdict.json"
LIMIT = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class LoopFolder:
    """See the module. Writers raise StateError; readers return None for what is not there or makes no sense."""

    path: Path

    @classmethod
    def of(cls, home: Home, loop_id: str) -> LoopFolder:
        """Return the folder of a loop. Nothing is touched."""
        return cls(home.loop_dir(loop_id))

    def create(self, task: str, request: Mapping[str, Any]) -> None:
        """Make the folder, and keep what was asked for."""
        try:
            self.path.parent.mkdir(mode=0o700, exist_ok=True)
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise from_os_error(error, self.path, "create") from error
        self.write(TASK, task)
        self.write_json(REQUEST, request)

    def write(self, name: str, text: str) -> None:
        """Replace one file whole."""
        write_private(self.path / name, text.encode("utf-8", "surrogatepass"))

    def write_json(self, name: str, value: object) -> None:
        """Replace one JSON file whole."""
        write_private(self.path / name, json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def read(self, name: str) -> str | None:
        """Return a file's text."""
        try:
            data = read_private(self.path / name, LIMIT)
        except StateError:
            return None
        return None if data is None else data.decode("utf-8", "replace")

    def read_json(self, name: str) -> Any:  # noqa: ANN401 - a JSON value
        """Return a file's JSON value."""
        text = self.read(name)
        try:
            return None if text is None else json.loads(text)
        except (ValueError, RecursionError):
            return None

    def request(self) -> JobRequest | None:
        """Return what holds for every lap."""
        try:
            return JobRequest.model_validate(self.read_json(REQUEST))
        except ValidationError:
            return None

    def record(self) -> LoopRecord | None:
        """Return the loop as it was seen last."""
        text = self.read(RECORD)
        return None if text is None else kept(LoopRecord, text)

    def keep(self, record: LoopRecord) -> bool:
        """Keep the loop as it is now, for a store that may be lost; return whether that could be done."""
        try:
            self.write_json(RECORD, record.model_dump(mode="json"))
        except StateError as error:
            log.warning("%s: its folder can't be written: %s", record.loop_id, error)
            return False
        return True

    def check(self, number: int) -> Path:
        """Return the folder of the check that is step ``number``."""
        return self.path / f"check-{number}"

    def answer(self, number: int) -> str | None:
        """Return what the turn of a session that was step ``number`` answered."""
        return self.read(f"answer-{number}.md")

    def keep_answer(self, number: int, text: str) -> None:
        """Keep what a turn of a session answered."""
        self.write(f"answer-{number}.md", text)

    def guard(self, segment: int) -> dict[str, str] | None:
        """Return what the check consisted of."""
        found = self.read_json(f"guard-{segment}.json")
        if not isinstance(found, dict):
            return None
        return {name: digest for name, digest in found.items() if isinstance(digest, str)}

    def keep_guard(self, segment: int, look: Mapping[str, str]) -> None:
        """Remember what the check consists of."""
        self.write_json(f"guard-{segment}.json", dict(look))

    def findings(self, before: int | None = None) -> list[str]:
        """Return what the rounds found, each once, in their order; with ``before`` only those of earlier steps."""
        kept = self.read_json(FINDINGS)
        rows = kept if isinstance(kept, list) else []
        return [
            str(row["text"])
            for row in rows
            if isinstance(row, dict) and isinstance(row.get("step"), int) and (before is None or row["step"] < before)
        ]

    def keep_findings(self, number: int, found: list[str]) -> int:
        """Keep what the round of step ``number`` found; return how many were new. Repeating it is harmless."""
        kept = self.read_json(FINDINGS)
        rows = [row for row in (kept if isinstance(kept, list) else []) if isinstance(row, dict)]
        rows = [row for row in rows if isinstance(row.get("step"), int) and row["step"] < number]
        known = {key_of(str(row.get("text"))) for row in rows}
        new = [text for text in found if key_of(text) not in known]
        rows += [{"step": number, "text": text} for text in new]
        self.write_json(FINDINGS, rows)
        self.write(FINDINGS_TEXT, "".join(f"{row['text']}\n" for row in rows))
        return len(new)
