"""``osrc parity`` as a process: a look, the deed, again, what stands, and back."""

import json

from fakes.osrc_process import osrc, parsed


def test_from_the_command_line(tmp_path):
    home = tmp_path / "osrc"
    user = tmp_path
    (user / ".claude" / "skills" / "mine").mkdir(parents=True)
    (user / ".claude" / "skills" / "mine" / "SKILL.md").write_text("# mine")
    (user / ".claude.json").write_text(json.dumps({"mcpServers": {"plain": {"command": "x"}, "far": {"url": "u"}}}))
    (user / ".factory").mkdir()
    looked = parsed(osrc(home, "parity", "--dry-run", "--json"))
    assert looked["applied"] is False
    (here,) = [row for row in looked["hosts"] if row["here"]]
    assert here["host"] == "droid"
    assert {row["do"] for row in here["actions"]} == {"link", "write"}
    assert not (user / ".factory" / "mcp.json").exists()
    done = osrc(home, "parity-droid")
    assert done.returncode == 0, done
    assert b"far was left out" in done.stderr
    assert json.loads((user / ".factory" / "mcp.json").read_text())["mcpServers"]["plain"]["command"] == "x"
    stands = parsed(osrc(home, "parity", "--status", "--json"))
    (here,) = [row for row in stands["hosts"] if row["here"]]
    assert here["actions"] == []
    assert str(user / ".factory" / "skills" / "mine") in here["links"]
    assert osrc(home, "parity", "all", "--undo").returncode == 0
    assert list((user / ".factory").iterdir()) == []
    wrong = osrc(home, "parity", "emacs")
    assert wrong.returncode == 64
    assert b"there are devin" in wrong.stderr
