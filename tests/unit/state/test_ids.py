import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages.job import JOB_ID
from outsourcerer.state.ids import is_job_id, new_job_id


def test_the_form():
    assert new_job_id(0, b"\0\1\2\3\4\xff") == "19700101-000000-0001020304ff"
    assert new_job_id(1_795_000_000.9, bytes(6)) == "20261118-110640-000000000000"


@given(st.floats(0, 4e9), st.binary(min_size=6, max_size=6))
def test_always_an_id(now, random_bytes):
    found = new_job_id(now, random_bytes)
    assert JOB_ID.match(found)
    assert is_job_id(found)


@given(st.integers(0, 4_000_000_000), st.integers(1, 10_000_000))
def test_later_ids_sort_later(now, more):
    assert new_job_id(now, b"\xff" * 6) < new_job_id(now + more, bytes(6))


@pytest.mark.parametrize("count", [0, 5, 7])
def test_exactly_six_random_bytes(count):
    with pytest.raises(ValueError, match="6 random bytes"):
        new_job_id(0, bytes(count))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "..",
        "20261118-110640-00000000000",
        "20261118-110640-000000000000\n",
        "20261118-110640-00000000000G",
        "٢٠٢٦١١١٨-110640-000000000000",
        "x/20261118-110640-000000000000",
    ],
)
def test_what_is_no_id(text):
    assert not is_job_id(text)
