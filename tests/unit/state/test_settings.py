import os
import threading
import tomllib
from pathlib import Path

import pytest
from fakes.state import FailingDisk, refusal_of
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.messages.vocabulary import Effort, Tier
from outsourcerer.state import settings_file
from outsourcerer.state.errors import StateError
from outsourcerer.state.settings import SETTINGS, Settings, config_file, parse, read_config
from outsourcerer.state.settings_file import set_in_config

WATCHDOG_NAMES = [
    "OSRC_POLL",
    "OSRC_STALL_WARN",
    "OSRC_STALL_KILL",
    "OSRC_TIMEOUT",
    "OSRC_TIMEOUT_MAX",
    "OSRC_NOINIT_SECS",
    "OSRC_NOWRITE_WARN",
    "OSRC_NOWRITE_KILL",
    "OSRC_NOPROGRESS_SECS",
    "OSRC_NOPROGRESS_KILL_SECS",
    "OSRC_PERM_ABORT",
    "OSRC_PERM_TAIL",
    "OSRC_NO_PRINTMODE_ABORT",
    "OSRC_PRINTMODE_TAIL",
    "OSRC_FS_PROGRESS",
    "OSRC_FS_PROGRESS_DEPTH",
    "OSRC_NET_LIVENESS",
    "OSRC_DEVIN_LIVENESS",
    "OSRC_DEVIN_STALL_KILL",
    "OSRC_TEXT_LANES",
    "OSRC_LAUNCH_GRACE",
    "OSRC_SETUP_GRACE",
    "OSRC_FG_GUARD",
    "OSRC_FG_TIMEOUT",
    "OSRC_FG_TEARDOWN",
    "OSRC_RECONCILE_READ_ONLY",
    "OSRC_UNWATCHED_AFTER",
    "OSRC_STATUS_MAX",
    "OSRC_STATUS_DEADLINE",
    "OSRC_PROG_WIDTH",
    "OSRC_WATCH_DIGEST_SECS",
    "OSRC_CLASSIFY_TAIL",
    "OSRC_PREAMBLE_MAX",
    "OSRC_EXPLAIN_EVIDENCE_LINES",
    "OSRC_JOB_TTL_DAYS",
    "OSRC_AUTO_GC_MAX",
    "OSRC_BG_NO_DETACH",
    "OSRC_NO_AUTODETACH",
    "OSRC_FORCE_AUTODETACH",
    "OSRC_REQUIRE_INTERACTIVE",
    "OSRC_REQUIRE_TMUX",
    "OSRC_WORKTREE",
    "OSRC_WORKTREE_BASE",
    "OSRC_FANOUT_MAX",
    "OSRC_BLIND_TURN_GUARD",
    "OSRC_BLIND_TURN_SNAPSHOT_MAX_AGE",
]


def refusal(*arguments, **more) -> StateError:
    with pytest.raises(StateError) as caught:
        Settings.load(*arguments, **more)
    assert caught.value.code == "bad_config"
    assert caught.value.hint
    return caught.value


def test_every_watchdog_name_of_the_predecessor_is_known():
    names = {name for setting in SETTINGS.values() for name in setting.names}
    assert set(WATCHDOG_NAMES) <= names
    assert {"OUTSOURCERER_MODEL", "OUTSOURCERER_PROVIDER", "OUTSOURCERER_TIER", "OUTSOURCERER_EFFORT"} <= names


def test_the_table_makes_sense():
    for key, setting in SETTINGS.items():
        assert key == setting.key == key.lower()
        assert setting.doc
        assert setting.doc[0].islower() or setting.doc.split()[0][0] in "DC", setting.doc
        assert len(setting.doc) < 100
        if setting.default is not None:
            assert parse(setting, setting.default, key) == setting.default
    assert SETTINGS["tier"].choices == tuple(Tier)
    assert SETTINGS["effort"].choices == tuple(Effort)


