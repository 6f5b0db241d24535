"""The budget book: many at once never find the same money, what is over counts once, and a run that nears its end is ended."""

import json
import threading

import pytest
from fakes.state import NOW, job_id, record
from outsourcerer.actors.budget_book import BudgetBook, reckon
from outsourcerer.actors.model_book import LISTING, ModelBook
from outsourcerer.lanes.evidence import Evidence
from outsourcerer.messages.facts import JobAccepted, JobEnded, JobSpawned
from outsourcerer.messages.job import Cost, ExitStatus, TokenUsage
from outsourcerer.messages.refusals import RefusalCode
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.home import Home
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

METERED = Cost(kind="metered")


@pytest.fixture
def home(tmp_path):
    made = Home(tmp_path / "home")
    made.preflight()
    row = {"id": "vendor/m", "pricing": {"prompt": "0.000001", "completion": "0.00001"}}
    (made.root / LISTING).write_text(json.dumps({"data": [row]}))
    Store.open(made.database, now=NOW).close()
    return made


@pytest.fixture
def book(home):
    return BudgetBook(home, ModelBook(home), lambda: NOW)


def priced(**budget):
    return Settings.load({f"OSRC_BUDGET_{name.upper()}": str(usd) for name, usd in budget.items()}, None)


def used(output):
    return Evidence(model="vendor/m", usage=TokenUsage(input=0, output=output))


