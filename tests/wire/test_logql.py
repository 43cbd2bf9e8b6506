from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inquest.domain.selector import quote, selector
from inquest.ports import InvalidQuery
from inquest.scenarios.loki import logql as recorded
from inquest.wire.logql import MAX_EXPRESSION_CHARS, LogqlLimits, Scoped, scope, scope_selector
from inquest.wire.logql.lexical import tokens
from inquest.wire.logql.parser import parse
from inquest.wire.logql.printer import write
from inquest.wire.logql.syntax import Expression, LogQuery, log_query_of
from inquest.wire.matching import Matcher
from tests.connectors.hostile import HOSTILE
from tests.wire.logql_trees import ANY_TEXT, EXPRESSIONS, LOG_QUERIES

TENANT = {"tenant": "shop"}
SRE_004 = 'web-0"} |~ ".*" or {namespace="vault"'


def matchers_by_another_parser(text: str) -> list[tuple[str, str, str]]:
    """Read a selector with the parser of the recorded backend, which was written by somebody else."""
    return [(one.label, str(one.match), one.value) for one in recorded.parse_selector(text)]


# ---- round trips -----------------------------------------------------------------------------------------


@settings(max_examples=500)
@given(EXPRESSIONS)
def test_what_is_written_reads_back_as_the_same_tree(tree: Expression) -> None:
    written = write(tree)

    assert "\n" not in written
    assert parse(written) == tree


@settings(max_examples=300)
@given(EXPRESSIONS, ANY_TEXT.filter(bool), ANY_TEXT.filter(bool))
def test_the_selector_gets_every_mandatory_matcher_and_loses_none(tree: Expression, tenant: str, cluster: str) -> None:
    mandatory = {"tenant": tenant, "cluster": cluster}
    scoped = scope(write(tree), mandatory)

    added = (Matcher("cluster", "=", cluster), Matcher("tenant", "=", tenant))
    read = parse(scoped.expression)
    assert log_query_of(read).matchers == log_query_of(tree).matchers + added
    assert log_query_of(read).stages == log_query_of(tree).stages
    assert parse(scoped.selector) == LogQuery(log_query_of(read).matchers)
    assert scope(scoped.expression, mandatory) == scoped


@given(LOG_QUERIES)
def test_another_parser_reads_the_same_matchers(tree: LogQuery) -> None:
    written = scope(write(LogQuery(tree.matchers)), TENANT).selector
    wanted = [(one.name, one.operator, one.value) for one in (*tree.matchers, Matcher("tenant", "=", "shop"))]
    assert matchers_by_another_parser(written) == wanted


# ---- hostile values ----------------------------------------------------------------------------------------


@given(ANY_TEXT.filter(bool) | st.sampled_from([one for one in (SRE_004, *HOSTILE) if len(one) < 1_500]))
def test_no_value_ends_its_string(value: str) -> None:
    written = scope(selector({"pod": value}) + f" |= {quote(value)}", TENANT)

    assert matchers_by_another_parser(written.selector) == [("pod", "=", value), ("tenant", "=", "shop")]
    read = recorded.parse(written.expression)
    assert isinstance(read, recorded.LogQuery)
    assert [(one.keep, one.text) for one in read.filters] == [(recorded.Keep.CONTAINS, value)]


def test_the_smuggled_namespace_is_a_part_of_the_pods_name_and_no_selector() -> None:
    written = scope(selector({"pod": SRE_004}), {"namespace": "shop"})

    assert written.elsewhere == ()
    assert matchers_by_another_parser(written.selector) == [("pod", "=", SRE_004), ("namespace", "=", "shop")]


def test_the_smuggled_namespace_pasted_as_it_is_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="or at 23 is not taken here"):
        scope(f'{{pod="{SRE_004}}}', {"namespace": "shop"})


