"""An image of a service in the books: the price that was told, and nothing that nobody told."""

import base64
import math
from types import SimpleNamespace

import pytest
from outsourcerer.actors.budget_book import BudgetBook
from outsourcerer.actors.image_books import ask_budget, row_of
from outsourcerer.actors.model_book import ModelBook
from outsourcerer.cli.commands.image import _asked
from outsourcerer.lanes.pictures import BILLING, Answer
from outsourcerer.messages.history import BudgetAsk, BudgetHasRoom
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.state.home import Home

FAILED = Refused(code=RefusalCode.LANE_NOT_READY, message="no")


@pytest.mark.parametrize(
    ("answered", "spent", "nano", "ok"),
    [
        (Answer(data=b"x", usd=0.04), "measured", 40_000_000, True),
        (Answer(data=b"x", usd=0.0), "measured", 0, True),
        (Answer(data=b"x", usd=None), "unknown", 0, True),
        (Answer(data=b"x", usd=-1.0), "unknown", 0, True),
        (Answer(data=b"x", usd=math.nan), "unknown", 0, True),
        (Answer(data=b"x", usd=1e300), "unknown", 0, True),
        (Answer(usd=0.04, why=FAILED), "measured", 40_000_000, False),
        (Answer(why=FAILED), "unknown", 0, False),
        (FAILED, "unknown", 0, False),
        (None, "unknown", 0, False),
    ],
)
def test_a_row_holds_what_was_told(answered, spent, nano, ok):
    row = row_of("image 0f", "openrouter", "codexor", "v/m", answered, 1e9)
    assert (row.run_id, row.spent, row.cash_nano, row.ok, row.pool) == ("image-0f", spent, nano, ok, "openrouter")


def test_a_key_of_gemini_s_pays_for_its_image_and_no_plan():
    row = row_of("image 0f", "gemini", "gemini", "gemini-2.5-flash-image", Answer(data=b"x", usd=None), 1e9)
    assert (row.pool, row.spent) == ("gemini-api", "unknown")
    assert "key" in BILLING["gemini"].words


def test_a_budget_that_is_used_up_or_no_number_refuses(tmp_path):
    home = Home(tmp_path / "home")
    book = BudgetBook(home, ModelBook(home))

    def asked(text):
        words = base64.b64encode(f"HOME={tmp_path}\0OSRC_BUDGET_DAY={text}".encode()).decode()
        return ask_budget(BudgetAsk(paid="metered", model="v/m", environment=words), book)

    assert asked("1") == BudgetHasRoom()
    assert asked("0").code is RefusalCode.BUDGET_SPENT
    assert isinstance(asked("much"), Refused)
    unread = ask_budget(BudgetAsk(paid="unknown", environment="a"), book)
    assert unread.code is RefusalCode.BAD_REQUEST


def test_the_row_is_there_before_the_service_is_asked():
    rows = []

    def ask(*_):
        assert [(row["spent"], row["ok"]) for row in rows] == [("unknown", False)], "a kill now would leave no row"
        return Answer(data=b"x", usd=0.04)

    reach = SimpleNamespace(request=lambda body: rows.extend(body["runs"]), options=SimpleNamespace(quiet=True))
    plan = SimpleNamespace(backend="openrouter", lane=SimpleNamespace(name="codexor"), model="v/m")
    permit = SimpleNamespace(subject="image 0f", disclosure=())
    _, told = _asked(reach, SimpleNamespace(ask=ask), permit, plan, "a cat", None)
    assert [(row["run_id"], row["spent"], row["ok"]) for row in rows] == [
        ("image-0f", "unknown", False),
        ("image-0f", "measured", True),
    ]
    assert told["cost"] == {"cash_usd": 0.04, "measured": True}
