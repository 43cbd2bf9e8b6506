from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.value import Json
from inquest.sources.shared.texts import (
    MAX_LABELS,
    MAX_LABELS_CHARS,
    MAX_NAME_CHARS,
    MAX_VALUE_CHARS,
    read_fingerprint,
    read_labels,
    read_text,
)

SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=()))


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))
def test_any_value_becomes_bounded_text_and_labels(value: Json) -> None:
    warnings: list[str] = []
    assert len(read_text(value, warnings, "x")) <= MAX_VALUE_CHARS
    for name, text in read_labels(value, warnings, "labels").items():
        (name + text).encode()
    read_fingerprint(value).encode("ascii")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), ("a", "a"), (1, "1"), (1.5, "1.5"), (True, "true"), ({"a": [1]}, '{"a":[1]}'), ("a\x00", "a␀")],
)
def test_values_are_written_as_text(value: Json, text: str) -> None:
    assert read_text(value, [], "x") == text


def test_labels_are_bounded_in_number_and_size_and_say_so() -> None:
    warnings: list[str] = []
    labels = read_labels({f"n{n:04}": "x" * 10_000 for n in range(200)}, warnings, "labels")

    assert len(labels) == MAX_LABELS
    assert sum(map(len, labels.values())) <= MAX_LABELS_CHARS
    assert f"labels: only {MAX_LABELS} of 200 are taken" in warnings
    assert any("cut to" in warning for warning in warnings)


def test_two_names_that_look_the_same_once_clean_are_told() -> None:
    warnings: list[str] = []
    assert read_labels({"na\u200bme": "first", "name": "second"}, warnings, "labels") == {"name": "first"}
    assert warnings[-1] == "labels: 'name' comes twice, the first is kept"


def test_a_long_name_is_cut_and_keeps_apart_from_another() -> None:
    labels = read_labels({"n" * 500 + "a": "1", "n" * 500 + "b": "2"}, [], "labels")
    assert len(labels) == 2
    assert all(len(name) <= MAX_NAME_CHARS for name in labels)


def test_a_null_value_is_a_label_that_is_not_there() -> None:
    assert read_labels({"a": None, "b": "1"}, [], "labels") == {"b": "1"}


@pytest.mark.parametrize("value", [["a"], "a", 1])
def test_labels_that_are_no_object_are_left_out_with_a_warning(value: Json) -> None:
    warnings: list[str] = []
    assert read_labels(value, warnings, "labels") == {}
    assert warnings == ["labels is no object: left out"]


@pytest.mark.parametrize(("value", "fingerprint"), [("03a283e568c6e1c6", "03a283e568c6e1c6"), (None, ""), ("", "")])
def test_a_plain_fingerprint_is_kept(value: Json, fingerprint: str) -> None:
    assert read_fingerprint(value) == fingerprint


def test_long_or_odd_fingerprints_are_hashed_and_stay_apart() -> None:
    odd: list[Json] = ["x" * 1_000_000, "x" * 1_000_001, "a\x00", "a", "\ud800", "é", "{}", 12, ["12"]]
    read = [read_fingerprint(value) for value in odd]

    assert len(set(read)) == len(odd)
    assert all(len(fingerprint) <= 128 for fingerprint in read)
