"""``osrc image``: from a service on loopback, and from Codex in a job of its own."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fakes.osrc_process import parsed, shown
from fakes.programs import write_program
from fakes.supervised import Supervised

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 17
KEY = "k" * 24

CODEX = """\
import json, os, sys
if "--version" in sys.argv:
    print("codex-cli 0.171.0")
    sys.exit()
prompt = sys.stdin.read()
if "a cat" in prompt:
    open("image.png", "wb").write(bytes.fromhex("PNG"))
item = {"id": "1", "type": "agent_message", "text": "I made it." if "a cat" in prompt else "I have no such tool."}
usage = {"input_tokens": 1, "cached_input_tokens": 0, "output_tokens": 1}
for line in ({"type": "thread.started", "thread_id": "t1"}, {"type": "turn.started"},
             {"type": "item.completed", "item": item}, {"type": "turn.completed", "usage": usage}):
    print(json.dumps(line), flush=True)
""".replace('"PNG"', repr(PNG.hex()))


class Service(BaseHTTPRequestHandler):
    """Answers as OpenRouter does, with what the prompt names."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        url = body["messages"][0]["content"]
        if url == "a cat":
            url = "data:image/jpeg;base64," + base64.b64encode(PNG).decode()
        known = self.headers["Authorization"] == f"Bearer {KEY}"
        images = [{"image_url": {"url": url}}]
        reply = {"choices": [{"message": {"images": images}}], "usage": {"cost": 0.04}}
        data = json.dumps(reply if known else {"error": {"message": "who are you"}}).encode()
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_an_image_of_a_service(home: Supervised, service: str) -> None:
    given = {"OSRC_OPENROUTER_URL": service, "OPENROUTER_API_KEY": KEY}
    words = ("image", "--backend", "openrouter")
    made = home.osrc(*words, "a cat", "cat.jpg", "--json", **given)
    found = parsed(made)
    assert (made.returncode, found["path"], found["format"]) == (0, str(home.work / "cat.png"), "png"), shown(made)
    assert (home.work / "cat.png").read_bytes() == PNG
    assert found["cost"] == {"cash_usd": 0.04, "measured": True}
    again = home.osrc(*words, "a cat", "-o", "cat.png", **given)
    assert (again.returncode, again.stdout) == (64, b""), shown(again)
    assert b"--force" in again.stderr
    into = home.osrc(*words, "a cat", **given)
    assert into.stdout.decode().startswith(f"{home.root}/images/"), shown(into)
    assert b"sends to" in into.stderr
    for prompt, said in (
        ("https://localhost/a.png", b"not on the public internet"),
        ("http://127.0.0.1/a.png", b"not plain https"),
        ("data:image/png;base64,PHN2Zz4=", b"no PNG, JPEG, GIF or WebP"),
    ):
        refused = home.osrc(*words, prompt, "no.png", **given)
        assert (refused.returncode, refused.stdout) == (1, b""), shown(refused)
        assert said in refused.stderr, shown(refused)
    unknown = home.osrc(*words, "a cat", "no.png", **{**given, "OPENROUTER_API_KEY": "z" * 24})
    assert b"it refused the key (HTTP 401): who are you" in unknown.stderr, shown(unknown)
    assert b"z" * 24 not in unknown.stderr
    unasked = home.osrc(*words, "a cat", "no.png", **given, OSRC_CLOUD_ACK="0")
    assert b"cloud lanes are refused here" in unasked.stderr, shown(unasked)
    assert not list(home.work.glob("no.*"))
    cash = parsed(home.osrc("tab", "--json"))["total"]["cash"]
    # Also of what was no image, and of links that were not followed.
    assert (cash["measured_runs"], round(cash["measured_usd"], 2)) == (5, 0.2)
    assert cash["unknown_runs"] == 1  # a refused key
    for more in ((), ("--dry-run",)):
        spent = home.osrc(*words, "a cat", "no.png", "--json", *more, **given, OSRC_BUDGET_DAY="0.1")
        assert (spent.returncode, parsed(spent)["error"]["code"]) == (1, "budget_spent"), shown(spent)
    assert home.osrc(*words, "a cat", "--dry-run", **given, OSRC_BUDGET_DAY="0.3").returncode == 0
    assert parsed(home.osrc("tab", "--json"))["total"]["runs"] == 6


def test_an_image_of_codex_is_an_ordinary_job(home: Supervised) -> None:
    programs = home.scratch / "bin"
    programs.mkdir()
    write_program(programs / "codex", CODEX)
    (home.scratch / ".codex").mkdir()
    (home.scratch / ".codex" / "auth.json").write_text("{}")
    home.environ["PATH"] = f"{programs}:/usr/bin:/bin"
    planned = home.osrc("image", "a cat", "--dry-run")
    assert planned.stdout.startswith(b"codex "), shown(planned)
    made = home.osrc("image", "a cat", "cat.png")
    assert (made.returncode, made.stdout.decode().strip()) == (0, str(home.work / "cat.png")), shown(made)
    record = home.newest()
    assert (record["lane"], record["verb"], record["state"]) == ("codex", "edit", "done?")
    none = home.osrc("image", "a dog", "--json")
    assert none.returncode == 1, shown(none)
    assert "I have no such tool." in parsed(none)["error"]["message"]
