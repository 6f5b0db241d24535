"""What is kept of a request with its job: all that is needed to ask anew, and nothing that is a secret."""

import pytest
from fakes.state import job_id, record, scratch_home
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.actors.host import decode_environment
from outsourcerer.actors.kept_request import Requests, keepable, kept_request, wire, without_secrets
from outsourcerer.messages.job import JobRequest
from outsourcerer.state.job_folder import JobFolder

KEY = f"sk-proj-{'abcdefgh' * 2}"


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "MY_PAT", "SSH_AUTH_SOCK", "SENTRY_DSN"],
)
def test_what_is_secret_by_its_name_is_left_out(name):
    assert without_secrets({name: "hunter22", "PATH": "/bin"}) == {"PATH": "/bin"}


@pytest.mark.parametrize("value", [KEY, "https://me:hunter2@example.org/x", f"--token={KEY}"])
def test_what_looks_like_a_secret_is_left_out_whatever_it_is_called(value):
    assert without_secrets({"HARMLESS": value, "PATH": "/bin"}) == {"PATH": "/bin"}


def test_a_copy_of_a_secret_under_another_name_is_left_out():
    assert without_secrets({"A_KEY": "no-format-at-all", "COPY": "x no-format-at-all y"}) == {}


def test_settings_stay_and_keys_among_them_do_not():
    kept = without_secrets({"OSRC_FAILOVER_MAX": "1", "OSRC_LOCAL_KEY": "k", "OR_OFFLOAD_CHAIN": "a/b", "TZ": "UTC"})
    assert set(kept) == {"OSRC_FAILOVER_MAX", "OR_OFFLOAD_CHAIN", "TZ"}


@given(st.dictionaries(st.text("ABC_", min_size=1), st.text(st.characters(exclude_characters="\0"), max_size=20)))
def test_the_wire_form_comes_back_as_it_was(environment):
    safe = {name: value for name, value in environment.items() if value.isprintable() and value.isascii()}
    assert decode_environment(wire(safe)) == safe


def test_a_request_is_kept_with_its_job_and_asked_anew_with_the_best_known_environment(tmp_path):
    request = JobRequest(cwd="/w", model="opus", task_file="/tmp/x", job_id=job_id(), environment="", wait_limit=True)
    folder = JobFolder.create(scratch_home(tmp_path), job_id())
    kept = keepable(request, "the task", {"PATH": "/bin", "X_TOKEN": KEY})
    assert KEY not in str(kept)
    folder.begin_meta(record(), {}, kept)
    found = kept_request(folder, None)
    assert (found.task, found.task_file, found.job_id, found.model) == ("the task", None, None, "opus")
    assert found.wait_limit
    assert decode_environment(found.environment) == {"PATH": "/bin"}
    requests = Requests()
    requests.keep(job_id(), wire({"X_TOKEN": KEY}))
    assert decode_environment(kept_request(folder, requests.get(job_id())).environment) == {"X_TOKEN": KEY}
    requests.drop(job_id())
    assert requests.get(job_id()) is None


@pytest.mark.parametrize("kept", [None, {"cwd": 7}, {"cwd": "/w", "no_such_field": 1}])
def test_a_job_of_before_or_a_damaged_one_has_none(tmp_path, kept):
    folder = JobFolder.create(scratch_home(tmp_path), job_id())
    folder.begin_meta(record(), {}, kept)
    assert kept_request(folder, None) is None
