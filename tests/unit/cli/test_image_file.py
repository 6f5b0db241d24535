"""Saving an image: under its name, over nothing that is there, also where a file can have one name alone."""

import os

import pytest
from outsourcerer.cli.errors import CliError
from outsourcerer.cli.image_file import save


def linkless(_source, _target):
    raise PermissionError(1, "no links here")


@pytest.mark.parametrize("links", [True, False])
def test_nothing_that_is_there_is_written_over_unasked(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", linkless)
    place = tmp_path / "a.png"
    assert save(b"one", "png", str(place), None, force=False) == str(place)
    with pytest.raises(CliError, match="is there already"):
        save(b"two", "png", str(place), None, force=False)
    assert place.read_bytes() == b"one"
    save(b"three", "png", str(place), None, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert place.read_bytes() == b"three"
