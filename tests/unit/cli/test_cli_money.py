"""``limits`` with gauges, ``brief``, ``suggest`` and ``estimate`` as processes: read-only, without a supervisor."""

import json
import time
from pathlib import Path

import pytest
from fakes.osrc_process import osrc, parsed, shown
from outsourcerer.messages.facts import GaugesRead, LaneDown
from outsourcerer.messages.session import GaugeWindow
from outsourcerer.state.store import Store

CATALOGUE = {
    "data": [
        {"id": "z-ai/glm-5.2", "pricing": {"prompt": "0.000001", "completion": "0.000002"}, "context_length": 200000},
        {"id": "v/free:free", "pricing": {"prompt": "0", "completion": "0"}, "created": 5},
        {"id": "v/guard:free", "pricing": {"prompt": "0", "completion": "0"}, "created": 9},
    ]
}


def tell(home: Path, *facts) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    store = Store.open(home / "state.db", now=time.time())
    store.append(facts, time.time())
    store.commit()
    store.close()


def names_in(folder: Path) -> set[str]:
    """Every file but SQLite's own of a store that is open."""
    return {str(path) for path in folder.rglob("*") if not path.name.startswith("state.db-")}


def claude(used: float, age_s: float, left_s: float = 3600.0) -> GaugesRead:
    now = time.time()
    window = GaugeWindow(name="five_hour", utilization=used, resets_at=now + left_s)
    return GaugesRead(lane="claude", pool="claude", windows=(window,), measured_at=now - age_s)


