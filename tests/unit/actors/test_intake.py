"""From a request to a job that can run: everything that can be refused is refused before anything exists."""

import base64
import json
import os

import pytest
from fakes.lanes import fake_argv, install_fake_lanes, lane_toml, write_lane
from fakes.state import NOW, FailingDisk, job_id, names, refusal_of, scratch_home
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.actors import intake_checks
from outsourcerer.actors.intake import Draft, draft
from outsourcerer.actors.job_writing import create
from outsourcerer.actors.lane_book import LaneBook
from outsourcerer.messages.job import JobRequest
from outsourcerer.messages.refusals import RefusalCode, Refused
from outsourcerer.messages.vocabulary import Verb
from outsourcerer.state.job_folder import JobFolder

SECRET = "sk-secret-4711"


def wire(environment: dict[str, str]) -> str:
    return base64.b64encode(b"\0".join(os.fsencode(f"{k}={v}") for k, v in environment.items())).decode()


class Desk:
    def __init__(self, folder) -> None:
        self.home = scratch_home(folder)
        self.cwd = folder / 'work tree\'s "ünï" -x'
        self.cwd.mkdir()
        self.user = folder / "user"
        self.user.mkdir()
        install_fake_lanes(self.home.root)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.user),
            "XDG_CONFIG_HOME": str(self.user / ".config"),
            "MY_TOKEN": SECRET,
            "OSRC_PASS_ENV": "MY_TOKEN",
        }

    def draft(self, extra: dict[str, str] | None = None, /, **request) -> Draft | Refused:
        fields = {
            "task": "say hello",
            "lane": "fake",
            "cwd": str(self.cwd),
            "environment": wire({**self.environment, **(extra or {})}),
            **request,
        }
        return draft(JobRequest(**fields), self.home, LaneBook(self.home).registry())

    def create(self, drafted: Draft, **terms):
        return create(drafted, self.home, umask=0o022, now=NOW, **terms)

    def config(self, text: str) -> None:
        folder = self.user / ".config" / "outsourcerer"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(text)


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


# --- refusals


