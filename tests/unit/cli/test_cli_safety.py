"""``osrc consent`` and ``osrc posture``, as processes."""

from __future__ import annotations

import json
from pathlib import Path

from fakes.osrc_process import osrc, parsed, shown


def test_consent_and_posture(tmp_path: Path) -> None:
    home = tmp_path / "osrc"
    assert parsed(osrc(home, "consent", "status", "--json")) == {
        "schema_version": "1",
        "granted": False,
        "path": str(home / "cloud-consent"),
        "granted_at": None,
        "granted_by": None,
        "how": None,
    }
    assert not home.exists(), "looking makes nothing"
    given = parsed(osrc(home, "consent", "grant", "--json"))
    assert given["granted"] is True
    assert given["how"] == "osrc consent grant"
    assert given["granted_at"].endswith("Z")
    (home / "lane-posture").mkdir(mode=0o700)
    (home / "lane-posture" / "devin.autonomous").write_text("restricted\n")
    config = tmp_path / ".config" / "outsourcerer"
    config.mkdir(parents=True, mode=0o700)
    trust = config / "trusted-lanes.json"
    trust.write_text(json.dumps({"claude": ["/srv/app"]}))
    trust.chmod(0o600)
    seen = parsed(osrc(home, "posture", "status", "--json", OSRC_LAUNCHES_PER_HOUR="7"))
    assert seen["consent"] is True
    assert seen["trusted_lanes"] == {"claude": ["/srv/app"]}
    assert seen["rules"]["launches_per_hour"] == "7"
    assert [(row["lane"], row["value"]) for row in seen["remembered"]] == [("devin", "restricted")]
    words = osrc(home, "posture", "status").stdout.decode()
    for word in ("consent: given at", "claude: /srv/app", "protected_paths: ~/.claude", "remembered: devin autonomous"):
        assert word in words, words
    trust.chmod(0o666)
    assert "is not used" in osrc(home, "posture").stdout.decode() + osrc(home, "posture", "status").stdout.decode()
    gone = parsed(osrc(home, "posture", "reset", "--json"))["forgotten"]
    assert [row["lane"] for row in gone] == ["devin"]
    assert "nothing was remembered" in osrc(home, "posture", "reset").stdout.decode()
    assert parsed(osrc(home, "consent", "revoke", "--json"))["revoked"] is True
    assert parsed(osrc(home, "consent", "revoke", "--json"))["revoked"] is False


def test_consent_that_is_not_believed_is_a_sentence(tmp_path: Path) -> None:
    home = tmp_path / "osrc"
    osrc(home, "consent", "grant")
    (home / "cloud-consent").write_bytes(b"\xff\x1b]0;t\x07")
    done = osrc(home, "consent", "status")
    assert done.returncode == 1, shown(done)
    assert b"not taken for consent" in done.stderr
    assert b"\x1b" not in done.stderr
    assert osrc(home, "consent", "revoke").returncode == 0
