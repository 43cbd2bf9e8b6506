import promql_parser
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from inquest.domain.selector import quote
from inquest.ports import InvalidQuery
from inquest.wire.promql import Scoped, scope, scope_selector
from inquest.wire.promql.lexical import MAX_EXPRESSION_CHARS
from tests.wire.promql_texts import ANY_TEXT, EXPRESSIONS, SELECTORS

TENANT = {"tenant": "shop"}


def selectors(text: str) -> list[promql_parser.VectorSelector]:
    found: list[promql_parser.VectorSelector] = []

    def visit(node: promql_parser.Expr) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)

    promql_parser.walk(promql_parser.parse(text), visit)
    return found


def pairs(selector: promql_parser.VectorSelector) -> list[tuple[str, str, str]]:
    return [(one.name, str(one.op), one.value) for one in selector.matchers.matchers]


def scoped_or_skip(text: str, matchers: dict[str, str]) -> Scoped:
    """Leave out what a limit refuses: the grammar also writes those."""
    try:
        return scope(text, matchers)
    except InvalidQuery as refused:
        assume("read back" in refused.hint)
        raise


@settings(max_examples=400, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(EXPRESSIONS)
def test_what_is_written_reads_back_as_the_same_tree(text: str) -> None:
    written = scoped_or_skip(text, {}).expression

    assert "\n" not in written
    assert scope(written, {}).expression == written


@settings(max_examples=300, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(EXPRESSIONS, ANY_TEXT.filter(bool), ANY_TEXT)
def test_every_selector_gets_every_mandatory_matcher_and_loses_none(text: str, tenant: str, cluster: str) -> None:
    mandatory = {"tenant": tenant, "k8s.cluster": cluster}
    plain = scoped_or_skip(text, {}).expression
    written = scope(text, mandatory).expression

    added = [("k8s.cluster", "MatchOp.Equal", cluster), ("tenant", "MatchOp.Equal", tenant)]
    assert [pairs(one) for one in selectors(written)] == [pairs(one) + added for one in selectors(plain)]
    assert scope(written, mandatory) == Scoped(written)


@given(ANY_TEXT)
def test_a_quoted_value_reads_back_as_itself(value: str) -> None:
    (selector,) = selectors(f"up{{a={quote(value)}}}")
    assert pairs(selector) == [("a", "MatchOp.Equal", value)]


@pytest.mark.parametrize(
    "value",
    [
        'x"} or {__name__=~".+"} #',
        "x\\",
        'x\\\\"}',
        "`",
        "'",
        "\n}",
        "$1",
        "{{}}",
        'web-0"} |~ ".*" or {namespace="vault"',
        "\u202e\u200b\x00\x1b[0m",
    ],
)
def test_no_value_ends_its_string(value: str) -> None:
    written = scope(f"up{{pod={quote(value)}}}", TENANT).expression
    (selector,) = selectors(written)
    assert pairs(selector) == [("pod", "MatchOp.Equal", value), ("tenant", "MatchOp.Equal", "shop")]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("up", 'up{tenant="shop"}'),
        ('up{tenant="shop"}', 'up{tenant="shop"}'),
        ('rate(a{b!~"c"}[5m] offset 1m) / on (x) group_left (y) d', 'rate(a{b!~"c", tenant="shop"}[5m] offset 1m) / on (x) group_left (y) d{tenant="shop"}'),
        ("sum without () (rate(a[5m:1m] @ end()))", 'sum without () (rate(a{tenant="shop"}[5m:1m] @ end()))'),
        ("+up", 'up{tenant="shop"}'),  # the package drops it, and it means nothing
        ("-1 * (up or vector(0)) ^ 2 # c", '-1 * (up{tenant="shop"} or vector(0)) ^ 2'),
        ("x{a=`\\d+`,}", 'x{a="\\\\d+", tenant="shop"}'),
        ('{"k8s.metric", "a.b"="c"} offset 1w', '{__name__="k8s.metric", "a.b"="c", tenant="shop"} offset 7d'),
        ('sum by (on, "a b") (x) > bool 1e100', 'sum by (on, "a b") (x{tenant="shop"}) > bool 1e+100'),
        ("absent(x) and ignoring (a) y unless z", 'absent(x{tenant="shop"}) and ignoring (a) y{tenant="shop"} unless z{tenant="shop"}'),
    ],
)  # fmt: skip
def test_an_expression_is_written_on_one_line_in_scope(text: str, written: str) -> None:
    assert scope(text, TENANT) == Scoped(written)


