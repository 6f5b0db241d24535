"""``osrc canary --turn`` with the real CLIs: each plays one turn against the installed scripted model."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed
from fakes.real_clis import folder

pytestmark = pytest.mark.e2e

LANES = ("claude", "cc", "codex", "codexor", "gemini", "qwen", "opencode", "cline", "droid", "copilot", "pi")
PROGRAMS = {"cc": "claude", "codexor": "codex"}


@pytest.mark.parametrize("lane", LANES)
def test_the_real_cli_is_what_its_lane_expects(lane: str, tmp_path: Path) -> None:
    program = folder() / "bin" / PROGRAMS.get(lane, lane)
    if not program.exists():
        pytest.skip(f"{program} is not there: run tests/install_clis.sh")
    environ = {"PATH": f"{folder() / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    environ["XDG_CACHE_HOME"] = str(folder() / "copilot" / "cache")  # it unpacks 230 MB there: once for all tests
    done = osrc(tmp_path / "osrc", "canary", "--turn", "--json", lane, **environ)
    [row] = parsed(done)["lanes"]
    assert (row["verdict"], row["turn"], row["gone"]) == ("same", True, []), row
    assert done.returncode == 0
