"""Which job a label means where one does another anew, or goes on with it."""

from __future__ import annotations

import pytest
from fakes.state import NOW, job_id, record
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.messages.facts import JobAccepted
from outsourcerer.state.chains import heads
from outsourcerer.state.reader import Reader
from outsourcerer.state.store import Store


@pytest.mark.parametrize(
    ("links", "meant"),
    [
        ({1: {}, 2: {}}, [2, 1]),
        ({1: {}, 2: {"retries": 1}}, [2]),
        ({1: {}, 2: {"continues": 1}, 3: {"retries": 2, "continues": 1}}, [3]),
        ({1: {}, 2: {"retries": 1}, 3: {}, 4: {"retries": 3}}, [4, 2]),
        # twice the same job anew, by its id; that job itself may be gone
        ({1: {}, 2: {"retries": 1}, 3: {"retries": 1}}, [3]),
        ({2: {"retries": 1}, 3: {"continues": 1}}, [3]),
        # nonsense in a record joins nothing and never hangs
        ({1: {"retries": 2}, 2: {"retries": 1}}, [2]),
        ({1: {"retries": 1}}, [1]),
    ],
)
def test_a_label_means_the_newest_of_a_chain(tmp_path, links, meant):
    path = tmp_path / "state.db"
    store = Store.open(path, now=NOW)
    for number, before in links.items():
        linked = {link: job_id(other) for link, other in before.items()}
        made = record(number, label="nightly", **linked)
        store.append([JobAccepted(job_id=job_id(number), record=made)], NOW + number)
    store.commit()
    with Reader(path) as reader:
        assert [one["job_id"] for one in reader.resolve("nightly")] == [job_id(number) for number in meant]
        for number in links:  # each is reached by its id
            assert [one["job_id"] for one in reader.resolve(job_id(number))] == [job_id(number)]
    store.close()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["retries", "continues", None])), max_size=12))
def test_the_newest_always_stands_and_none_stands_beside_the_one_it_follows(links):
    records = [
        {"job_id": str(number), **({link: str(other)} if link else {})} for number, (other, link) in enumerate(links)
    ][::-1]
    found = heads(records)
    assert found[:1] == records[:1]
    assert [one for one in records if one in found] == found
    standing = {one["job_id"] for one in found}
    assert all({one.get("retries"), one.get("continues")} & standing <= {one["job_id"]} for one in found)


def test_a_link_that_is_no_word_is_none():
    records = [{"job_id": "b", "retries": 7}, {"job_id": "a", "continues": ["b"]}]
    assert heads(records) == records
