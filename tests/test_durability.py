"""`durability.toml` holds every line that durability is built to, with tests that prove it: none is missing, all exist."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TABLE = tomllib.loads((TESTS / "durability.toml").read_text("utf-8"))
LINES = [*map(str, range(1, 96)), *map(str, range(128, 133)), *(f"R{number}" for number in range(1, 13))]
"""95 lines from the query to replay, five of the queue, and the targets; the numbers between are not about durability."""
MAKE = re.findall(r"^([a-z0-9-]+):.*## ", (TESTS.parent / "Makefile").read_text("utf-8"), re.MULTILINE)


@functools.cache
def names_in(path: Path) -> frozenset[str]:
    """Give the names of the tests that `path` holds, those of its classes among them."""
    tree = ast.parse(path.read_text("utf-8"))
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    return frozenset(
        node.name
        for body in bodies
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


def is_collected(path: Path) -> bool:
    """Say whether pytest looks into `path`: by its name, or because a test file there inherits its class."""
    if path.name.startswith("test_"):
        return True
    return any("Contract" in other.read_text("utf-8") for other in path.parent.glob("test_*_contract.py"))


def test_no_line_is_missing_and_none_is_unknown() -> None:
    assert list(TABLE) == LINES


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_proved_by_tests_that_exist(line: str) -> None:
    entry = TABLE[line]

    assert entry.keys() == {"says", "proved_by"}
    assert entry["says"]
    assert entry["proved_by"]
    for proof in entry["proved_by"]:
        target, test = proof.removeprefix("make "), proof.partition("::")[2]
        if target != proof:
            assert target in MAKE, proof
            continue
        path = TESTS / proof.partition("::")[0]
        assert path.is_file(), proof
        assert is_collected(path), proof
        assert test in names_in(path), proof
