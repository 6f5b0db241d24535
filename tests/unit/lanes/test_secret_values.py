"""No known kind of secret is missed, whatever stands around it; nothing ordinary is taken for one; nothing is told."""

import base64
import json
import random

import pytest
from fakes.secret_corpus import ALNUM, HEX, SECRETS, private_key, uuid
from hypothesis import given, settings
from hypothesis import strategies as st
from outsourcerer.lanes.secrets.matching import compiled
from outsourcerer.lanes.secrets.rules import ANCHORED, COUNTED, HIGH, REDACTED_LOW
from outsourcerer.lanes.secrets.values import Redactor, find, redact

CONTEXTS = (
    "{}",
    "use this key: {}\n",
    "export KEY={}",
    'config = {{"key": "{}"}}',
    "({}, and more)",
    "see {}.",
    "Grüße, 鍵は {} です",
    "curl -H 'Authorization: Bearer {}' https://example.com",
    "--key={}&next=1",
    "`{}`;",
    "<value>{}</value>",
)
ORDINARY = (
    "Set OPENAI_API_KEY and ANTHROPIC_API_KEY in the environment; never paste an API key such as sk-... into a prompt.",
    "export GITHUB_TOKEN=" + "ghp_" + "x" * 36,
    "AWS documents " + "AKIA" + "IOSFODNN7EXAMPLE as its sample id",
    "sk-" + "your-api-key-here, sk-ant-" + "..., sk-" + "1234567890abcdefghijklmnopqrstuvwxyz",
    "the header is -----BEGIN RSA PRIVATE" + " KEY----- and then base64",
    "risk-assessment-of-the-disk-based-desk-lamp and task-oriented-architecture-overview",
    '.sk-circle-container-wrapper { class="sk-fading-circle-with-many-words" }',
    "password = 'hunter2'; db.connect(password=os.environ['PASSWORD'])",
)


def high(text: str) -> list[str]:
    return [hit.rule for hit in find(text) if hit.confidence == "high"]


def test_at_least_forty_kinds_are_known():
    assert len(SECRETS) >= 40


@pytest.mark.parametrize("kind", SECRETS)
def test_no_kind_is_missed_whatever_stands_around_it(kind: str):
    rnd = random.Random(kind)
    for _ in range(20):
        secret = SECRETS[kind](rnd)
        for context in CONTEXTS:
            text = context.format(secret)
            assert high(text), f"{kind} in {context!r}"
            clean, count = redact(text)
            assert count
            body = max(secret.split("\n"), key=len)
            assert body not in clean
            assert body[8:] not in clean


@pytest.mark.parametrize("kind", SECRETS)
def test_escapes_hide_nothing(kind: str):
    secret = SECRETS[kind](random.Random(kind))
    assert high(json.dumps({"prompt": f"first line\n{secret}\nlast"})), kind
    assert high(f"https://example.com/?q=%3D{secret}"), kind


@pytest.mark.parametrize("kind", SECRETS)
def test_a_terminals_colours_hide_nothing(kind: str):
    secret = SECRETS[kind](random.Random(kind))
    for text in (f"\x1b[1;31m{secret}\x1b[0m", f"a\x1b[01;31m\x1b[K{secret}\x1b[m\x1b[K", f"a[31m{secret}"):
        assert high(text), text


@pytest.mark.parametrize("before", ["x_", "a-", "a/", "a+"])
def test_a_token_of_github_is_found_behind_what_base64_is_made_of(before: str):
    assert high(before + SECRETS["github classic"](random.Random(1))) == ["github-token"]


def test_a_hit_says_where_and_not_what():
    secret = SECRETS["github classic"](random.Random(1))
    text = f"naïve 🔑 {secret} end"
    (hit,) = find(text)
    assert (hit.rule, text[hit.start : hit.end]) == ("github-token", secret)
    assert secret not in repr(hit)


@pytest.mark.parametrize("text", ORDINARY)
def test_talk_of_secrets_is_no_secret(text: str):
    assert high(text) == []


def test_what_needs_a_word_beside_it_is_only_counted():
    hits = find("password = 'k3jH8sLw02' and postgres://app:s3cr3tpw@db/x")
    assert [(hit.rule, hit.confidence) for hit in hits] == [("secret-assignment", "low"), ("password-in-url", "low")]


def test_hashes_and_ids_are_no_secrets():
    rnd = random.Random(7)
    lines = [uuid(rnd) for _ in range(2000)]
    lines += ["".join(rnd.choices(HEX, k=n)) for n in (32, 40, 64, 128) for _ in range(1000)]
    lines += [f"sha512-{''.join(rnd.choices(ALNUM + '+/', k=86))}==" for _ in range(3000)]
    assert high("\n".join(lines)) == []


