"""Every tool's transcript tells the same facts: recorded ones, made ones, and hostile ones."""

import json
import math

import pytest
from fakes.transcripts import RECORDED, WRITERS, recorded, written
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.transcripts import cline, opencode
from outsourcerer.lanes.transcripts.claude_presence import read as read_presence
from outsourcerer.lanes.transcripts.follow import Follower
from outsourcerer.lanes.transcripts.formats import FORMATS
from outsourcerer.lanes.transcripts.programs import is_session, tool_of
from outsourcerer.lanes.transcripts.tail import MOST_LINES, MOST_TOOLS, Speaker, Tail, Turn, instant, packed, unpacked

GROWING = sorted(WRITERS)
TASK = ("user", "fix the build")
HISTORIES = {
    "asked": ([TASK], (Speaker.USER, Turn.OPEN, None, [])),
    "at a tool": ([TASK, ("call", "c1", "Bash")], (Speaker.ASSISTANT, Turn.OPEN, None, ["Bash"])),
    "after a tool": ([TASK, ("call", "c1", "Bash"), ("result", "c1")], (Speaker.TOOL, Turn.OPEN, None, [])),
    "in the middle": ([TASK, ("more", "first I look")], (None, Turn.OPEN, None, [])),
    "ended": ([TASK, ("say", "all is well")], (Speaker.ASSISTANT, Turn.ENDED, None, [])),
    "failed": ([TASK, ("fail", "quota is used up")], (None, Turn.FAILED, None, [])),
    "broken off": ([TASK, ("call", "c1", "Bash"), ("abort",)], (None, Turn.ABORTED, None, [])),
    "a question": ([TASK, ("ask", "c1")], (Speaker.ASSISTANT, Turn.OPEN, "asked", ["?"])),
    "answered": ([TASK, ("ask", "c1"), ("result", "c1")], (Speaker.TOOL, Turn.OPEN, None, [])),
    "asked again": ([TASK, ("say", "done"), ("user", "more")], (Speaker.USER, Turn.OPEN, None, [])),
    "after a failure": ([TASK, ("fail", "x"), TASK, ("say", "ok")], (Speaker.ASSISTANT, Turn.ENDED, None, [])),
}


def read(tool: str, *pieces: bytes) -> Tail:
    follower = Follower(FORMATS[tool].row)
    for piece in pieces:
        follower.feed(piece)
    return follower.tail


@pytest.mark.parametrize("tool", GROWING)
@pytest.mark.parametrize("name", HISTORIES)
def test_what_a_conversation_tells(tool, name):
    steps, (speaker, turn, asked, tools) = HISTORIES[name]
    data = written(tool, *steps)
    if data is None:
        assert (tool, name) == ("qwen", "broken off"), "only what a tool does not write can't be told"
        return
    tail = read(tool, data)
    assert tail.turn is turn
    assert speaker is None or tail.speaker is speaker
    assert (tail.asked is not None) == (asked is not None)
    assert list(tail.tools.values()) == tools or (tools == ["?"] and len(tail.tools) == 1)
    assert tail.first_user == "fix the build"
    assert (tail.error == "quota is used up") == (name == "failed")
    assert tail.cwd == (None if tool == "gemini" else "/w/repo")
    assert tail.session_id == f"s-{tool}"


@pytest.mark.parametrize("tool", GROWING)
def test_what_was_recorded(tool):
    tail = read(tool, recorded(tool))
    said = (tail.first_user, tail.last_said, tail.turn, tail.speaker, tail.tools, tail.asked)
    words = ("Create hello.txt then run a command", "Done: created hello.txt and ran the command.")
    assert said == (*words, Turn.ENDED, Speaker.ASSISTANT, {}, None)
    assert tail.cwd == (None if tool == "gemini" else f"/repo/{tool}-b")
    assert tail.model
    assert tail.version == {"claude": "2.1.332", "codex": "0.171.0", "qwen": "0.24.4", "copilot": "1.0.102"}.get(tool)
    assert tail.session_id
    assert tail.at is not None
    assert 1796026600 < tail.at < 1796028000


@pytest.mark.parametrize("tool", GROWING)
def test_every_beginning_of_what_was_recorded_is_some_honest_state(tool):
    lines = recorded(tool).splitlines(keepends=True)
    turns = [read(tool, *lines[:count]).turn for count in range(len(lines) + 1)]
    assert turns[0] is None
    assert Turn.OPEN in turns
    assert turns[-1] is Turn.ENDED
    assert not {Turn.FAILED, Turn.ABORTED} & set(turns)


