"""One look at all sessions: transcripts, processes and our own records come together, each row by itself."""

import json
import os
import shutil
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import ClassVar

import pytest
from fakes.state import facts_of_a_life, scratch_home
from fakes.transcripts import RECORDED, recorded, written
from outsourcerer.actors import fleet_own, fleet_rows, fleet_scan, fleet_tail
from outsourcerer.actors.fleet_git import repository_of
from outsourcerer.actors.fleet_lines import last_lines
from outsourcerer.actors.fleet_panes import Panes, Place, servers
from outsourcerer.actors.fleet_processes import Look, Running, busy_share, packaged_version
from outsourcerer.actors.fleet_scan import Scanner
from outsourcerer.actors.tmux import TmuxError
from outsourcerer.lanes.screens.model import Screen
from outsourcerer.messages.job import Attempted
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.fleet_cache import NAMES, OFFSETS, read_cache, write_cache
from outsourcerer.state.processes import ProcessRow
from outsourcerer.state.store import Store

TASK, SAY = ("user", "fix the build"), ("say", "all is well")
PLACES = {
    "claude": ".claude/projects/-w-repo/{}.jsonl",
    "codex": ".codex/sessions/2026/11/30/rollout-{}.jsonl",
    "gemini": ".gemini/tmp/proj/chats/session-{}.jsonl",
    "qwen": ".qwen/projects/-w-repo/chats/{}.jsonl",
    "copilot": ".copilot/session-state/{}/events.jsonl",
    "droid": ".factory/sessions/-w-repo/{}.jsonl",
    "pi": ".pi/agent/sessions/--w-repo--/{}.jsonl",
}


class FakeLook:
    """Processes as a test wants them: pid → (tool, argv, cwd); each below process 1."""

    programs: ClassVar[dict[int, tuple[str, tuple[str, ...], str]]] = {}
    state: ClassVar[str] = "S"
    parents: ClassVar[dict[int, int]] = {}
    runs_something: ClassVar[bool] = False

    def __init__(self):
        self.rows = {
            pid: ProcessRow(pid, self.parents.get(pid, 1), pid, pid, self.state, 7000.0 + pid, 5)
            for pid in self.programs
        }

    def tools(self):
        return [
            Running(self.rows[pid], tool, argv, cwd, time.time() - 60)
            for pid, (tool, argv, cwd) in self.programs.items()
        ]

    def above(self, pid):
        return Look.above(self, pid)

    def open_files(self, _pid):
        return frozenset()

    def ticks(self, _pid):
        return 5

    def runs_since(self, _pid, _moment):
        return self.runs_something


@pytest.fixture(autouse=True)
def no_processes(monkeypatch):
    monkeypatch.setattr(FakeLook, "programs", {})
    monkeypatch.setattr(FakeLook, "parents", {})
    monkeypatch.setattr(FakeLook, "state", "S")
    monkeypatch.setattr(fleet_scan, "Look", FakeLook)
    monkeypatch.setattr(fleet_rows, "has_terminal", lambda _: None)
    monkeypatch.setattr(fleet_scan.Panes, "look", lambda *_: [])