def rollout(user: Path, used: float, age_s: float) -> None:
    """What Codex would have written into its newest rollout."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(now - age_s))
    limits = {"primary": {"used_percent": used, "window_minutes": 300, "resets_at": int(now) + 900}}
    day = user / ".codex" / "sessions" / "2026" / "11" / "30"
    day.mkdir(parents=True)
    line = {"timestamp": stamp, "type": "event_msg", "payload": {"type": "token_count", "rate_limits": limits}}
    (day / "rollout-x.jsonl").write_text("{cut\n" + json.dumps(line) + "\n")


def test_an_old_gauge_is_a_floor(tmp_path):
    home = tmp_path / "home"
    tell(home, claude(0.42, 3 * 3600))
    rollout(tmp_path, 30.0, 60)
    said = osrc(home, "limits").stdout.decode()
    assert "claude 5h" in said
    assert "at least 42%" in said
    codex, told = parsed(osrc(home, "limits", "--json"))["gauges"]
    assert (codex["key"], codex["standing"], codex["source"]) == ("pool:chatgpt", "fresh", "rollout")
    assert (told["standing"], told["utilization"]) == ("floor", 0.42)
    assert told["age_s"] >= 3 * 3600


def test_brief_conserves_by_fresh_gauges_only(tmp_path):
    home = tmp_path / "home"
    tell(home, claude(0.9, 3 * 3600))
    assert parsed(osrc(home, "brief", "--json"))["conserve"]["verdict"] == "unknown"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("codex", "claude"):
        (programs / name).write_text("#!/bin/sh\nexit 99\n")
        (programs / name).chmod(0o755)
    rollout(tmp_path, 30.0, 60)
    down = LaneDown(
        key="pool:devin", lane="devin", until=time.time() + 900, reason="used\x1b[31m up", evidence="confirmed"
    )
    tell(home, claude(0.8, 5), down)
    before = names_in(tmp_path)
    found = parsed(osrc(home, "brief", "--json", PATH=f"{programs}"))
    assert found["conserve"]["verdict"] == "conserve"
    if "local" not in found["lanes"]:  # this machine may run a model server of its own
        assert found["conserve"]["lane"] == "codex"
    assert {"claude", "codex"} <= set(found["lanes"])
    done = osrc(home, "brief", PATH=f"{programs}")
    said = done.stdout.decode()
    assert "advice     : CONSERVE: the Claude plan's fullest window is 80% used" in said, shown(done)
    assert "down       : devin for" in said
    assert "\x1b" not in said
    assert "mode       : not chosen" in said
    assert names_in(tmp_path) == before  # it only looked


def test_brief_names_the_lanes_that_a_person_declared(tmp_path):
    home = tmp_path / "home"
    (home / "lanes.d").mkdir(parents=True)
    for name in ("mine.toml", "BAD NAME.toml", "notes.txt"):
        (home / "lanes.d" / name).write_text("")
    lanes = parsed(osrc(home, "brief", "--json"))["lanes"]
    assert lanes["mine"] == "declared"
    assert not {"BAD NAME", "notes"} & lanes.keys()
    assert "mine=declared" in osrc(home, "brief").stdout.decode()


@pytest.mark.parametrize("content", [b"not a database, but long enough to be one" * 20, None])
def test_brief_says_what_it_can_of_a_home_that_is_damaged_or_not_there(tmp_path, content):
    home = tmp_path / "home"
    if content is not None:
        home.mkdir(mode=0o700)
        (home / "state.db").write_bytes(content)
    done = osrc(home, "brief")
    assert done.returncode == 0, shown(done)
    assert b"no gauge is known" in done.stdout
    assert home.exists() == (content is not None)
    notes = parsed(osrc(home, "brief", "--json"))["notes"]
    assert len(notes) == (content is not None)
    for note in notes:
        assert "state.db" in note
        assert "osrc supervisor restart" in note
        assert f"note: {note}".encode() in done.stderr, shown(done)


def test_advice_says_once_that_limits_cant_be_read(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "state.db").write_bytes(b"not a database, but long enough to be one" * 20)
    done = osrc(home, "advise", "fix the bug in x.py")
    assert done.stderr.count(b"limits can't be read") == 1, shown(done)


def test_a_driving_mode_that_is_none_is_said(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "mode").write_bytes(b"\xffwhatever\x1b[31m")
    told, brief = parsed(osrc(home, "mode", "--json")), parsed(osrc(home, "brief", "--json"))
    assert (told["mode"], brief["mode"]) == (None, None)
    assert brief["notes"] == [told["note"]]
    assert "holds no driving mode; osrc mode auto|manual|hybrid" in told["note"]
    assert told["note"].encode() in osrc(home, "mode").stderr
    (home / "mode").unlink()
    (home / "mode").mkdir()
    assert "can't be read" in parsed(osrc(home, "brief", "--json"))["notes"][0]


def test_suggest_and_estimate_go_by_the_cached_catalogue(tmp_path):
    home = tmp_path / "home"
    never = osrc(home, "suggest")
    assert never.returncode == 1, shown(never)
    assert b"osrc models --refresh" in never.stderr
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "models.json").write_text(json.dumps(CATALOGUE))
    deals = parsed(osrc(home, "deals", "--json"))
    assert [one["model"] for one in deals["free"]] == ["v/free:free"]
    assert [one["model"] for one in deals["cheap"]] == ["z-ai/glm-5.2"]
    quoted = parsed(osrc(home, "estimate", "--json", "-m", "no/price", "x" * 3300))
    assert quoted["tokens"] == {"input": 1000, "output": 2000, "estimated": True}
    assert [(one["model"], one["usd"]) for one in quoted["models"]] == [
        ("no/price", None),
        ("z-ai/glm-5.2", pytest.approx(0.005)),
    ]
    assert quoted["frontier"]["usd"] == pytest.approx(0.055)
    said = osrc(home, "estimate", "x" * 3300).stdout.decode()
    assert "~$0.00500" in said
    assert "$0 cash, spends your Claude plan limits" in said
    keyed = {"ANTHROPIC_API_KEY": "sk-ant-0123456789abcdef"}
    assert "spends your Claude plan limits" not in osrc(home, "estimate", "x" * 3300, **keyed).stdout.decode()
    shown_lane = osrc(home, "lanes", "show", "claude", **keyed).stdout.decode()
    assert "metered cash on your Anthropic API key" in shown_lane