@given(st.text(max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_text_is_looked_at_and_what_is_clean_stays_as_it_was(text: str):
    hits = find(text)
    assert all(0 <= hit.start < hit.end <= len(text) for hit in hits)
    clean, count = redact(text)
    assert count or clean == text


def test_every_row_has_one_group_of_its_own():
    for kind, pattern in (*REDACTED_LOW, *COUNTED):
        assert compiled(pattern).groups == 1, kind
    for kind, *patterns in (*HIGH, *ANCHORED):
        assert not any(compiled(pattern).groups for pattern in patterns), kind


def _stream(rnd: random.Random) -> bytes:
    parts = [b"\xff\xfe raw bytes\n", "Grüße\r\n".encode(), b"x" * 70_000 + b" ", b"value-handed-over "]
    parts += [SECRETS[kind](rnd).encode() + b"\n" for kind in rnd.sample(sorted(SECRETS), 8)]
    parts += [b"A" * 65_500 + b" " + SECRETS["gitlab"](rnd).encode(), private_key("EC ")(rnd).encode() + b"\nafter\n"]
    rnd.shuffle(parts)
    return b"".join(parts)


@given(st.integers(0, 10_000), st.lists(st.integers(1, 40_000), max_size=30))
@settings(max_examples=40, deadline=None)
def test_a_stream_is_clean_however_it_is_cut(seed: int, cuts: list[int]):
    data = _stream(random.Random(seed))
    whole = Redactor(["value-handed-over"])
    expected = whole.feed(data) + whole.finish()
    pieces = Redactor(["value-handed-over"])
    out, at = [], 0
    for cut in [*cuts, len(data)]:
        out.append(pieces.feed(data[at : at + cut]))
        at += cut
    assert b"".join(out) + pieces.finish() == expected
    assert pieces.count == whole.count >= 10
    assert b"value-handed-over" not in expected
    assert high(expected.decode("utf-8", "replace")) == []


def test_known_values_are_found_in_any_dress():
    value = 'odd "value" / with=signs\nand a second line'
    redactor = Redactor([value])
    text = json.dumps(value) + " " + "odd%20%22value%22%20%2F%20with%3Dsigns and a second line\n"
    clean = redactor.feed(text.encode()) + redactor.finish()
    assert b"signs" not in clean
    assert b"second" not in clean


def test_a_private_key_is_taken_out_whole_and_what_follows_stays():
    key = private_key("RSA ")(random.Random(3))
    clean, count = redact(f"before\n{key}\nafter it\n")
    assert (clean, count) == ("before\n[redacted:private-key]\nafter it\n", 1)


def test_short_known_values_take_no_words_with_them():
    assert Redactor(["a", "", "yes"]).feed(b"a yes\n") == b"a yes\n"


def test_a_key_that_is_cut_off_ends_with_the_first_line_that_is_no_part_of_one():
    key = private_key("")(random.Random(3)).split("\n")
    clean, _ = redact("\n".join([*key[:5], "and then some words.", "more"]))
    assert clean == "[redacted:private-key]\nand then some words.\nmore"
    mention = "it says -----BEGIN PRIVATE" + " KEY----- on top of it\nnext"
    assert redact(mention)[0] == "it says [redacted:private-key] on top of it\nnext"


def test_what_public_repositories_hold_is_clean_as_text_too():
    rnd = random.Random(9)
    blobs = [
        base64.b64encode(rnd.randbytes(300_000)).decode(),
        base64.urlsafe_b64encode(rnd.randbytes(300_000)).decode(),
    ]
    lines = [f"pkg-{n}@^1.{n} sha512-{base64.b64encode(rnd.randbytes(64)).decode()}" for n in range(2000)]
    names = ["task", "token", "disk", "risk", "key", "pypi_upload", "npm_config", "ghp", "sk_test", "xoxb_like"]
    code = [f"const {rnd.choice(names)}_{n} = get('{rnd.choice(names)}-{uuid(rnd)}');" for n in range(3000)]
    assert high("\n".join([*blobs, *lines, *code])) == []


def test_a_key_inside_json_is_taken_out_and_the_json_stays_one():
    key = private_key("RSA ")(random.Random(4))
    for text in (key, key[:300], f"before {key} after {SECRETS['npm'](random.Random(1))}"):
        clean, count = redact(json.dumps({"text": text, "n": 1}) + "\n")
        assert count
        assert json.loads(clean)["n"] == 1
        assert text[40:90] not in json.loads(clean)["text"]


def test_a_sample_may_stay_where_asked_for():
    text = b"postgres://app:s3cr3tpw@db/x and " + SECRETS["npm"](random.Random(1)).encode()
    redactor = Redactor(low=False)
    assert redactor.feed(text) + redactor.finish() == b"postgres://app:s3cr3tpw@db/x and [redacted:npm-token]"


@pytest.mark.parametrize(
    "unit", ["sk-", "-----BEGIN RSA PRIVATE" + " KEY-----", "-----END", "eyJ", "://a:b@", "hvs.", "\\n"]
)
def test_hostile_text_is_got_through(unit: str):
    for text in (unit * 3000, f"{unit}\n" * 3000):
        find(text)
        assert "PRIVATE KEY-----" not in redact(text)[0]
