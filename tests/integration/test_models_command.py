"""``osrc models`` and what the person's own rows, prices and denylist do to a job's plan."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakes.engine_clis import install
from fakes.model_server import ModelServer
from fakes.osrc_process import osrc, parsed
from fakes.supervised import Supervised

FAKE_AGY = Path(__file__).parents[1] / "fakes" / "fake_agy.py"

CATALOGUE = {
    "data": [
        {"id": "z-ai/glm-5.2", "context_length": 200000, "pricing": {"prompt": "0.0000006", "completion": "0.0000022"}},
        {"id": "v/dear", "pricing": {"prompt": "0.00001", "completion": "0.00005"}},
        {"id": "v/gift", "pricing": {"prompt": "0", "completion": "0"}},
    ]
}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A state home without any declared lane; the first plan that is asked for starts its supervisor."""
    with Supervised(tmp_path) as made:
        shutil.rmtree(made.root / "lanes.d")
        yield made.root


def models(home: Path, *words: str, **environ: str) -> tuple[dict[str, Any], int]:
    done = osrc(home, "models", "--json", *words, **environ)
    return parsed(done), done.returncode


def plan(home: Path, *words: str, **environ: str) -> dict[str, Any]:
    done = osrc(home, "run", "--dry-run", "--json", *words, "--", "A task.", **environ)
    return parsed(done)


