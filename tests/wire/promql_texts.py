"""Expressions of PromQL as a grammar writes them, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from inquest.domain.selector import quote

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NAMES = st.sampled_from(["up", "http_requests_total", "node:cpu:rate5m", "sum", "x", "by", "offset_total"])
LABEL_NAMES = st.sampled_from(["job", "instance", "le", "on", "bool", "_a9", "namespace"])
UTF8_NAMES = st.sampled_from(["k8s.pod.name", "a b", 'q"q', "größe", "x\ny", "x\n"])
DURATIONS = st.sampled_from(["30s", "5m", "1h30m", "2d", "500ms", "1w", "90"])
STEPS = st.sampled_from(["1h", "30m"])
PATTERNS = st.sampled_from(
    ["a|b", "web-.+", "(?i)err", "[a-z]+x", "\\d+-z", "a{2,3}", "(a-[0-9]+)*b", "^x$", "\\Qa.b\\E", "[[:alpha:]]9"]
)


def _matcher() -> st.SearchStrategy[str]:
    label = LABEL_NAMES | UTF8_NAMES.map(quote)
    plain = st.builds(
        lambda name, op, value: f"{name}{op}{quote(value)}", label, st.sampled_from(["=", "!="]), ANY_TEXT
    )
    spans = st.builds(
        lambda name, op, value: f"{name} {op} {quote(value)}", label, st.sampled_from(["=~", "!~"]), PATTERNS
    )
    raw = st.builds(lambda name, value: f"{name}=`{value}`", label, st.sampled_from(["a", "\\d", "x'y", '"', "a\nb"]))
    single = st.builds(lambda name, value: f"{name}='{value}'", label, st.sampled_from(["a", "\\'", '"', "\\u00e9"]))
    return plain | spans | raw | single


SELECTORS = st.builds(
    lambda name, matchers, comma: f"{name}{{{','.join(matchers)}{comma if matchers else ''}}}" if matchers else name,
    NAMES,
    st.lists(_matcher(), max_size=3),
    st.sampled_from(["", ",", " "]),
) | st.builds(lambda name, matcher: f"{{{quote(name)}, {matcher}}}", UTF8_NAMES, _matcher())

MOVED = st.sampled_from(["", " offset 5m", " @ start()", " @ end() offset 1h", " offset 1h @ end()"])
INSTANT = st.builds(lambda selector, moved: f"{selector}{moved}", SELECTORS, MOVED)
RANGE = st.builds(lambda selector, length, moved: f"{selector}[{length}]{moved}", SELECTORS, DURATIONS, MOVED)
GROUPING = st.builds(
    lambda word, names: f"{word} ({', '.join(names)})",
    st.sampled_from(["by", "without", "BY"]),
    st.lists(LABEL_NAMES | UTF8_NAMES.map(quote), max_size=2),
)
MATCHING = st.builds(
    lambda word, names, group: f" {word}({','.join(names)}){group}",
    st.sampled_from(["on", "ignoring"]),
    st.lists(st.sampled_from(["job", "instance"]), max_size=2, unique=True),
    st.sampled_from(["", " group_left", " group_left(le)", " group_right (namespace)"]),
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Build on expressions that give an instant vector."""
    vector = st.builds("({})".format, inner) | INSTANT
    return (
        st.builds("rate({})".format, RANGE)
        | st.builds("-{}".format, vector)
        | st.builds(lambda op, grouping, one: f"{op} {grouping} ({one})", st.sampled_from(["sum", "max", "COUNT"]), GROUPING, vector)
        | st.builds(lambda op, one: f"{op}({one})", st.sampled_from(["avg", "abs", "absent", "stddev"]), vector)
        | st.builds(lambda k, one: f"topk({k}, {one})", st.integers(1, 9), vector)
        | st.builds(lambda one: f"quantile by (job) (0.99, {one})", vector)
        | st.builds(lambda text, one: f"count_values({quote(text)}, {one})", st.sampled_from(["v", "code"]), vector)
        | st.builds(lambda op, one, other, how: f"{one} {op}{how} {other}", st.sampled_from("+-*/%^"), vector, vector, MATCHING | st.just(""))
        | st.builds(lambda op, one, other: f"{one} {op} {other}", st.sampled_from([">", "<= bool", "==", "!=", "> bool"]), vector, vector)
        | st.builds(lambda op, one, other: f"{one} {op} {other}", st.sampled_from(["and", "or", "unless", "AND", "and on()"]), vector, vector)
        | st.builds(lambda one, value: f"{one} * {value!r}", vector, st.floats(min_value=1e-9, max_value=1e12))
        | st.builds(lambda one, number: f"{number} - {one}", vector, st.sampled_from(["1e3", "0x1F", "Inf", "NaN", ".5", "-2", "7"]))
        | st.builds(lambda one, length, step, moved: f"max_over_time(({one})[{length}:{step}]{moved})", inner, st.sampled_from(["1h", "2h"]), STEPS, MOVED)
        | st.builds(lambda one, length: f"avg_over_time(({one})[{length}:])", inner, st.sampled_from(["5m", "10m"]))
        | st.builds(lambda one, pattern: f'label_replace({one}, "a", "$1", "b", {quote(pattern)})', vector, PATTERNS)
        | st.builds(lambda one: f"histogram_quantile(0.9, sum by (le) ({one}))", vector)
        | st.builds(lambda one: f"{one} # it's \"so\"\n", vector)
    )  # fmt: skip


EXPRESSIONS = st.recursive(INSTANT, _larger, max_leaves=6)
