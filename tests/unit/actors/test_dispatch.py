"""From a frame's body to its replies: what is wrong is named, and nothing said to the dispatcher can hurt it."""

import base64
import os
import threading

import pytest
from fakes.actors import eventually
from fakes.lanes import install_fake_lanes, steps
from fakes.state import names, scratch_home
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors import group_desk, job_desk
from outsourcerer.actors.assembly import assemble
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.replies import Accepted, Event, JobViews, Planned, Stopping, StreamEnded, SupervisorState
from outsourcerer.messages.vocabulary import PROTOCOL
from outsourcerer.state.settings import Settings


class Desk:
    def __init__(self, folder) -> None:
        self.folder = folder
        self.home = scratch_home(folder)
        install_fake_lanes(self.home.root)
        self.tree = assemble(self.home, Settings.load({}, None), listener=None, attached=True)

    def ask(self, **body):
        return list(self.tree.dispatcher.exchange(body))

    def one(self, **body):
        (reply,) = self.ask(**body)
        return reply

    def request(self, *actions, **changes) -> dict:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder)}
        block = b"\0".join(os.fsencode(f"{k}={v}") for k, v in environment.items())
        task = steps(*actions) if actions else "hello"
        wire = base64.b64encode(block).decode()
        return {"task": task, "lane": "fake", "cwd": str(self.folder), "environment": wire, **changes}

    def submit(self, *actions, **changes):
        return self.one(kind="job.submit", request=self.request(*actions, **changes))

    def view(self, *ids):
        return self.one(kind="view.jobs", selection={"select": "ids", "ids": list(ids)})

    def ended(self, job_id: str) -> dict:
        list(self.tree.dispatcher.exchange({"kind": "follow.jobs", "selection": {"select": "ids", "ids": [job_id]}}))
        return self.view(job_id).jobs[0]


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    yield made
    assert made.tree.stop("cancel")
    made.tree.close()


