"""TERM and HUP as exceptions, for as long as a command has something to undo."""

from __future__ import annotations

import signal

import pytest
from outsourcerer.cli.interrupts import LostTerminalError, TerminatedError, code_of, heard


@pytest.fixture(autouse=True)
def _as_before():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize(
    ("number", "error", "code"), [(signal.SIGTERM, TerminatedError, 143), (signal.SIGHUP, LostTerminalError, 129)]
)
def test_a_signal_ends_the_block_with_its_own_code(number, error, code):
    signal.signal(number, signal.SIG_DFL)
    with pytest.raises(error) as raised, heard():
        signal.raise_signal(number)
    assert (code_of(raised.value) if error is TerminatedError else raised.value.code) == code
    assert signal.getsignal(number) == signal.SIG_DFL


def test_what_is_ignored_stays_ignored_and_ctrl_c_keeps_its_code():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with heard():
        signal.raise_signal(signal.SIGHUP)
    assert code_of(KeyboardInterrupt()) == 130
