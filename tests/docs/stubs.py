"""Signatures as a page shows them: Python code with `...` for what it does, compared with the source by its tree."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Mapping
from datetime import timedelta
from types import ModuleType

from typing_extensions import override


def stub_of(module: ModuleType, name: str) -> str:
    """Give what `module` says of `name` in its source, without docstrings, private parts and what it does."""
    value = getattr(module, name)
    if not (inspect.isclass(value) or inspect.isfunction(value)):
        return shown(_assigned(name, value))
    source = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    stub = _class(source) if inspect.isclass(value) else _function(source)
    return shown(_Spelt(vars(sys.modules[value.__module__])).visit(stub))


def shown(node: ast.stmt) -> str:
    """Give code in one form, however it was wrapped."""
    return ast.unparse(node)


def shown_members(stub: ast.stmt) -> dict[str, str]:
    """Give the parts of a class by name; nothing for what is no class."""
    parts = stub.body if isinstance(stub, ast.ClassDef) else []
    return {_name(part): shown(part) for part in parts if _name(part)}


def head(stub: ast.stmt) -> str:
    """Give a class without its parts, and anything else whole."""
    if not isinstance(stub, ast.ClassDef):
        return shown(stub)
    return shown(ast.ClassDef(stub.name, stub.bases, stub.keywords, [_dots()], stub.decorator_list))


class _Spelt(ast.NodeTransformer):
    """Writes a constant of the source as its value, and what is private as `...`: a reader has neither name."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._names = names

    @override
    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self._names.get(node.id)
        if isinstance(value, int | float | str | timedelta):
            return ast.parse(repr(value), mode="eval").body
        return ast.Constant(...) if node.id.startswith("_") else node


def _class(node: ast.stmt) -> ast.ClassDef:
    assert isinstance(node, ast.ClassDef)
    parts = [kept for part in node.body if (kept := _part(part)) is not None]
    return ast.ClassDef(node.name, node.bases, node.keywords, parts or [_dots()], node.decorator_list)


def _part(part: ast.stmt) -> ast.stmt | None:
    if not _name(part) or (_name(part).startswith("_") and _name(part) != "__init__"):
        return None
    return _function(part) if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) else part


def _name(part: ast.stmt) -> str:
    match part:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return ""


def _function(node: ast.stmt) -> ast.stmt:
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return type(node)(node.name, node.args, [_dots()], node.decorator_list, node.returns, lineno=0)


def _assigned(name: str, value: object) -> ast.stmt:
    """Give a constant with its value; of an alias the names that stand for one another."""
    members = getattr(getattr(value, "__origin__", value), "__args__", ())
    if members:
        return ast.parse(f"{name} = {' | '.join(member.__name__ for member in members)}").body[0]
    written = sorted("/".join(path) for path in value) if isinstance(value, frozenset) else value
    return ast.parse(f"{name} = {written!r}").body[0]


def _dots() -> ast.stmt:
    return ast.Expr(ast.Constant(...))