class Machine:
    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.user.mkdir()
        self.home = scratch_home(folder)
        self.environ = {"HOME": str(self.user), "PATH": "/nowhere"}
        self.scanner = Scanner(self.home, self.environ)

    def put(self, tool: str, name: str, data: bytes, age_s: float = 5.0) -> Path:
        path = self.user / PLACES[tool].format(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        at = time.time() - age_s
        os.utime(path, (at, at))
        return path

    def rows(self) -> dict[str, dict]:
        return {row["id"]: row for row in self.scanner.scan().sessions}

    def states(self) -> dict[str, str]:
        return {name: row["state"] for name, row in self.rows().items()}


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_nothing_is_here(machine):
    snapshot = machine.scanner.scan()
    assert (snapshot.sessions, snapshot.notes) == ((), ())


@pytest.mark.parametrize("tool", PLACES)
def test_each_tool_s_store_is_found(machine, tool):
    (machine.user / ".gemini").mkdir()
    (machine.user / ".gemini" / "projects.json").write_text(json.dumps({"projects": {"/repo/gemini-b": "proj"}}))
    path = machine.put(tool, "x", recorded(tool))
    (row,) = machine.rows().values()
    assert (row["tool"], row["state"], row["alive"], row["owner"]) == (tool, "done", False, "foreign")
    assert (row["cwd"], row["transcript"]["path"]) == (f"/repo/{tool}-b", str(path))
    assert row["name"] == "Create hello.txt then run a command"
    assert 0 <= row["age_s"] < 3600
    assert last_lines(row, machine.home, machine.environ)[-1].startswith("assistant: Done:")


def test_cline_and_opencode(machine):
    cline = machine.user / ".cline/data/sessions/1796026646525_963bt"
    cline.mkdir(parents=True)
    (source,) = (RECORDED / "cline").iterdir()
    for name in ("session.json", "session.messages.json"):
        shutil.copy(source / name, cline / name.replace("session", cline.name, 1))
    database = machine.user / ".local/share/opencode/opencode.db"
    database.parent.mkdir(parents=True)
    fill_opencode(database)
    rows = machine.rows()
    assert machine.states() == {"cline:1796026646525_963bt": "done", "opencode:ses_1": "stopped"}
    assert rows["opencode:ses_1"]["name"] == "Scripted title"
    assert sorted(path.name for path in database.parent.iterdir()) == ["opencode.db"], "looking left nothing behind"
    assert last_lines(rows["opencode:ses_1"], machine.home, machine.environ) == ["user: hi"]
    database.write_bytes(b"SQLite format 3\0" + b"\xff" * 4096)
    (note,) = machine.scanner.scan().notes
    assert note.startswith("opencode's database can't be read")


def fill_opencode(path):
    now = int(time.time() * 1000)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session (id, parent_id, directory, title, time_updated)")
        database.execute("CREATE TABLE message (id, session_id, time_created, time_updated, data)")
        database.execute("CREATE TABLE part (id, message_id, session_id, time_updated, data)")
        database.execute("INSERT INTO session VALUES ('ses_1', NULL, '/repo/o', 'Scripted title', ?)", (now,))
        database.execute("INSERT INTO session VALUES ('ses_2', 'ses_1', '/repo/o', 'a part of it', ?)", (now,))
        database.execute("INSERT INTO message VALUES ('m', 'ses_1', 1, ?, '{\"role\": \"user\"}')", (now,))
        part = json.dumps({"type": "text", "text": "hi"})
        database.execute("INSERT INTO part VALUES ('p', 'm', 'ses_1', ?, ?)", (now, part))
    database.close()


def test_a_living_process_makes_the_difference(machine, monkeypatch):
    machine.put("pi", "a", written("pi", TASK))
    assert machine.states() == {"pi:s-pi": "stopped"}
    FakeLook.programs = {50: ("pi", ("pi",), "/w/repo")}
    row = machine.rows()["pi:s-pi"]
    assert (row["state"], row["pid"], row["pid_started"], row["alive"]) == ("working", 50, 7050.0, True)
    machine.put("pi", "a", written("pi", TASK), age_s=700)
    FakeLook.programs = {50: ("pi", ("pi", "x"), "/w/repo")}
    row = machine.rows()["pi:s-pi"]
    assert row["state"] == "stopped", "it was last written before that process began"
    FakeLook.programs = {50: ("pi", ("pi", "--session", "s-pi"), "/w/repo")}
    row = machine.rows()["pi:s-pi"]
    assert (row["state"], row["needs_you"]) == ("maybe-stuck", True)
    monkeypatch.setattr(FakeLook, "state", "T")
    assert machine.rows()["pi:s-pi"]["evidence"] == "its process is stopped (SIGSTOP)"


def test_a_tool_that_marks_no_end_of_a_turn_is_at_work_while_something_runs(machine, monkeypatch):
    (machine.user / ".gemini").mkdir()
    (machine.user / ".gemini" / "projects.json").write_text(json.dumps({"projects": {"/w/repo": "proj"}}))
    machine.put("gemini", "a", written("gemini", TASK, ("say", "I will look.")))
    machine.put("pi", "a", written("pi", TASK, SAY))
    FakeLook.programs = {50: ("gemini", ("gemini",), "/w/repo"), 51: ("pi", ("pi",), "/w/repo")}
    assert machine.states() == {"gemini:s-gemini": "idle", "pi:s-pi": "idle"}
    monkeypatch.setattr(FakeLook, "runs_something", True)
    assert machine.states() == {"gemini:s-gemini": "working", "pi:s-pi": "idle"}


def test_a_process_without_a_transcript_is_listed_and_unknown(machine):
    FakeLook.programs = {50: ("cursor", ("cursor-agent",), "/w/repo"), 51: ("codex", ("codex", "exec", "x"), "/w/x")}
    rows = machine.rows()
    assert {name: (row["state"], row["kind"]) for name, row in rows.items()} == {
        "pid:50": ("unknown", None),
        "pid:51": ("unknown", "headless"),
    }


def presence(machine, pid, **more):
    folder = machine.user / ".claude" / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    said = {"pid": pid, "sessionId": "s-claude", "procStart": str(7000 + pid), "kind": "interactive", **more}
    (folder / f"{pid}.json").write_text(json.dumps(said))


def test_claude_s_own_word_is_taken_for_the_process_it_names(machine):
    machine.put("claude", "a", written("claude", TASK))
    presence(machine, 50, status="waiting", waitingFor="permission prompt", name="the build", version="2.1.332")
    assert machine.states() == {"claude:s-claude": "stopped"}, "no such process"
    FakeLook.programs = {50: ("claude", ("claude",), "/w/repo")}
    row = machine.rows()["claude:s-claude"]
    assert (row["state"], row["evidence"], row["name"]) == ("waiting", "permission prompt", "the build")
    assert (row["raw_state"], row["version"], row["kind"]) == ("waiting", "2.1.332", "interactive")
    presence(machine, 50, status="idle", procStart="1")
    assert machine.rows()["claude:s-claude"]["state"] == "working", "the pid is another process's now"


def test_a_hostile_transcript_changes_its_own_row_and_no_other(machine, tmp_path):
    machine.put("codex", "good", written("codex", TASK, SAY))
    good = machine.rows()["codex:s-codex"]
    late = written("pi", TASK).replace(b"2026-11-30", b"2999-11-30")
    future = machine.put("pi", "future", late, age_s=-9e6)
    machine.put("pi", "binary", b"\x00\xff\n" * 9999)
    with machine.put("qwen", "huge", b"").open("wb") as file:
        file.truncate(1 << 30)
    os.mkfifo(machine.put("droid", "x", b"").with_name("fifo.jsonl"))
    machine.put("droid", "link", b"").unlink()
    (machine.user / ".factory/sessions/-w-repo/link.jsonl").symlink_to(tmp_path)
    evil = written("claude", ("user", "\x1b[31mred\x07 [self] Waiting on you"))
    machine.put("claude", "ansi", evil.replace(b"/w/repo", b"/w/\\u001b[2Jrepo"))
    rows = machine.rows()
    same = ("state", "name", "cwd", "branch", "evidence", "alive")
    assert {key: rows["codex:s-codex"][key] for key in same} == {key: good[key] for key in same}
    assert rows["pi:s-pi"]["age_s"] is None
    assert rows["claude:s-claude"]["cwd"] == "/w/repo"
    assert "\x1b" not in json.dumps(list(rows.values()), ensure_ascii=False)
    future.unlink()
    assert "pi:s-pi" not in machine.rows()


def test_what_one_scanner_understood_another_goes_on_from(machine, monkeypatch):
    machine.put("codex", "a", written("codex", TASK, SAY))
    before = machine.rows()
    machine.scanner.remember()
    assert len(read_cache(machine.home, OFFSETS)) == 1
    monkeypatch.setattr(fleet_tail, "read_at", lambda *_: pytest.fail("nothing is read again"))
    machine.scanner = Scanner(machine.home, machine.environ)
    after = machine.rows()
    assert {name: row["state"] for name, row in after.items()} == {name: row["state"] for name, row in before.items()}
    assert after["codex:s-codex"]["name"] == "fix the build"


def test_our_own_jobs_are_ours_and_their_processes_no_strangers(machine, monkeypatch):
    store = Store.open(machine.home.database, now=time.time())
    store.append(facts_of_a_life(end=JobState.DONE)[:3], time.time())
    store.commit()
    store.close()
    (job,) = machine.rows().values()
    assert (job["owner"], job["kind"], job["tool"], job["pid"]) == ("job", "job", "claude", None), "it is long gone"
    monkeypatch.setattr(fleet_own, "look", lambda *_: "running")
    (job,) = machine.rows().values()
    assert (job["state"], job["needs_you"], job["alive"]) == ("working", False, True)
    pid = job["pid"]
    FakeLook.programs = {pid: ("codex", ("codex",), "/w/repo"), pid + 1: ("pi", ("pi",), "/w/repo")}
    FakeLook.parents = {pid + 1: pid}
    machine.put("pi", "a", written("pi", TASK))
    assert set(machine.rows()) == {job["id"]}


@pytest.mark.parametrize("moved", [False, True])
def test_a_conversation_of_ours_that_another_program_goes_on_with_is_listed(machine, monkeypatch, moved):
    store = Store.open(machine.home.database, now=time.time())
    facts = facts_of_a_life()
    over = Attempted(attempt=1, lane="pi", vehicle="pi", conversation="s-pi", why="its limit is used up")
    record = facts[0].record.model_copy(update={"hops": (over,)} if moved else {"conversation": "s-pi"})
    store.append([facts[0].model_copy(update={"record": record})], time.time())
    store.commit()
    store.close()
    machine.put("pi", "a", written("pi", TASK))
    assert [row["owner"] for row in machine.rows().values()] == ["job"]
    FakeLook.programs = {50: ("pi", ("pi",), "/w/repo")}
    assert sorted(row["owner"] for row in machine.rows().values()) == ["foreign", "job"]


def test_a_clock_that_is_ahead_is_not_believed_but_what_the_transcript_tells_may_be(machine):
    machine.put("pi", "a", written("pi", TASK).replace(b"2026-11-30", b"2025-11-30"), age_s=-9e6)
    age = machine.rows()["pi:s-pi"]["age_s"]
    assert age > 86400


def test_names_that_were_given_are_shown(machine):
    machine.put("codex", "a", written("codex", TASK))
    write_cache(machine.home, NAMES, {"codex:s-codex": {"name": "Repair the broken build"}})
    row = machine.rows()["codex:s-codex"]
    assert (row["name"], row["name_source"]) == ("Repair the broken build", "given")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 9, "entries": {}}', b'{"version": 1}', b"\xff"])
