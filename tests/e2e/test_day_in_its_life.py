"""A day of the product's, over real parts: what a person's Claude Code leads, from its greeting to the clearing away.

The host is the real Claude Code with the plugin of this checkout; it delegates to the real Codex, pi and Claude Code,
each with a script of its own at one model server. Seen on Claude Code 2.1.332, Codex 0.171.0 and pi 0.73.1.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fakes.cli_jobs import reported
from fakes.files import holding
from fakes.model_dialects import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS
from fakes.real_clis import World, folder, still_running
from fakes.repos import repository, run_git
from fakes.signed_in import MODELS, sign_in
from fakes.supervised import until
from outsourcerer.cli.plugin_place import launcher, plugin_root

pytestmark = pytest.mark.e2e

TOKEN = "a-token-of-nobody-that-is-written-nowhere"
SIGNED_IN = {"accessToken": TOKEN, "refreshToken": TOKEN, "expiresAt": 4_000_000_000_000, "scopes": ["user:inference"]}
"""As Claude Code keeps a plan's sign-in; a token in the environment it hands to none of the commands that it runs."""
LEAD = "11111111-2222-4333-8444-555555555555"
"""The host's conversation: who is woken goes on in it, and in none that a delegate had since in the same folder."""
RESETS_AT = (int(time.time()) // 3600 + 2) * 3600 + 37 * 60
SPENT = {"anthropic-ratelimit-unified-5h-utilization": "1.0"}
"""What Claude's gauge says once the session's turn has ended: the limit that is met next is believed."""
TEST = """\
import sys
try:
    from half import half
except ImportError:
    sys.exit("half is missing")
if half(3) != 1.5:
    sys.exit(f"half(3) is {half(3)}")
"""
CODEX, CLAUDE = (f"--lane {lane} -m {MODELS[lane]}" for lane in ("codex", "claude"))
WAKE = """\
#!/bin/sh
cat >> {wakes}
cd {repo} && {{ {claude} --resume {lead} -p "$1"; echo asleep; }} >> {log} 2>&1 &
"""
ANSWERS = {
    "map": "The map: test_half.py",
    "moved": "It is a comma.",
    "1-codex:gpt-5.5": "The answer is 42.",
    "2-pi:stub/stub-model": "The answer is 42.",
    **{f"task-{n:02}": f"This answers errand-review-{n}." for n in range(1, 7)},
}
"""By each job's label; laps bear none of their own."""
FILES = {"claim.1", "end.json", "err.log", "events.jsonl", "exit.json", "gate.json", "last.txt", "launch.json"}
FILES |= {"meta.json", "out.log", "prompt.md"}


def ends(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "mark": "DONE", **more}


def runs(*lines: str) -> list[dict[str, Any]]:
    """Turns of the host in which it types commands, one each."""
    return [{"text": "I do it.", "calls": [{"shell": f'sh "{launcher()}" {line}'}]} for line in lines]


def writes(body: str) -> list[dict[str, Any]]:
    """A lap that writes the module."""
    return [{"calls": [{"shell": f"printf 'def half(x):\\n    return {body}\\n' > half.py"}]}, ends(f"It is {body}.")]


class Day:
    """The world of the day, its host, and the words that are typed in it."""

    def __init__(self, world: World) -> None:
        self.world, self.server = world, world.server
        self.repo = repository(world.repo, files={"test_half.py": TEST, "readme.txt": "A project.\n"})
        self.branch = run_git(self.repo, "branch", "--show-current")
        self.tree, self.wakes, self.log = (world.root / name for name in ("fix tree", "wakes", "host.log"))
        run_git(self.repo, "worktree", "add", "--quiet", "-b", "fix", str(self.tree))
        told = ("--plugin-dir", plugin_root(), "--allowedTools", "Skill,Bash")
        self.claude = [str(folder() / "bin" / "claude"), *told]
        place = world.root / "home" / ".claude" / ".credentials.json"
        place.parent.mkdir()
        place.write_text(json.dumps({"claudeAiOauth": SIGNED_IN | {"subscriptionType": "max"}}))
        del world.environ["ANTHROPIC_API_KEY"]
        claude, *places = (shlex.quote(str(one)) for one in ("", self.wakes, self.repo, self.log))
        claude = shlex.join(self.claude)
        wake = WAKE.format(claude=claude, lead=LEAD, wakes=places[0], repo=places[1], log=places[2])
        bin_ = world.root / "bin"
        self.program(bin_ / "osrc", f'#!/bin/sh\nexec "{sys.executable}" -m outsourcerer "$@"\n')
        self.program(bin_ / "wake", wake)
        more = {"PATH": f"{bin_}:{world.environ['PATH']}", "TZ": "UTC", "OSRC_POLL": "0.5", "OSRC_FINAL_GRACE": "2"}
        more |= {"OSRC_HEARTBEAT_WAKE": 'exec wake "$1"', "OSRC_HEARTBEAT_WAKE_DIGEST": "0"}
        more |= {"OSRC_FAILOVER_MAX": "2", "OSRC_PROVIDER": "claude"}
        world.environ.update(sign_in(world, "pi") | sign_in(world, "codex") | more)

    def program(self, path: Path, text: str) -> None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o700)

    def host(self, prompt: str) -> str:
        """What the host says at the end of a turn of the person's."""
        words = [*self.claude, "--session-id", LEAD, "-p", prompt]
        given: dict[str, Any] = {"env": self.world.environ, "cwd": self.repo, "stdin": subprocess.DEVNULL}
        done = subprocess.run(words, **given, capture_output=True, text=True, timeout=400, check=False)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def ok(self, *words: str) -> str:
        """Type a command that must go well."""
        done = self.world.osrc(*words, timeout_s=400)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout

    def told(self, *words: str) -> Any:
        return json.loads(self.ok(*words, "--json"))

    def woken(self, times: int) -> list[dict[str, Any]]:
        """What the host was woken by, once it sleeps again."""
        until(lambda: self.log.exists() and self.log.read_text().count("asleep") == times, "it was woken", pause=0.1)
        return [json.loads(line) for line in self.wakes.read_text().splitlines() if line]

    def asked(self, word: str) -> list[str]:
        """The conversations of whoever was given this word, as they were at each of its turns."""
        texts = [request.text for request in self.server.main_requests]
        return [text for text in texts if word in text and (word == "errand-lead" or "errand-lead" not in text)]


