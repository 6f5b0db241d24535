"""How long advice takes: telling a task's kind, and the whole answer with a full catalogue and warm tables.

python tests/bench/bench_advise.py [--models 10000] [--most 0.150] [--most-kind 0.005]

The tables are read once to warm them; of twenty answers the slowest counts, of each task's kind the best of five.
Exits 1 above ``--most`` seconds for an answer or ``--most-kind`` for a kind.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import show
from fakes.advice_tasks import read_tasks
from outsourcerer.actors.advising import Place, Question, give
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.actors.limit_book import LimitBook
from outsourcerer.actors.model_book import ModelBook
from outsourcerer.lanes.advice.classify import classify
from outsourcerer.messages.facts import JobOutcome
from outsourcerer.state.files import write_private
from outsourcerer.state.home import Home
from outsourcerer.state.ids import new_job_id
from outsourcerer.state.settings import Settings
from outsourcerer.state.store import Store

LONG = ("word ", "a_", "foo(", "a/", "aB", "-", "```x", "until ", "SELECT ", "\u4fee\u590d", " ", "\n")


def furnish(home: Home, models: int) -> None:
    """Fill the caches, and the history with a thousand outcomes."""
    rows = [{"id": f"x/m{n}", "pricing": {"prompt": "0.000001", "completion": "0.000002"}} for n in range(models)]
    scores = [
        {"model_permaslug": f"x/m{n}", "coding_index": n % 80, "intelligence_index": n % 60, "agentic_index": n % 50}
        for n in range(0, models, 10)
    ]
    write_private(home.root / "models.json", json.dumps({"data": rows}).encode())
    write_private(home.root / "benchmarks.json", json.dumps({"data": scores}).encode())
    store = Store.open(home.database, now=time.time())
    for number in range(1000):
        job_id = new_job_id(time.time(), number.to_bytes(6, "big"))
        fact = JobOutcome(
            job_id=job_id, outcome="passed", task_kind="code", project="/r", lane="devin", model="glm-5-3"
        )
        store.append([fact], time.time())
    store.commit()
    store.close()


def machine(folder: Path, models: int) -> Place:
    """Return a place with two lanes that are ready and full tables."""
    home = Home(folder / "home")
    home.preflight()
    furnish(home, models)
    (folder / "bin").mkdir()
    for name in ("claude", "devin"):
        (folder / "bin" / name).write_text("#!/bin/sh\n")
        (folder / "bin" / name).chmod(0o755)
    environment = {"HOME": str(folder), "PATH": str(folder / "bin"), "OPENROUTER_API_KEY": "k" * 20}
    return Place(
        home=home,
        registry=LaneBook(home).registry(),
        models=ModelBook(home),
        environment=environment,
        settings=Settings.load(environment, None),
        limits=LimitBook(home, time.time),
    )


def spent(work: object) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def main() -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(description="Measure advice.")
    parser.add_argument("--models", type=int, default=10_000)
    parser.add_argument("--most", type=float, default=0.150)
    parser.add_argument("--most-kind", type=float, default=0.005)
    given = parser.parse_args()
    texts = [task.text for task in read_tasks()] + [unit * 100_000 for unit in LONG]
    texts.append(" ".join(f"w{number}ord" for number in range(5000)))
    kind = max(min(spent(lambda text=text: classify(text)) for _ in range(5)) for text in texts)
    with tempfile.TemporaryDirectory() as folder:
        place = machine(Path(folder), given.models)
        question = Question(task="fix the crash in src/parser.py when the file is empty", cwd=folder)
        cold = spent(lambda: give(question, place))
        warm = max(spent(lambda: give(question, place)) for _ in range(20))
    full = f"a catalogue of {given.models:,} models"
    held = [
        show("the kind of a task, the slowest of all", kind * 1000, "ms", most=given.most_kind * 1000),
        show(f"advice, warm, {full}", warm * 1000, "ms", most=given.most * 1000, beside=f"cold {cold * 1000:.0f} ms"),
    ]
    return int(not all(held))


if __name__ == "__main__":
    sys.exit(main())
