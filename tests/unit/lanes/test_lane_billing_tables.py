"""What ``brief``, ``suggest`` and ``estimate`` go by."""

import json

import pytest
from outsourcerer.lanes.catalog.dealing import cheap, for_text, free
from outsourcerer.lanes.catalog.listing import Listed, parse
from outsourcerer.lanes.catalog.quoting import prompt_tokens, quote
from outsourcerer.lanes.conserve import advise
from outsourcerer.lanes.prices import FRONTIER, price_of
from outsourcerer.lanes.registry import builtin, names
from outsourcerer.lanes.rows import ROWS


def test_the_glance_knows_what_the_lanes_know():
    seen = {name: row for name, row in ROWS.items() if row.seen_at_a_glance}
    elsewhere = {"acp", "claudex", "embedded", "local"}  # a command, a proxy, a runtime, a port
    assert set(seen) == set(names()) - elsewhere
    for name, one in seen.items():
        lane = builtin(name)
        programs = {str(program) for program in (lane.binary, *lane.executables) if program}
        assert set(one.programs) <= programs
        assert lane.binary is None or str(lane.binary) in one.programs
        assert one.key is None or one.key in lane.secrets
        assert set(one.signs) <= set(lane.credential_files)


@pytest.mark.parametrize(
    ("used", "here", "keyless", "room", "verdict", "lane"),
    [
        (None, {"local"}, True, True, "unknown", None),
        (0.49, {"local"}, True, True, "headroom", None),
        (0.5, {"local", "devin"}, True, True, "conserve", "local"),
        (0.9, {"devin", "gemini", "codex", "cc"}, True, True, "conserve", "devin"),
        (0.9, {"gemini", "codex", "cc"}, True, True, "conserve", "gemini"),
        (0.9, {"gemini", "codex", "cc"}, False, True, "conserve", "codex"),
        (0.9, {"gemini", "codex", "cc"}, False, False, "conserve", "cc"),
        (0.9, {"claude"}, True, True, "conserve", None),
    ],
)
def test_what_to_spare_and_where_work_goes(used, here, keyless, room, verdict, lane):
    found = advise(used, 0.5, here, keyless_gemini=keyless, codex_headroom=room)
    assert (found.verdict, found.lane) == (verdict, lane)


def listed(name, prompt=1e-6, completion=2e-6, created=0.0):
    return Listed(id=name, prompt=prompt, completion=completion, created=created)


def test_only_models_for_text_are_deals():
    models = [
        *(listed(f"v/m-{number}:free", 0.0, 0.0, float(number)) for number in range(12)),
        listed("meta/llama-guard-4", 0.0, 0.0, 99.0),
        listed("x/some-image-quality", 0.0, 0.0, 99.0),
        listed("x/text-embedding-3", 1e-9),
        listed("v/imaginative", 1e-7),
        listed("v/unpriced", None, None),
    ]
    assert [one.id for one in free(models)] == [f"v/m-{number}:free" for number in range(11, 1, -1)]
    assert [one.id for one in cheap(models)] == ["v/imaginative"]
    assert not for_text(listed("openai/whisper-large"))


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "text"),
    [
        ("x/banana", ["text"], ["image", "text"], False),
        ("x/banana", ["text"], ["audio"], False),
        ("x/banana", ["audio"], ["text"], False),
        ("x/banana", ["image", "text"], ["text"], True),
        ("x/image-reader", ["image", "text"], ["text"], True),
        ("x/image-reader", None, None, False),
        ("x/image-reader", "text", {"text": 1}, False),
        ("x/llama-guard", ["text"], ["text"], False),
        ("x/banana", [], [7, None], True),
    ],
)
def test_what_a_model_answers_in_is_the_catalogue_s_word_first(name, inputs, outputs, text):
    row = {"id": name, "architecture": {"input_modalities": inputs, "output_modalities": outputs}}
    (model,) = parse(json.dumps({"data": [row]}).encode()).values()
    assert for_text(model) is text


def test_a_quote_is_of_what_is_known():
    assert quote(listed("v/m"), 1000) == pytest.approx(0.001 + 0.004)
    assert quote(listed("v/m", None), 1000) is None
    assert quote(None, 1000) is None
    assert prompt_tokens("ab") == 1


@pytest.mark.parametrize("catalogue", [None, b"", b"{", b'{"data": 7}', b'{"data": [7, {"id": "v/m"}]}', b"[" * 99999])
def test_a_price_that_nobody_knows_is_none(catalogue):
    assert price_of("v/m", catalogue) is None
    assert price_of(None, catalogue) is FRONTIER