def test_a_day(make_world: Any) -> None:
    day = Day(make_world([]))
    morning(day)
    steered_and_answered(day)
    moved_at_the_limit(day)
    found = to_green(day)
    many_eyes(day)
    spent = looked_at(day)
    on_disk(day)
    integrated(day, found)
    cleared_away(day, spent)


def morning(day: Day) -> None:
    """It greets, is in auto mode, has the repository mapped by one CLI and gives a fix to another."""
    day.server.scripts = {
        "errand-lead": [
            *runs("brief", f"bg explore {CODEX} --label map -- 'errand-map: what is where?'"),
            *runs(f"session start {CLAUDE} --name fix --cwd {shlex.quote(str(day.tree))} 'errand-fix: mend the notes'"),
            *runs("watch map --for 100", "result map"),
            {"text": "The map is there; I sleep until the fix needs me."},
        ],
        "errand-map": [{"calls": [{"shell": "ls"}]}, ends("The map: {found}", find="test_half.py")],
        "errand-fix": [
            {"text": "one two three four five six", "stall": 900},
            {"calls": [{"write": str(day.tree / "notes.txt"), "content": "mended\n"}]},
            {"text": "The notes are mended.", "headers": SPENT},
        ],
    }
    day.ok("mode", "auto")
    assert "I sleep" in day.host("errand-lead: lead the day.")
    told = day.asked("errand-lead")
    assert "Outsourcerer is here" in told[0]  # the plugin's hook, before the first turn
    assert "mode       : auto" in told[1]
    assert "codex=" in told[1]
    assert "The map: test_half.py" in told[-1]


def steered_and_answered(day: Day) -> None:
    """The fix is steered in the middle of a turn; it asks, the host is woken, answers and sleeps again."""
    until(lambda: day.asked("errand-fix"), "the fix is at work", pause=0.1)
    day.server.scripts["errand-lead"] = [*runs("session answer fix", "session answer fix yes"), {"text": "Allowed."}]
    day.ok("session", "send", "fix", "--interrupt", "Not the parser: the notes alone.")
    [event] = day.woken(1)
    assert (event["alarm"], event["label"], event["lane"]) == ("needs-answer", "fix", "claude")
    until(lambda: day.told("session", "read", "fix", "--state")["state"] == "idle", "the fix is done", pause=0.2)
    assert (day.tree / "notes.txt").read_text() == "mended\n"
    events = day.told("session", "read", "fix", "--since", "0")["events"]
    assert [(one["ok"], one.get("failure")) for one in events if one["type"] == "end"] == [
        (False, "interrupted"),
        (True, None),
    ]
    assert [one["choice"] for one in events if one["type"] == "answered"] == ["Yes"]
    assert "Not the parser: the notes alone." in day.asked("errand-fix")[-1]
    told = day.asked("errand-lead")
    assert "session fix asks for approval" in told[-1]
    assert "notes.txt" in told[-1]


