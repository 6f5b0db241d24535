from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.loopback import is_loopback, normal_base


@pytest.mark.parametrize(
    ("address", "base"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
        ("localhost:1234", "http://localhost:1234/v1"),
        ("https://models.example/api/v2", "https://models.example/api/v2"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("http://0.0.0.0:80", "http://127.0.0.1:80/v1"),
        ("[::]:9", "http://[::1]:9/v1"),
        ("host", "http://host:11434/v1"),
    ],
)
def test_normal_form(address: str, base: str) -> None:
    assert normal_base(address, default_port=11434) == base


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ftp://127.0.0.1",
        "http://",
        "http://user:secret@127.0.0.1",
        "http://127.0.0.1:99999",
        "http://[::1",
        "a b",
        "http://x/\nb",
        "http://x/?q",
        "http://x#f",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_base_url(address: str) -> None:
    assert normal_base(address) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/v1",
        "http://127.9.9.9/v1",
        "http://[::1]:1/v1",
        "http://localhost/v1",
        "http://LOCALHOST/v1",
        "http://a.localhost/v1",
    ],
)
def test_loopback(url: str) -> None:
    assert is_loopback(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1/v1",
        "http://localhost.example/v1",
        "http://127.0.0.1.example/v1",
        "http://127.0.0.1@evil.example/v1",
        "http://0x7f.1/v1",
        "http:///v1",
        "",
        "http://[::ffff:8.8.8.8]/",
    ],
)
def test_not_loopback(url: str) -> None:
    assert not is_loopback(url)


@given(st.text(max_size=60))
def test_any_text_is_taken(text: str) -> None:
    is_loopback(text)
    base = normal_base(text)
    if base is not None:
        assert base.startswith(("http://", "https://"))
        assert normal_base(base) == base
