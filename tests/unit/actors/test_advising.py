"""Advice on a real home: whatever is missing or broken there, advice comes, says what it lacked, and spends nothing."""

import json
import os
from datetime import UTC, datetime

import pytest
from fakes.state import NOW, job_id, scratch_home
from outsourcerer.actors.advising import Place, Question, chosen, give
from outsourcerer.actors.choosing import choose
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.actors.limit_book import LimitBook
from outsourcerer.actors.model_book import BENCHMARKS, LISTING, ModelBook
from outsourcerer.messages.facts import JobOutcome, LaneDown
from outsourcerer.messages.job import JobRequest
from outsourcerer.messages.session import GaugeWindow, LimitsObserved
from outsourcerer.state.driving_mode import forget_mode, mode_file, read_mode, write_mode
from outsourcerer.state.files import write_private
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

CODE = "add pagination to GET /api/v2/orders (limit, cursor)"


class Machine:
    def __init__(self, folder, *programs):
        self.home = scratch_home(folder)
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir()
        for program in programs:
            (self.bin / program).write_text("#!/bin/sh\nexit 1\n")
            (self.bin / program).chmod(0o755)
        self.sign_in = folder / "user" / ".claude.json"
        self.sign_in.parent.mkdir()
        self.sign_in.touch()
        self.environment = {"HOME": str(folder / "user"), "PATH": str(self.bin)}

    def facts(self, *facts, at=NOW):
        store = Store.open(self.home.database, now=at)
        store.append(facts, at)
        store.commit()
        store.close()

    def place(self, **more):
        environment = {**self.environment, **more}
        return Place(
            home=self.home,
            registry=LaneBook(self.home).registry(),
            models=ModelBook(self.home),
            environment=environment,
            settings=Settings.load(environment, None),
            limits=LimitBook(self.home, lambda: NOW),
        )

    def give(self, task=CODE, *, cash=True, **more):
        question = Question(task=task, cwd=str(self.folder), cash=cash)
        return give(question, self.place(**more), NOW)

    def chosen(self, **more):
        request = {"task": CODE, "cwd": str(self.folder), **more.pop("request", {})}
        found, said = chosen(JobRequest(**request), CODE, self.place(**more))
        return (found and found.lane), (*said, *(found.notices if found else ()))


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path, "claude", "devin")


def outcome(number, word, **changes):
    given = {"task_kind": "code", "project": None, "lane": "devin", "model": "glm-5-3", **changes}
    return JobOutcome(job_id=job_id(number), outcome=word, **given)


def test_an_empty_home_gives_advice_and_says_what_it_lacked(machine):
    found = machine.give()
    assert found.advice.pick.candidate.lane == "devin"
    assert any("no benchmark scores" in note for note in found.notes)
    assert any("never fetched" in note for note in found.notes)
    assert any("not known" in note for note in found.notes)
    assert not list(machine.home.root.glob("*.json")), "nothing is fetched, nothing is written"


def test_nothing_ready_is_said(tmp_path):
    found = Machine(tmp_path).give(OSRC_LOCAL_URL="http://127.0.0.1:9/v1")
    assert found.advice.pick is None
    assert "no lane that is ready" in found.view("t")["reason"]


def test_a_lane_seen_without_a_sign_in_comes_last_and_is_never_chosen(machine):
    write_mode(machine.home, "auto")
    away = {"OSRC_MODEL_DENYLIST": "devin:*", "OSRC_LOCAL_URL": "http://127.0.0.1:9/v1"}
    assert machine.chosen(**away)[0] == "claude"
    machine.sign_in.unlink()
    advice = machine.give(**away).advice
    assert advice.pick is None
    why = {row.why_not for row in advice.ranked if row.candidate.lane == "claude"}
    assert len(why) == 1
    assert "no sign-in found; claude  (and sign in once)" in why.pop()
    lane, said = machine.chosen(**away)
    assert lane is None
    assert "no lane that is ready" in said[0]


@pytest.mark.parametrize("signed", [True, False])
def test_a_lane_tried_for_want_of_one_that_is_signed_in_is_named_as_such(machine, signed):
    (machine.bin / "devin").unlink()
    if not signed:
        machine.sign_in.unlink()
    place = machine.place(OSRC_LOCAL_URL="http://127.0.0.1:9/v1")
    request = JobRequest(task=CODE, cwd=str(machine.folder))
    found = choose(request, place.registry, place.models, place.environment, place.settings)
    assert found.lane == "claude"
    said = " ".join(found.notices)
    assert ("no lane is seen to be signed in here: claude is tried all the same" in said) is not signed
    assert ("to sign in: claude (and sign in once)" in said) is not signed


