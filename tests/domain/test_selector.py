"""A label value, whatever it holds, stays one string of the selector."""

from __future__ import annotations

import promql_parser
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.selector import quote, selector

TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


@given(TEXT)
def test_a_quoted_value_reads_back_as_itself(value: str) -> None:
    parsed = promql_parser.parse(f"up{{pod={quote(value)}}}")

    assert isinstance(parsed, promql_parser.VectorSelector)
    assert [(one.name, one.value) for one in parsed.matchers.matchers] == [("pod", value)]


def test_a_smuggled_selector_stays_a_value() -> None:
    smuggled = 'web-0"} |~ ".*" or {namespace="vault"'

    assert selector({"pod": smuggled}) == '{pod="web-0\\"} |~ \\".*\\" or {namespace=\\"vault\\""}'


def test_a_name_that_is_no_label_name_is_left_out() -> None:
    assert selector({"app": "a", 'x="1"} or {y': "b", "": "c", "z\n": "d"}) == '{app="a"}'
