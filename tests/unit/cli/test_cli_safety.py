"""``osrc consent`` and ``osrc posture``, as processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed, shown
from outsourcerer.cli.main import run


def test_consent_and_posture(tmp_path: Path) -> None:
    home = tmp_path / "osrc"
    assert parsed(osrc(home, "consent", "status", "--json")) == {
        "schema_version": "1",
        "granted": False,
        "path": str(home / "cloud-consent"),
        "granted_at": None,
        "granted_by": None,
        "how": None,
        "in_force": False,
        "setting": None,
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


def test_a_setting_over_consent_is_told(tmp_path: Path) -> None:
    home = tmp_path / "osrc"
    agreed = parsed(osrc(home, "consent", "status", "--json", OSRC_CLOUD_ACK="1"))
    assert (agreed["granted"], agreed["in_force"]) == (False, True)
    assert agreed["setting"] == {"cloud_ack": True, "origin": "environment OSRC_CLOUD_ACK"}
    osrc(home, "consent", "grant")
    refused = parsed(osrc(home, "consent", "status", "--json", OSRC_CLOUD_ACK="0"))
    assert (refused["granted"], refused["in_force"]) == (True, False)
    for command in ("consent", "posture"):
        said = osrc(home, command, "status", OSRC_CLOUD_ACK="0").stdout.decode()
        assert "cloud lanes are refused by environment OSRC_CLOUD_ACK" in said, said
    assert parsed(osrc(home, "posture", "status", "--json", OSRC_CLOUD_ACK="0"))["consent"] is False


@pytest.mark.parametrize(
    "words",
    [
        "consent grant",
        "config set cloud_ack on",
        "config set max_depth --unset",
        "limits budget off",
        "limits budget 100/day",
        "limits clear --all",
        "limits set devin glm 20/day",
        "posture reset",
        "mode auto",
        "tap install",
        "tap uninstall",
        "heartbeat start --wake true",
        "heartbeat stop",
        "import --apply",
        "parity",
        "parity --undo",
        "skill install",
    ],
)
def test_a_delegate_changes_nothing_that_a_person_set(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "osrc"))
    monkeypatch.setenv("OUTSOURCERER_DEPTH", "1")
    assert run(words.split()) == 1
    assert "a delegate runs this (OUTSOURCERER_DEPTH is set)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("amount", "usd", "words"),
    [("123456.78", 123456.78, "$123456.78"), ("0.001", 0.001, "$0.0010"), ("5", 5.0, "$5.00")],
)
def test_a_budget_is_kept_as_it_was_written(
    amount: str,
    usd: float,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OSRC_HOME", str(tmp_path / "osrc"))
    assert run(["limits", "budget", f"{amount}/job"]) == 0
    assert f"at most {words} " in capsys.readouterr().out
    assert run(["limits", "budget", "--json"]) == 0
    assert [row["usd"] for row in json.loads(capsys.readouterr().out)["budgets"]] == [usd]