def test_what_is_signed_in_stands_before_a_better_one_that_is_not(machine):
    machine.sign_in.unlink()
    lanes = [row.candidate.lane for row in machine.give().advice.ranked]
    assert set(lanes[: lanes.count("devin")]) == {"devin"}
    assert machine.give().advice.pick.candidate.lane == "devin"


def test_a_lane_whose_own_command_says_signed_out_is_not_advised(machine):
    (machine.bin / "devin").write_text("#!/bin/sh\necho Not logged in\n")
    found = machine.give().advice
    assert found.pick.candidate.lane == "claude"
    assert all("no sign-in found" in row.why_not for row in found.ranked if row.candidate.lane == "devin")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff" * 99, b'{"data": 7}', b'{"data": [7, {}, null]}', b"[" * 200_000]
)
@pytest.mark.parametrize("name", [LISTING, BENCHMARKS])
def test_a_broken_cache_is_as_if_it_were_not_there(machine, name, content):
    write_private(machine.home.root / name, content)
    assert machine.give().advice.pick is not None


@pytest.mark.parametrize("name", [LISTING, BENCHMARKS])
def test_a_pipe_in_place_of_a_cache_keeps_nobody_waiting(machine, name):
    os.mkfifo(machine.home.root / name, 0o600)
    assert machine.give().advice.pick is not None


def test_ten_thousand_models(machine):
    rows = [
        {"id": f"x/m{number}", "pricing": {"prompt": "0.000001", "completion": "0.000002"}} for number in range(10_000)
    ]
    scores = [
        {
            "model_permaslug": f"x/m{number}",
            "coding_index": number % 80,
            "intelligence_index": 40,
            "agentic_index": None,
        }
        for number in range(0, 10_000, 10)
    ]
    write_private(machine.home.root / LISTING, json.dumps({"data": rows}).encode())
    write_private(machine.home.root / BENCHMARKS, json.dumps({"data": scores}).encode())
    found = machine.give(OPENROUTER_API_KEY="k" * 20)
    assert sum(row.candidate.listed for row in found.advice.ranked) == 25
    assert any("were measured" in note for note in found.notes)
    assert machine.give(OSRC_ADVISE_DYNAMIC_MAX="0").advice.coverage[1] < found.advice.coverage[1]


def test_marks_denials_and_pressure_count(machine):
    down = LaneDown(key="pool:devin", lane="devin", until=NOW + 600, reason="spent", evidence="confirmed")
    assert machine.give(OSRC_MODEL_DENYLIST="glm*,kimi*,swe*,deepseek*").advice.pick.candidate.lane == "claude"
    machine.facts(down)
    found = machine.give()
    assert found.advice.pick.candidate.lane == "claude"
    assert any(row.why_not and row.why_not.startswith("down until") for row in found.advice.ranked)


def test_what_a_session_told_of_a_plan_counts_while_it_is_fresh(machine):
    def seen(share, resets_at=NOW + 9000):
        windows = (GaugeWindow(name="5h", utilization=share, resets_at=resets_at),)
        machine.facts(LimitsObserved(session_id=job_id(9), lane="claude", pool="claude", windows=windows), at=NOW)

    def cut(**more):
        ranked = machine.give(**more).advice.ranked
        return {round(row.haircut, 3) for row in ranked if row.candidate.lane == "claude"}

    assert cut() == {1.0}
    seen(1.0)
    assert cut() == {0.9}
    assert cut(OSRC_CC_PRESSURE="75") == {0.95}
    assert cut(OSRC_CC_PRESSURE="75", OSRC_ADVISE_CONSERVE="0") == {1.0}
    assert cut(OSRC_CONSERVE_THRESHOLD="80", OSRC_CC_PRESSURE="75") == {1.0}
    seen(0.8, NOW - 1)
    assert cut() == {1.0}, "a window that was reset since is unknown"


