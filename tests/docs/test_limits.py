"""The page of limits: it has every bound that the code names, with the code's numbers."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest

from inquest.domain import budget
from tests.docs.pages import ROOT, code, table

LIMITS = "docs/reference/limits.md"
LIMIT_SECTIONS = tuple(re.findall(r"^## (.+)$", (ROOT / LIMITS).read_text("utf-8"), re.MULTILINE))
PACKAGE = ROOT / "app" / "inquest"
BOUND = re.compile(r"^(?:_?MAX_\w+|_?MOST(?:_\w+)?|\w*(?:_TIMEOUT(?:_S|_MS)?|_SECONDS|PATIENCE_S|GRACE_S|FOR_S))$")
"""What a bound is called."""
NOT_LISTED = {
    r"scenarios\..+": "recorded incidents and the server that plays them back: a demo, never an installation",
    r"entrypoints\.cli\.demo\..+": "likewise",
    r".+\._[A-Z_]+": "how one function reads one value or waits for one process; nobody meets it as a bound",
    r".+\.(?:MIN|LEAST)_\w+": "the least that a bound is ever lowered to, not a bound",
    r"analysis\.suspects\.MAX_BY_CHANCE": "a threshold of judgement",
    r"domain\.canonical\.MAX_SAFE_INTEGER": "of the format: RFC 8785",
    r"connectors\.shared\.reading\.MAX_SECONDS": "of the calendar: the end of the year 9999",
    r"entrypoints\.http\.investigations\.MAX_SEQ": "of the column's type",
}
UNITS = {
    "bytes": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3,
    "s": 1, "min": 60, "h": 3_600, "d": 86_400,
    "%": 0.01, "USD": 1_000_000, "": 1,
}  # fmt: skip


def listed() -> list[str]:
    return [name for section in LIMIT_SECTIONS for row in table(LIMITS, section) for name in code(row[0])]


def bounds() -> Iterator[str]:
    """Give the name of every bound that a module of the package sets."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text("utf-8")).body:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                if isinstance(target, ast.Name) and BOUND.match(target.id):
                    yield f"{module}.{target.id}"


def test_every_bound_that_the_code_names_is_listed_or_has_a_reason_not_to_be() -> None:
    missing = set(bounds()) - set(listed())
    assert [name for name in sorted(missing) if not any(re.fullmatch(one, name) for one in NOT_LISTED)] == []


def test_every_reason_not_to_list_a_bound_is_needed_and_none_hides_a_row() -> None:
    missing = set(bounds()) - set(listed())
    assert [one for one in NOT_LISTED if not any(re.fullmatch(one, name) for name in missing)] == []


def test_no_limit_is_listed_twice() -> None:
    names = listed()
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("section", LIMIT_SECTIONS)
def test_every_limit_has_the_value_of_the_code(section: str) -> None:
    wrong = []
    for row in table(LIMITS, section):
        (name,) = code(row[0])
        if _said(row[1]) != pytest.approx(_in_code(name)):
            wrong.append(f"{name}: the page says {row[1]}, the code {_in_code(name)}")
    assert wrong == []


def _said(cell: str) -> list[float]:
    numbers = re.findall(r"[\d.]+", cell.replace(",", "" if ", " not in cell else ","))
    unit = re.sub(r"[\d.,\s]", "", cell)
    return [float(number) * UNITS[unit] for number in numbers]


def _in_code(name: str) -> list[float]:
    module, constant = name.rsplit(".", 1)
    value = getattr(importlib.import_module(f"inquest.{module}"), constant)
    values = value if isinstance(value, tuple) else (value,)
    scale = 1_000 if constant.endswith("_MS") else 1
    return [(one.total_seconds() if isinstance(one, timedelta) else one) / scale for one in values]


def test_every_constant_of_the_loop_is_listed() -> None:
    """design 9: the constants of the loop stand in one module; the page has all of them."""
    listed = {name.rsplit(".", 1)[1] for row in table(LIMITS, LIMIT_SECTIONS[0]) for name in code(row[0])[:1]}
    assert {name for name in vars(budget) if name.isupper()} <= listed
