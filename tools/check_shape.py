"""Check the shape of the code: length of functions and files, and broad excepts that never re-raise.

An exception to a rule stands in shape_allowed.toml with its reason; one that is no longer needed
is a problem too.
"""

import ast
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.tree import ROOT, house_files

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 300
MAX_TEST_FILE_LINES = 500
ALLOWED = Path("tools/shape_allowed.toml")
BROAD = frozenset({"Exception", "BaseException"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, order=True)
class Breach:
    """One rule broken at one place. `place` is a path, or path::qualified.name of a function."""

    place: str
    rule: str
    said: str


def function_lines(function: Function) -> int:
    """Count the lines from `def` to the end, less the docstring: saying more must never cost."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def names_broad(node: ast.expr | None) -> bool:
    """Say whether an except clause (None when bare) or an argument of suppress() takes every error."""
    match node:
        case None:
            return True
        case ast.Tuple(elts=elements):
            return any(names_broad(element) for element in elements)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in BROAD
        case _:
            return False


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Walk `body`, but not the functions defined in it: what those raise, this body does not."""
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def swallows(node: ast.AST) -> bool:
    """Say whether `node` takes every error and lets none out."""
    match node:
        case ast.ExceptHandler(type=caught, body=body):
            return names_broad(caught) and not any(isinstance(inner, ast.Raise) for inner in own_nodes(body))
        case ast.Call(func=ast.Name(id="suppress") | ast.Attribute(attr="suppress"), args=[*caught]):
            return any(names_broad(argument) for argument in caught)
        case _:
            return False


def breaches_in(node: ast.AST, place: str, scope: str = "") -> Iterator[Breach]:
    """Give the breaches below `node`, each placed in the innermost function or class around it."""
    for child in ast.iter_child_nodes(node):
        inner = scope
        here = f"{place}::{scope}" if scope else place
        if isinstance(child, Function | ast.ClassDef):
            inner = f"{scope}.{child.name}" if scope else child.name
        if isinstance(child, Function) and function_lines(child) > MAX_FUNCTION_LINES:
            said = f"{function_lines(child)} lines without the docstring, {MAX_FUNCTION_LINES} allowed"
            yield Breach(f"{place}::{inner}", "function-length", said)
        if isinstance(child, ast.expr | ast.excepthandler) and swallows(child):
            yield Breach(here, "broad-except", f"line {child.lineno} takes every error and raises none")
        yield from breaches_in(child, place, inner)


def breaches(path: Path, text: str) -> Iterator[Breach]:
    """Give all breaches of the Python file `path` (relative to the repository), whose content is `text`."""
    allowed = MAX_TEST_FILE_LINES if path.parts[0] == "tests" else MAX_FILE_LINES
    lines = len(text.splitlines())
    if lines > allowed:
        yield Breach(str(path), "file-length", f"{lines} lines, {allowed} allowed")
    yield from breaches_in(ast.parse(text, filename=str(path)), str(path))


def problems(root: Path = ROOT) -> list[str]:
    entries = tomllib.loads((root / ALLOWED).read_text(encoding="utf-8")).get("allowed", [])
    unused = {(entry["place"], entry["rule"]) for entry in entries if entry["reason"].strip()}
    excused = frozenset(unused)
    found: list[str] = []
    for path in (path for path in house_files(root) if path.suffix == ".py"):
        for breach in sorted(breaches(path, (root / path).read_text(encoding="utf-8"))):
            unused.discard((breach.place, breach.rule))
            if (breach.place, breach.rule) not in excused:
                found.append(f"{breach.place}: {breach.rule}: {breach.said}")
    found.extend(f"{ALLOWED}: {place} no longer breaks {rule}" for place, rule in sorted(unused))
    return found