def test_a_wave_does_not_find_the_same_money(book):
    taken = []
    gate = threading.Barrier(16)

    def want(number):
        gate.wait()
        if book.admit(str(number), "metered", "vendor/m", "", priced(day=0.1)) is None:
            taken.append(number)

    threads = [threading.Thread(target=want, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 5  # each is estimated at 2,000 tokens of 0.00001 USD
    refused = book.admit("late", "metered", "vendor/m", "", priced(day=0.1))
    assert refused.code is RefusalCode.BUDGET_SPENT
    assert "~$0.10 of $0.10 for today" in refused.message
    book.drop(str(taken[0]))
    assert book.admit("late", "metered", "vendor/m", "", priced(day=0.1)) is None


@pytest.mark.parametrize("paid", ["plan", "free"])
def test_what_costs_no_cash_is_never_refused(book, paid):
    assert book.admit("x", paid, "vendor/m", "", priced(day=0, job=0)) is None


def test_a_run_of_unknown_price_is_refused_only_where_all_is_spent(book):
    assert book.admit("x", "unknown", "else", "", priced(day=0.01)) is None
    assert book.admit("y", "unknown", "else", "", priced(day=0)) is not None


def test_what_is_over_is_read_from_the_ledger(home, book):
    store = Store.open(home.database, now=NOW)
    life = [
        JobAccepted(job_id=job_id(1), record=record(1, attempt=1, cost=METERED)),
        JobSpawned(job_id=job_id(1), shim=None, delegate=None),
        JobEnded(
            job_id=job_id(1),
            state=JobState.DONE,
            exit=0,
            exit_status=ExitStatus(code=0),
            cost=Cost(kind="metered", cash_usd=0.09, measured=True),
        ),
    ]
    store.append(life, NOW)
    store.commit()
    store.close()
    assert book.admit("x", "metered", "vendor/m", "", priced(day=0.1)) is not None
    assert book.admit("x", "metered", "vendor/m", "", priced(day=0.12)) is None
    tomorrow = BudgetBook(home, ModelBook(home), lambda: NOW + 86400)
    assert tomorrow.admit("x", "metered", "vendor/m", "", priced(day=0.1)) is None


def test_a_run_is_ended_before_it_passes_its_budget(book):
    one = record(1, cost=METERED, windows={"budget_job": 0.1})
    assert book.spend(one, used(4000)) is None
    assert book.spend(one, used(4000)) is None, "nothing more was used"
    said = book.spend(one, used(8000))
    assert said == "~$0.08 of $0.10 for a job spent, and one more step would pass it"
    assert book.spend(one, used(50000)) == "~$0.50 of $0.10 for a job spent", "it is past it"


def test_what_others_use_counts_for_the_day(book):
    terms = {"cost": METERED, "windows": {"budget_day": 0.1}}
    first, second = record(1, **terms), record(2, **terms)
    assert book.spend(first, used(4000)) is None
    assert book.spend(second, used(3000)) is None
    assert book.spend(second, used(5000)) is not None
    book.drop(first.job_id)
    assert book.spend(second, used(5500)) is None


def test_a_plan_is_not_held_to_a_budget(book):
    one = record(1, cost=Cost(kind="plan"), windows={"budget_job": 0.0, "budget_day": 0.0})
    assert book.spend(one, used(10**9)) is None


def test_where_a_job_is_bounded_so_much_is_kept_for_each(book):
    """First steps of a wave can't pass the day together, whatever they turn out to cost."""
    terms = priced(day=0.25, job=0.1)
    assert book.admit("1", "metered", "vendor/m", "", terms) is None
    assert book.admit("2", "metered", "unpriced", "", terms) is None
    refused = book.admit("3", "metered", "vendor/m", "", terms)
    assert "~$0.20 of $0.25 for today is spent or kept for what runs, and a job may spend $0.10" in refused.message
    book.rename("1", job_id(1))
    one = record(1, cost=METERED, windows={"budget_day": 0.25, "budget_job": 0.1})
    assert book.spend(one, used(4000)) is None, "what is kept for another is not taken from this one"
    book.drop(job_id(1))
    assert book.admit("3", "metered", "vendor/m", "", terms) is None


def test_a_wave_is_weighed_as_it_would_be_admitted_and_nothing_is_held(book):
    weigh = book.weighing()
    found = [weigh("metered", "vendor/m", "", priced(day=0.1)) for _ in range(7)]
    assert [one is None for one in found] == [True] * 5 + [False] * 2
    assert "of $0.10 for today" in found[5]
    assert weigh("plan", "vendor/m", "", priced(day=0)) is None
    assert book.weighing()("metered", "vendor/m", "", priced(day=0.1)) is None
    assert "a job may spend" in book.weighing()("metered", "vendor/m", "", priced(job=0.01))
    assert book.admit("x", "metered", "vendor/m", "", priced(day=0.02)) is None


def test_a_turn_that_goes_on_is_held_to_its_budget_by_what_was_metered(home, book):
    listed = {"id": "anthropic/claude-opus-5.5", "pricing": {"prompt": "0.00001", "completion": "0.00002"}}
    (home.root / LISTING).write_text(json.dumps({"data": [listed]}))
    known = record(1, lane="claude", model="opus", cost=METERED, windows={"budget_job": 0.1})
    steps = [{"claude-opus-5-5": TokenUsage(input=3000 * number, output=0)} for number in range(1, 5)]
    found = [book.spend(known, Evidence(metered=tuple(step.items()))) for step in steps]
    assert [one is None for one in found] == [True, True, False, False]
    assert "~$0.09 of $0.10 for a job spent" in found[2]
    unpriced = Evidence(metered=((*steps[0].items(), ("else", TokenUsage(input=1, output=1)))))
    assert reckon(ModelBook(home), known, unpriced) is None
    ended = Evidence(metered=tuple(steps[3].items()), usage=TokenUsage(input=1, output=0), cash_usd=0.5)
    assert reckon(ModelBook(home), known, ended) == 0.5


@pytest.mark.parametrize(
    ("model", "lane", "price"),
    [
        ("claude-opus-4-5-20251101", "claude", 1e-6),
        ("claude-opus-4-5[1m]", "claude", 1e-6),
        ("claude-opus-4-5", "droid", None),
        ("anthropic/claude-opus-4.5", "droid", 1e-6),
        ("gpt-5", "codex", None),
        ("gpt-5", "claude", None),
        (None, "claude", None),
    ],
)
def test_a_vendors_own_name_is_priced_as_the_vendor_is_listed(home, model, lane, price):
    rows = [
        {"id": "anthropic/claude-opus-4.5", "pricing": {"prompt": "0.000001"}},
        {"id": "anthropic/claude-opus-4.5:free", "pricing": {"prompt": "0"}},
        {"id": "other/claude-opus-4.5", "pricing": {"prompt": "9"}},
        {"id": "openai/gpt-5", "pricing": {"prompt": "1"}},
        {"id": "openai/gpt-5-2026-01-01", "pricing": {"prompt": "2"}},
    ]
    (home.root / LISTING).write_text(json.dumps({"data": rows}))
    found = ModelBook(home).priced(model, lane)
    assert (found and found.prompt) == price


def test_a_run_that_an_earlier_supervisor_admitted_is_not_ended_for_what_it_had_used_before(book):
    one = record(1, cost=METERED, windows={"budget_job": 0.1})
    assert book.spend(one, used(3000), live=False) is None
    assert book.spend(one, used(7000), live=False) is None, "read again in large pieces"
    assert book.spend(one, used(8000)) is None
    assert book.spend(one, used(9500)) is not None
    past = record(2, cost=METERED, windows={"budget_job": 0.1})
    assert "~$0.11 of $0.10" in book.spend(past, used(11000), live=False)
