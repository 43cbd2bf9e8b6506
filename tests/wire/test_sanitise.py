"""Nothing hides, reorders or drives a terminal after the sanitiser, and a note says what was done."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from inquest.wire.sanitise import MIN_LIMIT, clean
from tests.postgres import NewDatabase

# Surrogates too: Hypothesis leaves them out unless asked for.
ANY_CHARACTER = st.characters(exclude_categories=()) | st.sampled_from(
    "\x00\x07\x1b\x7f\x85\x9b\r\n\t\u2028\u2029\u061c\u200e\u200f\u202a\u202e\u2066\u2069\u200b\u200d\u2060\ufeff\u00ad"
    "\U000e0041\ufe0f\u3164\ud800\udfff[m0;]"
)
ANY_TEXT = st.text(ANY_CHARACTER, max_size=300)
INJECTIONS = [
    json.loads(line)["text"]
    for line in (Path(__file__).parent.parent / "data/bugs/intake_injection.jsonl").read_text().splitlines()
]


@given(ANY_TEXT)
@example("\x1b\x1b[0m[2J")
@example("\r\x1b[0m\n")
@example("\ud83d\ude00")
def test_what_comes_out_is_safe_and_goes_in_again_unchanged(text: str) -> None:
    safe = clean(text).text

    safe.encode("utf-8")
    kinds = {unicodedata.category(character) for character in safe} - {"Cn", "Co"}
    assert not kinds & {"Cs"}
    assert all(character in "\n\t" for character in safe if unicodedata.category(character) in ("Cc", "Zl", "Zp"))
    assert not any(unicodedata.bidirectional(character) in BIDI_CONTROLS for character in safe)
    assert clean(safe).text == safe
    assert clean(safe).notes == ()


BIDI_CONTROLS = frozenset({"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI", "BN"})


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs")) | st.sampled_from("\n\t"), max_size=300))
def test_harmless_text_is_left_alone(text: str) -> None:
    harmless = "".join(c for c in text if unicodedata.bidirectional(c) != "BN" and c not in "\u115f\u1160\u3164\uffa0")
    assert clean(harmless).text == harmless
    assert clean(harmless).notes == ()


@given(ANY_TEXT)
def test_newlines_and_tabs_are_kept(text: str) -> None:
    assert clean(text).text.count("\n") == text.count("\n")
    assert clean(text).text.count("\t") == text.count("\t")


@given(ANY_TEXT)
def test_a_change_is_never_without_a_note(text: str) -> None:
    safe = clean(text)
    assert bool(safe.notes) == (safe.text != text)


@given(ANY_TEXT, st.integers(MIN_LIMIT, 200))
def test_no_text_is_longer_than_its_limit(text: str, limit: int) -> None:
    safe = clean(text, limit=limit)
    assert len(safe.text) <= limit
    assert clean(safe.text, limit=limit).text == safe.text


@pytest.mark.parametrize(
    ("text", "shown", "note"),
    [
        ("a\x00b", "a␀b", "1 control characters made visible"),
        ("a\x7f\x9bb", "a␡⟨U+009B⟩b", "2 control characters made visible"),
        ("a\rb", "a␍b", "1 control characters made visible"),
        ("a\r\nb", "a\nb", "1 CRLF line ends made LF"),
        ("a\u2028b", "a⟨U+2028⟩b", "1 control characters made visible"),
        ("\x1b[1;31mred\x1b[0m", "red", "2 terminal colours removed"),
        ("\x1b[2Jgone", "␛[2Jgone", "1 control characters made visible"),
        ("p\u202egnp.exe\u202c", "p⟨U+202E⟩gnp.exe⟨U+202C⟩", "2 direction marks made visible"),
        ("ad\u200bmin\U000e0041\U000e0042", "admin", "3 invisible characters removed"),
        ("x\ud800y", "x�y", "1 lone surrogates replaced"),
    ],
)
def test_each_kind_is_shown_in_its_way(text: str, shown: str, note: str) -> None:
    safe = clean(text)
    assert (safe.text, safe.notes) == (shown, (note,))


@pytest.mark.parametrize("text", INJECTIONS)
def test_the_recorded_injections_lose_what_hides_them(text: str) -> None:
    safe = clean(text).text
    assert not any(character in safe for character in "\x1b\x07\u202e\u202c")


def test_two_long_texts_that_differ_at_the_end_still_differ_when_cut() -> None:
    one, other = clean("x" * 500 + "a", limit=MIN_LIMIT), clean("x" * 500 + "b", limit=MIN_LIMIT)

    assert one.text != other.text
    assert "[cut: 501 characters, sha256 " in one.text
    assert one.notes == (f"cut to {MIN_LIMIT} of 501 characters",)


def test_a_limit_without_room_for_its_tail_is_refused() -> None:
    with pytest.raises(ValueError, match="at least"):
        clean("x", limit=10)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=30)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=20))
def test_postgres_takes_it_as_text_and_as_jsonb(
    store: psycopg.Connection[tuple[str, object]], texts: list[str]
) -> None:
    for text in texts:
        safe = clean(text).text
        found = store.execute("select %s::text, %s::jsonb", (safe, json.dumps({safe: safe}))).fetchone()
        assert found == (safe, {safe: safe})


@pytest.fixture
def store(database: NewDatabase) -> Iterator[psycopg.Connection[tuple[str, object]]]:
    with psycopg.connect(database().conninfo, autocommit=True) as connection:
        yield connection