BAD = {
    "no kind": ({}, ""),
    "an unknown kind": ({"kind": "job.fly"}, "job.fly"),
    "a kind that is no word": ({"kind": 7}, ""),
    "no request": ({"kind": "job.submit"}, "request"),
    "a field too many": ({"kind": "supervisor.status", "really": True}, "really"),
    "a timeout below zero": ({"kind": "job.submit", "request": {"cwd": "/", "timeout_s": -1}}, "timeout_s"),
    "a label with a line break": ({"kind": "job.submit", "request": {"cwd": "/", "label": "a\nb"}}, "label"),
    "a lane that is no name": ({"kind": "job.submit", "request": {"cwd": "/", "lane": "../x"}}, "lane"),
    "an id that is none": ({"kind": "job.submit", "request": {"cwd": "/", "job_id": "../x"}}, "job_id"),
    "an unknown verb": ({"kind": "job.submit", "request": {"cwd": "/", "verb": "fly"}}, "verb"),
    "no ids": ({"kind": "view.jobs", "selection": {"select": "ids"}}, "ids"),
    "a negative place": ({"kind": "follow.events", "since": -1}, "since"),
    "an unknown reason": ({"kind": "supervisor.stop", "reason": "spite"}, "reason"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_named(desk, what):
    body, field = BAD[what]
    reply = desk.one(**body)
    assert isinstance(reply, Refused)
    assert reply.code is RefusalCode.BAD_REQUEST
    assert field in reply.message
    assert len(reply.message) < 300
    assert reply.hint
    for word in ("pydantic", "constrained", "Input should", "String should", "function-"):
        assert word not in reply.message


def test_a_refusal_does_not_repeat_what_was_sent(desk):
    """A request carries an environment: a complaint about it must not print it."""
    reply = desk.one(kind="job.submit", request={"cwd": "/", "environment": ["SECRET=4711"]})
    assert "4711" not in reply.model_dump_json()


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
kinds = st.sampled_from(["hello", "job.submit", "job.cancel", "view.jobs", "follow.events", "supervisor.status"])
fields = st.sampled_from(["request", "selection", "dry_run", "since", "job", "type", "protocol", "version", "at_once"])


def test_no_body_gets_anything_but_replies(desk):
    @given(kinds, st.dictionaries(fields, json_values, max_size=4))
    @settings(max_examples=100, deadline=None)
    def check(kind, rest):
        replies = desk.ask(kind=kind, **rest)
        assert replies
        assert all(reply.model_dump(mode="json")["kind"] for reply in replies)
        assert not any(getattr(reply, "code", None) is RefusalCode.INTERNAL for reply in replies), replies

    check()


def test_hello_and_status(desk):
    hello = desk.one(kind="hello", protocol=PROTOCOL, version="0")
    assert hello.protocol == PROTOCOL
    status = desk.one(kind="supervisor.status")
    assert isinstance(status, SupervisorState)
    assert (status.pid, status.live_jobs, status.home) == (os.getpid(), 0, str(desk.home.root))
    assert {"root", "journal", "work", "jobs"} <= set(status.actors)


def test_a_dry_run_creates_nothing(desk):
    reply = desk.one(kind="job.submit", request=desk.request(), dry_run=True)
    assert isinstance(reply, Planned)
    assert reply.plan.lane == "fake"
    assert names(desk.home.jobs_dir) == []


def test_a_refused_job_leaves_nothing(desk):
    reply = desk.submit(cwd="/no/such/folder")
    assert isinstance(reply, Refused)
    assert names(desk.home.jobs_dir) == []
    assert desk.one(kind="view.jobs", selection={"select": "all"}).jobs == ()


def test_a_job_from_its_request_to_its_end(desk):
    accepted = desk.submit({"say": "working"}, {"end": "the answer"}, label="mine")
    assert isinstance(accepted, Accepted)
    job = desk.ended(accepted.job_id)
    assert job["state"] in ("done", "done?")
    assert (desk.home.job_dir(accepted.job_id) / "last.txt").read_text() == "the answer"
    assert desk.view("mine").jobs[0]["job_id"] == accepted.job_id
    assert desk.view(accepted.job_id[:20]).jobs[0]["job_id"] == accepted.job_id
    events = desk.ask(kind="follow.events", job="mine")
    assert isinstance(events[-1], StreamEnded)
    kinds_seen = [reply.entry.fact.kind for reply in events if isinstance(reply, Event)]
    assert kinds_seen[:3] == ["job.accepted", "job.launching", "job.spawned"]
    assert kinds_seen[-1] == "job.ended"
    later = desk.ask(kind="follow.events", since=events[-1].seq)
    assert [type(reply) for reply in later] == [StreamEnded]


def test_ids_that_are_unknown_or_ambiguous_say_so(desk):
    jobs = [desk.submit({"end": "x"}).job_id for _ in range(2)]
    assert desk.view("nonesuch").code is RefusalCode.NO_SUCH_JOB
    assert desk.view(jobs[0][:4]).code is RefusalCode.AMBIGUOUS_JOB
    assert desk.one(kind="job.cancel", selection={"select": "ids", "ids": ["nonesuch"]}).code is RefusalCode.NO_SUCH_JOB
    assert desk.one(kind="follow.events", job="nonesuch").code is RefusalCode.NO_SUCH_JOB
    for job_id in jobs:
        desk.ended(job_id)


def test_asking_again_by_the_same_id_makes_no_second_job(desk):
    chosen = "20300101-000000-0123456789ab"
    first = desk.submit({"end": "x"}, job_id=chosen)
    assert first.job_id == chosen
    assert desk.submit({"end": "x"}, job_id=chosen) == first
    assert [row["job_id"] for row in desk.one(kind="view.jobs", selection={"select": "all"}).jobs] == [chosen]
    desk.ended(chosen)


def test_a_folder_that_was_promised_to_nobody_makes_room_and_another_is_left_alone(desk):
    chosen, other = "20300101-000000-0123456789ab", "20300101-000000-0123456789ac"
    for job_id, name in ((chosen, "prompt.md"), (other, "meta.json")):
        desk.home.job_dir(job_id).mkdir(mode=0o700)
        (desk.home.job_dir(job_id) / name).write_text("somebody's")
    assert desk.submit({"end": "x"}, job_id=chosen).job_id == chosen
    assert "somebody's" not in (desk.home.job_dir(chosen) / "prompt.md").read_text()
    assert desk.submit({"end": "x"}, job_id=other).code is RefusalCode.STATE_DAMAGED
    assert (desk.home.job_dir(other) / "meta.json").read_text() == "somebody's"
    assert [row["job_id"] for row in desk.one(kind="view.jobs", selection={"select": "all"}).jobs] == [chosen]
    desk.ended(chosen)


def test_a_label_of_two_jobs_names_neither(desk):
    jobs = [desk.submit({"sleep": 300}, label="twice").job_id for _ in range(2)]
    selection = {"select": "ids", "ids": ["twice"]}
    for body in (
        {"kind": "job.cancel", "selection": selection},
        {"kind": "view.jobs", "selection": selection},
        {"kind": "follow.jobs", "selection": selection},
        {"kind": "follow.events", "job": "twice"},
    ):
        reply = desk.one(**body)
        assert reply.code is RefusalCode.AMBIGUOUS_JOB
        assert all(job_id in reply.message for job_id in jobs)
    assert all(desk.view(job_id).jobs[0]["state"] != "canceled" for job_id in jobs)
    desk.one(kind="job.cancel", selection={"select": "ids", "ids": jobs}, at_once=True)
    for job_id in jobs:
        assert desk.ended(job_id)["state"] == "canceled"


def test_a_cancel_ends_a_job_and_repeating_it_is_harmless(desk):
    job_id = desk.submit({"say": "hi"}, {"sleep": 300}).job_id
    eventually(lambda: desk.view(job_id).jobs[0]["state"] == "running")
    selection = {"select": "ids", "ids": [job_id]}
    for at_once in (False, True, True):
        assert isinstance(desk.one(kind="job.cancel", selection=selection, at_once=at_once), JobViews)
    assert desk.ended(job_id)["state"] == "canceled"
    assert isinstance(desk.one(kind="job.cancel", selection=selection), JobViews)
    assert desk.view(job_id).jobs[0]["state"] == "canceled"


def test_once_it_stops_nothing_new_is_taken(desk):
    assert isinstance(desk.one(kind="supervisor.stop", reason="shutdown"), Stopping)
    assert desk.submit().code in (RefusalCode.STOPPING, RefusalCode.SUPERVISOR_BUSY)
    assert desk.tree.root.wait_down(30)
    assert names(desk.home.jobs_dir) == []


def test_a_follower_ends_with_the_tree(desk):
    replies = []
    follower = threading.Thread(target=lambda: replies.extend(desk.ask(kind="follow.events", follow=True)))
    follower.start()
    desk.tree.services.feed.close()
    follower.join(120)
    assert isinstance(replies[-1], StreamEnded)


def test_live_figures_say_nothing_of_a_job_that_has_ended(desk) -> None:
    """The board is cleared a moment after the end is on disk; who looks in between must see the record."""
    job_id = desk.submit({"say": "hello"}).job_id
    truth = desk.ended(job_id)
    stale = {"note": "its process has ended; 3 MB of its output are still to be read", "progress": {"writes": 99}}
    desk.tree.services.live_figures.put(job_id, stale)
    assert desk.view(job_id).jobs[0] == truth


def test_quotas_are_set_by_the_words_that_people_use_and_taken_back(desk):
    state = desk.one(kind="limits.set", lane="devin", model="glm", per_day=20, zone="local")
    assert [(row["lane"], row["model"], row["used"], row["per_day"]) for row in state.quotas] == [
        ("devin", "glm-5-2", 0, 20)
    ]
    desk.one(kind="limits.set", lane="any", model="opus", per_day=3)
    assert len(desk.one(kind="limits.set", lane="fake", model="default", per_day=1).quotas) == 3
    for lane, model, code in (
        ("nowhere", "glm", RefusalCode.UNKNOWN_LANE),
        ("any", "default", RefusalCode.NO_SUCH_LIMIT),
        ("codex", "opus", RefusalCode.LANE_CONFLICT),
    ):
        assert desk.one(kind="limits.set", lane=lane, model=model, per_day=1).code is code
    assert desk.one(kind="limits.clear", lane="devin", model="haiku").code is RefusalCode.NO_SUCH_LIMIT
    assert desk.one(kind="limits.clear", lane="devin").code is RefusalCode.NO_SUCH_LIMIT
    assert len(desk.one(kind="limits.clear", lane="devin", model="z-ai/glm-5.2").quotas) == 2
    assert desk.one(kind="limits.clear").quotas == ()
    assert desk.one(kind="view.limits").marks == ()


FULL = Refused(code=RefusalCode.STATE_FULL, message="the disk is full: nothing was done")
JOB, GROUP = "20261130-010203-0123456789ab", "fanout-20261130-010203-0123456789ab"


@pytest.mark.parametrize("group", [False, True])
def test_what_is_refused_after_nobody_waited_any_more_leaves_nothing_and_may_be_asked_for_again(
    desk, monkeypatch, group
):
    module, ports = group_desk if group else job_desk, []
    if group:
        members = [{"label": label, "task": "hello"} for label in ("a", "b")]
        request = {"group_id": GROUP, "common": desk.request() | {"task": None}, "members": members}
        body = {"kind": "fanout.submit", "request": request}
    else:
        body = {"kind": "job.submit", "request": desk.request(job_id=JOB)}

    def unanswered(handle, message, timeout_s, port):
        ports.append(port)
        return port.wait(0.0)

    with monkeypatch.context() as slow:
        slow.setattr(module, "ask", unanswered)
        assert desk.one(**body).code is RefusalCode.SUPERVISOR_BUSY
    made = set(names(desk.home.jobs_dir))
    assert len(made) == (2 if group else 1)
    assert desk.one(**body).code is RefusalCode.SUPERVISOR_BUSY
    assert set(names(desk.home.jobs_dir)) == made
    ports[0].set(FULL)
    taken = desk.one(**body)
    jobs = [one["job_id"] for one in taken.group["jobs"]] if group else [taken.job_id]
    assert set(names(desk.home.jobs_dir)) == set(jobs)
    assert group or jobs == [JOB]
    assert all(desk.ended(job_id)["state"].startswith("done") for job_id in jobs)
