"""``osrc import``: first a look that changes nothing, then all of it, then nothing more; their files stay as they are."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from fakes.supervised import Supervised

LEDGER = [
    {"epoch": 1_790_000_000, "provider": "or", "model": "z-ai/glm-5.2", "cost_usd": "0.25", "run_id": "a"},
    {"epoch": 1_790_000_100, "provider": "cc", "model": "opus", "cost_usd": "9", "run_id": "b"},
    {"epoch": 1_790_000_200, "provider": "or", "model": "z-ai/glm-5.2", "cost_usd": "~0.5"},
]


def theirs(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    rows = "".join(json.dumps(row) + "\n" for row in LEDGER)
    (folder / "ledger.jsonl").write_text(rows + '{"epoch": 17900')
    told = {"run_id": "a", "ts": "2026-09-21T10:00:00Z", "lane": "or", "model": "z-ai/glm-5.2", "outcome": "passed"}
    (folder / "outcomes-202609.jsonl").write_text(json.dumps(told) + "\n")
    caps = {"or:z-ai/glm-5.2": {"per_day": 20, "reset": "local"}, "zz:nothing": {"per_day": 1}}
    (folder / "quota.json").write_text(json.dumps({"models": caps}))
    (folder / "models.local").write_text("fast|z-ai/glm-5.3-air|cc|budget\nbroken row\n")
    (folder / "mode").write_text("B\n")
    consent = folder / "cloud-consent"
    consent.write_text("granted-at=2026-09-01T00:00:00Z\ngranted-by=ada\n")
    consent.chmod(0o600)


def prints(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_it_is_taken_over_once(home: Supervised, tmp_path: Path) -> None:
    old = tmp_path / "old"
    theirs(old)
    trusted = tmp_path / ".config" / "outsourcerer" / "trusted-lanes.json"
    before = prints(old)

    def ask(*words: str) -> dict[str, dict[str, object]]:
        done = home.osrc("import", str(old), "--json", *words, OSRC_CLOUD_ACK="")
        assert done.returncode == 0, done
        return {item["what"]: item for item in json.loads(done.stdout)["items"]}

    def news(items: dict[str, dict[str, object]]) -> dict[str, object]:
        return {what: item["new"] for what, item in items.items() if item["new"]}

    everything = {"ledger": 3, "outcomes": 1, "quotas": 1, "mode": 1, "consent": 1, "models.local": 1}
    looked = ask()
    assert news(looked) == everything
    assert (looked["ledger"]["skipped"], looked["quotas"]["skipped"], looked["models.local"]["skipped"]) == (1, 1, 1)
    assert not (home.root / "state.db").exists()
    assert not (home.root / "mode").exists()
    assert news(ask("--apply")) == everything
    assert news(ask("--apply")) == {}
    assert prints(old) == before
    assert not trusted.exists()

    total = json.loads(home.osrc("tab", "--json").stdout)["total"]
    assert (total["runs"], total["plans"]) == (3, {"claude": 1})
    assert json.loads(home.osrc("mode", "--json").stdout)["mode"] == "manual"
    (quota,) = json.loads(home.osrc("limits", "--json").stdout)["quotas"]
    assert (quota["lane"], quota["per_day"], quota["reset"]) == ("cc", 20, "local")
    assert b"first granted 2026-09-01" in (home.root / "cloud-consent").read_bytes()
    assert (home.root / "models.local").read_bytes() == b"fast|z-ai/glm-5.3-air|cc|budget\n"


def test_what_can_t_be_taken_over_hides_nothing_else(home: Supervised, tmp_path: Path) -> None:
    old = tmp_path / "old"
    theirs(old)
    (old / "ledger.jsonl").unlink()
    os.mkfifo(old / "ledger.jsonl")
    (home.root / "models.local").mkdir(parents=True)
    done = home.osrc("import", str(old), "--json", "--apply")
    assert b"Traceback" not in done.stderr
    assert done.returncode == 1, done
    home.root.joinpath("models.local").rmdir()
    done = home.osrc("import", str(old), "--json", "--apply")
    assert done.returncode == 0, done
    items = {item["what"]: item for item in json.loads(done.stdout)["items"]}
    assert items["ledger"]["found"] == 0
    assert "can't be read" in items["ledger"]["notes"][0]
    assert (items["models.local"]["new"], items["quotas"]["new"]) == (1, 1)


def test_a_folder_that_is_none_of_theirs_is_refused(home: Supervised, tmp_path: Path) -> None:
    for folder in (tmp_path / "missing", tmp_path):
        done = home.osrc("import", str(folder))
        assert done.returncode == 1
        assert b"try: osrc import DIR" in done.stderr
