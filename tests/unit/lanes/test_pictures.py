"""What services of images are asked and answer, and what a file's bytes are."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.pictures import (
    GEMINI_REDIRECT,
    Answer,
    base_of,
    call,
    codex_task,
    failed,
    is_model,
    kind_of,
    read_answer,
)
from outsourcerer.messages.refusals import Refused

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 17
ENCODED = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0JFIF", "jpg"),
        (b"GIF89a", "gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"\x89PNG\r\n\x1a\n<script>", None),
        (b"<svg xmlns='x'>", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_a_kind_is_told_from_the_bytes(data, kind):
    assert kind_of(data) == kind


@pytest.mark.parametrize(
    ("backend", "body", "found"),
    [
        (
            "gemini",
            {"candidates": [{"content": {"parts": [{"text": "here"}, {"inlineData": {"data": ENCODED}}]}}]},
            PNG,
        ),
        ("gemini", {"candidates": [{"content": {"parts": [{"inline_data": {"data": ENCODED}}]}}]}, PNG),
        ("gemini", {"candidates": [{"finishReason": "IMAGE_SAFETY"}]}, "IMAGE_SAFETY"),
        ("gemini", {"promptFeedback": {"blockReason": "OTHER"}}, "OTHER"),
        ("gemini", {"candidates": [{"content": {"parts": [{"inlineData": {"data": "!!"}}]}}]}, "no reason"),
        (
            "openrouter",
            {"choices": [{"message": {"images": [{"image_url": {"url": f"data:image/png;base64,{ENCODED}"}}]}}]},
            PNG,
        ),
        ("openrouter", {"choices": [{"message": {"images": [], "content": "I \x1b[31mcan't"}}]}, "I  [31mcan't"),
        ("openrouter", {"error": {"message": "no credits"}}, "no credits"),
        ("openrouter", [], "no reason"),
    ],
)
def test_what_a_service_answers_is_an_image_or_the_reason(backend, body, found):
    answer = read_answer(backend, json.dumps(body).encode())
    if isinstance(found, bytes):
        assert answer == Answer(data=found)
    else:
        assert answer.data is None
        assert found in answer.why.message


def test_no_image_may_have_cost_something():
    body = {"choices": [{"message": {"content": "no"}}], "usage": {"cost": 0.04}}
    answer = read_answer("openrouter", json.dumps(body).encode())
    assert (answer.data, answer.link, answer.usd) == (None, None, 0.04)


def test_a_link_is_only_told():
    body = {"choices": [{"message": {"images": [{"image_url": {"url": "https://x/a.png"}}]}}], "usage": {"cost": 0.04}}
    assert read_answer("openrouter", json.dumps(body).encode()) == Answer(link="https://x/a.png", usd=0.04)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["candidates", "content", "parts", "inlineData", "data", "choices", "message", "images", "error"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON | st.binary(max_size=40), st.sampled_from(["gemini", "openrouter"]))
@settings(max_examples=60, deadline=None)
def test_whatever_a_service_answers_is_read(value, backend):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    answer = read_answer(backend, body)
    assert (answer.why is None) is (answer.data is not None or answer.link is not None)
    assert str(failed(backend, 500, body).message).isprintable()


@pytest.mark.parametrize(
    ("backend", "word", "can"),
    [
        ("gemini", "gemini-2.5-flash-image", True),
        ("gemini", "../../v1/other", False),
        ("gemini", "a/b", False),
        ("gemini", "a?key=x", False),
        ("openrouter", "x-ai/grok-imagine:free", True),
        ("openrouter", "a b", False),
        ("openrouter", "ä", False),
        ("gemini", "", False),
    ],
)
def test_a_model_is_no_way_to_another_address(backend, word, can):
    assert is_model(backend, word) is can


def test_a_key_goes_encrypted_or_to_this_machine():
    assert base_of("gemini", None, {}).startswith("https://generativelanguage")
    assert base_of("gemini", None, {GEMINI_REDIRECT: "http://127.0.0.1:9/"}) == "http://127.0.0.1:9"
    for wrong in ("http://example.com", "ftp://x", "//x"):
        assert isinstance(base_of("gemini", None, {GEMINI_REDIRECT: wrong}), Refused)
    assert isinstance(base_of("openrouter", "http://example.com", {}), Refused)
    asked = call("gemini", "https://g", "m", "a cat")
    assert (asked.url, asked.header) == ("https://g/v1beta/models/m:generateContent", "x-goog-api-key")
    assert json.loads(asked.body)["contents"][0]["parts"] == [{"text": "a cat"}]
    assert call("openrouter", "https://o", "m", "a cat").prefix == "Bearer "
    assert "a cat" in codex_task("a cat")