@pytest.fixture
def programs(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "bin"
    install(folder)
    for name in ("claude", "codex"):
        (folder / name).write_text("#!/bin/sh\necho 2.1.332\n")
        (folder / name).chmod(0o755)
    nowhere = {"OSRC_OPENROUTER_URL": "http://127.0.0.1:9"}
    return {"PATH": f"{folder}:/usr/bin:/bin", "OPENROUTER_API_KEY": "sk-or-test", **nowhere}


def test_words_lanes_and_tiers(home: Path) -> None:
    shown, code = models(home)
    assert code == 0
    rows = {(row["word"], row["lane"]): row for row in shown["models"]}
    assert rows["opus", "claude"]["tier"] == "frontier"
    assert rows["glm", "devin"]["model"] == "glm-5.2"
    assert rows["glm", "cc"]["model"] == "z-ai/glm-5.2"
    assert rows["gpt-image", "codex"]["use"] == "image"
    assert shown["catalogue"] == {"models": 0, "fetched_at": None, "path": str(home / "models.json")}


def test_refresh_fetches_prices_and_a_failure_keeps_them(home: Path) -> None:
    with ModelServer([]) as server:
        server.catalogue = CATALOGUE
        shown, code = models(home, "--refresh", OSRC_OPENROUTER_URL=server.url)
        assert code == 0
        [request] = server.requests
        assert (request.path, "authorization" in request.headers) == ("/v1/models", False)
    assert shown["catalogue"]["models"] == 3
    row = next(row for row in shown["models"] if row["model"] == "z-ai/glm-5.2")
    assert (row["prompt_usd_m"], row["completion_usd_m"], row["context"]) == (0.6, 2.2, 200000)
    shown, code = models(home, "--refresh", "dear", OSRC_OPENROUTER_URL="http://127.0.0.1:9")
    assert code == 1
    assert "is kept" in shown["problems"][0]
    assert [row["model"] for row in shown["models"]] == ["v/dear"]
    with ModelServer([]) as server:
        shown, code = models(home, "--refresh", OSRC_OPENROUTER_URL=server.url)  # lists models, without prices
        assert (code, shown["catalogue"]["models"]) == (1, 3)
    shown, code = models(home, "--refresh", OSRC_OPENROUTER_URL="http://example.org")
    assert code == 1
    assert "no address" in shown["problems"][0]


def test_own_rows_win_and_bad_ones_are_reported(home: Path, programs: dict[str, str]) -> None:
    (home / "models.local").write_text("opus|z-ai/glm-5.2|or|mid\nbad row\n")
    shown, _code = models(home, "opus")
    assert shown["models"][0] | {"context": 0} == {
        "word": "opus",
        "model": "z-ai/glm-5.2",
        "lane": "cc",
        "tier": "mid",
        "use": "text",
        "from": "models.local",
        "prompt_usd_m": None,
        "completion_usd_m": None,
        "context": 0,
        "denied": None,
    }
    assert "models.local:2" in shown["problems"][0]
    planned = plan(home, "-m", "opus", **programs)["plan"]
    assert (planned["lane"], planned["model"], planned["tier"]) == ("cc", "z-ai/glm-5.2", "mid")
    error = plan(home, "-m", "bad", **programs)["error"]
    assert "models.local:2" in error["message"]
    assert b"models.local:2" in osrc(home, "doctor", **programs).stdout


def test_a_models_file_that_is_none_is_said(home: Path) -> None:
    (home / "models.local").mkdir()
    shown, code = models(home)
    assert code == 0
    assert "not a regular file" in shown["problems"][0]


def test_prices_decide_a_tier_that_nothing_else_does(home: Path, programs: dict[str, str]) -> None:
    (home / "models.json").write_text(json.dumps(CATALOGUE))
    tiers = {name: plan(home, "-m", name, **programs)["plan"]["tier"] for name in ("v/dear", "v/gift", "v/other")}
    assert tiers == {"v/dear": "frontier", "v/gift": "budget", "v/other": "mid"}
    assert plan(home, "-m", "v/dear", OUTSOURCERER_TIER="raw", **programs)["plan"]["tier"] == "raw"
    assert plan(home, "-m", "v/dear", OSRC_TIER_MID_MAX_USD_M="60", **programs)["plan"]["tier"] == "mid"


def test_the_chain_names_the_default_model(home: Path, programs: dict[str, str]) -> None:
    assert plan(home, "--lane", "cc", **programs)["plan"]["model"] == "z-ai/glm-5.2"
    chained = plan(home, "--lane", "or", OR_OFFLOAD_CHAIN="v/gift,v/dear", **programs)["plan"]
    assert (chained["lane"], chained["model"]) == ("cc", "v/gift")


def test_a_model_of_two_lanes_goes_where_a_program_is(home: Path, programs: dict[str, str]) -> None:
    there = plan(home, "-m", "glm", **programs)["plan"]
    assert (there["lane"], there["model"]) == ("devin", "glm-5.2")
    (Path(programs["PATH"].partition(":")[0]) / "devin").unlink()
    moved = plan(home, "-m", "glm", **programs)["plan"]
    assert (moved["lane"], moved["model"]) == ("cc", "z-ai/glm-5.2")
    assert any("metered" in notice for notice in moved["notices"])


def test_a_denied_model_is_not_taken_and_its_other_lane_is(home: Path, programs: dict[str, str]) -> None:
    error = plan(home, "-m", "v/dear", OSRC_MODEL_DENYLIST="v/*", **programs)["error"]
    assert error["code"] == "denied"
    other = plan(home, "-m", "glm", OSRC_MODEL_DENYLIST="devin:glm-5.2", **programs)["plan"]
    assert other["lane"] == "cc"
    listed = osrc(home, "models", "glm", "--json", OSRC_MODEL_DENYLIST="devin:glm-5.2", **programs)
    by_lane = {row["lane"]: row["denied"] for row in parsed(listed)["models"] if row["word"] == "glm"}
    assert by_lane == {"devin": "devin:glm-5.2", "cc": None}
    error = plan(home, "-m", "glm", OSRC_MODEL_DENYLIST="glm-5.2", **programs)["error"]
    assert error["code"] == "denied"


def test_an_effort_that_was_set_holds_where_none_is_given(home: Path, programs: dict[str, str]) -> None:
    planned = plan(home, "--lane", "cc", OUTSOURCERER_EFFORT="max", **programs)["plan"]
    assert planned["effort"] == "max"
    assert (
        plan(home, "--lane", "cc", "--effort", "low", OUTSOURCERER_EFFORT="max", **programs)["plan"]["effort"] == "low"
    )


def test_a_plan_shows_no_key(home: Path, programs: dict[str, str]) -> None:
    for lane in ("cc", "codexor"):
        planned = plan(home, "--lane", lane, "--effort", "high", **programs)
        assert "sk-or-test" not in json.dumps(planned)
        assert "OpenRouter" in planned["plan"]["cost"]


def test_the_lists_of_agy_and_devin_are_asked_kept_and_used(home: Path, programs: dict[str, str]) -> None:
    """Both programs are stand-ins made from public facts."""
    agy = Path(programs["PATH"].partition(":")[0]) / "agy"
    agy.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I {shlex.quote(str(FAKE_AGY))} "$@"\n')
    agy.chmod(0o755)
    with ModelServer([]) as server:
        server.catalogue = CATALOGUE
        shown, code = models(home, "--refresh", "3.9-flash", **programs | {"OSRC_OPENROUTER_URL": server.url})
    assert code == 0, shown
    assert shown["problems"] == []
    assert shown["live"]["gemini"]["models"][0] == "gemini-3.9-flash-low"
    assert shown["live"]["devin"]["models"] == ["glm-5.2", "swe-1.7", "kimi-k3-high"]
    assert shown["live"]["devin"]["fetched_at"] > 0
    assert [row["from"] for row in shown["models"]] == ["agy", "agy"]
    assert "gemini-3.9-flash" in plan(home, "-m", "gemini-flash", **programs)["plan"]["argv"]
    (Path(programs["PATH"].partition(":")[0]) / "devin").write_text("#!/bin/sh\nexit 1\n")
    again, _code = models(home, "--refresh", **programs)
    assert any("devin gave no list" in problem for problem in again["problems"])
    assert again["live"]["devin"]["models"] == shown["live"]["devin"]["models"]


@pytest.mark.parametrize(("told", "said"), [((10.0, 2.5), 7.5), ((10.0, 10.0), 0.0), (None, None)])
def test_lanes_show_tells_the_credits_that_are_left(
    home: Path, programs: dict[str, str], told: tuple[float, float] | None, said: float | None
) -> None:
    with ModelServer([]) as server:
        server.credits = told
        here = programs | {"OSRC_OPENROUTER_URL": server.url}
        assert parsed(osrc(home, "lanes", "show", "cc", "--json", **here))["credits_usd"] == said
        shown = osrc(home, "lanes", "show", "codexor", **here).stdout.decode()
    words = {7.5: "$7.50 left", 0.0: "used up", None: "unknown"}[said]
    assert words in next(line for line in shown.splitlines() if line.startswith("credits:"))
