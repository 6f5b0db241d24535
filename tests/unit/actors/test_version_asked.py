"""What a CLI says of its version, on whichever of its outputs."""

import pytest
from fakes.programs import write_program
from outsourcerer.actors.holder_loop import SelectLoop
from outsourcerer.actors.transports.version import VersionAsked


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('1.2.3')", "1.2.3"),
        ("import sys; print('0.73.1', file=sys.stderr)", "0.73.1"),
        ("import sys; print('a warning 9.9', file=sys.stderr); print('1.2.3')", "1.2.3"),
        ("pass", ""),
    ],
)
def test_stdout_counts_else_stderr(tmp_path, code, said):
    loop, told = SelectLoop(), []
    program = tmp_path / "cli"
    write_program(program, code)

    def hear(text):
        told.append(text.strip())
        loop.stopped = True

    VersionAsked(loop, str(program), {"PATH": "/usr/bin:/bin"}, hear)
    loop.run()
    assert told == [said]
