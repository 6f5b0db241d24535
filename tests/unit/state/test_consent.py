"""Consent: given once, whole or not at all, and never taken from what others could have put there."""

from __future__ import annotations

import os

import pytest
from fakes.state import FailingDisk, refusal_of, scratch_home
from outsourcerer.state.consent import Answer, Consent, consent_file, decide, grant, read_consent, revoke

NOW = 1_800_000_000.0
STORED = Consent("then", "ada", "osrc consent grant")


@pytest.fixture
def home(tmp_path):
    return scratch_home(tmp_path)


@pytest.mark.parametrize(
    ("ack", "flag", "stored", "answer"),
    [
        (None, False, None, Answer.NEEDED),
        (None, False, STORED, Answer.STANDS),
        (None, True, None, Answer.GIVEN),
        (True, False, None, Answer.GIVEN),
        (True, True, STORED, Answer.STANDS),
        (False, False, None, Answer.DECLINED),
        (False, True, None, Answer.DECLINED),
        (False, False, STORED, Answer.DECLINED),
        (False, True, STORED, Answer.DECLINED),
    ],
)
def test_what_holds(ack, flag, stored, answer):
    assert decide(ack=ack, flag=flag, stored=stored) is answer


def test_a_life(home):
    assert read_consent(home) is None
    given = grant(home, how="osrc consent grant", now=NOW)
    assert given.at == "2027-01-15T08:00:00Z"
    assert str(os.getuid()) in given.by
    assert read_consent(home) == given
    assert consent_file(home).stat().st_mode & 0o777 == 0o600
    assert grant(home, how="--cloud-ack", now=NOW + 9) == given, "the first one stays"
    assert revoke(home) is True
    assert revoke(home) is False
    assert read_consent(home) is None


def test_the_predecessor_s_lines_are_understood(home):
    consent_file(home).write_text("granted-at=2026-01-01T00:00:00Z\ngranted-by=ada\nscope=all\n")
    consent_file(home).chmod(0o600)
    assert read_consent(home) == Consent("2026-01-01T00:00:00Z", "ada", "an older record")


def a_link(path):
    (path.parent / "elsewhere").write_text("granted-at: now\n")
    path.symlink_to(path.parent / "elsewhere")


def too_long(path):
    path.write_text("granted-at: now\n" + "x" * 5000)


def writable(path):
    path.write_text("granted-at: now\n")
    path.chmod(0o620)


def nothing_said(path):
    path.write_bytes(b"\xff\xfe\x00 yes")


@pytest.mark.parametrize("poison", [a_link, os.mkfifo, os.mkdir, too_long, writable, nothing_said])
def test_what_is_no_consent(home, poison):
    poison(consent_file(home))
    said = refusal_of(lambda: read_consent(home))
    assert "not taken for consent" in said.message
    assert "osrc consent grant" in said.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a stranger's file")
def test_a_stranger_s_file_is_no_consent(home):
    consent_file(home).write_text("granted-at: now\n")
    os.chown(consent_file(home), 12345, 12345)
    assert "belongs to another user (uid 12345)" in refusal_of(lambda: read_consent(home)).message


def test_a_full_disk_gives_no_half_consent(home):
    for number in range(6):
        disk = FailingDisk(number)
        try:
            grant(home, how="x", now=NOW, files=disk)
        except Exception:
            assert read_consent(home) is None
            assert not list(home.root.glob(".cloud-consent*"))
        else:
            break
    assert read_consent(home) is not None