def test_what_codex_wrote_down_of_its_plan_counts_too(machine):
    day = machine.folder / "user" / ".codex" / "sessions" / "2026" / "11" / "18"
    day.mkdir(parents=True)

    def cut():
        ranked = machine.give().advice.ranked
        return {round(row.haircut, 3) for row in ranked if row.candidate.lane == "codex"}

    assert cut() == {1.0}
    window = {"used_percent": 100.0, "window_minutes": 300, "resets_at": int(NOW + 9000)}
    at = datetime.fromtimestamp(NOW, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    payload = {"type": "token_count", "rate_limits": {"primary": window, "secondary": None}}
    line = {"timestamp": at, "type": "event_msg", "payload": payload}
    (day / "rollout-2026-11-18T10-00-00-0.jsonl").write_text(json.dumps(line) + "\n")
    assert cut() == {0.9}


def test_own_outcomes_move_the_choice(machine):
    before = machine.give().advice.pick
    machine.facts(*(outcome(number, "failed", model=before.candidate.key) for number in range(9)))
    after = machine.give().advice
    assert after.pick.candidate.key != before.candidate.key
    learned = next(row for row in after.ranked if row.candidate.key == before.candidate.key)
    assert (learned.past.scope, learned.past.multiplier < 0.9) == ("everywhere", True)


def test_a_job_goes_by_advice_only_as_the_mode_says(machine):
    assert machine.chosen() == (None, ())
    write_mode(machine.home, "manual")
    assert machine.chosen() == (None, ())
    write_mode(machine.home, "hybrid")
    lane, said = machine.chosen()
    assert lane is None
    assert said[0].startswith("[advise] would take ")
    write_mode(machine.home, "auto")
    lane, said = machine.chosen()
    assert lane == "devin"
    assert said[0].startswith("[advise] ")
    assert machine.chosen(OSRC_NO_ADVISE="1") == (None, ())
    assert machine.chosen(request={"no_advise": True}) == (None, ())


@pytest.mark.parametrize(
    "named",
    [
        {"request": {"model": "opus"}},
        {"request": {"lane": "claude"}},
        {"OSRC_MODEL": "opus"},
        {"OSRC_PROVIDER": "claude"},
    ],
)
def test_what_was_named_is_never_replaced(machine, named):
    write_mode(machine.home, "auto")
    assert machine.chosen(**named) == (None, ())


def test_the_setting_follows_advice_whatever_the_mode(machine):
    write_mode(machine.home, "manual")
    assert machine.chosen(OSRC_ADVISE="1")[0] == "devin"


def test_advice_never_spends_cash_unasked(tmp_path):
    machine = Machine(tmp_path, "claude")
    write_mode(machine.home, "auto")
    key = {"OPENROUTER_API_KEY": "k" * 20, "OSRC_LOCAL_URL": "http://127.0.0.1:9/v1"}
    assert machine.give(cash=True, **key).advice.pick.candidate.lane == "cc"
    assert machine.chosen(**key)[0] == "claude"
    assert machine.give(cash=True, OSRC_LOCAL_URL=key["OSRC_LOCAL_URL"]).advice.pick.candidate.lane == "claude", (
        "no key"
    )
    assert machine.chosen(OSRC_FAILOVER_CASH_OK="1", **key)[0] == "cc"


def test_a_key_that_pays_makes_a_plans_lane_cost_cash(tmp_path):
    alone = Machine(tmp_path, "claude")
    free = alone.give(cash=False)
    assert free.advice.pick.candidate.purse.kind == "plan"
    keyed = alone.give(cash=False, ANTHROPIC_API_KEY="sk-ant-0123456789abcdef")
    assert keyed.advice.pick is None
    bought = alone.give(ANTHROPIC_API_KEY="sk-ant-0123456789abcdef").advice.pick.candidate
    assert (bought.lane, bought.purse.kind) == ("claude", "metered")


def test_a_mode_is_remembered_whole_and_read_from_anything(machine):
    home = machine.home
    assert read_mode(home) is None
    write_mode(home, "auto")
    assert read_mode(home) == "auto"
    assert mode_file(home).stat().st_mode & 0o777 == 0o600
    for content, mode in (
        (b" Hybrid \n", "hybrid"),
        (b"b", "manual"),
        (b"", None),
        (b"\xff\xfe", None),
        (b"x" * 9999, None),
    ):
        write_private(mode_file(home), content)
        assert read_mode(home) == mode
    assert forget_mode(home)
    assert not forget_mode(home)
    os.mkfifo(mode_file(home))
    assert read_mode(home) is None
