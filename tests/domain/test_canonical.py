from __future__ import annotations

import struct
from enum import IntEnum, StrEnum
from typing import cast

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from inquest.domain.canonical import canonical_json, normalise

_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_VALUES = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5)
)


def reference(value: JsonValue) -> bytes:
    """Give what another implementation of RFC 8785 writes."""
    return rfc8785.dumps(normalise(value))


@settings(max_examples=500)
@given(_VALUES)
def test_a_value_has_the_bytes_of_rfc_8785(value: JsonValue) -> None:
    assert canonical_json(value) == reference(value)


@settings(max_examples=2_000)
@given(st.binary(min_size=8, max_size=8))
def test_every_double_has_the_bytes_of_rfc_8785(bits: bytes) -> None:
    """Any bits: hypothesis' own floats are mostly round ones, whose exponents are small."""
    (value,) = struct.unpack(">d", bits)
    assert canonical_json(value) == reference(value)


@pytest.mark.parametrize("digits", ["1", "-1.5", "1.2345678901234567", "9.999999999999999"])
def test_numbers_of_every_magnitude_have_the_bytes_of_rfc_8785(digits: str) -> None:
    for exponent in range(-330, 309):
        value = float(f"{digits}e{exponent}")
        assert canonical_json(value) == reference(value)


@settings(max_examples=500)
@given(st.dictionaries(st.text(st.characters(codec="utf-8", min_codepoint=0xD000), max_size=2), st.none()))
@example({"\ufb33": None, "\U0001f600": None})
def test_names_are_in_the_order_of_their_utf_16_code_units(value: dict[str, JsonValue]) -> None:
    """U+1F600 is written as two units from U+D83D on, and so comes before U+FB33 (RFC 8785, 3.2.3)."""
    assert canonical_json(value) == reference(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (333333333.33333329, "333333333.3333333"),
        (1e30, "1e+30"),
        (4.50, "4.5"),
        (2e-3, "0.002"),
        (0.000000000000000000000000001, "1e-27"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (9.999999999999997e22, "9.999999999999997e+22"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (-1.5e-6, "-0.0000015"),
        (5e-324, "5e-324"),
        (-0.0, "0"),
        (float("nan"), '"NaN"'),
        (float("inf"), '"+Inf"'),
        (float("-inf"), '"-Inf"'),
        (2**53 - 1, "9007199254740991"),
        (-(2**53), '"-9007199254740992"'),
        (True, "true"),
        ([], "[]"),
        ({}, "{}"),
        ({"b": [1, None], "a": {"": False}}, '{"a":{"":false},"b":[1,null]}'),
        ('\x00\x1f\x7f"\\/\b\f\n\r\té€', '"\\u0000\\u001f\x7f\\"\\\\/\\b\\f\\n\\r\\té€"'),
    ],
)
def test_a_value_is_written_so(value: JsonValue, written: str) -> None:
    assert canonical_json(value).decode() == written


class _Word(StrEnum):
    FIRING = "firing"


class _Number(IntEnum):
    SEVEN = 7


def test_a_member_of_an_enumeration_is_written_as_its_value() -> None:
    assert canonical_json([_Word.FIRING, _Number.SEVEN]) == b'["firing",7]'


@pytest.mark.parametrize("value", ["a\ud800", ["\udfff"], {"\ud800": 1}])
def test_a_lone_surrogate_has_no_bytes(value: JsonValue) -> None:
    with pytest.raises(UnicodeEncodeError):
        canonical_json(value)


@pytest.mark.parametrize("value", [(1, 2), {1}, b"x", object(), {1: 2}])
def test_what_is_no_json_value_is_refused(value: object) -> None:
    """A tuple among them: JSON knows none, and what reads it back would not be equal."""
    with pytest.raises(TypeError):
        canonical_json(cast("JsonValue", value))
