"""A crew's work after its jobs: each member's kept only if the check stays green, then all of it brought home.

Everything is in the crew's folder (``crew.json``, written anew after each decision; ``checks/``), so that a command
that dies is followed by ``osrc crew resume``: nothing is graded that did not run, and no check runs twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..lanes.framing import strip_controls
from ..messages.refusals import RefusalCode, Refused
from ..state.errors import printable
from ..state.file_locks import try_lock
from ..state.files import read_private, write_private
from ..state.identity import identify
from .check_files import Look, changes, look_at_check
from .check_run import Check, CheckResult, Verdict, run_check
from .git import GitError, ask_git, git
from .integration import Clash, Integration, Nothing, Squashed
from .kept_request import without_secrets
from .worktree_removal import remove_worktree
from .worktrees import Worktree, needs_repository, plan_worktree, settle_worktree

LIMIT = 16 * 1024 * 1024
RECORD = "crew.json"
TAIL = 2000
"""Characters of a failed check's output that are kept with the verdict."""
NAMED = 20
REMOVE_S = 300.0
SAID_LINES, SAID = 3, 600
"""So much of a red check's output is in the refusal."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One member as it ended."""

    job_id: str
    label: str
    state: str
    worktree: str | None
    branch: str | None
    summary: str
    """What it was told, in a line: its commit's message."""

    @property
    def ended_well(self) -> bool:
        """Whether its job says that its work is done."""
        return self.state in ("done", "done?")


