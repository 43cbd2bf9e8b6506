import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.wire.regex_shape import UnreadablePattern, shape_of


@pytest.mark.parametrize(
    ("pattern", "fixed"),
    [
        ("a", True), ("a|b", True), ("(a|b)c*", True), ("web-.+", True), ("[ab]c", True), ("(?i)x", True), ("\\.", True),
        ("a{2}", True), ("(?P<n>a)", True), ("(?:a|b)+", True), ("\\Qa.b\\E", True), ("{", True), ("\\pLx", True),
        (".+", False), (".*", False), ("", False), ("a|", False), ("a*", False), ("a?", False), ("a{0,3}", False),
        ("[a-z]+", False), ("\\w+", False), ("(a|.*)", False), ("^$", False), ("\\p{Greek}+", False), ("[^]]+", False),
        ("[[:alpha:]]+", False), ("(?i)", False), ("\\b", False), ("a|.+", False), ("\\x{41}?", False),
    ],
)  # fmt: skip
def test_fixed_says_that_every_match_holds_a_certain_character(pattern: str, fixed: bool) -> None:
    assert shape_of(pattern).fixed is fixed


@pytest.mark.parametrize(
    ("pattern", "nested"),
    [
        ("(a+)+", True), ("(a*)*", True), ("(.*)+", True), ("((a+))+", True), ("(a+|b)*", True), ("(a?)*", True),
        ("(-[a-z]+)*", False), ("[a-z0-9]+(-[a-z0-9]+)*", False), ("(\\d+\\.)+", False), ("(a+){2}", False), ("a+b+", False),
        ("(a|b)*", False), ("a+?", False), ("(^|a)+", True),
    ],
)  # fmt: skip
def test_nested_says_that_nothing_but_repeats_is_repeated(pattern: str, nested: bool) -> None:
    assert shape_of(pattern).nested is nested


@pytest.mark.parametrize(
    "pattern", ["(", ")", "[", "a)", "(?", "(?P<n", "\\", "[a", "(a|b", "\\p{x", "a" * 2000, "(" * 20 + ")" * 20]
)
def test_what_does_not_close_is_unreadable(pattern: str) -> None:
    with pytest.raises(UnreadablePattern):
        shape_of(pattern)


@given(
    st.from_regex(r"([ab.x]|\[ab\]|\(a\|b\)|\(\.\))([*+?]|\{1,2\}|\{0,2\})?(\|?[ab.][*+?]?){0,3}", fullmatch=True),
    st.text("zq", max_size=4),
)
def test_a_fixed_pattern_matches_no_text_without_its_characters(pattern: str, text: str) -> None:
    if shape_of(pattern).fixed:
        assert not re.fullmatch(pattern, text) or "[ab]" in pattern


@given(st.text("ab.*+?()[]{}|\\\\^$:P<>=!,12QEx", max_size=60))
def test_any_text_is_read_or_unreadable(pattern: str) -> None:
    said = "a pattern"
    try:
        shape_of(pattern)
    except UnreadablePattern as error:
        said = str(error)
    assert said.startswith("a pattern")
