"""The JSON reader gives a value or the byte where it cannot, whatever the bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.canonical import canonical_json
from inquest.domain.value import Json
from inquest.sources.shared.json_body import MAX_DEPTH, Read, Unreadable, read_json
from inquest.wire.sanitise import clean

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


@given(JSON, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"]))
def test_what_json_writes_is_read_back(value: Json, encoding: str) -> None:
    read = read_json(json.dumps(value).encode(encoding))
    assert isinstance(read, Read)
    assert read.value == value


@given(st.binary(max_size=200) | st.text(alphabet='{}[]",:0123456789.eE-+\\untrfals \n\x00').map(str.encode))
def test_any_bytes_give_a_value_or_a_reason(body: bytes) -> None:
    read = read_json(body)
    match read:
        case Unreadable(reason=reason):
            assert reason.isascii()
        case Read(value=value):
            canonical_json(_safe(value))


def _safe(value: Json) -> Json:
    match value:
        case str():
            return clean(value).text
        case list():
            return [_safe(item) for item in value]
        case dict():
            return {clean(key).text: _safe(item) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "invalid_json at byte 0"),
        (b'{"a":1}x', "invalid_json at byte 7"),
        ('{"é": tru}'.encode(), "invalid_json at byte 7"),
        (b'\xef\xbb\xbf{"a": tru}', "invalid_json at byte 9"),
        (b'{"\xff": tru}', "invalid_json at byte 6"),
        ('{"a": tru}'.encode("utf-16-le"), "invalid_json at byte 12"),
        (b"\xff\xfe{", "invalid_utf-16-le at byte 2"),
        (b'{"title":"disk "full" on db1"}', "invalid_json at byte 16"),
        (b"[" * 65 + b"]" * 65, "too_deep: nested deeper than 64"),
        (b"[" * 100_000, "too_deep: nested deeper than 64"),
        (b'{"a":' * 100_000, "too_deep: nested deeper than 64"),
        (b"[" + b",".join([b"1"] * 300_000) + b"]", "too_many_values: more than 2000 in one object or array"),
        (b" " + b"," * 4_000_001, "too_many_values: more than 4000000 separators"),
        (
            b"{" + b",".join(b'"k%d":0' % n for n in range(1_000_000)) + b"}",
            "too_many_values: more than 2000 in one object or array",
        ),
        (
            b"[" + b",".join([b"{" + b",".join([b'"k":0'] * 1_000) + b"}"] * 1_001) + b"]",
            "too_many_values: more than 1000000 keys",
        ),
    ],
)
def test_what_cannot_be_read_names_the_byte_or_the_bound(body: bytes, reason: str) -> None:
    assert read_json(body) == Unreadable(reason)


def test_the_deepest_allowed_nesting_is_read() -> None:
    assert isinstance(read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH), Read)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("9007199254740991", 2**53 - 1),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740991", -(2**53) + 1),
        ("18446744073709551616", "18446744073709551616"),
        ("9" * 5_000, "9" * 5_000),
        ("-" + "9" * 5_000, "-" + "9" * 5_000),
        ("1e400", "1e400"),
        ("-1e130000", "-1e130000"),
        ("1.5", 1.5),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
    ],
)
def test_numbers_stay_exact_or_become_the_text_that_was_sent(written: str, read: Json) -> None:
    assert read_json(f'{{"n": {written}}}'.encode()) == Read({"n": read})


@pytest.mark.parametrize(
    ("body", "value", "warning"),
    [
        (b'{"a":1,"a":2,"b":3}', {"a": 2, "b": 3}, "duplicate keys, the last one holds: 'a'"),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}, "the body is utf-8 with a byte order mark"),
        ('"é"'.encode("utf-16-be"), "é", "the body is utf-16-be"),
        (b'{"a":"x\ny"}', {"a": "x\ny"}, "raw control characters inside strings"),
        (b'{"a":"x\xffy"}', {"a": "x\udcffy"}, "invalid UTF-8 from byte 7"),
    ],
)
def test_what_is_forgiven_is_noted(body: bytes, value: Json, warning: str) -> None:
    assert read_json(body) == Read(value, (warning,))


def test_many_duplicate_keys_are_named_up_to_a_bound() -> None:
    body = "{" + ",".join(f'"k{n:02}":0,"k{n:02}":1' for n in range(50)) + "}"
    read = read_json(body.encode())
    assert isinstance(read, Read)
    assert read.warnings[0].count("'k") == 8