# ---- what is written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{app="web"}', '{app="web", tenant="shop"}'),
        ('{app="web", tenant="shop"}', '{app="web", tenant="shop"}'),
        ('{ app = "web" ,tenant!="x"}|="a"!=`b"c`|~"(?i)e"!~"f"', '{app="web", tenant!="x", tenant="shop"} |= "a" != "b\\"c" |~ "(?i)e" !~ "f"'),
        ('{app="web"} # all of it\n|= "a#b"', '{app="web", tenant="shop"} |= "a#b"'),
        ('{app="web"}|json|logfmt', '{app="web", tenant="shop"} | json | logfmt'),
        ('{app="web"}| a="b" and c>=1.5s or(d=~"x")', '{app="web", tenant="shop"} | (a="b" and c >= 1.5s) or d=~"x"'),
        ('{app="web"}| a="b" and (c=1 or d!=2)', '{app="web", tenant="shop"} | a="b" and (c = 1 or d != 2)'),
        ('{app="web"}| line_format `{{.msg}} "x"`', '{app="web", tenant="shop"} | line_format "{{.msg}} \\"x\\""'),
        ('({app="web"} |= "x")', '{app="web", tenant="shop"} |= "x"'),
        ('rate({app="web"}[90s])', 'rate({app="web", tenant="shop"} [1m30s])'),
        ('count_over_time({app="web"}[1w2d]|="x")', None),
        ('count_over_time({app="web"}[5m]|="x"|json)', 'count_over_time({app="web", tenant="shop"} |= "x" | json [5m])'),
        ('sum(rate({app="web"}|="x"[5m]))by(pod,app)', 'sum by (pod, app) (rate({app="web", tenant="shop"} |= "x" [5m]))'),
        ('topk(3,sum without()(bytes_rate({app="web"}[5m])))', 'topk(3, sum without () (bytes_rate({app="web", tenant="shop"} [5m])))'),
    ],
)  # fmt: skip
def test_an_expression_is_written_on_one_line_in_scope(text: str, written: str | None) -> None:
    if written is None:
        with pytest.raises(InvalidQuery, match="its range is longer than 24 hours"):
            scope(text, TENANT)
        return
    assert scope(text, TENANT).expression == written


def test_a_scoped_query_says_what_it_reads() -> None:
    assert scope('sum(rate({app="web", tenant="other"}[5m]))', TENANT) == Scoped(
        expression='sum(rate({app="web", tenant="other", tenant="shop"} [5m]))',
        selector='{app="web", tenant="other", tenant="shop"}',
        elsewhere=("tenant",),
        reach=timedelta(minutes=5),
        is_metric=True,
    )
    assert scope('{app="web", tenant=~"other|shop"} |= "x"', TENANT) == Scoped(
        expression='{app="web", tenant=~"other|shop", tenant="shop"} |= "x"',
        selector='{app="web", tenant=~"other|shop", tenant="shop"}',
    )


# ---- refusals ----------------------------------------------------------------------------------------------

