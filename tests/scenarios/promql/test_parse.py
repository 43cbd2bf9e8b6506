from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.scenarios.promql.parse import parse, parse_selector
from inquest.scenarios.promql.refusals import ExpressionRefused, ParseFailed, Unsupported
from inquest.scenarios.promql.syntax import (
    Aggregate,
    Aggregation,
    Binary,
    Comparison,
    Match,
    Matcher,
    Matching,
    Number,
    OverWindow,
    RangeFunction,
    Selector,
    Window,
)


def test_an_alert_expression_becomes_a_tree() -> None:
    window = Window(Selector((Matcher("a", Match.EQUAL, "b"), Matcher("__name__", Match.EQUAL, "x")), 60_000), 300_000)
    assert parse('sum by (s) (rate(x{a="b"}[5m] offset 1m)) > bool 3') == Binary(
        Comparison.GREATER,
        Aggregate(Aggregation.SUM, OverWindow(RangeFunction.RATE, window), ("s",), without=False),
        Number(3.0),
        returns_bool=True,
        matching=Matching((), only=False),
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("topk(3, x)", "the aggregation topk"),
        ("quantile(0.5, x)", "the aggregation quantile"),
        ("absent(x)", "the function absent"),
        ("label_replace(x, 'a', 'b', 'c', 'd')", "the function label_replace"),
        ("quantile_over_time(0.5, x[5m])", "the function quantile_over_time"),
        ("x and y", "the operator and"),
        ("x atan2 y", "the operator atan2"),
        ("x * on (a) group_left y", "group_left and group_right"),
        ("x[5m:1m]", "subqueries"),
        ("max_over_time(rate(x[1m])[5m:1m])", "subqueries"),
        ("x @ 123", "the @ modifier"),
        ('x{a="b" or c="d"}', "`or` between label matchers"),
        ('"text"', "this kind of expression (a string, perhaps)"),
        ("(" * 65 + "x" + ")" * 65, "more than 64 nested brackets"),
        ("(" * 200_000, "an expression of more than 8192 characters"),
        ("-" * 65 + "x", "more than 64 operators"),
        ("+".join(["x"] * 66), "more than 64 operators"),
        ("x or " * 66 + "x", "more than 64 operators"),
    ],
)
def test_what_is_outside_the_subset_is_named(text: str, what: str) -> None:
    with pytest.raises(Unsupported) as refused:
        parse(text)
    assert refused.value.what == what


@pytest.mark.parametrize(
    ("text", "error"),
    [
        # Each of these is what Debian's Prometheus 2.42 answers, to the character.
        ("", "1:1: parse error: no expression found in input"),
        ("rate(x", "1:7: parse error: unclosed left parenthesis"),
        ("1+", "1:3: parse error: unexpected end of input"),
        ("{}", "1:1: parse error: vector selector must contain at least one non-empty matcher"),
        ("nosuch(x)", '1:1: parse error: unknown function with name "nosuch"'),
        (
            "sum(rate(x))",
            '1:10: parse error: expected type range vector in call to function "rate", got instant vector',
        ),
        ("rate(x[5m],1)", '1:1: parse error: expected 1 argument(s) in call to "rate", got 2'),
        ("x{", "1:3: parse error: unexpected end of input inside braces"),
    ],
)
def test_a_parse_error_is_worded_as_prometheus_words_it(text: str, error: str) -> None:
    with pytest.raises(ParseFailed) as refused:
        parse(text)
    assert str(refused.value) == error


@pytest.mark.parametrize("text", ['x{a=~"("}', 'x{a=~"(?=b)"}', 'x{a=~"(((b{100}){100}){100}){100}"}'])
def test_a_regular_expression_that_re2_refuses_is_a_parse_error(text: str) -> None:
    with pytest.raises(ParseFailed, match="error parsing regexp"):
        parse(text)


@pytest.mark.parametrize("text", ["x + y", "sum(x)", "x offset 5m", "rate(x[5m])", "x[5m]", "3"])
def test_a_series_selector_is_a_selector_and_nothing_else(text: str) -> None:
    with pytest.raises(ParseFailed):
        parse_selector(text)


@given(st.text(alphabet="x(){}[]=~!\"'`5m:,+-*/<> byofsetrandl\\\n@", max_size=300))
def test_any_text_is_answered_with_a_tree_or_a_refusal(text: str) -> None:
    try:
        parse(text)
    except ExpressionRefused:
        return