@dataclass(slots=True)
class Crew:
    """One crew's record, in its folder. Keys of ``kept`` are those of ``osrc crew status --json``."""

    folder: Path
    kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def plan(cls, folder: str, cwd: str, terms: Mapping[str, Any]) -> Crew | Refused:
        """Return a crew that could begin in ``cwd``: a clean work tree on a branch. Changes nothing."""
        place = Path(folder)
        name = place.name
        planned = plan_worktree(cwd, name, "HEAD")
        if isinstance(planned, Refused):
            return needs_repository(planned)
        root = planned.tree.root
        try:
            at = ask_git(root, ("symbolic-ref", "--quiet", "--short", "HEAD"))
            if at.code != 0:
                return _refused(
                    "HEAD is on no branch here, so there is none to bring the work home to", "git switch BRANCH"
                )
            changed = git(root, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all").out
        except GitError as error:
            return _refused(f"git can't be asked about {printable(root)}: {error}")
        if changed:
            return _refused(
                "there are changes here that are not committed, and no member would have them",
                "git commit or git stash",
            )
        tree = planned.tree
        kept: dict[str, Any] = {
            "group_id": name,
            "root": root,
            "cwd": planned.cwd,
            "home_branch": at.text,
            "base": tree.base,
        }
        kept |= {"worktree": tree.path, "branch": tree.branch, "head": tree.base, "baseline": None, "members": []}
        return cls(place, {**kept, "landed": None, "why": None, "owner": identify(os.getpid()), **terms})

    @classmethod
    def load(cls, folder: str) -> Crew | None:
        """Return the crew of a folder; None where there is none. Raises StateError."""
        place = Path(folder)
        data = read_private(place / RECORD, LIMIT)
        try:
            kept = json.loads(data or b"")
        except (ValueError, RecursionError):
            return None
        return cls(place, kept) if isinstance(kept, dict) and kept.get("group_id") == place.name else None

    def save(self) -> None:
        """Write the record. Raises StateError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self.folder / RECORD, json.dumps(self.kept, indent=1).encode() + b"\n")

    @property
    def tree(self) -> Worktree:
        """Where the work is brought together."""
        return Worktree(path=self.kept["worktree"], branch=self.kept["branch"], base=self.kept["base"])

    # --- before the jobs

    def baseline(self, environment: Mapping[str, str]) -> Refused | None:
        """Run the check on the base alone; refuse to begin where it says nothing, or is red and was not called so."""
        try:
            Integration(self.tree).begin(self.kept["base"])
        except (GitError, OSError) as error:
            return _refused(f"the work tree of the crew can't be made: {error}")
        self.save()
        result = self._check("baseline", environment)
        self.kept["baseline"] = told(result)
        self.save()
        if result.verdict is Verdict.PASSED or (result.verdict is Verdict.FAILED and self.kept.get("red")):
            return None
        if result.verdict is Verdict.FAILED:
            lines = [strip_controls(line).strip() for line in result.tail.split("\n") if line.strip()]
            said = f": {' / '.join(lines[-SAID_LINES:])[-SAID:]}" if lines else ""
            where = f"in a fresh work tree of {self.kept['base'][:12]}"
            return _unfit(
                f"the check is red before anybody began ({result.words()}), {where}{said}",
                "mend it first, or --red where a member is to make it green",
            )
        return _unfit(f"the check {result.words()}: it would say nothing of anybody's work", "osrc crew -h")

    def stop_baseline(self) -> None:
        """End the check of ``baseline`` where it still runs: whoever wanted to begin is gone."""
        if (self.folder / "checks" / "baseline").is_dir():
            stop = threading.Event()
            stop.set()
            self._check("baseline", {}, stop)

    # --- after the jobs

    def integrate(self, members: Sequence[Candidate], environment: Mapping[str, str], tell: Tell) -> None:
        """Judge each member that was not yet, in order, and keep what stays green. Raises StateError."""
        judged = {row["job_id"] for row in self.kept["members"]}
        left = [one for one in members if one.job_id not in judged]
        if not left:
            return
        bench = Integration(self.tree)
        try:
            bench.begin(self.kept["head"])
        except (GitError, OSError) as error:
            self.kept["why"] = f"the work tree of the crew can't be used: {error}"
            self.save()
            return
        for one in left:
            row = self._judged(bench, one, environment)
            self.kept["members"].append(row)
            self.kept["head"] = row["commit"] or self.kept["head"]
            self.save()
            tell(words_of(row))

    def land(self) -> None:
        """Move the person's branch to what was kept, forward only. Raises StateError."""
        base, head = self.kept["base"], self.kept["head"]
        if head == base or self.kept["landed"] is not None:
            return
        try:
            why = Integration(self.tree).fast_forward(self.kept["home_branch"], base, head)
        except GitError as error:
            why = f"{self.kept['home_branch']} could not be moved: {error}"
        self.kept["why"] = why
        self.kept["landed"] = head if why is None else None
        self.save()

    def close(self) -> None:
        """Take the crew's own work tree away; its branch too, unless that alone has what was kept."""
        tree = self.tree
        with contextlib.suppress(GitError, OSError):
            if self.kept["head"] == tree.base or self.kept["landed"] is not None:
                remove_worktree(tree)
            else:
                git(tree.root, "worktree", "remove", "--force", "--force", tree.path, timeout_s=REMOVE_S)

    def _judged(self, bench: Integration, one: Candidate, environment: Mapping[str, str]) -> dict[str, Any]:
        row: dict[str, Any] = {"job_id": one.job_id, "label": one.label, "state": one.state, "branch": one.branch}
        row |= {"verdict": None, "commit": None, "why": None, "check": None, "conflicts": [], "changed": []}
        if not one.ended_well:
            return row | {"verdict": "not_done", "why": f"its job ended {one.state}"}
        if one.worktree is None or one.branch is None:
            return row | {"verdict": "nothing", "why": "it had no work tree"}
        try:
            return row | self._brought(bench, one, environment)
        except (GitError, OSError) as error:
            with contextlib.suppress(GitError, OSError):
                bench.back_to(self.kept["head"])
            return row | {"verdict": "failed", "why": str(error)[:300]}

    def _brought(self, bench: Integration, one: Candidate, environment: Mapping[str, str]) -> dict[str, Any]:
        own = Worktree(path=one.worktree or "", branch=one.branch or "", base=self.kept["base"])
        settle_worktree(own, f"{one.summary}\n\nWhat job {one.job_id} left uncommitted.\n")
        before = look_at_check(self.kept["check"], self.kept["cwd"])
        found = bench.squash(own.branch, f"{one.summary}\n\nJob {one.job_id} of {self.kept['group_id']}.\n")
        match found:
            case Nothing():
                return {"verdict": "nothing", "why": "it changed nothing that is not there already"}
            case Clash(conflicts=conflicts):
                paths = ", ".join(printable(clash.path) for clash in conflicts[:NAMED])
                earlier = [row["label"] for row in self.kept["members"] if row["verdict"] == "kept"]
                sides = [{"path": c.path, "ours": c.ours, "theirs": c.theirs} for c in conflicts]
                why = f"it conflicts with {' and '.join(earlier[:5]) or 'the base'} in {paths}"
                return {"verdict": "conflict", "why": why, "conflicts": sides}
            case Squashed():
                return self._graded(bench, one, found, before, environment)

    def _graded(
        self,
        bench: Integration,
        one: Candidate,
        found: Squashed,
        before: Look,
        environment: Mapping[str, str],
    ) -> dict[str, Any]:
        row: dict[str, Any] = {"changed": [*found.changed, *found.added][:200]}
        if found.secrets:
            bench.back_to(self.kept["head"])
            kinds = ", ".join(found.secrets[:5])
            return row | {"verdict": "secret", "why": f"it would commit a secret value: {kinds}"}
        own = changes(before, look_at_check(self.kept["check"], self.kept["cwd"]))
        if own and not self.kept.get("may_change_check"):
            bench.back_to(self.kept["head"])
            paths = ", ".join(map(printable, own[:5]))
            return row | {"verdict": "check_changed", "why": f"it changes what the check consists of: {paths}"}
        result = self._check(one.job_id, environment)
        if result.verdict is Verdict.PASSED:
            bench.drop()  # what the check itself left
            return row | {"verdict": "kept", "commit": found.commit, "check": told(result)}
        bench.back_to(self.kept["head"])
        word = "red" if result.verdict is Verdict.FAILED else "unchecked"
        return row | {"verdict": word, "why": f"the check {result.words()}", "check": told(result)}

    def _check(self, name: str, environment: Mapping[str, str], stop: threading.Event | None = None) -> CheckResult:
        (self.folder / "checks").mkdir(mode=0o700, parents=True, exist_ok=True)
        cwd = self.kept["cwd"]
        if not Path(cwd).is_dir():
            return CheckResult(Verdict.NOT_RUN, error=f"{cwd} is not there any more")
        given = without_secrets(environment) | {"PWD": cwd}
        wanted = Check(self.kept["check"], cwd, given, float(self.kept["check_timeout_s"]))
        return run_check(self.folder / "checks" / name, wanted, stop)


def told(result: CheckResult) -> dict[str, Any]:
    """Return how a check ended as it is kept with a verdict."""
    return {
        "verdict": result.verdict.value,
        "words": result.words(),
        "seconds": round(result.seconds, 3),
        "output_path": result.output_path,
        "tail": None if result.verdict is Verdict.PASSED else result.tail[-TAIL:],
    }


def words_of(row: Mapping[str, Any]) -> str:
    """Return a member's verdict as a line."""
    if row["verdict"] == "kept":
        return f"{row['label']}: kept as {str(row['commit'])[:12]}"
    return f"{row['label']}: NOT kept ({str(row['verdict']).replace('_', ' ')}): {row['why']}"


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Hold a crew's lock while the block runs; False where another command integrates it just now."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        yield try_lock(descriptor)
    finally:
        os.close(descriptor)


def _unfit(message: str, hint: str) -> Refused:
    return Refused(code=RefusalCode.CHECK_UNFIT, message=message, hint=hint)


def _refused(message: str, hint: str | None = None) -> Refused:
    return Refused(code=RefusalCode.NO_WORKTREE, message=message, hint=hint)
