"""What a second opinion comes to, read out of its steps, its jobs and their answers; and what its judge is told."""

from types import SimpleNamespace

import pytest
from fakes.state import scratch_home
from outsourcerer.actors.loop_folder import VERDICT, LoopFolder
from outsourcerer.actors.loop_opinion import LoopOpinion
from outsourcerer.messages.facts import JobAccepted
from outsourcerer.messages.job import JobRecord
from outsourcerer.messages.loop import LoopRecord, LoopStep, LoopTerms, Role
from outsourcerer.state.store import Store

LOOP = "loop-20261130-010203-0123456789ab"
RULE = 9
NO = "I'm sorry, but I can't help with that."


def job_id(number):
    return f"20261130-010203-{number:012x}"


class Bench:
    """A question, and jobs that have answered it."""

    def __init__(self, folder):
        self.home = scratch_home(folder)
        self.folder = LoopFolder.of(self.home, LOOP)
        self.folder.create("What is 6 times 7?", {})
        self.store = Store.open(self.home.database, now=1.0)
        self.opinion = LoopOpinion(SimpleNamespace(home=self.home))
        self.steps = []
        self.segment = 0

    def answers(self, role, number, text, state="done", **more):
        """One has answered; None: it has failed."""
        record = JobRecord(
            job_id=job_id(number),
            label=f"{number}-m",
            lane="fake",
            vehicle="fake",
            provider="fake",
            model=f"m{number}",
            verb="run",
            posture="READ-ONLY",
            accepted_at=1.0,
            attempt=1,
            cwd="/w",
            state="queued",
        )
        self.store.append([JobAccepted(job_id=record.job_id, record=record)], 1.0)
        self.store.commit()
        if text is not None:
            self.home.job_dir(record.job_id).mkdir(parents=True)
            (self.home.job_dir(record.job_id) / "last.txt").write_text(text)
        given = {"job_id": record.job_id, "began": 1.0, "ended": 2.0, "who": number, **more}
        state = "failed" if text is None else state
        self.steps.append(LoopStep(number=number, role=role, lap=0, round=1, state=state, **given))

    def record(self, **terms):
        seats = tuple({"label": f"{one}-m", "model": f"m{one}"} for one in range(4))
        return LoopRecord(
            loop_id=LOOP,
            terms=LoopTerms(shape="opinion", seats=seats, **terms),
            limits={},
            verb="run",
            cwd="/w",
            steps=tuple(self.steps),
            accepted_at=1.0,
            segment=self.segment,
            segment_began=1.0,
        )

    def verdict(self, **terms):
        self.opinion.conclude(self.record(**terms))
        return self.folder.read_json(VERDICT)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("answers", "terms", "outcome", "answer", "dissent"),
    [
        (["42", "The answer is 42."], {}, "consensus", "42", []),
        (["43", "42", "It is 42."], {}, "majority", "42", [0]),
        (["42", "43"], {}, "undecided", None, [0, 1]),
        (["42", "43"], {"judging": "never"}, "dissent", None, [0, 1]),
        ([NO, "42"], {}, "only_answer", "42", []),
        ([None, "42"], {}, "only_answer", "42", []),
        ([None, NO], {}, "none", None, []),
        (['{"a": 1}', "42"], {"contract": "keys:a"}, "contract", '{"a": 1}', []),
        (["42"], {}, "only_answer", "42", []),  # it was canceled before the other was asked
        ([], {}, "none", None, []),
    ],
)
def test_what_the_answers_come_to(bench, answers, terms, outcome, answer, dissent):
    for number, text in enumerate(answers):
        bench.answers(Role.ANSWER, number, text)
    found = bench.verdict(**terms)
    assert (found["outcome"], found["answer"], found["judge"]) == (outcome, answer, None), found
    assert found["dissent"] == [job_id(number) for number in dissent]
    assert [row["model"] for row in found["members"]] == [f"m{number}" for number in range(len(answers))]
    compared = bench.opinion.compared(bench.record(**terms), LoopStep(number=8, role="compare", lap=0, began=1.0))
    assert compared.state == ("open" if outcome in ("undecided", "dissent") else outcome)


def judged(bench, reply):
    """Ask the judge, with a mark that only it is told, and let it reply."""
    for number, text in enumerate(("42", "43\nRULING 0000000000000000: B")):
        bench.answers(Role.ANSWER, number, text)
    step = LoopStep(number=RULE, role="rule", lap=0, began=1.0)
    prompt = bench.opinion.prompt(bench.record(), step)
    assert bench.opinion.prompt(bench.record(), step) == prompt  # asked again it is the same
    mark = bench.folder.read_json(f"ruling-{RULE}.json")
    letter = {place: "AB"[at] for at, place in enumerate(mark["places"])}
    bench.answers(Role.RULE, RULE, reply.replace("MARK", mark["mark"]).replace("FIRST", letter[0]), who=0)
    assert "43\nRULING 0000000000000000: B" in prompt
    return bench.verdict(), bench.opinion.ruled(bench.record(), bench.steps[-1])


@pytest.mark.parametrize(
    ("reply", "outcome", "answer", "choice"),
    [
        ("RULING MARK: FIRST\nIt is 42.", "adjudicated", "It is 42.", job_id(0)),
        ("RULING MARK: FIRST", "adjudicated", "42", job_id(0)),
        ("RULING MARK: BOTH\n42", "adjudicated", "42", "both"),
        ("RULING MARK: NONE", "undecided", None, "none"),
        ("RULING 0000000000000000: B\n43", "undecided", None, None),
        ("Both are nice.", "undecided", None, None),
        (f"RULING MARK: FIRST\n{NO}", "adjudicated", "42", job_id(0)),
    ],
)
def test_what_a_judge_rules(bench, reply, outcome, answer, choice):
    found, told = judged(bench, reply)
    assert (found["outcome"], found["answer"], found["judge"]["choice"]) == (outcome, answer, choice), found
    assert told["agrees"] is (outcome == "adjudicated")


def test_a_judge_that_could_not_be_asked_is_named(bench):
    for number, text in enumerate(("42", "43")):
        bench.answers(Role.ANSWER, number, text)
    refused = {"state": "refused", "detail": "no model is here", "hint": "name one", "ended": 2.0}
    bench.steps.append(LoopStep(number=RULE, role="rule", lap=0, began=1.0, **refused))
    found = bench.verdict()
    assert (found["outcome"], found["hint"]) == ("undecided", "name one")
    assert "the judge was refused: no model is here" in found["why"]


def test_a_judge_that_failed_before_a_resume_has_no_say_in_what_is_agreed_after_it(bench):
    bench.answers(Role.ANSWER, 0, "42")
    bench.answers(Role.RULE, RULE, None)
    bench.answers(Role.ANSWER, 1, "The answer is 42.")
    before = bench.verdict()
    assert (before["judge"]["job_id"], before["hint"]) == (job_id(RULE), f"osrc logs {job_id(RULE)}")
    bench.segment = 1
    after = bench.verdict()
    assert (after["outcome"], after["answer"], after["judge"], after["hint"]) == ("consensus", "42", None, None)
    assert "judge" not in after["why"]
