"""Check that whatever the code imports is asked for in pyproject.toml.

A package installed by hand, or brought by another one, works here and is missing in a fresh
environment on the day the other one drops it.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.tree import ROOT, house_files

OURS = frozenset({"inquest", "tests", "tools", "bench"})
# The left one is a part of the right one, and versioned by it.
PART_OF = {
    "psycopg-pool": "psycopg",
    "pydantic-core": "pydantic",
    "starlette": "fastapi",
}


def imported_modules(text: str) -> Iterator[tuple[str, int]]:
    """Give the top-level name of each module that `text` imports, wherever it does, with its line."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0], node.lineno


def is_asked_for(module: str, asked: frozenset[str], installed: Mapping[str, Sequence[str]]) -> bool:
    """Say whether a distribution that provides `module` is among `asked` (canonical names)."""
    names = {canonicalize_name(name) for name in installed.get(module, ())}
    return any(name in asked or PART_OF.get(name) in asked for name in names)


def problems(root: Path = ROOT, installed: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    if installed is None:
        installed = packages_distributions()
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    runtime = frozenset(canonicalize_name(Requirement(line).name) for line in project["dependencies"])
    extra = project["optional-dependencies"]["dev"]
    dev = runtime | {canonicalize_name(Requirement(line).name) for line in extra}
    found: list[str] = []
    for path in (path for path in house_files(root) if path.suffix == ".py"):
        ships = path.parts[0] in {"app", "migrations"}
        for module, line in imported_modules((root / path).read_text(encoding="utf-8")):
            if module in OURS or module in sys.stdlib_module_names:
                continue
            if not is_asked_for(module, runtime if ships else dev, installed):
                where = "dependencies" if ships else "dependencies or the dev extra"
                found.append(f"{path}:{line} imports {module}, which is not in the {where} of pyproject.toml")
    return found
