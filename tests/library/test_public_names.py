"""The public surface: what is listed is there, is in order, and comes without a database or a model's library."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Protocol

import inquest.library

HEAVY = ("sqlalchemy", "psycopg", "procrastinate", "alembic", "litellm", "fastapi", "uvicorn", "typer", "slack_sdk")


def test_every_name_of_the_surface_is_listed_once_and_is_there() -> None:
    listed = inquest.library.__all__

    assert len(set(listed)) == len(listed)
    assert [name for name in listed if getattr(inquest.library, name, None) is None] == []


def test_it_needs_no_database_no_web_framework_and_no_litellm() -> None:
    look = f"import sys, inquest.library; print([name for name in {HEAVY} if name in sys.modules])"

    done = subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("[]\n", "")


def _spoken() -> Iterator[tuple[str, Callable[..., object]]]:
    """Give the functions of the surface and the methods of its ports: what a host calls, or writes itself."""
    for name in inquest.library.__all__:
        value = getattr(inquest.library, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value) and Protocol in value.__bases__:
            for part in vars(value).values():
                method = part.fget if isinstance(part, property) else part
                if inspect.isfunction(method) and not method.__name__.startswith("_"):
                    yield name, method


def test_every_type_of_ours_that_a_signature_names_is_listed_too() -> None:
    named = {
        (name, node.id)
        for name, function in _spoken()
        for annotation in function.__annotations__.values()
        for node in ast.walk(ast.parse(str(annotation)))
        if isinstance(node, ast.Name) and _is_ours(function.__globals__.get(node.id))
    }
    assert len(named) > 20
    assert sorted(one for one in named if one[1] not in inquest.library.__all__) == []


def _is_ours(value: object) -> bool:
    return (
        value is not None
        and "inquest" in f"{getattr(value, '__module__', '')} {value!r}"
        and not inspect.ismodule(value)
    )
