"""The job object that a holder is in itself, by a fake of kernel32: whatever it starts ends with it, or by it."""

import os

import pytest
from fakes.kernel32 import FakeKernel
from outsourcerer.actors import descendants, shim
from outsourcerer.actors.descendants import OwnJobObject, ender
from outsourcerer.actors.job_objects import PREFIX

US = os.getpid()


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(shim, "LEFTOVER_GRACE_S", 0.0)
    made = FakeKernel()
    made.alive = {US, 11, 12, 13}
    return made


def in_it(kernel, *pids):
    for pid in pids:
        kernel.join(PREFIX + "s", pid)


def test_all_but_ourselves_are_ended_and_it_ends_with_us(kernel):
    job = OwnJobObject(kernel, "s", end=kernel.alive.discard)
    assert kernel.ends_with_us(PREFIX + "s")
    in_it(kernel, 11, 12)
    assert job.left() == [11, 12]
    assert job.end_left(11) == []
    assert kernel.alive == {US, 13}


def test_what_would_not_go_is_told(kernel, monkeypatch):
    monkeypatch.setattr(shim, "TERM_GRACE_S", 0.0)

    def refuses(_pid):
        raise PermissionError

    job = OwnJobObject(kernel, "s", end=refuses)
    in_it(kernel, 12)
    assert job.end_left(12) == [12]


@pytest.mark.parametrize("refused", ["CreateJobObjectW", "SetInformationJobObject", "AssignProcessToJobObject"])
def test_where_there_can_be_none_its_descendants_are_known_by_their_parents(kernel, monkeypatch, refused):
    kernel.refused = refused
    monkeypatch.setattr(descendants, "_descendants", lambda: sorted(kernel.alive - {13}))
    job = OwnJobObject(kernel, "s", end=kernel.alive.discard)
    assert job.end_left(11) == []
    assert kernel.alive == {US, 13}


def test_on_posix_it_is_the_shim_s_own_way(kernel):
    assert ender("s") is shim.end_leftovers
    assert ender("s", kernel) is not shim.end_leftovers
