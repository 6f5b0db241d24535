"""The site's menu against the pages: nothing in it that is not there."""

import importlib.util
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import outsourcerer

DOCS = Path(outsourcerer.__path__[0]) / "docs"


def test_every_entry_of_the_menu_is_a_page():
    menu = (DOCS / "site" / "mkdocs.yml").read_text().partition("\nnav:")[2]
    pages = re.findall(r"- (\S+\.md)$", menu, re.MULTILINE)
    assert len(pages) == len(set(pages)) > 15
    assert [page for page in pages if not (DOCS / page).is_file()] == []
    assert "index.md" in pages


def test_a_link_out_of_the_pages_becomes_its_words():
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "site" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    made = hooks.on_page_markdown(
        "see [how](../SECURITY.md#x), [lanes](lanes.md) and [it](decisions/../lanes.md)", page=None
    )
    assert made == "see how, [lanes](lanes.md) and [it](decisions/../lanes.md)"


def test_the_terminal_picture_is_whole_and_shows_nothing_of_the_machine_it_was_made_on():
    text = (DOCS / "terminal.svg").read_text(encoding="utf-8")
    said = " ".join("".join(ET.fromstring(text).itertext()).split()).replace("\xa0", " ")
    for command in ("osrc bg", "osrc wait", "osrc result", "osrc tab"):
        assert f"$ {command}" in said
    assert "done?" in said
    assert set(re.findall(r"https?://[^\s\"<]*", text)) == {"http://www.w3.org/2000/svg"}
    assert re.findall(r"/(?:home|root|tmp|Users)\b|<script|@import|@font-face", text) == []
