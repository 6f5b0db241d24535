"""The slow half of a loop, without a supervisor: what a check is blamed for, and what each delegate is told."""

import os
import sys
import threading
from types import SimpleNamespace

import pytest
from fakes.clock import FakeClock
from fakes.repos import repository, run_git
from fakes.state import scratch_home
from outsourcerer.actors.kept_request import Requests, wire
from outsourcerer.actors.loop_folder import PLAN, RUBRIC, LoopFolder
from outsourcerer.actors.loop_work import LoopWork
from outsourcerer.messages.job import Cost, JobRecord
from outsourcerer.messages.loop import LoopRecord, LoopStep, LoopTerms
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.job_folder import JobFolder
from outsourcerer.state.store import Store

LOOP = "loop-20261130-010203-0123456789ab"


def job_id(number):
    return f"20261130-010203-{number:012x}"


class Bench:
    """A loop's folder, a project, and jobs that have answered."""

    def __init__(self, folder):
        self.home = scratch_home(folder)
        self.project = folder / "project"
        self.project.mkdir()
        self.folder = LoopFolder.of(self.home, LOOP)
        self.folder.create(
            "the task", {"verb": "edit", "cwd": str(self.project), "environment": wire(dict(os.environ))}
        )
        services = SimpleNamespace(home=self.home, clock=FakeClock(), requests=Requests(), umask=0o022)
        self.work = LoopWork(services, None, None)
        Store.open(self.home.database, now=1.0).close()

    def record(self, *steps, **terms):
        return LoopRecord(
            loop_id=LOOP,
            terms=LoopTerms(**{"shape": "verify", "check": "sh check.sh", **terms}),
            limits={},
            verb="edit",
            cwd=str(self.project),
            steps=tuple(steps),
            accepted_at=1.0,
            segment_began=1.0,
        )

    def check(self, number, lap=1):
        step = LoopStep(number=number, role="check", lap=lap, began=1.0)
        return self.work.check(self.record(), step, threading.Event()).step

    def answers(self, number, text):
        self.home.job_dir(job_id(number)).mkdir(parents=True)
        (self.home.job_dir(job_id(number)) / "last.txt").write_text(text)

    def told(self, record, role, **more):
        step = LoopStep(number=len(record.steps) + 1, role=role, lap=1, began=1.0, **more)
        return self.work.words.prompt(record, step, self.folder)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def did(number, role, lap=1, state="done", **more):
    given = {"job_id": job_id(number), "began": 1.0, "ended": 2.0, **more}
    return LoopStep(number=number, role=role, lap=lap, state=state, **given)


def ended(number, **more):
    return JobRecord(
        job_id=job_id(number),
        lane="fake",
        vehicle="fake",
        provider="fake",
        verb="edit",
        posture="MUTATING",
        accepted_at=1.0,
        started=2.0,
        ended=5.0,
        attempt=1,
        **{"cwd": "/w", "state": JobState.DONE, **more},
    )


@pytest.mark.skipif(sys.platform != "linux", reason="a check's processes are looked at through /proc")
def test_what_a_check_changes_itself_is_blamed_on_nobody(bench):
    script = bench.project / "check.sh"
    script.write_text("echo '# seen' >> check.sh\nexit 1\n")
    record = bench.record()
    bench.work._guard(record, bench.folder)
    assert bench.check(1).state == "failed"
    builds = did(2, "build")
    assert bench.work.settle(record, builds, ended(2)).step.changed == ()
    script.write_text("exit 0\n")
    assert bench.work.settle(record, builds, ended(2)).step.changed == ("check.sh",)
    assert bench.check(3).state == "passed"
    assert bench.work.settle(record, builds, ended(2)).step.changed == ("check.sh",)


@pytest.mark.skipif(sys.platform != "linux", reason="as above")
def test_a_check_sees_no_secret_of_the_environment(bench):
    os.environ["LOOP_TEST_API_KEY"] = "k" * 20
    try:
        (bench.project / "check.sh").write_text("env; exit 1\n")
        bench.work.services.requests.keep(LOOP, wire(dict(os.environ)))
        bench.check(1)
    finally:
        del os.environ["LOOP_TEST_API_KEY"]
    printed = (bench.folder.check(1) / "output.log").read_text()
    assert "PATH=" in printed
    assert "LOOP_TEST_API_KEY" not in printed