def moved_at_the_limit(day: Day) -> None:
    """A plan is used up: the job is moved while somebody watches, and the host is woken a second time."""
    limit = {"error": 429, "kind": "plan", "resets_at": RESETS_AT}
    day.server.scripts["errand-limit"] = [limit, ends(ANSWERS["moved"])]
    day.server.scripts["errand-lead"] = [*runs("limits", "bearings"), {"text": "Claude is spent."}]
    done = day.world.osrc("run", "--label", "moved", "errand-limit: what does it lack?")
    assert (done.returncode, done.stdout) == (0, "It is a comma.\n"), done.stderr
    assert ">>> [moved] claude: its limit is used up; the own model of codex" in done.stderr
    assert [event["alarm"] for event in day.woken(2)] == ["needs-answer", "limit"]
    [mark] = day.told("limits")["marks"]
    assert (mark["lane"], mark["evidence"]) == ("claude", "confirmed")
    assert RESETS_AT <= mark["until"] <= RESETS_AT + 120
    told = day.asked("errand-lead")[-1]
    assert "lane claude is down until" in told
    assert "waits for you" in told, "the bearings: the session rests"


def to_green(day: Day) -> dict[str, Any]:
    """A check turns green in the second lap, in a work tree; what it passed on is what the branch has."""
    day.server.scripts["errand-half"] = [*writes("x"), *writes("x / 2")]
    check = f"{shlex.quote(sys.executable)} -B test_half.py"
    words = ("loop", "verify", *CODEX.split(), "--worktree", "--check", check, "errand-half: make the test pass.")
    found: dict[str, Any] = day.told(*words)
    assert (found["state"], found["laps"]) == ("success", 2)
    assert [one["detail"] for one in found["steps"] if one["state"] == "failed"] == [
        "exit 1: half is missing",
        "exit 1: half(3) is 3",
    ]
    assert run_git(day.repo, "show", f"{found['branch']}:half.py") == "def half(x):\n    return x / 2"
    return found


def many_eyes(day: Day) -> None:
    """A second opinion of two makers, and six reviewers at once."""
    day.server.scripts["6 times 7"] = [ends("The answer is 42.", repeat=0)]
    day.server.scripts["errand-review"] = [ends("This answers {found}.", find=r"errand-review-\d", repeat=0)]
    who = ",".join(f"{lane}:{MODELS[lane]}" for lane in ("codex", "pi"))
    opinion = day.told("second-opinion", "-m", who, "What is 6 times 7?")
    assert (opinion["outcome"], opinion["answer"]) == ("consensus", "The answer is 42.")
    tasks = [f"errand-review-{number}: look" for number in range(1, 7)]
    group = day.ok("fanout", *CODEX.split(), "--max", "3", "--", *tasks).strip()
    waited = day.told("fanout", "wait", group)
    assert (waited["summary"]["done"], waited["summary"]["total"]) == (6, 6)
    collected = day.told("fanout", "collect", group)
    whole = Path(collected["collected"]).read_text()
    assert all(f"This answers errand-review-{number}." in whole for number in range(1, 7))
    assert len(collected["findings"]) == 6


def looked_at(day: Day) -> list[dict[str, Any]]:
    """Every state in ``fleet`` and ``bearings``, and every figure in ``tab``, whose rows are returned."""
    jobs = day.told("status", "--all")["jobs"]
    assert {job["state"] for job in jobs} == {"done"}
    assert {job["label"] for job in jobs} >= set(ANSWERS)
    session = day.told("session", "list")["sessions"][0]["session_id"]
    wanted = {f"job:{job['job_id']}": "done" for job in jobs} | {f"session:{session}": "idle", f"claude:{LEAD}": "done"}

    def states() -> dict[str, str]:
        rows = day.told("fleet", "ls", "--all")["sessions"]
        # Of this day none but these, though each CLI keeps conversations of its own; others run on this machine too.
        return {row["id"]: row["state"] for row in rows if str(row["cwd"]).startswith(str(day.world.root))}

    until(lambda: states() == wanted, f"{wanted}", pause=0.2)
    seen = day.told("rundown")
    assert [item["state"] for item in seen["charted_next"]] == ["idle"]
    assert ([item["state"] for item in seen["captains_call"]], seen["underway"]) == (["limit"], [])
    assert {item["id"] for item in seen["recently_landed"]} == {job["job_id"] for job in jobs}
    assert "needs you: claude" in day.ok("bearings")

    tab = day.told("tab")
    figures = {
        row["lane"]: (row["runs"], row["ok"], row["plans"], row["cash"]["unknown_runs"], row["cash"]["total_usd"])
        for row in tab["rows"]
    }
    assert figures == {
        "claude": (3, 1, {"claude": 3}, 0, 0.0),  # a turn interrupted, one that ended well, and the spent plan
        "codex": (11, 11, {"chatgpt": 11}, 0, 0.0),
        "pi": (1, 1, {}, 1, None),  # at prices that nobody told: unknown is unknown
    }
    requests = {"claude": (2, INPUT_TOKENS), "codex": (14, INPUT_TOKENS - CACHED_TOKENS)}
    requests["pi"] = (1, INPUT_TOKENS - CACHED_TOKENS)
    for row in tab["rows"]:
        count, fresh = requests[row["lane"]]
        tokens = {name: row["tokens"][name] for name in ("input", "cached_input", "output", "unknown_runs")}
        sums = {"input": fresh * count, "cached_input": CACHED_TOKENS * count, "output": OUTPUT_TOKENS * count}
        assert tokens == sums | {"unknown_runs": 0}, row["lane"]
    total = tab["total"]
    assert (total["runs"], total["ok"], total["cash"]["total_usd"], total["cash"]["exact"]) == (15, 13, None, False)
    assert sum(reported(job)["output"] for job in jobs) == OUTPUT_TOKENS * 15, "jobs alone: the session's are not in it"
    rows: list[dict[str, Any]] = tab["rows"]
    return rows