REFUSALS = {
    "no task": ({"task": None}, RefusalCode.BAD_TASK, "exactly one"),
    "an empty task": ({"task": ""}, RefusalCode.BAD_TASK, "empty"),
    "a blank task": ({"task": " \n\t "}, RefusalCode.BAD_TASK, "empty"),
    "an unexpanded variable": ({"task": "$TASK"}, RefusalCode.BAD_TASK, "unexpanded name $TASK"),
    "an unexpanded variable in braces": ({"task": " ${TASK} \n"}, RefusalCode.BAD_TASK, "unexpanded"),
    "a NUL": ({"task": "a\0b"}, RefusalCode.BAD_TASK, "NUL character at position 1"),
    "a folder that is gone": ({"cwd": "/no/such/folder"}, RefusalCode.BAD_CWD, "does not exist: /no/such/folder"),
    "a relative folder": ({"cwd": "."}, RefusalCode.BAD_CWD, "absolute"),
    "a folder with a NUL": ({"cwd": "/tmp\0x"}, RefusalCode.BAD_CWD, "absolute"),
    "a file as a folder": ({"cwd": "/etc/passwd"}, RefusalCode.BAD_CWD, "does not exist"),
    "an unknown lane": ({"lane": "nonesuch"}, RefusalCode.UNKNOWN_LANE, "nonesuch"),
    "a verb the lane can't honour": ({"lane": "fake-text", "verb": Verb.EDIT}, RefusalCode.VERB_UNSUPPORTED, "fake"),
    "what to type instead": (
        {"lane": "fake-text", "verb": Verb.EDIT},
        RefusalCode.VERB_UNSUPPORTED,
        "--lane codex ...",
    ),
    "no environment": ({"environment": "A"}, RefusalCode.BAD_REQUEST, "base64"),
    "a delegate": ({"_env": {"OUTSOURCERER_DEPTH": "1"}}, RefusalCode.RECURSION, "delegate already"),
    "a delegate by the older name": ({"_env": {"OSRC_DEPTH": "1"}}, RefusalCode.RECURSION, "delegate already"),
    "a depth that is no number": ({"_env": {"OUTSOURCERER_DEPTH": "-1"}}, RefusalCode.RECURSION, "'-1'"),
    "a depth of another script": ({"_env": {"OUTSOURCERER_DEPTH": "²"}}, RefusalCode.RECURSION, "delegate"),
    "an older name that is no number": ({"_env": {"OSRC_DEPTH": "zz"}}, RefusalCode.RECURSION, "OSRC_DEPTH is 'zz'"),
    "a model on the denylist": (
        {"_env": {"OSRC_MODEL_DENYLIST": "other, bad-*"}, "model": "bad-one"},
        RefusalCode.DENIED,
        "bad-one",
    ),
    "a setting that is no number": ({"_env": {"OSRC_STALL_WARN": "soon"}}, RefusalCode.BAD_CONFIG, "OSRC_STALL_WARN"),
    "a program that is gone": ({"lane": "gone"}, RefusalCode.LANE_NOT_READY, "no-such-program"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_refused(desk, what):
    request, code, words = REFUSALS[what]
    write_lane(desk.home.root, "gone", lane_toml(argv=["no-such-program", "{prompt}"], stdin="none"))
    before = names(desk.home.jobs_dir)
    found = desk.draft(request.get("_env"), **{key: value for key, value in request.items() if key != "_env"})
    assert isinstance(found, Refused), found
    assert found.code is code
    assert words in f"{found.message} {found.hint}"
    assert names(desk.home.jobs_dir) == before == [], "nothing exists"


def test_a_deeper_delegate_may_be_allowed(desk):
    found = desk.draft({"OUTSOURCERER_DEPTH": "1", "OUTSOURCERER_MAX_DEPTH": "2"})
    assert isinstance(found, Draft)
    _, folder = desk.create(found)
    assert folder.read_json("launch.json")["env"]["OUTSOURCERER_DEPTH"] == "2"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter every folder")
def test_a_folder_that_can_not_be_entered(desk):
    desk.cwd.chmod(0)
    found = desk.draft()
    desk.cwd.chmod(0o700)
    assert isinstance(found, Refused)
    assert found.code is RefusalCode.BAD_CWD


def test_a_lane_whose_file_is_wrong_says_so(desk):
    write_lane(desk.home.root, "broken", "argv = 7\n")
    found = desk.draft(lane="broken")
    assert isinstance(found, Refused)
    assert "broken.toml" in found.message


@pytest.mark.parametrize("what", ["gone", "folder", "pipe", "device", "not text", "too long", "empty"])
def test_a_task_file_that_can_not_be_used(desk, what, tmp_path, monkeypatch):
    path = tmp_path / "task.md"
    monkeypatch.setattr(intake_checks, "TASK_LIMIT", 100)
    match what:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "not text":
            path.write_bytes(b"\xff\xfe")
        case "too long":
            path.write_bytes(b"x" * 101)
        case "empty":
            path.write_bytes(b"  ")
    found = desk.draft(task=None, task_file=str(path))
    assert isinstance(found, Refused)
    assert found.code is RefusalCode.BAD_TASK


def test_a_task_and_a_task_file_are_one_too_many(desk):
    assert isinstance(desk.draft(task="x", task_file="/x"), Refused)


def test_a_task_file_is_read_whole(desk, tmp_path):
    path = tmp_path / "task.md"
    path.write_text("grüße " * 50_000)
    found = desk.draft(task=None, task_file=str(path))
    assert isinstance(found, Draft)
    assert found.task_text == path.read_text()
    desk.create(found)
    assert path.exists(), "it is a person's"


def test_a_spooled_task_is_gone_once_the_job_exists(desk):
    path = desk.home.spool_dir / "task"
    path.write_text("spooled")
    path.chmod(0o600)
    found = desk.draft(task=None, task_file=str(path))
    assert isinstance(found, Draft)
    assert path.exists()
    desk.create(found)
    assert not path.exists()


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_task_is_taken_or_refused(tmp_path_factory, text):
    desk = Desk(tmp_path_factory.mktemp("desk"))
    try:
        found = desk.draft(task=text)
    except ValueError:
        return  # the request itself can't hold it: a lone surrogate
    if isinstance(found, Draft):
        assert text in found.prompt
        desk.create(found)


# --- what is made


def test_the_folder_holds_what_is_needed_and_is_private(desk):
    drafted = desk.draft(verb=Verb.EDIT, label="mine", timeout_s=60.0)
    assert isinstance(drafted, Draft)
    assert names(desk.home.jobs_dir) == []
    record, folder = desk.create(drafted)
    assert names(folder.path) == ["draft.json", "launch.json", "prompt.md"]
    assert oct(folder.path.stat().st_mode)[-3:] == "700"
    assert all(oct(path.stat().st_mode)[-3:] == "600" for path in folder.path.iterdir())
    assert (record.label, record.verb, record.timeout_s, record.posture) == ("mine", Verb.EDIT, 60.0, "MUTATING")
    launch = folder.read_json("launch.json")
    assert launch["cwd"] == launch["env"]["PWD"] == str(desk.cwd)
    assert launch["umask"] == 0o022
    assert (folder.path / launch["stdin"]).read_text() == drafted.prompt
    assert "say hello" in drafted.prompt


def test_the_environment_is_the_callers_less_what_the_lane_strips(desk):
    drafted = desk.draft({"CLAUDECODE": "1", "KEPT": "yes", "OSRC_JOB_ID": "someone-elses", "BYTES": "\udcff"})
    assert isinstance(drafted, Draft)
    _, folder = desk.create(drafted)
    env = folder.read_json("launch.json")["env"]
    assert env["KEPT"] == "yes"
    assert env["MY_TOKEN"] == SECRET
    assert os.fsencode(env["BYTES"]) == b"\xff"
    assert env["OSRC_JOB_ID"] == folder.job_id
    assert env["OUTSOURCERER_DEPTH"] == "1"
    assert drafted.marker_id not in json.dumps(env)
    for name in drafted.launch.env_strip:
        assert name not in env or name in drafted.launch.env_set


@pytest.mark.parametrize(
    ("environment", "author"),
    [
        ({}, "outsourcerer-delegate"),
        ({"GIT_AUTHOR_NAME": "Ada"}, "Ada"),
        ({"GIT_COMMITTER_EMAIL": "a@b"}, None),
        ({"OSRC_DELEGATE_GIT_IDENTITY": "0"}, None),
    ],
)
def test_a_delegates_commits_are_signed_as_such_unless_a_person_says_otherwise(desk, environment, author):
    drafted = desk.draft({"OSRC_DELEGATE_GIT_IDENTITY": "1", **environment})
    assert isinstance(drafted, Draft)
    _, folder = desk.create(drafted)
    assert folder.read_json("launch.json")["env"].get("GIT_AUTHOR_NAME") == author


def test_secrets_are_in_the_launch_and_nowhere_else(desk):
    drafted = desk.draft({"OSRC_LOCAL_KEY": SECRET + "-local"})
    assert isinstance(drafted, Draft)
    record, folder = desk.create(drafted)
    folder.write_meta(record)
    for path in folder.path.iterdir():
        assert (SECRET in path.read_text()) is (path.name == "launch.json"), path.name
    assert SECRET not in record.model_dump_json()
    assert SECRET not in drafted.plan.model_dump_json()
    assert SECRET not in repr(drafted.request)
    assert SECRET + "-local" not in (folder.path / "launch.json").read_text(), "only the lane that uses a key gets it"


def test_the_windows_that_were_set_travel_with_the_job(desk):
    desk.config("stall_kill = 777\n")
    drafted = desk.draft({"OSRC_STALL_WARN": "33", "OSRC_FS_PROGRESS": "0", "OSRC_TEXT_LANES": "fake other"})
    assert isinstance(drafted, Draft)
    record, _ = desk.create(drafted)
    assert record.windows == {"stall_warn": 33.0, "stall_kill": 777.0, "fs_progress": 0.0}
    assert record.agentic is False, "a lane that is said to be text need not write"
    plain = desk.draft()
    assert isinstance(plain, Draft)
    assert desk.create(plain)[0].agentic is True


def test_a_prompt_of_two_megabytes_goes_through_a_file(desk):
    drafted = desk.draft(task="x" * 2_000_000)
    assert isinstance(drafted, Draft)
    _, folder = desk.create(drafted)
    assert len((folder.path / "launch.json").read_bytes()) < 100_000
    assert len((folder.path / "prompt.md").read_bytes()) >= 2_000_000


def test_a_prompt_with_our_placeholders_in_it_is_left_alone(desk):
    write_lane(desk.home.root, "argv", lane_toml(argv=fake_argv("text", "{prompt}"), output="text", stdin="none"))
    drafted = desk.draft(lane="argv", task="what does {job} and {cwd} mean?")
    assert isinstance(drafted, Draft)
    _, folder = desk.create(drafted)
    assert "what does {job} and {cwd} mean?" in folder.read_json("launch.json")["argv"][-1]


def test_ids_that_are_taken_are_not_taken_again(desk):
    drafted = desk.draft()
    assert isinstance(drafted, Draft)
    rolls = iter([b"aaaaaa", b"aaaaaa", b"aaaaaa", b"bbbbbb"])
    first, _ = desk.create(drafted, random=lambda size: next(rolls)[:size])
    second, _ = desk.create(drafted, random=lambda size: next(rolls)[:size])
    assert first.job_id != second.job_id


def test_an_id_that_was_asked_for_is_given_or_refused_never_another(desk):
    drafted = desk.draft(job_id=job_id(1))
    assert isinstance(drafted, Draft)
    record, folder = desk.create(drafted)
    assert record.job_id == job_id(1)
    before = names(folder.path)
    error = refusal_of(lambda: desk.create(drafted))
    assert error.code == "state_damaged"
    assert (names(desk.home.jobs_dir), names(folder.path)) == ([job_id(1)], before)


def test_a_disk_that_fills_up_at_any_write_leaves_nothing_behind(desk, monkeypatch):
    drafted = desk.draft()
    assert isinstance(drafted, Draft)
    made = JobFolder.create
    failures = 0
    for number in range(1, 40):
        disk = FailingDisk(number)
        monkeypatch.setattr(JobFolder, "create", lambda home, job_id, disk=disk: made(home, job_id, disk))
        error = refusal_of(lambda: desk.create(drafted))
        if error is None:
            break
        failures += 1
        assert error.refusal.code is RefusalCode.STATE_FULL
        assert names(desk.home.jobs_dir) == []
    assert failures >= 3
    assert len(names(desk.home.jobs_dir)) == 1