def test_what_a_job_came_to(bench):
    bench.answers(1, "I did\nit all")
    cost = Cost(kind="metered", cash_usd=0.25, measured=True)
    step = bench.work.settle(bench.record(check=None, shape="sweep"), did(1, "find"), ended(1, cost=cost)).step
    assert (step.state, step.seconds, step.detail, step.found) == ("done", 3.0, "it all", None)
    assert (step.cash_usd, step.measured, step.unknown) == (0.25, True, 0)
    unknown = bench.work.settle(bench.record(), did(1, "build"), ended(1, cost=Cost(kind="metered"))).step
    assert (unknown.cash_usd, unknown.unknown) == (None, 1)
    planned = bench.work.settle(bench.record(), did(1, "build"), ended(1, cost=Cost(kind="plan", plan="P"))).step
    assert (planned.plan, planned.plan_used) == ("P", None)
    gone = bench.work.settle(bench.record(), did(1, "build"), None).step
    assert (gone.state, gone.detail) == ("canceled", "it was removed")


@pytest.mark.parametrize(
    ("role", "answer", "field", "value"),
    [
        ("judge", "SCORE: 40", "score", 40.0),
        ("advise", "VERDICT: NOT AS PLANNED", "agrees", False),
        ("find", "FINDING: a\nFINDING: b", "found", 2),
        ("find", "\x00\xff", "found", None),
    ],
)
def test_answers_are_read_in_the_words_of_their_role(bench, role, answer, field, value):
    bench.answers(1, answer)
    assert getattr(bench.work.settle(bench.record(), did(1, role), ended(1)).step, field) == value


def test_what_everybody_is_told(bench):
    for number, text in enumerate(("first plan", "second plan", "the plan", "my answer", "too long\nSCORE: 5"), 1):
        bench.answers(number, text)
    bench.folder.write(RUBRIC, "be brief")
    bench.folder.write(PLAN, "the plan")
    seats = [did(1, "debate", 0, who=0, round=1), did(2, "debate", 0, who=1, round=1)]
    council = bench.record(*seats, shape="council", models=("a", "b"), rounds=1, judge="j")
    second = bench.told(council, "debate", who=1, round=2)
    assert ("first plan" in second, "second plan" in second) == (True, False)
    assert "second plan" in bench.told(council, "decide")
    assert "the plan" in bench.told(council, "build")

    writing = bench.record(
        did(1, "write", job_id=job_id(4)), did(2, "judge", score=5.0, job_id=job_id(5)), shape="optimize", judge="j"
    )
    told = bench.told(writing, "write")
    assert [word in told for word in ("be brief", "my answer", "too long")] == [True] * 3
    assert "my answer" in bench.told(writing, "judge")

    advised = bench.record(did(1, "build"), did(2, "advise", agrees=False), shape="council", models=("a", "b"))
    assert "second plan" in bench.told(advised, "build")


def test_an_advisor_sees_what_changed_and_what_is_new(bench):
    repository(bench.project, files={"a.txt": "one\n"})
    base = run_git(bench.project, "rev-parse", "HEAD")
    (bench.project / "a.txt").write_text("two\n")
    (bench.project / "new.txt").write_text("x" * 9000)
    os.mkfifo(bench.project / "pipe")
    record = bench.record().model_copy(update={"base": base})
    told = bench.told(record, "advise")
    assert "-one\n+two" in told
    assert "New file new.txt:\nxxx" in told
    assert "the rest is left out" in told
    assert "no commit to compare with" in bench.told(bench.record(), "advise")


@pytest.mark.skipif(sys.platform != "linux", reason="as above")
def test_a_folder_that_leads_elsewhere_is_not_worked_in(bench, tmp_path):
    (bench.project / "check.sh").write_text("exit 1\n")
    record = bench.record().model_copy(update={"real": os.path.realpath(bench.project)})
    step = LoopStep(number=1, role="check", lap=0, began=1.0)
    assert bench.work.check(record, step, threading.Event()).step.state == "failed"
    bench.project.rename(tmp_path / "moved")
    bench.project.symlink_to(tmp_path / "moved")
    found = bench.work.check(record, step.model_copy(update={"number": 2}), threading.Event()).step
    assert (found.state, "leads elsewhere" in found.detail) == ("not_run", True)
    build = LoopStep(number=3, role="build", lap=1, began=1.0, job_id=job_id(3))
    begun = JobFolder.create(bench.home, job_id(3))  # by a supervisor that was killed: the step keeps its id
    refused = bench.work.launch(record, build).refused
    assert (refused.state, "leads elsewhere" in refused.detail) == ("refused", True)
    begun.file("claim.1").touch()
    assert bench.work.launch(record, build).renamed not in (None, job_id(3)), "it is somebody else's"
