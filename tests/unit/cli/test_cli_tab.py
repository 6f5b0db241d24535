"""``osrc tab`` as a process: without a supervisor, from the store alone."""

import csv
import io
import json

import pytest
from fakes.osrc_process import osrc, parsed, shown
from fakes.state import NOW, job_id, record
from outsourcerer.messages.facts import JobAccepted, JobEnded, JobSpawned
from outsourcerer.messages.job import Cost, TokenUsage
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.store import Store

TOKENS = TokenUsage(input=1_000_000, cached_input=0, output=100_000)
LIVES = [
    ("cc", "z-ai/glm-5.2", Cost(kind="metered", cash_usd=0.5, measured=True, tokens=TOKENS)),
    ("cc", "z-ai/glm-5.2", Cost(kind="metered", cash_usd=0.25, tokens=TOKENS)),
    ("cc", "=cmd()", Cost(kind="metered")),
    ("claude", "opus", Cost(kind="plan", plan="Claude", cash_usd=0.0, tokens=TOKENS)),
    ("local", "qwen", Cost(kind="free", cash_usd=0.0, measured=True)),
]


@pytest.fixture
def home(tmp_path):
    place = tmp_path / "home"
    place.mkdir(mode=0o700)
    store = Store.open(place / "state.db", now=NOW)
    for number, (lane, model, cost) in enumerate(LIVES):
        known = record(number, lane=lane, model=model, attempt=1, pool={"claude": "claude"}.get(lane))
        store.append([JobAccepted(job_id=job_id(number), record=known)], NOW)
        store.append([JobSpawned(job_id=job_id(number), shim=None, delegate=None)], NOW)
        store.append([JobEnded(job_id=job_id(number), state=JobState.DONE, exit=0, cost=cost)], NOW + number)
    store.commit()
    store.close()
    return place


def test_the_sums_and_what_is_not_in_them(home):
    found = parsed(osrc(home, "tab", "--json"))
    cash = found["total"]["cash"]
    assert (cash["measured_usd"], cash["estimated_usd"], cash["unknown_runs"]) == (0.5, 0.25, 1)
    assert (cash["total_usd"], cash["exact"]) == (None, False)
    assert (found["total"]["plans"], found["total"]["local_runs"]) == ({"claude": 1}, 1)
    assert found["total"]["tokens"]["unknown_runs"] == 2
    assert {row["lane"]: row["runs"] for row in found["rows"]} == {"cc": 3, "claude": 1, "local": 1}
    saved = found["savings"]
    assert (saved["runs"], saved["left_out_runs"], saved["estimated"]) == (3, 2, True)
    assert saved["there_usd"] == pytest.approx(3 * (5 + 2.5))
    assert saved["saved_usd"] == pytest.approx(22.5 - 0.75)


def test_for_people(home):
    done = osrc(home, "tab", "--by", "model", TZ="UTC")
    said = done.stdout.decode()
    assert "cash: $0.5000 + ~$0.2500 + 1 unknown" in said, shown(done)
    assert "plan claude: 1 run spent its limits ($0 cash)" in said
    assert "against anthropic/claude-opus-4.5 (list price, 2025-11): ~$21.75 less" in said
    assert "free" not in said


def test_csv_is_safe_to_open(home):
    rows = list(csv.DictReader(io.StringIO(osrc(home, "tab", "--csv", "--by", "model").stdout.decode())))
    assert {row["model"] for row in rows} == {"z-ai/glm-5.2", "'=cmd()", "opus", "qwen"}
    assert sum(int(row["runs"]) for row in rows) == 5


def test_a_named_price_is_the_catalogues_or_refused(home):
    bad = osrc(home, "tab", "--against", "no/such", "--json")
    assert bad.returncode == 64, shown(bad)
    assert json.loads(bad.stdout)["error"]["hint"].startswith("osrc models --refresh")
    listed = {"data": [{"id": "no/such", "pricing": {"prompt": "0.000001", "completion": "0.00001"}}]}
    (home / "models.json").write_text(json.dumps(listed))
    saved = parsed(osrc(home, "tab", "--against", "no/such", "--json"))["savings"]
    assert saved["there_usd"] == pytest.approx(6.0)
    assert saved["price_as_of"] == "the catalogue"


def test_nothing_yet_and_no_time(tmp_path):
    assert osrc(tmp_path / "none", "tab").stdout == b"nothing was spent yet\n"
    assert osrc(tmp_path / "none", "tab", "--since", "soon").returncode == 64
    for more in ((), ("--csv",)):
        assert osrc(tmp_path / "none", "tab", "--against", "no/such", *more).returncode == 64
