from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.value import Json
from inquest.stages.pointer import PointerMissing, resolve
from inquest.stages.quoting import MAX_QUOTE_CHARS, is_quote_of, is_rounding_of, number_of, quote_of, split_unit

LONG = "the pool of connections to db-primary is exhausted, " * 20


@pytest.mark.parametrize(
    ("quoted", "value", "holds"),
    [
        ("0.93", 0.9312, True),
        ("0.94", 0.9312, False),
        ("1", 0.9312, True),
        ("0", 0.4, False),
        ("0", 0, True),
        ("0.0", -0.0, True),
        ("-3", 3, False),
        ("1200", 1234, False),
        ("1.2e3", 1234, True),
        ("1,234", 1234, True),
        ("12,34", 1234, False),
        ("9007199254740993", "9007199254740993", True),
        ("9007199254740992", "9007199254740993", False),
        ("0.5", "0.51", True),
        ("high", 0.93, False),
        ("true", True, True),
        ("1", True, False),
        ("null", None, True),
        ("0", None, False),
        ("OOMKilled", "OOMKilled", True),
        ("OOM", "OOMKilled", False),
        ("ready", "not ready", False),
        ("pool of connections", LONG, True),
        ("ool of connection", LONG, False),
        ("pool of sockets", LONG, False),
        ("", {"labels": {}}, True),
        ("", "text", False),
        ("anything", [1, 2], False),
        ('up{job="api"}', {"labels": {"__name__": "up", "job": "api"}, "points": []}, True),
        ('up{job="web"}', {"labels": {"__name__": "up", "job": "api"}, "points": []}, False),
    ],
)
def test_what_is_quoted_is_what_is_there(quoted: str, value: Json, holds: bool) -> None:
    assert is_quote_of(quoted, value) is holds


json_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=500).filter(lambda text: text == text.strip()),
    st.dictionaries(st.sampled_from(["labels", "points"]), st.dictionaries(st.text(max_size=8), st.text(max_size=300))),
)


@given(json_values)
def test_what_code_quotes_is_a_quote(value: Json) -> None:
    quoted = quote_of(value)
    assert is_quote_of(quoted, value)
    assert len(quoted) <= MAX_QUOTE_CHARS or isinstance(value, float | int)


@given(st.decimals(-1_000_000, 1_000_000, allow_nan=False, places=6), st.integers(0, 6))
def test_a_number_rounded_by_decimal_is_accepted(value: Decimal, digits: int) -> None:
    rounded = value.quantize(Decimal(1).scaleb(-digits))
    assert is_rounding_of(rounded, value) or (rounded == 0) != (value == 0)


@given(st.decimals(1, 1_000_000, allow_nan=False, places=3), st.integers(0, 3))
def test_one_more_in_the_last_digit_is_refused(value: Decimal, digits: int) -> None:
    last = Decimal(1).scaleb(-digits)
    assert not is_rounding_of(value.quantize(last) + last + last, value)


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("250 ms", "250", "ms"),
        ("250ms", "250", "ms"),
        ("1,234.5 req/s", "1234.5", "req/s"),
        ("12%", "12", "%"),
        ("12", "12", ""),
        ("v12", None, ""),
        ("1.2.3", None, ""),
        ("3-minute", None, ""),
        ("-5", "-5", ""),
    ],
)
def test_a_number_is_split_from_its_unit(text: str, number: str | None, unit: str) -> None:
    assert split_unit(text) == (None if number is None else Decimal(number), unit)


@pytest.mark.parametrize("text", ["", "NaN", "Infinity", "1_000", "0x10", "١٢", "1e9999", "1" * 65, " 1"])
def test_only_plain_decimals_are_numbers(text: str) -> None:
    assert number_of(text) is None


@pytest.mark.parametrize("pointer", ["/series/0\n", "/series/00", "/series/-0", "/series/\u0661"])
def test_a_list_index_has_one_spelling(pointer: str) -> None:
    with pytest.raises(PointerMissing):
        resolve({"series": [1]}, pointer)


@pytest.mark.parametrize(
    ("pointer", "value"), [("", {"a/b": {"~": [7]}}), ("/a~1b", {"~": [7]}), ("/a~1b/~0", [7]), ("/a~1b/~0/0", 7)]
)
def test_pointers_are_those_of_rfc_6901(pointer: str, value: Json) -> None:
    assert resolve({"a/b": {"~": [7]}}, pointer).value == value
