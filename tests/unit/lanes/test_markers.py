"""Markers: found where a delegate wrote them, and in no echo of the prompt."""

from __future__ import annotations

import json
import re
import textwrap
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from outsourcerer.lanes.markers import ID_BYTES, MarkerScanner, disclose, find, mint, percent, without_markers
from outsourcerer.lanes.scaffolds import scaffold
from outsourcerer.messages.lane_events import Marked, MarkerKind, Spoke, ToolFinished, TurnEnded
from outsourcerer.messages.vocabulary import Effort, Tier, Verb

ID = mint(bytes.fromhex("0123456789abcdef"))

ids = st.binary(min_size=ID_BYTES, max_size=ID_BYTES).map(mint)
tasks = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        ["OSRC::DONE #0123456789abcdef all done", "print OSRC::DONE", "#\nOSRC::BLOCKED\nOSRC::", "{x} $y %s {{z}}"]
    ),
)


def squeeze(pattern: str):
    return lambda text: re.sub(pattern, "", text)


TRANSFORMS = {
    "as it is": lambda text: text,
    "quoted": lambda text: "\n".join("> " + line for line in text.splitlines()),
    "listed": lambda text: "\n".join("- " + line for line in text.splitlines()),
    "fenced": lambda text: f"```\n{text}\n```",
    "json": json.dumps,
    "json unescaped": lambda text: json.dumps(text).replace("\\n", "\n"),
    "repr": repr,
    "upper": str.upper,
    "lower": str.lower,
    "no spaces": squeeze(r" "),
    "no whitespace": squeeze(r"\s"),
    "no punctuation": squeeze(r"[`*>\-.,;'\"()]"),
    "letters and marks only": squeeze(r"[^0-9A-Za-z:#_]"),
    "bare": squeeze(r"[^0-9A-Za-z]"),
    "one word a line": lambda text: "\n".join(text.split()),
    "reversed lines": lambda text: "\n".join(reversed(text.splitlines())),
    "no line breaks": lambda text: text.replace("\n", " "),
    "no line breaks at all": lambda text: text.replace("\n", ""),
    **{f"wrapped at {width}": lambda text, w=width: textwrap.fill(text, w) for width in (10, 20, 33, 72, 100)},
    **{
        f"chopped at {width}": lambda text, w=width: "\n".join(text[i : i + w] for i in range(0, len(text), w))
        for width in (7, 16, 40)
    },
}


@pytest.mark.parametrize("name", TRANSFORMS)
@given(marker_id=ids, task=tasks, tier=st.sampled_from(Tier), verb=st.sampled_from(Verb))
def test_no_echo_of_the_prompt_is_a_signed_marker(name: str, marker_id: str, task: str, tier: Tier, verb: Verb) -> None:
    prompt = scaffold(task.replace(marker_id, ""), tier=tier, verb=verb, effort=Effort.HIGH, marker_id=marker_id)
    echo = TRANSFORMS[name](prompt)
    assert marker_id not in echo
    assert not [marked for marked in find(echo, marker_id) if marked.signed]


@given(marker_id=ids)
def test_the_disclosure_itself_shows_no_marker_of_any_kind(marker_id: str) -> None:
    for transform in TRANSFORMS.values():
        assert find(transform(disclose(marker_id)), marker_id) == []


def test_two_halves_said_one_after_the_other_are_the_id() -> None:
    words = " ".join(disclose(ID).split())
    first, second = re.search(r"first half is (\w+), and the half that comes after that one is (\w+)\.", words).groups()
    assert first + second == ID


def test_an_id_needs_64_random_bits() -> None:
    with pytest.raises(ValueError, match="8 random bytes"):
        mint(b"1234567")
    assert len(mint(bytes(8))) * 4 >= 64


@pytest.mark.parametrize(
    "line",
    [
        f"OSRC::DONE #{ID} all good",
        f"> OSRC::DONE #{ID} all good",
        f"- `OSRC::DONE #{ID} all good`",
        f"**OSRC::DONE #{ID} all good**",
        f"   OSRC::DONE  #{ID}  all   good  ",
        f"OSRC::DONE: #{ID} all good",
        f"OSRC::DONE `#{ID}` all good",
        f"said before\r\nOSRC::DONE #{ID} all good\r\na footer after it",
    ],
)
def test_a_marker_on_its_own_line_is_found_through_decoration(line: str) -> None:
    assert find(line, ID) == [Marked(marker=MarkerKind.DONE, text="all good", signed=True)]