def on_disk(day: Day) -> None:
    """Every job's folder is whole and private, its answer in it; no secret is anywhere; each job ended once."""
    home = day.world.osrc_home
    jobs = {job["job_id"]: job for job in day.told("status", "--all")["jobs"]}
    assert {path.name for path in (home / "jobs").iterdir()} == set(jobs)
    for job_id, job in jobs.items():
        place = home / "jobs" / job_id
        names = {path.name for path in place.iterdir()}
        assert names >= FILES, (job["label"], FILES - names)
        assert names - FILES <= {"attempts", "claim.2", "watch.json", "worktree.json"}, job["label"]
        assert ("attempts" in names, "claim.2" in names) == (job["label"] == "moved",) * 2
        assert job["label"] not in ANSWERS or (place / "last.txt").read_text().strip() == ANSWERS[job["label"]]
    assert holding(home, TOKEN) == []
    for place, folders, files in os.walk(home):
        for path in (Path(place, name) for name in (*folders, *files)):
            with suppress(FileNotFoundError):  # the supervisor replaces its files
                assert path.is_socket() or path.lstat().st_mode & 0o077 == 0, path
    facts = [json.loads(line) for line in day.ok("events", "--json").splitlines()]
    ended = [fact["job_id"] for fact in facts if fact["type"] == "job.ended"]
    assert sorted(ended) == sorted(jobs)
    assert [fact["seq"] for fact in facts] == sorted({fact["seq"] for fact in facts})
    assert len([fact for fact in facts if fact["type"] == "alarm.told"]) == 2


def integrated(day: Day, loop: dict[str, Any]) -> None:
    """Both branches come together, and the check is green on them."""
    assert day.told("session", "stop", "fix")["session"]["state"] == "exited"
    run_git(day.tree, "add", "--all")
    run_git(day.tree, "commit", "--quiet", "-m", "mend the notes")
    for branch in ("fix", loop["branch"]):
        run_git(day.repo, "merge", "--quiet", "--no-edit", branch)
    subprocess.run([sys.executable, "-B", "test_half.py"], cwd=day.repo, check=True, timeout=240)
    run_git(day.repo, "worktree", "remove", str(day.tree))
    run_git(day.repo, "branch", "--quiet", "-d", "fix")
    assert run_git(day.repo, "status", "--porcelain") == ""
    own = sorted(path.name for path in day.repo.iterdir() if not path.name.startswith("."))
    assert own == ["half.py", "notes.txt", "readme.txt", "test_half.py"]


def cleared_away(day: Day, spent: list[dict[str, Any]]) -> None:
    """Nothing is left of the work but what it cost, and nothing runs."""
    home = day.world.osrc_home
    jobs = {job["job_id"] for job in day.told("status", "--all")["jobs"]}
    gone = day.told("gc", "--older-than", "0")
    assert (set(gone["removed"]), len(gone["sessions"]), gone["kept"]) == (jobs, 1, [])
    left = {name: list((home / name).iterdir()) for name in ("jobs", "sessions", "fanout", "loops")}
    assert left == {name: [] for name in left}
    assert run_git(day.repo, "branch", "--format=%(refname:short)") == day.branch
    assert len(run_git(day.repo, "worktree", "list").splitlines()) == 1
    assert run_git(day.repo, "status", "--porcelain") == ""
    assert day.told("tab")["rows"] == spent
    assert len(day.woken(2)) == 2, "nobody was woken again"
    day.ok("supervisor", "stop")
    assert still_running(str(day.world.root)) == []
