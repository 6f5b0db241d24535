"""Asking for an image over HTTP: with a permit only, bounded, and never led to what is not on the public internet."""

from __future__ import annotations

import base64
import json
import time

import httpx
import pytest
from fakes.state import scratch_home
from outsourcerer.actors import image_service
from outsourcerer.actors.image_service import HOPS, Net, ask, fetch, is_public
from outsourcerer.actors.imaging import Plan, Studio, drawn_by_codex, newest_image
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.lanes.pictures import Answer, call
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.state import consent as consents
from outsourcerer.state.settings import Settings

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 17
KEY = "k" * 20


def net_of(handler, addresses=("93.184.216.34",)):
    return Net(resolve=lambda _host, _port: addresses, transport=lambda: httpx.MockTransport(handler))


@pytest.fixture
def studio(tmp_path):
    home = scratch_home(tmp_path)
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path), "GEMINI_API_KEY": KEY, "OPENROUTER_API_KEY": KEY}
    return Studio(home, LaneBook(home).registry(), environ, Settings.load(environ, None))


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("192.168.0.1", False),
        ("172.16.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::7f00:1", False),
        ("2002:7f00:1::", False),
        ("not an address", False),
    ],
)
def test_what_is_on_the_public_internet(address, public):
    assert is_public(address) is public


@pytest.mark.parametrize(
    "link",
    [
        "http://example.com/a.png",
        "file:///etc/passwd",
        "https://user:word@example.com/",
        "https://exämple.com/",
        "https://",
        "https://x:99999/",
        "data:text/plain,x",
        "https://example.com/\n",
    ],
)
def test_a_link_that_is_not_plain_https_is_not_followed(link):
    def handler(request):
        raise AssertionError(request.url)

    found = fetch(link, time.monotonic() + 60, net_of(handler))
    assert isinstance(found, Refused)
    assert found.code is RefusalCode.DENIED


@pytest.mark.parametrize("addresses", [("127.0.0.1",), ("93.184.216.34", "10.0.0.1"), ()])
def test_a_host_of_which_one_address_is_private_is_never_asked(addresses):
    def handler(request):
        raise AssertionError(request.url)

    found = fetch("https://cdn.example/a.png", time.monotonic() + 60, net_of(handler, addresses))
    assert "not on the public internet" in found.message


def test_the_address_that_was_looked_at_is_the_one_that_is_asked():
    seen = []

    def handler(request):
        seen.append((str(request.url), request.headers["host"], request.extensions["sni_hostname"]))
        assert "authorization" not in request.headers
        return httpx.Response(200, content=PNG)

    assert fetch("https://cdn.example:8443/a.png#x", time.monotonic() + 60, net_of(handler)) == PNG
    assert seen == [("https://93.184.216.34:8443/a.png", "cdn.example:8443", "cdn.example")]


def test_each_redirect_is_looked_at_anew():
    def to(place):
        return lambda _request: httpx.Response(302, headers={"location": place})

    resolved = iter([("93.184.216.34",), ("169.254.169.254",)])
    net = Net(
        resolve=lambda _host, _port: next(resolved), transport=lambda: httpx.MockTransport(to("https://meta.internal/"))
    )
    assert (
        "meta.internal, which is not on the public internet" in fetch("https://a/", time.monotonic() + 60, net).message
    )
    plain = fetch("https://a/", time.monotonic() + 60, net_of(to("http://a/")))
    assert plain.code is RefusalCode.DENIED
    around = fetch("https://a/", time.monotonic() + 60, net_of(to("/again")))
    assert f"more than {HOPS} times" in around.message


def test_what_is_too_large_or_too_slow_is_given_up(monkeypatch):
    monkeypatch.setattr(image_service, "MOST_BYTES", 1000)
    large = fetch("https://a/", time.monotonic() + 60, net_of(lambda _: httpx.Response(200, content=b"x" * 2000)))
    assert "longer than" in large.message
    slow = fetch("https://a/", time.monotonic() - 1, net_of(lambda _: httpx.Response(200, content=PNG)))
    assert "too long" in slow.message