def test_a_matcher_for_another_tenant_is_named_and_narrows_to_nothing() -> None:
    assert scope('up{tenant="other"} / up', TENANT) == Scoped(
        'up{tenant="other", tenant="shop"} / up{tenant="shop"}', ("tenant",)
    )
    assert scope('up{tenant=~"other|shop"}', TENANT) == Scoped('up{tenant=~"other|shop", tenant="shop"}')


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "is empty"),
        ("sum(rate(x[5m])", "the '(' at 4 is not closed"),
        ("sum(rate(x[5m]]", "expected ')' at 15, found ']'"),
        ("up)", "unexpected ')' at 3"),
        ('up{a="b}', "the string at 6 is not closed"),
        ('up{a="\\xff"}', "a byte escape above 7f at 6"),
        ('x{a=~"("}', "illegal regex"),
        ("nosuch(x)", "unknown function"),
        ('{__name__=~".+"}', "needs a metric name"),
        ('{__name__=~".+", job!="x"}', "needs a metric name"),
        ('{job=~"a|.*x*"}', "vector selector must contain"),
        ('{job=~".+|a"}', "needs a metric name"),
        ('up or {a!=""}', "needs a metric name"),
        ('up{a="b" or c="d"}', "`or` between matchers"),
        ("rate(x[9d])", "reach further back"),
        ("rate(x[5d] offset 5d)", "reach further back"),
        ("max_over_time(rate(x[5d])[5d:1h])", "reach further back"),
        ("x offset 365d", "reach further back"),
        ("x offset -5m", "negative offset"),
        ("x @ 1609746000", "@ takes start() or end()"),
        ("max_over_time(x[1d:1s])", "more than 2000 points"),
        ("max_over_time(max_over_time(x[1h:1m])[1h:1m])", "more than 2000 points"),
        ("topk(1e9, x)", "at most 1000"),
        ("bottomk(NaN, x)", "at most 1000"),
        ('x{a=~"(a+)+"}', "repeats a repetition"),
        ('label_replace(x, "a", "b", "c", "(.*)*")', "repeats a repetition"),
        ('x{a=~"' + "a" * 1025 + '"}', "more than 1024"),
        ('x{a!~"' + "(" * 11 + ")" * 11 + '"}', "deeper than 10"),
        ("(" * 33 + "x" + ")" * 33, "nest deeper than 32 at 33"),
        ("+".join(["x"] * 34), "more than 32 selectors"),
        ("-" * 300 + "1", "more than 256 operators"),
        ("x" * (MAX_EXPRESSION_CHARS + 1), "longer than 4096"),
        ("info(x)", "info()"),
        ("a + fill(0) b", "fill"),
        ("x\ud800", "expression: "),
        ("up\x00", "expression: "),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_is_refused_with_a_hint(text: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        scope(text, TENANT)
    assert hint in refused.value.hint
    assert len(refused.value.hint) < 300


def test_strings_and_comments_do_not_count_as_brackets_or_operators() -> None:
    text = 'up{a="' + "(" * 100 + "+" * 300 + '"} # ((((("'
    assert scope(text, {}).expression.startswith('up{a="((((')


@pytest.mark.parametrize("text", ["up", 'up{a="b"}', '{job="x"}'])
def test_a_selector_is_scoped_like_an_expression(text: str) -> None:
    assert scope_selector(text, TENANT) == scope(text, TENANT)


@pytest.mark.parametrize("text", ["rate(up[5m])", "up[5m]", "up offset 5m", "up or up", "1", "(up)"])
def test_an_expression_is_no_selector(text: str) -> None:
    with pytest.raises(InvalidQuery, match="write a series selector"):
        scope_selector(text, TENANT)


@given(st.text("up{}()[]=~!\"'`\\,5m:@ #\n+-*axé", max_size=40))
def test_any_text_is_either_written_or_refused(text: str) -> None:
    try:
        written = scope(text, TENANT).expression
    except InvalidQuery:
        return
    assert scope(written, TENANT) == Scoped(written)


@given(SELECTORS)
def test_every_selector_of_the_grammar_is_taken_or_refused_for_a_limit(text: str) -> None:
    hint = ""
    try:
        scope_selector(text, TENANT)
    except InvalidQuery as refused:
        hint = refused.hint
    assert "read back" not in hint