def test_a_damaged_cache_is_none(machine, content):
    (machine.home.root / "fleet").mkdir()
    (machine.home.root / "fleet" / "offsets.json").write_bytes(content)
    assert read_cache(machine.home, OFFSETS) == {}


def test_looking_makes_no_state_home(tmp_path):
    home = scratch_home(tmp_path)
    shutil.rmtree(home.root)
    Scanner(home, {"HOME": str(tmp_path)}).remember()
    write_cache(home, NAMES, {"a": 1})
    assert not home.root.exists()


def test_repository_and_branch_without_git(tmp_path):
    repository = tmp_path / "my repo"
    (repository / ".git" / "worktrees" / "w").mkdir(parents=True)
    (repository / "deep" / "er").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/topic/one\n")
    found = repository_of(str(repository / "deep" / "er"))
    assert (found.name, found.branch) == ("my repo", "topic/one")
    (repository / ".git" / "HEAD").write_text("0123abcd\n")
    assert repository_of(str(repository)).branch is None
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {repository}/.git/worktrees/w\n")
    (repository / ".git" / "worktrees" / "w" / "HEAD").write_text("ref: refs/heads/w\n")
    assert (repository_of(str(tree)).name, repository_of(str(tree)).branch) == ("my repo", "w")
    assert repository_of(str(tmp_path)) is None
    assert repository_of("relative") is None


