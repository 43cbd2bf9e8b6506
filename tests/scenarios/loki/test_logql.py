from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.scenarios.loki.logql import (
    CountLines,
    Keep,
    LineFilter,
    LogqlRefused,
    LogQuery,
    RangeAggregation,
    SumOf,
    parse,
    parse_selector,
)
from inquest.scenarios.promql.syntax import Match, Matcher
from inquest.wire.patterns import pattern

APP = Matcher("app", Match.EQUAL, "foo")


def test_a_log_query_is_a_selector_and_line_filters_in_order() -> None:
    query = parse('{app="foo", pod!~"a|b"} |= "error" != `a\\b` |~ "time(d)? out" !~ "x"')
    assert query == LogQuery(
        (APP, Matcher("pod", Match.NOT_SPANS, "a|b", pattern("a|b"))),
        (
            LineFilter(Keep.CONTAINS, "error"),
            LineFilter(Keep.LACKS, "a\\b"),
            LineFilter(Keep.MATCHES, "time(d)? out", pattern("time(d)? out")),
            LineFilter(Keep.DIFFERS, "x", pattern("x")),
        ),
    )


@pytest.mark.parametrize(
    "text",
    ['sum by (pod, level) (rate({app="foo"}[5m]))', 'sum(rate({app="foo"}[5m])) by (pod, level)'],
)
def test_grouping_stands_before_or_after(text: str) -> None:
    lines = CountLines(RangeAggregation.RATE, LogQuery((APP,), ()), 300_000)
    assert parse(text) == SumOf(lines, ("pod", "level"), without=False)


def test_a_sum_without_grouping_has_one_group() -> None:
    lines = CountLines(RangeAggregation.COUNT, LogQuery((APP,), ()), 90_000)
    assert parse('sum(count_over_time({app="foo"}[1m30s]))') == SumOf(lines, (), without=False)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r'"a\"b\\c"', 'a"b\\c'),
        (r'"tab\tnew\n"', "tab\tnew\n"),
        (r'"\u00e9\x41\101"', "éAA"),
        ("`raw \\n {}`", "raw \\n {}"),
    ],
)
def test_a_string_is_gos(literal: str, value: str) -> None:
    assert parse_selector("{a=" + literal + "}") == (Matcher("a", Match.EQUAL, value),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "parse error at line 1, col 1: syntax error: unexpected $end, expecting {"),
        ('{app="foo"', "parse error at line 1, col 11: syntax error: unexpected $end, expecting ,"),
        ("{app=foo}", "parse error at line 1, col 6: syntax error: unexpected foo, expecting STRING"),
        ('{app="foo"} |= test', "parse error at line 1, col 16: syntax error: unexpected test, expecting STRING"),
        ('{app="foo"}\n| json', "parse error at line 2, col 3: the recorded backend does not evaluate the pipeline stage json"),
        ('{app="foo"} | logfmt', "does not evaluate the pipeline stage logfmt"),
        ('{app="foo"} | level="error"', "does not evaluate the pipeline stage level"),
        ('rate({app="foo"}[5minutes])', 'not a valid duration string: "5minutes"'),
        ('rate({app="foo"}[0s])', "not a valid duration string"),
        ('rate({app="foo"})', "unexpected ), expecting ["),
        ('bytes_over_time({app="foo"}[5m])', "does not evaluate bytes_over_time"),
        ('topk(3, rate({app="foo"}[5m]))', "does not evaluate topk"),
        ('sum(sum(rate({app="foo"}[5m])))', "does not evaluate sum"),
        ('rate({app="foo"}[5m]) > 1', "unexpected >"),
        ("{}", "queries require at least one regexp or equality matcher"),
        ('{app!="foo"}', "queries require at least one regexp or equality matcher"),
        ('{app=~".*"}', "queries require at least one regexp or equality matcher"),
        ('{app=""}', "queries require at least one regexp or equality matcher"),
        ('{app=~"("}', "error parsing regexp"),
        ('{app="foo"} |~ "(?=x)"', "error parsing regexp"),
        (r'{app="\q"}', r"invalid string: invalid escape \q"),
        (r'{app="\ud800"}', "invalid string: invalid escape"),
        ('{app="foo"' + ',a="b"' * 1000 + "}", "max streams matchers per query exceeded"),
        ('{app="foo"}' + '|="x"' * 65, "more than 64 line filters"),
        ("(" * 100_000, "the query is longer than 8192 characters"),
        ('{app="foo"} \x00', "unexpected \x00"),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_named_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(LogqlRefused) as refused:
        parse(text)
    assert reason in str(refused.value)


def test_a_bare_selector_has_no_filters() -> None:
    with pytest.raises(LogqlRefused, match="only label matchers are supported"):
        parse_selector('{app="foo"} |= "x"')


@given(st.text(alphabet='{}()[]|=!~",`\\ abcrate sumby5m\n', max_size=200))
def test_any_text_is_answered_with_a_query_or_a_refusal(text: str) -> None:
    try:
        parse(text)
    except LogqlRefused:
        return


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_a_quoted_text_is_read_back_as_it_was(text: str) -> None:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    (_, matcher) = parse_selector('{app="foo",a="' + escaped + '"}')
    assert matcher.value == text
