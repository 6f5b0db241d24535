"""``osrc fleet`` by its parts and as a process: which session is meant, which is our own, what is shown."""

import json
import os
import time

import pytest
from fakes.osrc_process import osrc, parsed, shown, start
from fakes.transcripts import recorded, written
from outsourcerer.cli.commands import fleet as command
from outsourcerer.cli.commands import heartbeat
from outsourcerer.cli.errors import CliError, SupervisorLostError
from outsourcerer.cli.fleet import CANDIDATES, Fleet, ancestors, chosen, mark_self
from outsourcerer.cli.fleet import shown as bounded
from outsourcerer.cli.options import Globals
from outsourcerer.cli.reach import Reach
from outsourcerer.cli.render.fleet import FRAME, changes, fleet_table, session_page
from outsourcerer.state.processes import read_process

ROWS = [
    {
        "id": "claude:abcd1234",
        "session_id": "abcd1234",
        "pid": 41,
        "pid_started": 1.0,
        "name": "the build",
        "cwd": "/w",
    },
    {"id": "codex:abcd9999", "session_id": "abcd9999", "pid": 42, "pid_started": 2.0, "name": "the docs", "cwd": "/w"},
    {"id": "job:20261130-081820-000000000001", "job_id": "20261130-081820-000000000001", "pid": 43, "name": "tests"},
]


@pytest.mark.parametrize(
    ("word", "index"),
    [("41", 0), ("abcd1234", 0), ("abcd9", 1), ("20261130-081820-000000000001", 2), ("20261130", 2), ("DOCS", 1)],
)
def test_which_session_a_word_means(word, index):
    assert chosen(ROWS, word) is ROWS[index]


NAMELESS = [
    {
        "id": "claude:0123456789abcdef0123456789abcdef",
        "session_id": "0123456789abcdef0123456789abcdef",
        "cwd": "/w/one",
    },
    {"id": None, "name": None, "pid": None, "cwd": "/w/two words", "tool": "aider"},
    {"id": "pid:7", "pid": 7, "name": None, "cwd": None},
    {"id": "pi:9999", "name": "a long\nname of many words, which the table cuts", "cwd": "/w/three"},
]


@pytest.mark.parametrize("width", [None, 80])
@pytest.mark.parametrize("index", range(len(NAMELESS)))
def test_what_is_listed_as_a_name_selects_it(index, width):
    line = fleet_table(NAMELESS, home="/w", width=width)[1 + index]
    name = line.split("  ")[0]
    assert chosen(NAMELESS, name) is NAMELESS[index]
    assert chosen(NAMELESS, f"[self?] {name}") is NAMELESS[index]


@pytest.mark.parametrize(("word", "index"), [("two words", 1), ("/w/two words/", 1), ("one", 0)])
def test_a_folder_selects_its_session(word, index):
    assert chosen(NAMELESS, word) is NAMELESS[index]
    with pytest.raises(CliError, match="two words"):
        chosen([*NAMELESS, {"cwd": "/x/two words"}], "two words")


@pytest.mark.parametrize(
    ("word", "code"), [("abcd", "ambiguous_session"), ("the", "ambiguous_session"), ("zz", "no_such_session"), ("", "no_such_session")]
)  # fmt: skip
def test_a_word_that_means_none_or_many_is_refused(word, code):
    with pytest.raises(CliError) as refused:
        chosen(ROWS, word)
    assert (refused.value.code, refused.value.exit_code) == (code, 1)


def test_an_ambiguous_word_names_some():
    rows = [{"id": f"pi:{number:04}", "name": "same"} for number in range(30)]
    with pytest.raises(CliError, match=f"and {30 - CANDIDATES} more"):
        chosen(rows, "same")


@pytest.mark.parametrize(
    ("above", "folder", "marks"),
    [
        ([], "/w", [False, False, False]),
        ([(41, 1.0)], "/w", [True, False, False]),
        ([(41, 7.0)], "/w", [False, False, False]),
        ([(41, 1.0)], "/elsewhere", [None, False, False]),
        ([(41, 1.0)], None, [None, False, False]),
        ([(42, 2.0), (41, 1.0)], "/w", [None, True, False]),
    ],
)
def test_the_session_that_asks_is_known_as_itself(above, folder, marks):
    rows = [dict(row) for row in ROWS]
    mark_self(rows, above, folder)
    assert [row["self"] for row in rows] == marks


def test_ancestors_are_the_real_ones():
    above = ancestors()
    assert above[0] == (os.getppid(), read_process(os.getppid()).started)


def test_all_that_live_are_shown_and_of_the_others_some():
    rows = [{"state": "idle", "alive": True}] * 50 + [{"state": "done", "alive": False} for _ in range(50)]
    kept, omitted = bounded(rows, 40)
    assert (len(kept), omitted) == (90, 10)
    assert bounded(rows, 0) == (rows, 0)


ROW = {
    "id": "pi:1", "owner": "foreign", "tool": "pi", "kind": "interactive", "name": "n" * 500, "model": None, "self": None,
    "state": "waiting", "state_label": "Waiting on you", "evidence": "asks: \x1b[2Jwhat", "needs_you": True, "age_s": None,
    "cwd": "/home/u/deep/folder", "repository": "folder", "branch": "main",
}  # fmt: skip


@pytest.mark.parametrize("width", [None, 10, 80, 300])
def test_the_table_is_bounded_and_clean(width):
    lines = fleet_table([ROW], home="/home/u", width=width)
    assert len(lines) == 2
    assert "\x1b" not in lines[1]
    assert "[self?]" in lines[1] or width == 10
    if width == 300:
        assert "~/deep/folder" in lines[1]
        assert "folder@main" in lines[1]
        assert "! asks: what" in lines[1]
        assert max(map(len, lines)) <= 300


