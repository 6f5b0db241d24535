"""What a job cost whose turn failed: its stream tells no use, its rollout does."""

import base64
import json
import os
from types import SimpleNamespace

import pytest
from fakes.state import record
from outsourcerer.actors import job_cost
from outsourcerer.actors.accounts import Accounts
from outsourcerer.actors.job_cost import settle_cost
from outsourcerer.actors.job_meter import tells
from outsourcerer.actors.kept_request import Requests
from outsourcerer.actors.model_book import LISTING, ModelBook
from outsourcerer.lanes.evidence import Evidence
from outsourcerer.lanes.registry import builtin
from outsourcerer.messages.internal import CostSettled
from outsourcerer.messages.job import Cost, TokenUsage
from outsourcerer.state.home import Home
from outsourcerer.state.settings import Settings

THREAD = "019aa0aa-0000-7000-8000-000000000001"
FAILED = Evidence(conversation=THREAD, model="gpt-5.6-sol")


@pytest.fixture
def settle(tmp_path, monkeypatch):
    home = Home(tmp_path / "home")
    home.preflight()
    row = {"id": "openai/gpt-5.6-sol", "pricing": {"prompt": "0.000001", "completion": "0.00001"}}
    (home.root / LISTING).write_text(json.dumps({"data": [row]}))
    day = tmp_path / "codex" / "sessions" / "2026" / "11" / "30"
    day.mkdir(parents=True)
    total = {"input_tokens": 1200, "cached_input_tokens": 200, "output_tokens": 100}
    payload = {"type": "token_count", "info": {"total_token_usage": total}}
    (day / f"rollout-x-{THREAD}.jsonl").write_text(json.dumps({"type": "event_msg", "payload": payload}) + "\n")
    known, requests, told = record(1, lane="codex", cost=Cost(kind="metered")), Requests(), []
    environment = b"CODEX_HOME=" + os.fsencode(tmp_path / "codex")
    requests.keep(known.job_id, base64.b64encode(environment).decode())
    services = SimpleNamespace(
        accounts=Accounts(), requests=requests, models=ModelBook(home), settings=Settings.load({}, None)
    )
    monkeypatch.setattr(job_cost, "in_background", lambda _name, _to, work, otherwise: told.append(work() or otherwise))

    def run(evidence, **changes):
        began = settle_cost(known.model_copy(update=changes), builtin("codex"), evidence, services, None)
        return told if began else None

    return run


def test_a_failed_turn_costs_what_its_rollout_tells(settle):
    (cost,) = settle(FAILED)
    assert (cost.cash_usd, cost.measured) == (pytest.approx(1000e-6 + 200e-6 + 100e-5), False)


def test_where_no_rollout_is_found_the_cost_is_unknown(settle):
    elsewhere = Evidence(conversation=THREAD[:-1], model="gpt-5.6-sol")
    assert settle(elsewhere) == [CostSettled(cash_usd=None, measured=False)]


@pytest.mark.parametrize(
    ("evidence", "changes"),
    [
        (Evidence(), {}),
        (Evidence(conversation=THREAD, usage=TokenUsage(input=1, output=1)), {}),
        (FAILED, {"cost": Cost(kind="plan")}),
        (FAILED, {"continues": "20261130-000000-000000000001"}),
    ],
)
def test_nothing_is_read_where_it_could_not_be_told(settle, evidence, changes):
    assert settle(evidence, **changes) is None
    assert not tells(record(1, cost=Cost(kind="metered")), builtin("claude"), FAILED)
