import pytest

from tests.tools.checkout import Checkout
from tools.check_dependencies import problems

PROJECT = """
[project]
dependencies = ["Fast_API[x]>=1", "pydantic"]
optional-dependencies.dev = ["pytest"]
"""
INSTALLED = {
    "fastapi": ["fast-api"],
    "pydantic": ["pydantic"],
    "pydantic_core": ["pydantic_core"],
    "pytest": ["pytest"],
    "by_hand": ["by-hand"],
}


@pytest.fixture
def project(checkout: Checkout) -> Checkout:
    checkout.write("pyproject.toml", PROJECT)
    return checkout


@pytest.mark.parametrize(
    "line", ["import fastapi.x", "from pydantic_core import y", "import os, inquest.z", "from . import a"]
)
def test_what_is_asked_for_may_be_imported(project: Checkout, line: str) -> None:
    project.write("app/inquest/a.py", line)
    assert problems(project.root, INSTALLED) == []


@pytest.mark.parametrize("line", ["import by_hand", "from by_hand.b import c", "def f() -> None: import by_hand"])
def test_a_package_installed_by_hand_is_reported(project: Checkout, line: str) -> None:
    project.write("tools/a.py", line)
    said = "imports by_hand, which is not in the dependencies or the dev extra of pyproject.toml"
    assert problems(project.root, INSTALLED) == [f"tools/a.py:1 {said}"]


def test_a_development_tool_may_be_imported_by_tests_only(project: Checkout) -> None:
    project.write("tests/test_a.py", "import pytest")
    project.write("app/inquest/a.py", "import pytest")
    said = "imports pytest, which is not in the dependencies of pyproject.toml"
    assert problems(project.root, INSTALLED) == [f"app/inquest/a.py:1 {said}"]


def test_a_module_that_is_not_installed_at_all_is_reported(project: Checkout) -> None:
    project.write("app/inquest/a.py", "import gone")
    assert len(problems(project.root, INSTALLED)) == 1