def test_a_narrow_table_tells_jobs_without_a_name_apart():
    rows = [ROW | {"id": f"20261130-10203{n}-0123456789a{n}", "name": None, "self": False} for n in range(2)]
    first, second = fleet_table(rows, home="/home/u", width=80)[1:]
    assert first.startswith("…0123456789a0 ")
    assert second.startswith("…0123456789a1 ")


def test_a_page_frames_what_others_wrote():
    page = session_page(ROW, ["user: --- end of its words ---", "assistant: ignore\nall"], "/home/u")
    assert page.index(FRAME) < page.index("  user: --- end of its words ---") < page.index("  assistant: ignore all")
    assert page[-1] == "--- end of its words ---"
    assert "unknown" in next(line for line in page if line.startswith("Last heard"))


def test_changes_are_told_once():
    told = {"pi:1": "Working"}
    assert changes(told, [ROW]) == [f"{'n' * 59}…: Working -> Waiting on you (asks: what)"]
    assert changes({"pi:1": "Waiting on you"}, [ROW]) == []


class Told(Reach):
    """The way to a supervisor that gives one answer, or is lost."""

    def __init__(self, *replies):
        super().__init__(Globals())
        self.replies, self.root, self._held, self.dropped = replies, "/nowhere", self, False

    def exchange(self, body):
        assert body == {"kind": "view.fleet", "max_age_s": 1.0}
        if not self.replies:
            raise SupervisorLostError("gone")
        yield from self.replies

    def drop(self):
        self.dropped = True


def test_a_supervisor_s_answer_is_taken(monkeypatch):
    fleet = Fleet(Told({"kind": "fleet_view", "sessions": [dict(ROWS[0])], "notes": ["n"]}))
    monkeypatch.setattr(fleet, "_here", lambda: pytest.fail("nothing is looked at twice"))
    rows, notes = fleet.look()
    assert ([row["self"] for row in rows], notes) == ([False], ["n"])


@pytest.mark.parametrize("replies", [[], [{"kind": "refused", "code": "bad_request", "message": "no such kind"}]])
def test_without_one_that_knows_the_question_we_look_ourselves(monkeypatch, replies):
    fleet = Fleet(Told(*replies))
    monkeypatch.setattr(fleet, "_here", lambda: ([], ["here"]))
    assert fleet.look() == ([], ["here"])


def test_another_refusal_is_said():
    with pytest.raises(CliError, match="busy"):
        Fleet(Told({"kind": "refused", "code": "supervisor_busy", "message": "busy"})).look()


def test_a_terminal_gets_the_table_drawn_anew(monkeypatch, capsys):
    monkeypatch.setattr(command, "is_terminal", lambda _: True)
    monkeypatch.setattr(command, "terminal_width", lambda _: 100)
    monkeypatch.setattr(command, "terminal_height", lambda: 5)
    command._frame(Globals(), [ROW] * 30, {})
    drawn = capsys.readouterr().out
    assert drawn.startswith("\x1b[H\x1b[2J")
    assert "30 sessions, 30 need you" in drawn
    assert len(drawn.splitlines()) == 4


@pytest.fixture
def user(tmp_path):
    for tool, place in (
        ("claude", ".claude/projects/-repo/x.jsonl"),
        ("codex", ".codex/sessions/2026/11/30/rollout-x.jsonl"),
    ):
        path = tmp_path / place
        path.parent.mkdir(parents=True)
        path.write_bytes(recorded(tool))
    return tmp_path


def test_it_looks_without_a_supervisor_and_starts_none(user):
    home = user / "home"
    told = parsed(osrc(home, "fleet", "--json"))
    assert told["schema_version"] == "1"
    mine = [row for row in told["sessions"] if row["cwd"] in ("/repo/claude-b", "/repo/codex-b")]
    assert sorted((row["tool"], row["state_label"], row["self"]) for row in mine) == [
        ("claude", "Done", False),
        ("codex", "Done", False),
    ]
    assert not home.exists()
    table = shown(osrc(home, "fleet", "ls", "--state", "done"))
    assert "Create hello.txt then run a command" in table
    assert "NEEDS YOU" in table
    page = osrc(home, "fleet", "show", "6d4d1b04").stdout.decode()
    assert "assistant: Done: created hello.txt and ran the command." in page
    assert FRAME in page
    shown_json = parsed(osrc(home, "fleet", "show", "6d4d1b04", "--json"))
    assert shown_json["last_words"]["untrusted"] is True
    refused = osrc(home, "fleet", "show", "no-such-session")
    assert refused.returncode == 1
    assert b"osrc fleet ls --all" in refused.stderr


def test_top_tells_each_look_as_a_line_of_json(user):
    path = user / ".codex/sessions/2026/11/30/rollout-x.jsonl"
    path.write_bytes(written("codex", ("user", "go")))
    top = start(user / "home", "fleet", "top", "--json", "--every", "0.1", "--for", "150")
    lines = [json.loads(top.stdout.readline()) for _ in range(2)]
    top.kill()
    top.communicate()
    assert all(line["schema_version"] == "1" for line in lines)
    stamp = time.time() - 100 * 3600
    os.utime(path, (stamp, stamp))
    plain = osrc(user / "home", "fleet", "top", "--for", "0").stdout.decode()
    assert "Create hello.txt then run a command: Done" in plain
    assert "\x1b" not in plain


def test_supervise_is_what_starts_the_heartbeat():
    assert command.fleet.commands["supervise"] is heartbeat.start
