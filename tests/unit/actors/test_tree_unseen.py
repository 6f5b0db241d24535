"""A tree that can't be looked at for want of descriptors has not ended: it is looked at again."""

import errno
import os

import pytest
from outsourcerer.actors import tree


def test_it_is_looked_at_until_it_can_be(monkeypatch):
    looks = iter([OSError(errno.EMFILE, "Too many open files"), OSError(errno.ENFILE, "Too many"), []])
    waits = []

    def look(*_given):
        said = next(looks)
        if isinstance(said, OSError):
            raise said
        return said

    monkeypatch.setattr(tree, "tree_of", look)
    monkeypatch.setattr(tree.time, "sleep", waits.append)
    assert tree._seen("job", None, None) == []
    assert waits == [tree.BLIND_PAUSE_S] * 2


@pytest.mark.parametrize(("code", "looks"), [(errno.EMFILE, tree.BLIND_LOOKS + 1), (errno.EIO, 1)])
def test_in_the_end_and_for_other_trouble_it_is_said(monkeypatch, code, looks):
    seen = []

    def look(*_given):
        seen.append(1)
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(tree, "tree_of", look)
    monkeypatch.setattr(tree.time, "sleep", lambda _seconds: None)
    with pytest.raises(OSError, match=os.strerror(code)):
        tree._seen("job", None, None)
    assert len(seen) == looks