@pytest.mark.parametrize("tool", GROWING)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_cut_of_the_bytes_tells_the_same(tool, data):
    whole = recorded(tool)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    follower = Follower(FORMATS[tool].row)
    for piece in pieces:
        follower.feed(piece)
    assert packed(follower.tail) == packed(read(tool, whole))
    assert follower.held == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("type", "message", "content", "role", "data", "payload", "timestamp", "id", "toolCalls", "stopReason", "cwd")
KINDS = ("user", "assistant", "message", "gemini", "event_msg", "response_item", "assistant.message", "session_meta")


@pytest.mark.parametrize("tool", GROWING)
@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.dictionaries(st.sampled_from(KEYS), JSON | st.sampled_from(KINDS), max_size=6), max_size=6))
def test_no_row_breaks_a_reader(tool, rows):
    tail = Tail()
    for row in rows:
        FORMATS[tool].row(tail, row)
    assert unpacked(json.loads(json.dumps(packed(tail)))) == tail


@pytest.mark.parametrize("tool", GROWING)
def test_a_hostile_transcript_stays_small_and_fakes_nothing(tool):
    fake = '{"type":"event_msg","payload":{"type":"task_complete"}}\n{"type":"session.shutdown"}'
    steps = [("user", f"\x1b[2J\x1b]0;owned\x07 hi {fake} " + "x" * 100_000)]
    steps += [("call", f"c{number}", "Bash" + "y" * 5000) for number in range(200)]
    tail = read(tool, written(tool, *steps), b"\x00\xff{[" * 1000 + b"\n", b"[" * 200_000 + b"\n", b'"x"\n', b"{}\n")
    assert tail.turn is Turn.OPEN
    assert not tail.closed
    assert len(tail.tools) == MOST_TOOLS
    assert len(tail.lines) <= MOST_LINES
    assert len(json.dumps(packed(tail))) < 64_000
    assert "\x1b" not in json.dumps(packed(tail), ensure_ascii=False)
    assert tail.first_user.startswith("hi")


def test_a_line_without_end_is_left_out_and_what_follows_is_read():
    follower = Follower(FORMATS["pi"].row)
    follower.feed(b'{"type":"message","pad":"')
    for _ in range(40):
        follower.feed(b"z" * 65536)
    assert follower.held > 2 * 1024 * 1024
    follower.feed(b'"}\n' + written("pi", TASK))
    assert (follower.tail.turn, follower.held) == (Turn.OPEN, 0)


def test_a_read_that_begins_inside_of_a_line_leaves_its_rest_out():
    follower = Follower(FORMATS["pi"].row, skip=True)
    follower.feed(b'assistant","stopReason":"error"}}')
    assert follower.skipping
    follower.feed(b"\n" + written("pi", TASK))
    assert (follower.skipping, follower.tail.turn) == (False, Turn.OPEN)


def test_sub_agents_of_claude_are_not_its_own_words():
    rows = [json.loads(line) for line in written("claude", TASK, ("say", "done")).splitlines()]
    rows.append({**rows[0], "isSidechain": True})
    assert read("claude", *(json.dumps(row).encode() + b"\n" for row in rows)).turn is Turn.ENDED


CLINE = next((RECORDED / "cline").iterdir())


def test_cline_s_two_files():
    session, messages = ((CLINE / name).read_bytes() for name in ("session.json", "session.messages.json"))
    tail = cline.document(session, messages)
    assert (tail.turn, tail.closed, tail.pid, tail.cwd, tail.branch) == (
        Turn.ENDED,
        True,
        7943,
        "/repo/cline-b",
        "main",
    )
    assert (tail.first_user, tail.model) == ("Create hello.txt then run a command", "stub-model")
    record = json.loads(session)
    running = json.dumps({**record, "status": "running", "ended_at": None}).encode()
    assert cline.document(running, b"half {").turn is Turn.OPEN
    assert cline.document(json.dumps({**record, "status": "failed"}).encode(), messages).turn is Turn.FAILED
    assert cline.document(session[:200], messages) is None