def test_defaults():
    found = Settings.load({})
    assert found.number("poll") == 10
    assert found.number("stall_warn") is None
    assert found.number("fs_progress") == 1.0
    assert not found.flag("no_daemon")
    assert not found.flag("build_discipline")
    assert not found.is_set("build_discipline")
    assert found.text("model") is None
    assert found.number("max_jobs") == 16
    assert found.origin("poll") == "default"


def test_flags_win_over_environment_over_file_over_default():
    config = b'# mine\nstall_warn = 11\npoll = 2.5\nmodel = "from-file"\nno_daemon = true\n'
    environ = {"OSRC_STALL_WARN": "22", "OUTSOURCERER_MODEL": "from-env", "OSRC_POLL": "", "OSRC_OTHER": "x"}
    found = Settings.load(environ, config, {"model": "from-flag"}, source="/c/config.toml")
    assert (found.number("poll"), found.origin("poll")) == (2.5, "config /c/config.toml")
    assert (found.number("stall_warn"), found.origin("stall_warn")) == (22, "environment OSRC_STALL_WARN")
    assert (found.text("model"), found.origin("model")) == ("from-flag", "flag")
    assert found.flag("no_daemon")
    assert sorted(found.configured()) == ["no_daemon", "poll"]
    both = Settings.load({"OUTSOURCERER_MODEL": "older", "OSRC_MODEL": "newer"})
    assert (both.text("model"), both.origin("model")) == ("newer", "environment OSRC_MODEL")


@pytest.mark.parametrize("key", [key for key, setting in SETTINGS.items() if setting.choices])
def test_a_choice_is_taken_in_any_case(key):
    for word in SETTINGS[key].choices:
        assert parse(SETTINGS[key], f" {word.upper()}", key) == word
    assert "one of" in refusal({}, flags={key: "nonsense"}).message


@pytest.mark.parametrize(
    "word", ["abc", "-1", "nan", "inf", "1e999", "5m", "1,5", "0x10", " ", "1" * 5000, "\ud800", "1\n2"]
)
def test_a_number_that_is_none_is_refused_by_name(word):
    said = refusal({"OSRC_STALL_KILL": word})
    assert said.message.startswith("OSRC_STALL_KILL is ")
    assert "a number from 0 to 1000000000000 (in seconds)" in said.message
    assert said.message.isprintable()
    assert len(said.message) < 300


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=lambda one: one.key)
def test_a_wrong_value_comes_with_the_command_that_mends_it(setting):
    for name in setting.names:
        assert refusal({name: "a\nb"}).hint == f"unset {name}"
    hint = refusal({}, f"{setting.key} = []".encode()).hint
    assert hint.startswith(f"osrc config set {setting.key} ")
    word = hint.rsplit(" ", 1)[1]
    assert Settings.load({}, f'{setting.key} = "{word}"'.encode()).is_set(setting.key)


@pytest.mark.parametrize("word", ["1.5", "x", "-2"])
def test_a_count_is_whole(word):
    assert "a whole number" in refusal({"OSRC_MAX_JOBS": word}).message


@pytest.mark.parametrize("word", ["0", "1001", "999999999999999"])
def test_the_bounds_of_a_number_are_said(word):
    said = refusal({"OSRC_MAX_JOBS": word})
    assert said.message == f"OSRC_MAX_JOBS is '{word}', which is not a whole number from 1 to 1000 (in jobs)"
    for good in ("1", "1000"):
        assert Settings.load({"OSRC_MAX_JOBS": good}).number("max_jobs") == float(good)


@pytest.mark.parametrize(("word", "on"), [("1", True), ("TRUE", True), ("on", True), ("0", False), ("No", False)])
def test_flags(word, on):
    assert Settings.load({"OSRC_NO_DAEMON": word}).flag("no_daemon") is on
    assert Settings.load({"OSRC_FS_PROGRESS": word}).number("fs_progress") == float(on)


