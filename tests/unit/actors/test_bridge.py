"""The claudex proxy: looked for at its address, with its token, and never elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.model_server import ModelServer
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.actors.bridge import find_bridge, first_key


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("port: 8317\napi-keys:\n  - sk-one\n  - sk-two\n", "sk-one"),
        ('api-keys:\n- "sk-one" # mine\n', "sk-one"),
        ("api-keys: ['sk-one', 'sk-two']\n", "sk-one"),
        ("api-keys:\n  # none yet\nother:\n  - sk-not-this\n", None),
        ("nested:\n  api-keys:\n    - sk-not-this\n", None),
        ("api-keys:\n  - two words\n", None),
        ("api-keys: []\n", None),
        ("", None),
    ],
)
def test_the_first_key_of_its_file(content: str, key: str | None) -> None:
    assert first_key(content) == key


@given(st.text(max_size=200))
def test_any_file_is_read(content: str) -> None:
    first_key(content)


def test_it_answers_to_its_token_only(tmp_path: Path) -> None:
    folder = tmp_path / ".cli-proxy-api"
    folder.mkdir()
    (folder / "config.yaml").write_text("api-keys:\n  - sk-file\n")
    home = {"HOME": str(tmp_path)}
    with ModelServer([], models=("gpt-5.6-sol",), key="sk-file") as server:
        found = find_bridge(home, url=server.url, token=None, config=None)
        assert (found.base_url, found.models, found.token) == (server.url, ("gpt-5.6-sol",), "sk-file")
        assert "sk-file" not in repr(found)
        wrong = find_bridge(home, url=server.url, token="sk-wrong", config=None)
        assert (wrong.models, wrong.token) == ((), "sk-wrong")
        server.requests.clear()
        none = find_bridge({"HOME": "/nonexistent"}, url=server.url, token=None, config=None)
        assert (none.models, none.token) == ((), None)
        assert server.requests == []


@pytest.mark.parametrize("url", ["http://example.org:8317", "", "ftp://127.0.0.1", "http://user:pw@127.0.0.1"])
def test_a_token_goes_encrypted_or_stays_here(url: str) -> None:
    assert find_bridge({"HOME": "/nonexistent"}, url=url, token="sk", config=None).base_url is None
