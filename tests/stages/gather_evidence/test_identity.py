"""When two calls are one: by meaning. What differs in meaning is never taken for the same."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.budget import MAX_ARGUMENT_BYTES
from inquest.domain.observation import Query
from inquest.domain.value import Json
from inquest.domain.window import Window
from inquest.stages.gather_evidence.arguments import BadArguments, asked_window, checked, parse
from inquest.stages.gather_evidence.identity import internal_identity, query_identity
from tests.builders import NOW, T0, at, window

STEP_MS = 15_000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def asked(expression: str = "up", *, start: float = -60, end: float = 0, **more: Json) -> Query:
    return Query(
        tool="metrics_query",
        service_id="checkout",
        arguments={"expression": expression, **more},
        time_range=Window(start=at(start), end=at(end)),
    )


def same(first: Query, second: Query) -> bool:
    return query_identity(first, STEP_MS) == query_identity(second, STEP_MS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sum(rate(x[5m]))", " sum ( rate ( x [5m] ) ) "),
        ("a  and\n\tb", "a and b"),
        ("sum by (pod) (x)", "sum by(pod)(x)"),
        ('{app="a"} |= "b"', '{ app = "a" }|="b"'),
    ],
)
def test_white_space_outside_quotes_does_not_count_in_an_expression(one: str, other: str) -> None:
    assert same(asked(one), asked(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('x{l="a b"}', 'x{l="a  b"}'),
        ("x{l='a b'}", "x{l='ab'}"),
        ("{a=`b c`}", "{a=`bc`}"),
        ('x{l="\\" a"}', 'x{l="\\"  a"}'),
        ("a and b", "a andb"),
        ("up", "down"),
        ("rate(x[5m])", "rate(x[6m])"),
    ],
)
def test_what_differs_in_meaning_is_not_the_same(one: str, other: str) -> None:
    assert not same(asked(one), asked(other))


def test_times_count_to_their_step_and_a_page_is_another_call() -> None:
    within = timedelta(milliseconds=STEP_MS - 1)
    moved = asked().but(time_range=Window(start=at(-60) + within, end=at(0) + within))
    over = asked().but(time_range=Window(start=at(-60), end=at(0) + within + timedelta(milliseconds=1)))

    assert same(asked(), moved)
    assert not same(asked(), over)
    assert not same(asked(), asked().but(cursor="next"))
    assert not same(asked(limit=5), asked(limit=6))


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4), st.randoms(use_true_random=False))
def test_key_order_never_counts(arguments: dict[str, Json], chance: object) -> None:
    names = list(arguments)
    getattr(chance, "shuffle")(names)  # noqa: B009  # hypothesis types it as object

    shuffled = {name: arguments[name] for name in names}

    assert internal_identity("t", arguments) == internal_identity("t", shuffled)


# ---- arguments -------------------------------------------------------------------------------------------


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda raw: raw.decode("latin-1")))
def test_any_text_is_read_or_refused_with_a_hint(raw: str) -> None:
    hint = "read"
    try:
        found = parse(raw, cut=False)
    except BadArguments as bad:
        found, hint = {}, bad.hint
    assert isinstance(found, dict)
    assert hint


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=4))
def test_readable_arguments_are_what_was_written(arguments: dict[str, Json]) -> None:
    import json

    try:
        read = parse(json.dumps(arguments), cut=False)
    except BadArguments:
        text = str(arguments)
        assert any(ord(char) < 32 or ord(char) == 127 or 0xD800 <= ord(char) < 0xE000 for char in text) or "\\" in text
    else:
        assert read == arguments


def test_arguments_over_the_cap_are_refused_unparsed() -> None:
    parse('{"a":"' + "x" * (MAX_ARGUMENT_BYTES - 8) + '"}', cut=False)
    with pytest.raises(BadArguments, match=f"{MAX_ARGUMENT_BYTES + 1} bytes"):
        parse('{"a":"' + "x" * (MAX_ARGUMENT_BYTES - 7) + '"}', cut=False)


def test_a_reply_cut_at_its_limit_is_told_so() -> None:
    with pytest.raises(BadArguments, match="cut at its token limit"):
        parse('{"expression": "up', cut=True)


def test_defaults_are_filled_and_a_hint_names_place_and_rule_but_no_value() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"expression": {"type": "string"}, "step": {"type": "integer", "default": 60}},
        "required": ["expression"],
        "additionalProperties": False,
    }

    assert checked({"expression": "up"}, schema) == {"expression": "up", "step": 60}
    with pytest.raises(BadArguments) as bad:
        checked({"expression": "up", "step": "SECRET", "tenant": "SECRET"}, schema)
    assert "step: type" in bad.value.hint
    assert "It takes: expression, step" in bad.value.hint
    assert "SECRET" not in bad.value.hint


# ---- times -----------------------------------------------------------------------------------------------


def test_without_times_a_call_asks_the_incident_window_exactly() -> None:
    assert asked_window({}, window(), STEP_MS) == window().incident


@pytest.mark.parametrize(
    "start",
    ["2026-03-01T09:00:07.9Z", "2026-03-01T09:00:00", "2026-03-01T10:00:14+01:00", 1_772_355_607, 1_772_355_607_900],
)
def test_times_are_read_in_every_usual_form_and_snapped_down(start: Json) -> None:
    found = asked_window({"start": start}, window(), STEP_MS)

    assert (found.start, found.end) == (at(-60), NOW)


@given(st.integers(-20_000, 20_000), st.integers(-20_000, 20_000))
def test_no_time_range_leaves_what_may_be_looked_at(first_s: int, last_s: int) -> None:
    arguments: dict[str, Json] = {
        "start": (T0 + timedelta(seconds=first_s)).isoformat(),
        "end": (T0 + timedelta(seconds=last_s)).isoformat(),
    }
    try:
        found = asked_window(arguments, window(), STEP_MS)
    except BadArguments:
        inside = window().reach.start <= T0 + timedelta(seconds=first_s) and T0 + timedelta(seconds=last_s) <= NOW
        assert first_s >= last_s or not inside
    else:
        assert window().allows(found)


@pytest.mark.parametrize("value", ["soon", True, [], "2026-13-01T00:00:00Z", 1e300])
def test_what_is_no_time_is_refused(value: Json) -> None:
    with pytest.raises(BadArguments, match="start cannot be read as a time"):
        asked_window({"start": value}, window(), STEP_MS)