def test_bad_words():
    assert "on or off" in refusal({"OSRC_NO_DAEMON": "maybe"}).message
    assert "frontier, capable" in refusal({"OSRC_TIER": "huge"}).message
    assert "one line" in refusal({"OSRC_MODEL": "a\nb"}).message
    assert "s3cret" not in refusal({"OSRC_LOCAL_KEY": "s3cret\nx"}).message


def test_lists():
    found = Settings.load({"OSRC_TEXT_LANES": " a, b,,c  d "})
    assert found.words("text_lanes") == ("a", "b", "c", "d")
    assert found.words("model_denylist") == ()


def test_an_unknown_key_names_the_nearest():
    said = refusal({}, b"stall_kil = 3\n", source="/c/config.toml")
    assert "stall_kil" in said.message
    assert "/c/config.toml" in said.message
    assert "Did you mean stall_kill?" in said.message
    assert said.hint is not None
    assert "osrc config show" in said.hint
    assert "osrc config show" in refusal({}, b"zzzzzzzz = 3\n").hint


@pytest.mark.parametrize(
    ("config", "line"),
    [(b"poll = 1\nmodel = \n", "line 2"), (b"poll = 1\n\n[[[\n", "line 3"), (b"poll = 1\n# \xff\n", "line 2")],
)
def test_a_file_that_can_not_be_read_names_the_line(config, line):
    assert line in refusal({}, config).message


def test_other_bad_files():
    assert "[local]" in refusal({}, b"[local]\nurl = 'x'\n").message
    assert "poll in config.toml is True" in refusal({}, b"poll = true\n").message
    assert "poll in config.toml is [1]" in refusal({}, b"poll = [1]\n").message
    assert "model in config.toml is 3" in refusal({}, b"model = 3\n").message
    refusal({}, b"a = " + b"[" * 100_000)
    assert Settings.load({}, b"\xef\xbb\xbfpoll = 3\r\n").number("poll") == 3
    assert Settings.load({}, b"poll = '3'\nno_daemon = 1").number("poll") == 3


@given(st.binary(max_size=60))
def test_no_file_makes_a_traceback(config):
    said = refusal_of(lambda: Settings.load({}, config))
    assert said is None or said.code == "bad_config"


def test_what_is_shown_hides_secrets():
    environ = {
        "OSRC_LOCAL_KEY": "s3cret",
        "OSRC_LOCAL_URL": "http://me:s3cret@127.0.0.1:1/v1",
        "OSRC_STALL_KILL": "1800",
    }
    rows = {row.key: row for row in Settings.load(environ).describe()}
    assert list(rows) == list(SETTINGS)
    assert "s3cret" not in str(rows)
    assert rows["local_url"].value == "http://********@127.0.0.1:1/v1"
    assert (rows["stall_kill"].value, rows["stall_kill"].origin) == ("1800", "environment OSRC_STALL_KILL")
    assert (rows["no_daemon"].value, rows["model"].value) == ("off", None)
    assert not rows["net_liveness"].effective


@pytest.mark.skipif(not os.sys.platform.startswith("linux"), reason="the XDG rule")
def test_where_the_file_is():
    assert config_file({"HOME": "/h"}) == Path("/h/.config/outsourcerer/config.toml")
    assert config_file({"HOME": "/h", "XDG_CONFIG_HOME": "/x y"}) == Path("/x y/outsourcerer/config.toml")
    assert config_file({"HOME": "/h", "XDG_CONFIG_HOME": "rel"}) == Path("/h/.config/outsourcerer/config.toml")


def test_reading_the_file(tmp_path):
    assert read_config(tmp_path / "none") is None
    assert read_config(tmp_path / "none" / "x") is None
    real = tmp_path / "dotfiles.toml"
    real.write_bytes(b"poll = 1\n")
    (tmp_path / "config.toml").symlink_to(real)
    assert read_config(tmp_path / "config.toml") == b"poll = 1\n"
    for bad in (tmp_path, Path("/dev/zero")):
        with pytest.raises(StateError) as caught:
            read_config(bad)
        assert caught.value.code == "bad_config"