def test_an_image_is_made_only_with_a_permit_for_it(studio):
    plan = studio.choose("x-ai/some-model", None)
    assert isinstance(plan, Plan)
    assert (plan.backend, plan.model, plan.lane.name) == ("openrouter", "x-ai/some-model", "codexor")
    assert KEY not in repr(plan)
    refused = studio.pass_gate(plan, "a cat", "image 1", "/", cloud_ack=False)
    assert refused.code is RefusalCode.CONSENT_NEEDED
    consents.grant(studio._home, how="test", now=1.0)
    leak = studio.pass_gate(plan, "a poster of ghp_" + "a1B2" * 9, "image 1", "/", cloud_ack=False)
    assert leak.code is RefusalCode.WOULD_LEAK
    permit = studio.pass_gate(plan, "a cat", "image 1", "/", cloud_ack=False)
    assert "OpenRouter" in permit.disclosure[0]

    def handler(request):
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert json.loads(request.content)["model"] == "x-ai/some-model"
        image = {"image_url": {"url": "data:image/png;base64," + base64.b64encode(PNG).decode()}}
        return httpx.Response(200, json={"choices": [{"message": {"images": [image]}}], "usage": {"cost": 0.02}})

    assert studio.ask(permit, plan, "a cat", net=net_of(handler)) == Answer(data=PNG, usd=0.02)
    with pytest.raises(AttributeError):
        ask(None, "openrouter", call("openrouter", "https://o", "m", "x"), KEY, timeout_s=1, net=net_of(handler))


def test_what_a_service_refuses_is_said_without_the_key(studio):
    consents.grant(studio._home, how="test", now=1.0)
    plan = studio.choose(None, "gemini")
    permit = studio.pass_gate(plan, "a cat", "image 1", "/", cloud_ack=False)
    for status, said in ((401, "refused the key"), (402, "used up"), (404, "no such model"), (503, "it failed")):
        answer = httpx.Response(status, json={"error": {"message": "because\nof it"}})
        found = studio.ask(permit, plan, "a cat", net=net_of(lambda _request, answer=answer: answer))
        assert said in found.message
        assert "because of it" in found.message
        assert KEY not in found.message

    def broken(_request):
        raise httpx.ConnectError("no route")

    assert "no route" in studio.ask(permit, plan, "a cat", net=net_of(broken)).message
    leads_home = {"choices": [{"message": {"images": [{"image_url": {"url": "https://localhost/"}}]}}]}
    plan = studio.choose(None, "openrouter")
    found = studio.ask(
        permit, plan, "a cat", net=net_of(lambda _request: httpx.Response(200, json=leads_home), ("127.0.0.1",))
    )
    assert found.why.code is RefusalCode.DENIED


def test_who_makes_an_image(studio, tmp_path):
    first = studio.choose(None, None)
    assert (first.backend, first.model) == ("gemini", "gemini-2.5-flash-image")
    assert first.skipped[0].startswith("codex: ")
    assert studio.choose("nano-banana", None).backend == "gemini"
    assert studio.choose("gpt-image-2", None).code is RefusalCode.LANE_NOT_READY
    assert studio.choose("opus", None).code is RefusalCode.UNKNOWN_MODEL
    assert studio.choose("nano-banana", "openrouter").code is RefusalCode.LANE_CONFLICT
    assert studio.choose("gemini-../x", None).code is RefusalCode.UNKNOWN_MODEL
    home = scratch_home(tmp_path / "other")
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    bare = Studio(home, LaneBook(home).registry(), environ, Settings.load(environ, None)).choose(None, None)
    assert bare.code is RefusalCode.LANE_NOT_READY
    assert "codex login" in bare.hint


def test_what_codex_left_is_taken_where_it_is_sure_whose_it_is(tmp_path):
    work, kept = tmp_path / "work", tmp_path / "codex" / "generated_images" / "thread"
    work.mkdir()
    kept.mkdir(parents=True)
    (work / "image.png").write_bytes(b"no image")
    (tmp_path / "secret.png").write_bytes(PNG)
    (work / "link.png").symlink_to(tmp_path / "secret.png")
    assert newest_image(str(work), 0.0) is None
    (work / "image.png").write_bytes(PNG)
    assert newest_image(str(work), 0.0) == PNG
    assert newest_image(str(work), time.time() + 60) is None
    environ = {"CODEX_HOME": str(tmp_path / "codex")}
    assert drawn_by_codex(environ, 0.0) is None
    (kept / "1.png").write_bytes(PNG)
    assert drawn_by_codex(environ, 0.0) == PNG
    (kept / "2.png").write_bytes(PNG)
    assert drawn_by_codex(environ, 0.0) is None
    assert drawn_by_codex({"HOME": str(tmp_path / "nobody")}, 0.0) is None