def test_a_server_that_gives_no_answer_is_slow_and_not_gone(tmp_path, monkeypatch):
    monkeypatch.undo()
    panes = Panes()
    monkeypatch.setattr("outsourcerer.actors.fleet_panes.servers", lambda *_: ["/s/one"])
    answers = iter(["7\x1f%1\x1fmain:0.0\nbad\n", "no answer", "no server running on /s/one"])

    class FakeTmux:
        def __init__(self, *_):
            pass

        def run(self, *_):
            said = next(answers)
            if said.startswith("no"):
                raise TmuxError(said)
            return said

    monkeypatch.setattr("outsourcerer.actors.fleet_panes.Tmux", FakeTmux)
    assert panes.look({}, []) == []
    assert panes.of([3, 7]).target == "main:0.0"
    assert panes.look({}, []) != []
    assert panes.of([7]).pane_id == "%1"
    assert panes.look({}, []) == []
    assert panes.of([7]) is None


class FakePane:
    """A tmux server with one pane, which shows a picture of Qwen's."""

    shown: ClassVar[Screen | None] = None

    def __init__(self, *_):
        pass

    def pane(self, pane_id):
        assert pane_id == "%1"
        return pane_id

    def screen(self, _pane):
        if self.shown is None:
            raise TmuxError("there is no pane %1")
        return self.shown


