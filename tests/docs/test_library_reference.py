"""The reference of the library lists every public name, with the signature that the code has."""

from __future__ import annotations

import ast
import re

import pytest

import inquest.library
from tests.docs.pages import ROOT, blocks, code, table
from tests.docs.stubs import head, shown_members, stub_of

PAGE = "docs/reference/library.md"
HEADINGS = re.findall(r"^## (.+)$", (ROOT / PAGE).read_text("utf-8"), re.MULTILINE)
SHOWN = {
    getattr(stub, "name", None) or stub.targets[0].id: stub  # type: ignore[attr-defined]  # a constant or an alias
    for block in blocks(ROOT / PAGE)
    if block.language == "python"
    for stub in ast.parse(block.text).body
}
IN_PART = frozenset(
    {
        "Analyst", "CursorKey", "GitLabConfig", "InstallationKey", "MemoryJournal", "ModelInvestigator", "Redactor",
        "ScriptedInvestigator", "ScriptedModel", "SystemClock", "Transport",
    }
)  # fmt: skip
"""What a host makes and hands on: the page shows how it is made, and those of its methods that a host calls."""


def test_every_public_name_is_shown_and_said_once() -> None:
    said = [code(row[0])[0] for heading in HEADINGS for row in table(PAGE, heading)]

    assert sorted(said) == sorted(inquest.library.__all__)
    assert sorted(SHOWN) == sorted(inquest.library.__all__)


@pytest.mark.parametrize("name", inquest.library.__all__)
def test_a_name_is_shown_with_its_signature(name: str) -> None:
    real = ast.parse(stub_of(inquest.library, name)).body[0]

    assert head(SHOWN[name]) == head(real)


@pytest.mark.parametrize("name", inquest.library.__all__)
def test_every_part_that_is_shown_is_the_code_s_and_no_field_is_left_out(name: str) -> None:
    shown, real = shown_members(SHOWN[name]), shown_members(ast.parse(stub_of(inquest.library, name)).body[0])

    assert shown.items() <= real.items()
    left_out = real.keys() - shown.keys()
    assert [part for part in left_out if part == "__init__" or name not in IN_PART or not _is_method(real[part])] == []


def _is_method(part: str) -> bool:
    return "def " in part
