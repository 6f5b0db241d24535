"""Several tries at one task, each in its own work tree: what each changed, and what a check says of it. Blocks."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..lanes.values import clip
from ..messages.refusals import RefusalCode, Refused
from ..state.errors import printable
from ..state.files import read_private, write_private
from ..state.identity import identify
from .check_files import look_at_check, part_of, unbidden
from .check_run import Check, CheckResult, Verdict, run_check
from .crew_run import Candidate, told
from .git import GitError, ask_git, git
from .kept_request import without_secrets
from .worktree_removal import remove_worktree
from .worktrees import Worktree, inside, make_worktree, needs_repository, off_branch, plan_worktree, settle_worktree

RECORD = "best-of.json"
LIMIT = 1 << 20
BASELINE = "baseline"
MAKE_S = 900.0
SHOWN = 40_000
"""Characters of a change that a judge is shown."""


@dataclass(frozen=True, slots=True)
class Try:
    """One candidate: whether it may win, and how large its change is."""

    candidate: Candidate
    verdict: str
    """passed, red, check_changed, nothing, not_done, failed; ``unchecked`` where no check was asked for."""
    why: str | None = None
    files: int = 0
    lines: int = 0
    """Lines added and removed."""
    diff: str = field(default="", repr=False)
    """Untrusted."""
    check: dict[str, Any] | None = None


def plan_tries(folder: str, cwd: str, terms: Mapping[str, Any]) -> dict[str, Any] | Refused:
    """Return the record of tries that could begin in ``cwd``. Changes nothing."""
    planned = plan_worktree(cwd, Path(folder).name, "HEAD")
    if isinstance(planned, Refused):
        return needs_repository(planned)
    inner = os.path.relpath(planned.cwd, planned.tree.path)
    tree = {"path": planned.tree.path, "branch": planned.tree.branch}
    known = {"group_id": Path(folder).name, "base": planned.tree.base, "inner": inner, "cwd": cwd, "tree": tree}
    first = None if terms.get("check") else {"verdict": "unchecked"}
    return {**known, "baseline": first, "owner": identify(os.getpid()), **terms}


def begin_check(folder: str, record: dict[str, Any], environment: Mapping[str, str]) -> Refused | None:
    """Run the check on what all tries begin at; refuse where it could tell none of them from nothing. Keeps that."""
    tree = Worktree(path=record["tree"]["path"], branch=record["tree"]["branch"], base=str(record["base"]))
    stop = threading.Event()
    try:
        make_worktree(tree, MAKE_S)
        result = _run(Path(folder), BASELINE, record, _first_cwd(record), environment, stop)
    except KeyboardInterrupt:
        stop.set()
        end_check(Path(folder), record, stop)
        raise
    except (GitError, OSError) as error:
        return _refused(f"no work tree can be made to run the check in: {error}", "osrc doctor")
    finally:
        with contextlib.suppress(GitError, OSError):
            remove_worktree(tree)
    record["baseline"] = told(result)
    keep_tries(folder, record)
    if result.verdict is Verdict.PASSED and not record.get("allow_green"):
        said = "the check passes already, before anything was done: it can't tell a good try from none"
        return _unfit(said, "give a --check that fails now; --allow-green where it is only to stay green")
    if result.verdict is Verdict.NOT_RUN:
        return _unfit(f"the check {result.words()}: it would say nothing of any try", "osrc best-of -h")
    return None


def end_check(folder: Path, record: Mapping[str, Any], stop: threading.Event) -> None:
    """End the check of ``begin_check`` where it still runs. ``stop`` is set."""
    if (folder / "checks" / BASELINE).is_dir():
        _run(folder, BASELINE, record, _first_cwd(record), {}, stop)


def _first_cwd(record: Mapping[str, Any]) -> str:
    return os.path.normpath(Path(str(record["tree"]["path"]), str(record["inner"])))


def keep_tries(folder: str, record: Mapping[str, Any]) -> None:
    """Write the record, by which the judging goes on after its command died. Raises StateError."""
    Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    write_private(Path(folder) / RECORD, json.dumps(record, indent=1).encode() + b"\n")


def load_tries(folder: str) -> dict[str, Any] | None:
    """Return the record of a folder; None where there is none. Raises StateError."""
    data = read_private(Path(folder) / RECORD, LIMIT)
    try:
        kept = json.loads(data or b"")
    except (ValueError, RecursionError):
        return None
    return kept if isinstance(kept, dict) and kept.get("group_id") == Path(folder).name else None


def weigh(
    folder: str,
    record: Mapping[str, Any],
    members: Sequence[Candidate],
    environment: Mapping[str, str],
    tell: Callable[[str], None],
) -> list[Try]:
    """Return what became of each try. A check that ran already is not run again."""
    found = []
    for one in members:
        tried = _weighed(Path(folder), record, one, environment)
        tell(f"{one.label}: {tried.verdict}" + (f" ({tried.why})" if tried.why else f", {tried.lines} lines"))
        found.append(tried)
    return found


def least(tries: Sequence[Try]) -> Try:
    """Return the try with the smallest change; of two the same the first."""
    return min(tries, key=lambda one: one.lines)


def _weighed(  # noqa: PLR0911  one reason not to win after the other
    folder: Path, record: Mapping[str, Any], one: Candidate, environment: Mapping[str, str]
) -> Try:
    if not one.ended_well:
        return Try(one, "not_done", f"its job ended {one.state}")
    if one.worktree is None or one.branch is None:
        return Try(one, "nothing", "it had no work tree")
    tree = Worktree(path=one.worktree, branch=one.branch, base=str(record["base"]))
    try:
        held = settle_worktree(tree, f"{one.summary}\n\nWhat job {one.job_id} left uncommitted.\n")
        words = inside(tree)
        if (why := held.why or off_branch(tree)) is not None:
            return Try(one, "failed", why)
        span = f"{tree.base}..refs/heads/{tree.branch}"
        rows = git(tree.root, *words, "diff", "--no-renames", "--numstat", "-z", span).out.split(b"\0")
        counts = [row.split(b"\t")[:2] for row in rows if row.count(b"\t") == 2]
        quiet = ("--no-ext-diff", "--no-textconv", "--no-color")
        diff = git(tree.root, *words, "diff", *quiet, span).out.decode("utf-8", "replace")
    except (GitError, OSError, ValueError) as error:
        return Try(one, "failed", str(error)[:300])
    if not counts:
        return Try(one, "nothing", "it changed nothing")
    files, lines = len(counts), sum(int(word) for row in counts for word in row if word.isdigit())
    shown = clip(diff, SHOWN)
    if not record.get("check"):
        return Try(one, "unchecked", None, files, lines, shown)
    own = _own_check(tree, span, record)
    if own and not record.get("may_change_check"):
        why = f"it changes what the check consists of: {', '.join(map(printable, own[:5]))}"
        return Try(one, "check_changed", why, files, lines, shown)
    result = _check(folder, record, one, environment)
    verdict = {Verdict.PASSED: "passed", Verdict.FAILED: "red"}.get(result.verdict, "failed")
    ended = None if verdict == "passed" else f"the check {result.words()}"
    return Try(one, verdict, ended, files, lines, shown, told(result))


def _own_check(tree: Worktree, span: str, record: Mapping[str, Any]) -> list[str]:
    """Return the files that are a part of the check and were changed, or were added and change what it does."""
    command, inner = str(record["check"]), str(record["inner"])
    parts = look_at_check(command, os.path.normpath(Path(tree.path, inner)))
    changed, added = (_names(tree, span, inner, letters) for letters in ("MTD", "A"))
    own = {path for path in changed.intersection(parts) if _differs(tree, inner, path, parts[path])}
    own |= unbidden(command, parts, added)
    return sorted(os.path.normpath(Path(inner, path)) for path in own)


def _names(tree: Worktree, span: str, inner: str, letters: str) -> set[str]:
    """Return the files of these kinds of change, relative to the folder of the check."""
    words = ("diff", "--no-renames", "--name-only", f"--diff-filter={letters}", "-z", span)
    found = git(tree.root, *inside(tree), *words).out.split(b"\0")
    return {os.path.relpath(os.fsdecode(path), inner or ".") for path in found if path}


def _differs(tree: Worktree, inner: str, path: str, now: str) -> bool:
    """Whether the part of a file that the check reads is another one than at the base; most are read in full."""
    place = os.path.normpath(Path(inner, path))
    seen = ask_git(tree.root, (*inside(tree), "show", f"{tree.base}:{place}"))
    return seen.code != 0 or part_of(path, seen.out) != now


def _check(folder: Path, record: Mapping[str, Any], one: Candidate, environment: Mapping[str, str]) -> CheckResult:
    cwd = os.path.normpath(Path(one.worktree or "/", str(record["inner"])))
    return _run(folder, one.job_id, record, cwd, environment)


def _run(  # noqa: PLR0913, PLR0917 - what a check depends on
    folder: Path,
    name: str,
    record: Mapping[str, Any],
    cwd: str,
    environment: Mapping[str, str],
    stop: threading.Event | None = None,
) -> CheckResult:
    if not Path(cwd).is_dir():
        return CheckResult(Verdict.NOT_RUN, error=f"{cwd} is not there any more")
    (folder / "checks").mkdir(mode=0o700, parents=True, exist_ok=True)
    given = without_secrets(environment) | {"PWD": cwd}
    wanted = Check(str(record["check"]), cwd, given, float(record["check_timeout_s"]))
    return run_check(folder / "checks" / name, wanted, stop)


def _unfit(message: str, hint: str) -> Refused:
    return Refused(code=RefusalCode.CHECK_UNFIT, message=message, hint=hint)


def _refused(message: str, hint: str) -> Refused:
    return Refused(code=RefusalCode.BAD_REQUEST, message=message, hint=hint)
