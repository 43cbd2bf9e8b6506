"""Check that names defined in the code use the glossary's word (docs/reference/glossary.md).

Only words that are wrong in every sense are looked for: `event` or `result` have a right use too,
and a check with false alarms is soon switched off.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tools.tree import ROOT, house_files

SAY_INSTEAD = {
    "finding": "claim",
    "findings": "claims",
    "helper": "what it does",
    "helpers": "what they do",
    "manager": "what it does",
    "misc": "what is in it",
    "plugin": "integration",
    "plugins": "integrations",
    "rca": "diagnosis",
    "util": "what is in it",
    "utils": "what is in it",
}
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words(name: str) -> tuple[str, ...]:
    """Split snake_case and CamelCase: `RCAReport_utils` is rca, report, utils."""
    return tuple(word.lower() for word in WORDS.findall(name))


def defined_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Give the classes and functions of a module, each with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno


def problems(root: Path = ROOT) -> list[str]:
    found: list[str] = []
    for path in (path for path in house_files(root) if path.suffix == ".py" and path.parts[0] == "app"):
        tree = ast.parse((root / path).read_bytes())
        for name, line in [(path.stem, 1), *defined_names(tree)]:
            found.extend(
                f"{path}:{line} `{name}`: say {SAY_INSTEAD[word]}" for word in words(name) if word in SAY_INSTEAD
            )
    return found
