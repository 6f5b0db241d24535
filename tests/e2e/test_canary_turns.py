"""``osrc canary`` with the real CLIs: each plays its turns against the installed scripted model.

The errors are played by those that start fastest; every CLI meets them in its own tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed
from fakes.real_clis import folder

pytestmark = pytest.mark.e2e

PROGRAMS = {
    **{lane: lane for lane in ("claude", "codex", "gemini", "qwen", "opencode", "cline", "droid", "copilot", "pi")},
    "cc": "claude",
    "claudex": "claude",
    "codexor": "codex",
    "acp:gemini --acp": "gemini",
}
"""Lane → its program."""
ERRORS = {"claude", "cc", "claudex", "codex", "copilot"}


@pytest.mark.parametrize("lane", PROGRAMS)
def test_the_real_cli_is_what_its_lane_expects(lane: str, tmp_path: Path) -> None:
    program = folder() / "bin" / PROGRAMS[lane]
    if not program.exists():
        pytest.skip(f"{program} is not there: run tests/install_clis.sh")
    environ = {"PATH": f"{folder() / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path / "home")}
    environ["XDG_CACHE_HOME"] = str(folder() / "copilot" / "cache")  # it unpacks 230 MB there: once for all tests
    environ |= {"OSRC_CLAUDEX_URL": "http://127.0.0.1:9", "OSRC_CLAUDEX_TOKEN": "none"}
    how = "--errors" if lane in ERRORS else "--turn"
    done = osrc(tmp_path / "osrc", "canary", how, "--json", lane, timeout=400, **environ)
    [row] = parsed(done)["lanes"]
    told = {"refused-key": True, "spent-plan": True, "cut": True} if lane in ERRORS else {}
    assert (row["verdict"], row["turn"], row["gone"], row["errors"]) == ("same", True, [], told), row
    assert row["options"] > 0
    assert done.returncode == 0
