from pathlib import Path

import pytest

from tests.tools.checkout import Checkout
from tools.check_shape import ALLOWED, breaches, problems

SWALLOWED = "try:\n    x = 1\nexcept {caught}:\n    {body}\n"


def rules(text: str, path: str = "app/inquest/a.py") -> list[tuple[str, str]]:
    return [(breach.place, breach.rule) for breach in breaches(Path(path), text)]


def function(lines: int, indent: str = "") -> str:
    """Write a function of that many lines, `def` included, and a docstring of two more."""
    body = [f'{indent}    """One.', f'{indent}    Two."""', *[f"{indent}    x = 1"] * (lines - 1)]
    return "\n".join([f"{indent}def f() -> None:", *body])


def test_a_function_of_the_allowed_length_passes_whatever_its_docstring_says() -> None:
    assert rules(function(60)) == []


def test_a_longer_function_is_reported_by_its_qualified_name() -> None:
    assert rules(f"class A:\n{function(61, '    ')}") == [("app/inquest/a.py::A.f", "function-length")]


@pytest.mark.parametrize(("path", "allowed"), [("app/inquest/a.py", 300), ("tools/a.py", 300), ("tests/a.py", 500)])
def test_a_file_over_its_length_is_reported(path: str, allowed: int) -> None:
    assert rules("x = 1\n" * allowed, path) == []
    assert rules("x = 1\n" * (allowed + 1), path) == [(path, "file-length")]


@pytest.mark.parametrize(
    "caught", ["Exception", "BaseException", "(OSError, Exception)", "builtins.Exception", "Exception as e"]
)
@pytest.mark.parametrize("body", ["pass", "x = 2", "log.exception('x')", "def f() -> None: raise ValueError"])
def test_a_broad_except_that_raises_nothing_is_reported(caught: str, body: str) -> None:
    assert rules(SWALLOWED.format(caught=caught, body=body)) == [("app/inquest/a.py", "broad-except")]


def test_a_bare_except_is_reported() -> None:
    assert rules("try:\n    x = 1\nexcept:\n    pass\n") == [("app/inquest/a.py", "broad-except")]


@pytest.mark.parametrize("call", ["suppress(Exception)", "contextlib.suppress(OSError, BaseException)"])
def test_suppressing_every_error_is_reported(call: str) -> None:
    assert rules(f"def f():\n    with {call}:\n        pass\n") == [("app/inquest/a.py::f", "broad-except")]


@pytest.mark.parametrize(
    ("caught", "body"),
    [
        ("Exception", "raise"),
        ("Exception as e", "raise A from e"),
        ("OSError", "pass"),
        ("(KeyError, OSError)", "pass"),
    ],
)
def test_a_named_type_or_a_raise_passes(caught: str, body: str) -> None:
    assert rules(SWALLOWED.format(caught=caught, body=body)) == []


def test_an_exception_to_the_rule_needs_a_reason_and_a_breach(checkout: Checkout) -> None:
    checkout.write("app/inquest/a.py", SWALLOWED.format(caught="Exception", body="pass"))
    entry = '[[allowed]]\nplace = "app/inquest/a.py"\nrule = "broad-except"\nreason = "{}"\n'

    checkout.write(str(ALLOWED), entry.format("The worker's last door; Sentry has it."))
    assert problems(checkout.root) == []
    checkout.write(str(ALLOWED), entry.format(" "))
    assert problems(checkout.root) == ["app/inquest/a.py: broad-except: line 3 takes every error and raises none"]
    checkout.write(str(ALLOWED), entry.format("x").replace("a.py", "b.py"))
    assert problems(checkout.root) == [
        "app/inquest/a.py: broad-except: line 3 takes every error and raises none",
        "tools/shape_allowed.toml: app/inquest/b.py no longer breaks broad-except",
    ]
