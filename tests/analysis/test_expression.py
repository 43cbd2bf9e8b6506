"""What an alert's expression measures."""

from __future__ import annotations

import pytest

from inquest.analysis.expression import expression_of, measured_by


@pytest.mark.parametrize(
    ("expression", "measured"),
    [
        ("a / b > 0.05", "a / b"),
        ("(sum by (s) (rate(x[5m]))) > 0.05 and up == 1", "sum by (s) (rate(x[5m]))"),
        ("5 < z", "z"),
        ("x > bool 1", "x"),
        ("absent(up)", "absent(up)"),
        ('x{a="> 1"} > 1', 'x{a="> 1"}'),
        ("bad(((", "bad((("),
        ("", ""),
    ],
)
def test_the_comparison_that_makes_it_fire_is_taken_off(expression: str, measured: str) -> None:
    assert measured_by(expression) == measured


@pytest.mark.parametrize(
    ("url", "expression"),
    [
        ("http://vm:19090/graph?g0.expr=checkout_error_ratio+%3E+0.05&g0.tab=1", "checkout_error_ratio > 0.05"),
        ("?orgId=1", ""),
        ("/graph?g0.expr=up", "up"),
        ("http://x/graph?g0.expr=%28%28%28", ""),
        ("http://[bad/graph?g0.expr=up", ""),
        ("http://x/graph?g0.expr=" + "a" * 9_000, ""),
        ("http://x/?" + "&".join("a=1" for _ in range(100)), ""),
        ("", ""),
    ],
)
def test_a_generator_url_gives_its_expression_or_nothing(url: str, expression: str) -> None:
    assert expression_of(url) == expression
