from __future__ import annotations

import pytest

from inquest.wire.patterns import BadPattern, pattern


def test_a_pattern_spans_the_whole_text_or_occurs_in_it() -> None:
    assert pattern("5..").spans("503")
    assert not pattern("5..").spans("5030")
    assert pattern("time(d)? ?out").occurs_in("it timed out")
    assert pattern("(?i)ERROR").occurs_in("an error")
    assert not pattern("^b").occurs_in("ab")


@pytest.mark.parametrize("text", ["(", "(?=a)", r"(a)\1", "a{2000}", "((a{100}){100}){100}", "[z-a]", "\ud800"])
def test_what_re2_cannot_run_in_linear_time_is_refused(text: str) -> None:
    with pytest.raises(BadPattern):
        pattern(text)


def test_a_catastrophic_pattern_is_answered() -> None:
    assert not pattern("(a+)+$").occurs_in("a" * 50_000 + "!")