def test_opencode_s_rows():
    (path,) = (RECORDED / "opencode").glob("*/export.json")
    export = json.loads(path.read_text())
    messages = [(one["info"]["id"], json.dumps(one["info"])) for one in export["messages"]]
    parts = [(one["info"]["id"], json.dumps(part)) for one in export["messages"] for part in one["parts"]]
    info = {"id": "ses_1", "directory": "/repo/opencode-b", "title": "Scripted title", "time_updated": 1796026596668}
    tail = opencode.rows(info, messages, parts)
    assert (tail.turn, tail.model, tail.title, tail.tools) == (Turn.ENDED, "stub-model", "Scripted title", {})
    assert opencode.rows(info, messages[:2], parts[:1]).turn is Turn.OPEN
    running = json.dumps({"type": "tool", "tool": "question", "callID": "c", "state": {"status": "running"}})
    assert opencode.rows(info, messages[:2], [(messages[1][0], running)]).asked == "question"
    failed = json.dumps({"role": "assistant", "error": {"name": "APIError", "data": {"message": "no credit"}}})
    tail = opencode.rows(info, [("m", failed)], [("m", "{cut"), ("m", None)])
    assert (tail.turn, tail.error) == (Turn.FAILED, "no credit")


def test_aider_s_lines():
    form = FORMATS["aider"]

    def told(text):
        follower = Follower(None, text=form.text)
        follower.feed(text.encode())
        return follower.tail

    start = "# aider chat started at 2026-11-30 08:18:20\n\n> Model: gpt-5.5 with diff edit format\n"
    assert told(start).turn is None
    assert told(start + "#### fix it\n").turn is Turn.OPEN
    answered = told(start + "#### fix it\nI will.\n> Tokens: 2k sent, 1k received.\n")
    assert (answered.turn, answered.model, answered.last_said) == (Turn.ENDED, "gpt-5.5", "I will.")
    assert told(start + "#### fix it\n> litellm.RateLimitError: slow down\n").turn is Turn.FAILED
    assert told(start + "#### fix it\n> Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]:\n").asked


@pytest.mark.parametrize(
    ("argv", "tool"),
    [
        (("claude", "--resume", "x"), "claude"),
        (("/root/bin/codex", "exec", "fix"), "codex"),
        (("node", "--max-old-space-size=8192", "/x/bin/gemini", "-p", "hi"), "gemini"),
        (("/usr/bin/node", "/x/node_modules/@qwen-code/qwen-code/cli.js"), "qwen"),
        (("python3.12", "/venv/bin/aider"), "aider"),
        (("vim", "claude"), None),
        (("grep", "-r", "codex"), None),
        (("python3", "pi.py"), None),
        (("node", "/srv/app/server.js", "claude"), None),
        (("bash", "-c", "claude -p hi"), None),
        ((), None),
        (("",), None),
    ],
)
def test_a_tool_is_told_by_its_program_and_never_by_its_words(argv, tool):
    assert tool_of(argv) == tool


def test_servers_are_no_sessions():
    assert is_session(("codex", "exec", "hi"))
    assert not is_session(("cline", "--cline-hub-daemon"))
    assert not is_session(("claude", "mcp", "serve"))


def test_claude_s_own_word_on_a_session():
    said = {"pid": 42, "sessionId": "s", "procStart": "3000", "status": "busy", "statusUpdatedAt": 1796026700299}
    told = read_presence(json.dumps(said).encode())
    assert (told.pid, told.started_ticks, told.status, told.changed_at) == (42, 3000, "busy", 1796026700.299)
    for broken in (b"", b"{", b"[]", b'{"pid": true}', json.dumps({**said, "pid": -1}).encode(), b"\xff" * 99):
        assert read_presence(broken) is None


@pytest.mark.parametrize("value", [True, None, [], "yesterday", "9" * 80, -1, 0, math.inf, math.nan, 10**400, 1e300])
def test_what_is_no_time_is_none(value):
    assert instant(value) is None


@pytest.mark.parametrize(
    "value",
    [{"turn": "sideways"}, {"speaker": 3}, {"tools": []}, {"lines": {}}, {"cwd": 7}, {"model": ["x"]}],
)
def test_facts_that_were_damaged_are_refused(value):
    with pytest.raises((ValueError, TypeError)):
        unpacked(value)


def test_kept_facts_hold_nobody_s_words():
    tail = read("claude", written("claude", ("user", "my secret plan"), ("say", "very secret")))
    assert "secret" not in json.dumps(packed(tail, texts=False))