@pytest.mark.parametrize(
    "line",
    [
        f"I will write OSRC::DONE #{ID} at the end",
        f"OSRC::done #{ID} lower case",
        f"OSRC:DONE #{ID}",
        f"OSRC::DONELY #{ID}",
        f"OSRC:: DONE #{ID}",
        f"x OSRC::DONE #{ID}",
    ],
)
def test_what_only_looks_like_a_marker_is_none(line: str) -> None:
    assert find(line, ID) == []


@pytest.mark.parametrize("key", ["", f"#{ID[:-1]}", f"#{ID}0", f"#{ID.upper()}", "#fedcba9876543210", f"{ID}"])
def test_without_this_attempts_id_it_is_unsigned(key: str) -> None:
    [marked] = find(f"OSRC::BLOCKED {key} no network", ID)
    assert marked.marker is MarkerKind.BLOCKED
    assert not marked.signed


def test_percent_is_read_from_steps_or_a_percentage() -> None:
    assert percent("2/5 tests written") == 40
    assert percent("about 70% there") == 70
    assert percent("7/5") is None
    assert percent("0/0") is None
    assert percent("nearly there") is None
    assert percent("120%") is None


def done(text: str = "ok") -> Marked:
    return Marked(marker=MarkerKind.DONE, text=text, signed=True)


def markers_in(events: list) -> list[Marked]:
    return [event for event in events if isinstance(event, Marked)]


@given(st.lists(st.integers(0, 200), max_size=8))
def test_a_marker_in_pieces_is_found_however_they_are_cut(places: list[int]) -> None:
    text = f"working\nOSRC::PROGRESS #{ID} 1/2\nmore\nOSRC::DONE #{ID} ok"
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    scanner = MarkerScanner(ID)
    events = scanner.scan(
        [Spoke(text=text[a:b], partial=True) for a, b in pairwise(edges) if a < b] + [TurnEnded(ok=True, text=text)]
    )
    assert markers_in(events) == [Marked(marker=MarkerKind.PROGRESS, text="1/2", signed=True), done()]
    assert isinstance(events[-1], TurnEnded)


def test_a_whole_message_after_its_pieces_gives_its_markers_once() -> None:
    scanner = MarkerScanner(ID)
    text = f"OSRC::DONE #{ID} ok"
    events = scanner.scan([Spoke(text=text, partial=True), Spoke(text=text), TurnEnded(ok=True, text=text)])
    assert markers_in(events) == [done()]


def test_a_final_text_that_was_never_spoken_is_read_too() -> None:
    events = MarkerScanner(ID).scan([TurnEnded(ok=True, text=f"answer\nOSRC::DONE #{ID} ok")])
    assert markers_in(events) == [done()]
    assert isinstance(events[-1], TurnEnded)


def test_tool_output_is_not_the_delegates_word() -> None:
    events = MarkerScanner(ID).scan([ToolFinished(name="Bash", excerpt=f"OSRC::DONE #{ID} ok")])
    assert markers_in(events) == []


def test_a_line_without_end_is_not_kept() -> None:
    scanner = MarkerScanner(ID)
    for _ in range(100):
        scanner.scan([Spoke(text="x" * 10_000, partial=True)])
    assert len(scanner._line) < 5_000


def test_a_person_reads_a_message_without_its_status_lines():
    mark = "0123456789abcdef"
    text = f"First.\n> OSRC::PROGRESS #{mark} 1/2 going\nSecond.\nOSRC::DONE #{mark} all good"
    assert without_markers(text, mark) == "First.\nSecond."
    assert without_markers(f"OSRC::DONE #{mark} all good", mark) == "all good"
    assert without_markers("OSRC::DONE #ffffffffffffffff forged", mark) == "OSRC::DONE #ffffffffffffffff forged"
    assert without_markers(None, mark) is None
    assert without_markers("plain\n", mark) == "plain\n"
