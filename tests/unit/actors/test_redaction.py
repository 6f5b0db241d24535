"""Nothing that we write holds a secret: known values and known forms are taken out of facts, logs and answers."""

import json
import logging
import random
from pathlib import Path

import pytest
from fakes.secret_corpus import SECRETS
from outsourcerer.actors import redaction
from outsourcerer.actors.job_output import EventLog
from outsourcerer.actors.redaction import CleanFormatter, clean, clean_answer, clean_fact, named_so, remember
from outsourcerer.messages.facts import ChildCrashed, JobEnded, JobProgressed, JobRemoved
from outsourcerer.messages.job import Progress
from outsourcerer.messages.lane_events import Spoke
from outsourcerer.messages.vocabulary import JobState

JOB = "20260101-000000-0123456789ab"
TOKEN = SECRETS["github classic"](random.Random(1))


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_memory", redaction._Memory())


def test_a_fact_whose_words_hold_none_is_itself():
    fact = JobProgressed(job_id=JOB, progress=Progress(last_marker="2/5 tests of the parser", reads=3))
    assert clean_fact(fact) is fact
    assert clean_fact(removed := JobRemoved(job_id=JOB)) is removed


def test_the_words_of_a_fact_are_cleaned_however_deep_and_its_values_stay():
    ended = JobEnded(
        job_id=JOB,
        state=JobState.FAILED,
        exit=1,
        reason=f"it said {TOKEN}",
        note=f"see https://x:{TOKEN}@example.org",
        progress=Progress(last_marker=f"uses {TOKEN}", reads=2),
        conversation="0f1e2d3c-aaaa-bbbb-cccc-0123456789ab",
    )
    cleaned = clean_fact(ended)
    assert TOKEN not in cleaned.model_dump_json()
    assert (cleaned.reason, cleaned.progress.reads) == ("it said [redacted:github-token]", 2)
    assert cleaned.conversation == ended.conversation
    assert TOKEN not in clean_fact(ChildCrashed(child="job", error=f"ValueError({TOKEN!r})", restarted=True)).error


def test_values_that_were_handed_over_are_found_whatever_their_form():
    assert clean("the pass phrase is plain-words-9") == "the pass phrase is plain-words-9"
    remember(["plain-words-9"])
    assert clean("the pass phrase is plain-words-9") == "the pass phrase is [redacted:known]"
    remember(f"filler-{number:04}" for number in range(2 * redaction.KEPT))
    assert clean("plain-words-9") == "plain-words-9"
    assert clean("filler-0511") == "[redacted:known]"


def test_which_variables_of_an_environment_are_secrets():
    environment = {
        "OPENAI_API_KEY": "abcdef123456",
        "MY_TOKEN": "q1w2e3r4t5y6",
        "DB_PASSWORD": "s3cretenough",
        "AWS_SECRET_ACCESS_KEY": "aaaa1111bbbb2222",
        "MAX_OUTPUT_TOKENS": "128000",
        "SSH_AUTH_SOCK": "/run/user/1000/agent.123",
        "KEYBOARD": "layout-us-intl-2",
        "TOKENIZERS_PARALLELISM": "false",
        "SHORT_TOKEN": "a1",
        "PATH": "/usr/bin",
    }
    assert set(named_so(environment)) == {"abcdef123456", "q1w2e3r4t5y6", "s3cretenough", "aaaa1111bbbb2222"}


def test_an_answer_loses_secrets_and_keeps_samples():
    answer = f"Use {TOKEN}; locally postgres://postgres:postgres@localhost/app.\n".encode()
    kept, hidden = clean_answer(answer)
    assert kept == b"Use [redacted:github-token]; locally postgres://postgres:postgres@localhost/app.\n"
    assert hidden == 1


def test_event_logs_stay_json(tmp_path: Path):
    key = SECRETS["rsa private key"](random.Random(2))
    log = EventLog(tmp_path / "events.jsonl")
    log.write([Spoke(text=f"first {TOKEN}"), Spoke(text=f"it is\n{key}\nindeed"), Spoke(text="last")])
    log.close()
    texts = [json.loads(line)["text"] for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert texts[0] == "first [redacted:github-token]"
    assert texts[1].startswith("it is\n[redacted:private-key]")
    assert key.split("\n")[1] not in texts[1]
    assert texts[2] == "last"


def test_logs_and_their_traces_are_clean():
    formatter = CleanFormatter("%(levelname)s %(message)s")
    try:
        {}[TOKEN]
    except KeyError:
        record = logging.getLogger("x").makeRecord("x", logging.ERROR, "f", 1, "sent %s", (TOKEN,), None)
        import sys  # noqa: PLC0415  only here

        record.exc_info = sys.exc_info()
    line = formatter.format(record)
    assert TOKEN not in line
    assert line.startswith("ERROR sent [redacted:github-token]\nTraceback")