def test_the_file_is_edited_in_place(tmp_path):
    path = tmp_path / "new" / "config.toml"
    set_in_config(path, "poll", "5")
    assert path.read_text() == "poll = 5\n"
    path.write_text('# top\n\n  poll = 5   # often\nmodel = "a#b\\"" # why\n"effort" = \'low\'')
    set_in_config(path, "poll", "2.5")
    set_in_config(path, "model", 'x "y" # z')
    set_in_config(path, "effort", "high")
    set_in_config(path, "no_daemon", "yes")
    set_in_config(path, "worktree_base", "a\\b ünï\x7f")
    assert path.read_text() == (
        '# top\n\npoll = 2.5  # often\nmodel = "x \\"y\\" # z"  # why\neffort = "high"\n'
        'no_daemon = true\nworktree_base = "a\\\\b ünï\\U0000007F"\n'
    )
    loaded = Settings.load({}, path.read_bytes())
    assert loaded.text("worktree_base") == "a\\b ünï\x7f"
    set_in_config(path, "no_daemon", None)
    set_in_config(path, "no_daemon", None)
    assert "no_daemon" not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "content",
    [b'model = """\na\n"""\n', b"poll = 1\npoll = 2\n", b"model = \n", b"\xff", b"text_lanes = '''\npoll = 1\n'''\n"],
)
def test_a_file_that_no_program_should_touch_is_left_alone(tmp_path, content):
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    key = "poll" if b"text_lanes" in content else "model"
    with pytest.raises(StateError) as caught:
        set_in_config(path, key, "3")
    assert caught.value.code == "bad_config"
    assert path.read_bytes() == content


def test_bad_words_are_refused_before_the_file_is_touched(tmp_path):
    path = tmp_path / "config.toml"
    for key, word in (("nonsense", "1"), ("poll", "x"), ("tier", "huge")):
        with pytest.raises(StateError):
            set_in_config(path, key, word)
    assert not path.exists()


def test_a_link_stays_a_link_and_a_full_disk_loses_nothing(tmp_path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("poll = 1\n")
    link = tmp_path / "config.toml"
    link.symlink_to(real)
    set_in_config(link, "poll", "2")
    assert link.is_symlink()
    assert real.read_text() == "poll = 2\n"
    with pytest.raises(StateError) as caught:
        set_in_config(link, "poll", "3", files=FailingDisk(2))
    assert caught.value.code == "state_full"
    assert real.read_text() == "poll = 2\n"


@given(
    st.dictionaries(st.sampled_from(["model", "worktree_base", "local_url"]), st.text(max_size=20), max_size=3),
    st.text(max_size=20),
)
def test_what_is_set_is_what_is_read(tmp_path_factory, before, word):
    path = tmp_path_factory.mktemp("c") / "config.toml"
    for key, value in before.items():
        refusal_of(lambda: set_in_config(path, key, value))  # noqa: B023 - called at once
    said = refusal_of(lambda: set_in_config(path, "model", word))
    if said is not None:
        assert said.code == "bad_config"
        return
    assert tomllib.loads(path.read_text())["model"] == word
    assert Settings.load({}, path.read_bytes()).text("model") == word


def test_what_two_set_at_once_is_both_kept(tmp_path, monkeypatch):
    path = tmp_path / "config.toml"
    other = threading.Thread(target=set_in_config, args=(path, "budget_day", "5"))

    def read_while_another_writes(place):
        content = read_config(place)
        monkeypatch.setattr(settings_file, "read_config", read_config)
        other.start()
        other.join(0.3)
        return content

    monkeypatch.setattr(settings_file, "read_config", read_while_another_writes)
    set_in_config(path, "budget_job", "1")
    other.join()
    assert read_config(path) == b"budget_job = 1\nbudget_day = 5\n"
