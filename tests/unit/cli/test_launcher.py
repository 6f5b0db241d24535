"""The skill's entry point: finds the program, or makes it, or says what to do; paths with spaces, no network."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from outsourcerer.cli.plugin_place import plugin_root

PROGRAM = '#!/bin/sh\necho "program:$0"\nfor word in "$@"; do echo "word:$word"; done\nexit 3\n'
NEW_PYTHON = """#!/bin/sh
# a python that can make an environment whose pip installs $OSRC_FAKE_PIP
case "$*" in
"-c"*find_spec*) exit "${OSRC_FAKE_MCP:-0}" ;;
-c*) exit 0 ;;
"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
"-m pip install "*)
    echo "pip $*"
    [ "${OSRC_FAKE_PIP:-}" != fails ] || exit 1
    printf '#!/bin/sh\\necho made "$@"\\n' >"$(dirname "$0")/osrc" && chmod 755 "$(dirname "$0")/osrc" ;;
esac
"""


class Place:
    """A checkout with only the plugin in it, a home and a PATH, all with spaces in their names."""

    def __init__(self, root: Path) -> None:
        self.root = root / "a check out"
        self.bin, self.home = root / "b in", root / "ho me"
        shutil.copytree(plugin_root(), self.root / "cli" / "plugin")
        for folder in (self.bin, self.home):
            folder.mkdir()
        for name in ("dirname", "rm", "mkdir", "rmdir", "grep", "sed", "sleep", "cp", "chmod", "sh", "cat"):
            (self.bin / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        self.script = self.root / "cli/plugin/skills/outsourcerer/scripts/outsourcerer.sh"
        self.data = self.home / ".local/share/outsourcerer"

    def program(self, path: Path, text: str = PROGRAM) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, *words: str, script: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", str(script or self.script), *words],
            env={"PATH": str(self.bin), "HOME": str(self.home), **environ},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_it_becomes_the_program_on_the_path_word_for_word(place: Place) -> None:
    found = place.program(place.bin / "osrc")
    done = place.run("run", "two words", "", "--", "-x", "$HOME")
    words = ["run", "two words", "", "--", "-x", "$HOME"]
    assert done.stdout == f"program:{found}\n" + "".join(f"word:{word}\n" for word in words)
    assert (done.returncode, done.stderr) == (3, "")


def test_the_one_it_belongs_to_goes_first_and_one_of_its_own_last(place: Place) -> None:
    in_data = place.program(place.data / "venv/bin/osrc")
    assert place.run().stdout == f"program:{in_data}\n"
    on_path = place.program(place.bin / "osrc")
    assert place.run().stdout == f"program:{on_path}\n"
    place.program(place.root / ".venv/bin/osrc")
    assert place.run().stdout.endswith("/.venv/bin/osrc\n")


def test_a_link_to_the_skill_or_from_the_path_is_no_circle(place: Place) -> None:
    (place.bin / "osrc").symlink_to(place.script)
    assert "no Python 3.11 or newer" in place.run("status").stderr
    (place.bin / "osrc").unlink()
    found = place.program(place.bin / "osrc")
    link = place.home / "linked skill"
    link.symlink_to(place.script.parent.parent)
    assert place.run(script=link / "scripts" / "outsourcerer.sh").stdout == f"program:{found}\n"


def test_what_is_missing_is_said_with_what_helps(place: Place) -> None:
    done = place.run("brief")
    assert (done.returncode, done.stdout) == (1, "")
    assert "install Python 3.11 or newer" in done.stderr
    place.program(place.bin / "python3", "#!/bin/sh\nexit 1\n")  # too old
    assert "no Python 3.11 or newer" in place.run("brief").stderr
    place.program(place.bin / "python3.13", NEW_PYTHON)
    done = place.run("brief")
    assert done.returncode == 1
    assert "OSRC_INSTALL_FROM=/path/to/checkout" in done.stderr
    assert not place.data.exists()


def test_a_hook_installs_nothing_and_never_fails(place: Place) -> None:
    place.program(place.bin / "python3", NEW_PYTHON)
    (place.root / "pyproject.toml").write_text('[project]\nname = "outsourcerer"\n')
    done = place.run("hook", "session-start")
    assert (done.returncode, done.stderr) == (0, "")
    assert "not installed yet" in done.stdout
    done = place.run("hook", "stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not place.data.exists()
    place.program(place.bin / "osrc", '#!/bin/sh\necho "$OSRC_LAUNCHER"; echo trouble >&2; exit 7\n')
    done = place.run("hook", "stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{place.script}\n", "")


def test_it_installs_itself_once_from_the_checkout(place: Place) -> None:
    place.program(place.bin / "python3", NEW_PYTHON)
    (place.root / "pyproject.toml").write_text('[project]\nname = "outsourcerer"\n')
    done = place.run("brief")
    assert (done.returncode, done.stdout) == (0, "made brief\n")
    assert "first use" in done.stderr
    assert f"{place.root}\n" in (place.data / "install.log").read_text()
    again = place.run("brief")
    assert (again.stdout, again.stderr) == ("made brief\n", "")


def test_an_mcp_server_gets_what_it_needs(place: Place) -> None:
    place.program(place.bin / "python3", NEW_PYTHON)
    (place.root / "pyproject.toml").write_text('[project]\nname = "outsourcerer"\n')
    assert place.run("run", "mcp").stdout == "made run mcp\n"
    log = place.data / "install.log"
    assert "[mcp]" not in log.read_text(), "a task is no verb"
    assert place.run("mcp").stderr == "", "it is there"
    done = place.run("--cloud-ack", "mcp", OSRC_FAKE_MCP="1")
    assert (done.returncode, done.stdout) == (0, "made --cloud-ack mcp\n")
    assert "adding what an MCP server needs" in done.stderr
    assert "outsourcerer[mcp]\n" in log.read_text()
    done = place.run("mcp", OSRC_FAKE_MCP="1", OSRC_FAKE_PIP="fails")
    assert (done.returncode, done.stdout) == (0, "made mcp\n"), "the program says the one command"
    assert "is there a network?" in done.stderr
    shutil.rmtree(place.data)
    assert place.run("mcp").stdout == "made mcp\n"
    assert f"{place.root}[mcp]\n" in log.read_text()


def test_it_finds_the_checkout_that_the_plugin_came_from(place: Place) -> None:
    place.program(place.bin / "python3", NEW_PYTHON)
    market = place.home / ".claude/plugins/marketplaces/outsourcerer"
    market.mkdir(parents=True)
    (market / "pyproject.toml").write_text('[project]\nname = "outsourcerer"\n')
    other = market.parent / "another"
    other.mkdir()
    (other / "pyproject.toml").write_text('[project]\nname = "another"\n')
    assert place.run("brief").stdout == "made brief\n"
    assert f"{market}\n" in (place.data / "install.log").read_text()
    shutil.rmtree(place.data)
    elsewhere = place.home / "my check out"
    market.rename(elsewhere)
    known = {"another": {"installLocation": str(other)}, "ours": {"installLocation": str(elsewhere), "x": 1}}
    (place.home / ".claude/plugins/known_marketplaces.json").write_text(json.dumps(known, indent=2))
    assert place.run("brief").stdout == "made brief\n"
    assert f"{elsewhere}\n" in (place.data / "install.log").read_text()


def test_without_a_network_it_says_so_and_leaves_nothing_half_made(place: Place) -> None:
    place.program(place.bin / "python3", NEW_PYTHON)
    done = place.run("brief", OSRC_INSTALL_FROM=str(place.root), OSRC_FAKE_PIP="fails")
    assert done.returncode == 1
    assert "is there a network?" in done.stderr
    assert "PIP_FIND_LINKS" in done.stderr
    assert [entry.name for entry in place.data.iterdir()] == ["install.log"]


def test_a_place_that_can_t_be_written_is_said(place: Place) -> None:
    place.program(place.bin / "python3", NEW_PYTHON)
    done = place.run("brief", OSRC_INSTALL_FROM="x", XDG_DATA_HOME="/dev/null/x")
    assert done.returncode == 1
    assert "XDG_DATA_HOME=DIR" in done.stderr
