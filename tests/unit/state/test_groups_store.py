"""Groups in the store: made of their facts, found by id, prefix or label, shown with their members."""

from __future__ import annotations

import contextlib

import pytest
from fakes.state import GROUP, NOW, job_id, record
from outsourcerer.messages.facts import JobAccepted, JobEnded, JobRemoved
from outsourcerer.messages.group import (
    FanoutAccepted,
    FanoutCancelRequested,
    FanoutEnded,
    FanoutMemberReleased,
    GroupMember,
    GroupRecord,
)
from outsourcerer.messages.vocabulary import JobState
from outsourcerer.state.group_views import group_object
from outsourcerer.state.groups_reader import (
    group,
    groups,
    live_groups,
    member_records,
    member_states,
    resolve_group,
)
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store
from outsourcerer.state.views import job_object

OTHER = GROUP.replace("110639", "110640")


def made(group_id=GROUP, **changes):
    members = tuple(GroupMember(job_id=job_id(number), label=f"m{number}", lane="claude") for number in (1, 2, 3))
    base = {"group_id": group_id, "verb": "run", "cwd": "/w", "most": 2, "members": members, "accepted_at": NOW}
    return GroupRecord.model_validate({**base, **changes})


@pytest.fixture
def path(tmp_path):
    store = Store.open(tmp_path / "state.db", now=NOW)
    facts = [FanoutAccepted(group_id=GROUP, record=made(label="nightly"))]
    facts += [
        JobAccepted(job_id=job_id(number), record=record(number, group_id=GROUP, parked=True)) for number in (1, 2)
    ]
    facts.append(FanoutMemberReleased(group_id=GROUP, job_id=job_id(1)))
    facts.append(FanoutAccepted(group_id=OTHER, record=made(OTHER)))
    store.append(facts, NOW + 1)
    store.commit()
    yield tmp_path / "state.db"
    store.close()


def keep(path, *facts):
    store = Store.open(path, now=NOW)
    store.append(facts, NOW + 5)
    store.commit()
    store.close()


def test_a_turn_that_came_is_the_jobs_own_and_survives(path):
    with Reader(path) as reader:
        assert member_states(reader, GROUP) == {job_id(1): (False, False), job_id(2): (False, True)}
        assert reader.entries(0, 10, GROUP)[0][2] == "fanout.accepted"
    keep(path, JobEnded(job_id=job_id(1), state=JobState.DONE, exit=0))
    with Reader(path) as reader:
        assert member_states(reader, GROUP)[job_id(1)] == (True, False)


def test_a_group_is_found_by_what_a_person_may_say(path):
    with Reader(path) as reader:
        for word in (GROUP, "nightly", GROUP[:-3], GROUP.removeprefix("fanout-")[:-3]):
            assert [one["group_id"] for one in resolve_group(reader, word)] == [GROUP], word
        assert len(resolve_group(reader, "fanout-")) == 2
        for word in ("", "nobody", "%", "\x00", "fanout-2031"):
            assert resolve_group(reader, word) == []


def test_an_end_is_for_good(path):
    keep(path, FanoutCancelRequested(group_id=GROUP), FanoutEnded(group_id=GROUP))
    keep(path, FanoutCancelRequested(group_id="fanout-20991118-110639-000000000001"), FanoutEnded(group_id=GROUP))
    with Reader(path) as reader:
        found = group(reader, GROUP)
        assert (found["cancel_requested"], found["ended"]) == (True, NOW + 5)
        assert len(live_groups(reader)) == 1
        assert len(groups(reader)) == len(groups(reader, 0)) == 2
        assert len(groups(reader, 1)) == 1


def test_the_view_counts_honestly(path):
    keep(path, JobEnded(job_id=job_id(1), state=JobState.CANCELED, exit=130))
    with Reader(path) as reader:
        rows = member_records(reader, GROUP)
        jobs = [job_object(row, "/home", NOW + 9) for row in rows.values()]
        shown = group_object(group(reader, GROUP), jobs, NOW + 9)
    counts = {
        "total": 3,
        "queued": 1,
        "running": 0,
        "done": 0,
        "unverified": 0,
        "blocked": 0,
        "failed": 1,
        "removed": 1,
    }
    assert shown["summary"] == counts
    assert (shown["state"], shown["age_s"], shown["label"]) == ("running", 9, "nightly")


def test_a_group_is_gone_with_its_last_job_once_it_has_ended(path):
    over = [
        JobEnded(job_id=job_id(number), state=JobState.DONE, exit=0, exit_status=None, ended_at=NOW)
        for number in (1, 2)
    ]
    keep(path, *over, JobRemoved(job_id=job_id(1)), JobRemoved(job_id=job_id(2)))
    with Reader(path) as reader:
        assert group(reader, GROUP) is not None, "it has not ended"
    keep(path, JobAccepted(job_id=job_id(2), record=record(2, group_id=GROUP)), FanoutEnded(group_id=GROUP))
    with Reader(path) as reader:
        assert group(reader, GROUP) is not None
    keep(path, JobRemoved(job_id=job_id(2)))
    with Reader(path) as reader:
        assert group(reader, GROUP) is None
        assert group(reader, OTHER) is not None


def test_a_group_ends_once(path):
    with contextlib.closing(Store.open(path, now=NOW)) as store:
        store.append([FanoutEnded(group_id=GROUP)], NOW + 5)
        assert store.append([FanoutEnded(group_id=GROUP)], NOW + 6) == []