@pytest.mark.parametrize(("wanted", "state"), [("waiting-approval", "waiting"), ("idle", "working"), (None, "working")])
def test_what_a_session_asks_on_its_screen_is_seen(machine, monkeypatch, wanted, state):
    content = json.loads((RECORDED.parent / "screens" / "qwen-0.24.4-2026-11-30.json").read_text())
    kept = next((one for one in content["screens"] if one["expect"]["state"] == wanted), None)
    shown = kept and Screen(
        lines=tuple(kept["lines"]), cursor=tuple(kept["cursor"]), title=kept["title"], alternate=True
    )
    monkeypatch.setattr(FakePane, "shown", shown)
    monkeypatch.setattr("outsourcerer.actors.fleet_panes.Tmux", FakePane)
    monkeypatch.setattr(fleet_scan.Panes, "of", lambda *_: Place("/s", "%1", "main:0.0"))
    machine.put("qwen", "a", written("qwen", TASK, ("call", "c", "write_file")))
    FakeLook.programs = {50: ("qwen", ("qwen",), "/w/repo")}
    row = machine.rows()["qwen:s-qwen"]
    assert (row["state"], row["version"]) == (state, "0.24.4")
    if state == "waiting":
        assert row["evidence"].startswith("its screen asks: ")
        assert row["needs_you"]


def test_a_question_that_gemini_does_not_write_down_is_seen_on_its_screen(machine, monkeypatch):
    content = json.loads((RECORDED.parent / "screens" / "gemini-0.61.0-2026-11-30.json").read_text())
    kept = next(one for one in content["screens"] if one["expect"]["state"] == "waiting-approval")
    shown = Screen(
        lines=tuple(kept["lines"]), cursor=tuple(kept["cursor"]), title=kept["title"], alternate=kept["alternate"]
    )
    monkeypatch.setattr(FakePane, "shown", shown)
    monkeypatch.setattr("outsourcerer.actors.fleet_panes.Tmux", FakePane)
    package = machine.user / "node_modules" / "@google" / "gemini-cli"
    (package / "bundle").mkdir(parents=True)
    (package / "bundle" / "gemini.js").write_text("")
    (package / "package.json").write_text(json.dumps({"name": "@google/gemini-cli", "version": "0.61.0"}))
    (machine.user / ".gemini").mkdir()
    (machine.user / ".gemini" / "projects.json").write_text(json.dumps({"projects": {"/w/repo": "proj"}}))
    machine.put("gemini", "a", written("gemini", TASK, ("say", "I will write.")))
    FakeLook.programs = {50: ("gemini", ("node", str(package / "bundle" / "gemini.js")), "/w/repo")}
    row = machine.rows()["gemini:s-gemini"]
    assert (row["state"], row["version"]) == ("idle", "0.61.0")
    assert "not written down" in row["evidence"]
    monkeypatch.setattr(fleet_scan.Panes, "of", lambda *_: Place("/s", "%1", "main:0.0"))
    row = machine.rows()["gemini:s-gemini"]
    assert (row["state"], row["evidence"].startswith("its screen asks: ")) == ("waiting", True)


@pytest.mark.parametrize("content", ["{", "[]", '{"name": "other", "version": "1"}', '{"name": 7}', "\x00"])
def test_a_package_that_is_not_the_tool_s_tells_no_version(tmp_path, content):
    (tmp_path / "package.json").write_text(content)
    assert packaged_version(str(tmp_path / "gemini.js"), "gemini") is None


def test_only_sockets_of_our_own_are_tmux_servers(tmp_path):
    (tmp_path / f"tmux-{os.getuid()}").mkdir()
    (tmp_path / f"tmux-{os.getuid()}" / "default").write_text("no socket")
    assert servers({"TMUX_TMPDIR": str(tmp_path)}, [("tmux", "-S", "/nowhere/at/all")]) == []


def test_how_busy_a_tree_was(monkeypatch):
    monkeypatch.undo()
    rate = os.sysconf("SC_CLK_TCK")
    assert busy_share({}, 5, 10.0, 100) is None
    assert busy_share({5: (9.9, 0)}, 5, 10.0, 100) is None
    assert busy_share({5: (8.0, 0)}, 5, 10.0, rate) == pytest.approx(0.5)


def test_the_look_sees_this_very_process(monkeypatch):
    monkeypatch.undo()
    look = Look()
    assert os.getppid() in look.above(os.getpid())
    assert os.getpid() in look.below(os.getpid())
    assert look.ticks(os.getpid()) >= 0
    assert not look.runs_since(os.getpid(), time.time() + 60)
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            assert Look().runs_since(os.getpid(), time.time() - 20)
        finally:
            child.kill()
    with Path(__file__).open("rb"):
        assert __file__ in look.open_files(os.getpid()) or not Path("/proc/self/fd").exists()