NARROWER = "expression: the selector needs a matcher that does not match everything"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("  ", "expression: is empty"),
        ("x" * (MAX_EXPRESSION_CHARS + 1), "expression: longer than 4096 characters"),
        ("up", "expression: expected a stream selector or a function over one at 1"),
        ("{}", NARROWER),
        ('{app=""}', NARROWER),
        ('{app!="x"}', NARROWER),
        ('{app=~".*"}', NARROWER),
        ('{app=~".+"}', NARROWER),
        ('{app=~"(.+|a)"}', NARROWER),
        ('{app=~"[a-z]*", b!~"x"}', NARROWER),
        ('sum(rate({app=~".+"}[5m]))', NARROWER),
        ('{app="a"', "expression: expected ',' at the end"),
        ('{app="a" b="c"}', "expression: expected ',' at 10"),
        ('{app=="a"}', "expression: expected one of = != =~ !~ at 5"),
        ("{app=a}", "expression: expected a string in double quotes at 6"),
        ('{"app"="a"}', "expression: expected a label name at 2"),
        ("{app='a'}", "expression: a single quote at 6; write strings in double quotes"),
        ('{app="a}', "expression: the string at 6 is not closed"),
        ("{app=`a}", "expression: the string at 6 is not closed"),
        ('{app="\\d"}', "expression: an unknown escape at 7; write \\\\ for a backslash, or use back quotes"),
        ('{app="a\\xff"}', "expression: a byte escape above 7f at 8; write the character itself"),
        ('{app="\\ud800"}', "expression: an unknown escape at 7; write \\\\ for a backslash, or use back quotes"),
        ('{app="a"} extra', "expression: expected the end at 11"),
        ('{app="a"} or {app="b"}', 'expression: or at 11 is not taken here; write |~ "a|b" to look for several texts, or ask twice'),
        ('{app="a"} |= "x" or "y"', 'expression: or at 18 is not taken here; write |~ "a|b" to look for several texts, or ask twice'),
        ('{app="a"} |= ip("10.0.0.0/8")', "expression: ip at 14 is not taken here; expected a string in double quotes"),
        ('{app="a"} |> "<_>"', "expression: expected the end at 11"),
        ('{app="a"} | unwrap x', "expression: unwrap at 13 is not taken here; expected json, logfmt, line_format or a label name"),
        ('{app="a"} | label_format b=c', "expression: label_format at 13 is not taken here; expected json, logfmt, line_format or a label name"),
        ('{app="a"} | json x="y"', "expression: expected the end at 18"),
        ('{app="a"} | a', "expression: expected one of = != =~ !~ == > >= < <= at the end"),
        ('{app="a"} | a > "x"', "expression: expected a string, or after = != > < a number, duration or size at 17"),
        ('{app="a"} | a =~ 5', "expression: expected a string, or after = != > < a number, duration or size at 18"),
        ('{app="a"} | a > 5parsecs', "expression: expected a string, or after = != > < a number, duration or size at 17"),
        ('{app="a"} | line_format "{{ repeat 9 .x }}"', "expression: the template at 25 may hold text and fields such as {{.status}} only"),
        ('{app="a"} | line_format "{{.x"', "expression: the template at 25 may hold text and fields such as {{.status}} only"),
        ('rate({app="a"})', "expression: expected '[' at 15"),
        ('rate({app="a"}[$__interval])', "expression: a variable at 16"),
        ('rate({app="a"}[0s])', "expression: expected a duration such as 5m at 16"),
        ('rate({app="a"}[5])', "expression: expected a duration such as 5m at 16"),
        ('rate({app="a"}[25h])', "expression: its range is longer than 24 hours"),
        ('rate({app="a"}[5m] offset 1d)', "expression: offset at 20 is not taken here; expected ')'"),
        ('rate({app="a"}[5m]) / 2', "expression: a character that is not taken here at 21"),
        ('rate({app="a"}[5m]) > 2', "expression: expected the end at 21"),
        ('sum({app="a"})', "expression: expected a stream selector or a function over one at 5"),
        ('topk(0, rate({app="a"}[5m]))', "expression: expected a whole number up to 1000 at 6"),
        ('topk(1001, rate({app="a"}[5m]))', "expression: expected a whole number up to 1000 at 6"),
        ('sum_over_time({app="a"} | unwrap x [5m])', "expression: sum_over_time at 1 is not taken here; expected a stream selector or a function over one"),
        ('{app="a"} |~ "(a+)+"', "expression: a pattern repeats a repetition, as in (a+)+"),
        ('{app="a"} | b =~ "(a*)*"', "expression: a pattern repeats a repetition, as in (a+)+"),
        ('{app=~"(a+)+b"}', "expression: a pattern repeats a repetition, as in (a+)+"),
        ('{app="a", b!~"(a+)+"}', "expression: a pattern repeats a repetition, as in (a+)+"),
        ('{app="a"} |~ "("', "expression: a pattern opens a group that it does not close"),
        (f'{{app="a"}} |~ "{"a" * 1025}"', "expression: a pattern has more than 1024 characters"),
        (f'{{app="a"}} |~ "{"(" * 12}a{")" * 12}"', "expression: a pattern nests groups deeper than 10"),
        ("{" + ",".join(f'a{i}="b"' for i in range(33)) + "}", "expression: more than 32 matchers at 248"),
        ('{app="a"}' + ' |= "x"' * 33, "expression: more than 32 stages after the selector at 1"),
        ('{app="a"} | ' + " or ".join(["a=1"] * 65), "expression: more than 64 label conditions at 461"),
        ("sum(" * 17 + 'rate({app="a"}[5m])' + ")" * 17, "expression: brackets nest deeper than 16 at 65"),
        ('{app="a"} | ' + "(" * 17 + "a=1" + ")" * 17, "expression: brackets nest deeper than 16 at 29"),
        ("(" * 17 + '{app="a"}' + ")" * 17, "expression: brackets nest deeper than 16 at 17"),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_refused_with_its_position(text: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        scope(text, TENANT)
    assert refused.value.hint == hint


def test_a_selector_alone_is_a_selector_alone() -> None:
    assert scope_selector('{app="web"}', TENANT).expression == '{app="web", tenant="shop"}'
    for text in ('{app="web"} |= "x"', 'rate({app="web"}[5m])'):
        with pytest.raises(InvalidQuery, match="write a stream selector and nothing else"):
            scope_selector(text, TENANT)


def test_an_integration_may_allow_longer_ranges() -> None:
    text = 'count_over_time({app="web"}[2d])'
    assert scope(text, {}, LogqlLimits(max_reach=timedelta(days=2))).reach == timedelta(days=2)


@given(st.text(max_size=200) | st.text("{}()[]|=~!\"`\\,ab \n'#0.", max_size=60))
def test_any_text_is_scoped_or_refused_and_nothing_else(text: str) -> None:
    try:
        scoped = scope(text, TENANT)
    except InvalidQuery:
        return
    assert ("tenant", "=", "shop") in matchers_by_another_parser(scoped.selector)


def test_every_token_knows_where_it_begins() -> None:
    text = '{app="w\\"b"} |= `x` 5m'
    for token in tokens(text)[:-1]:
        assert text[token.at - 1] in {token.text[0], '"', "`"}
