"""The reference of the configuration lists every key with its default, and the example shows every key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from inquest import resources
from inquest.configuration import destination, sections
from tests.docs.pages import code, table

CONFIGURATION = "docs/reference/configuration.md"
SECTIONS: dict[type[BaseModel], str] = {
    sections.Configuration: "The file",
    sections.WorkspaceSection: "workspaces.NAME",
    sections.IntakeSection: "intakes.NAME",
    sections.Credential: "A credential",
    sections.IntegrationSection: "integrations.NAME",
    sections.Pins: "pins",
    sections.ServiceSection: "services.NAME",
    sections.KubernetesWorkload: "kubernetes",
    destination.DestinationSection: "destinations.NAME",
    sections.RouteSection: "routes",
    sections.ModelSection: "model",
    sections.PriceSection: "price",
    sections.BudgetsSection: "budgets",
    sections.RetentionSection: "retention",
}
"""Each section of the file, and the heading of the page that lists its keys."""


def _sections(section: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Give a section and all those below it."""
    yield section
    for field in section.model_fields.values():
        below = _section_in(field.annotation)
        if below is not None:
            yield from _sections(below)


def _section_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _section_in(one))), None)


def test_every_section_of_the_configuration_has_a_heading() -> None:
    assert set(_sections(sections.Configuration)) == set(SECTIONS)


@pytest.mark.parametrize(("section", "heading"), SECTIONS.items(), ids=SECTIONS.values())
def test_every_key_of_a_section_is_listed_with_its_default(section: type[BaseModel], heading: str) -> None:
    listed = {code(row[0])[0]: row[1] for row in table(CONFIGURATION, heading)}
    assert listed == {name: _default(field) for name, field in section.model_fields.items()}


def _default(field: FieldInfo) -> str:
    """Write a default as the page does: what is not written there has none."""
    if field.is_required():
        return "required"
    if _section_in(field.annotation) is not None:
        return ""
    value = field.get_default(call_default_factory=True)
    return "" if value in (None, "", (), {}) else f"`{_written(value)}`"


def _written(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case timedelta():
            return _duration(value)
        case tuple() | frozenset():
            return f"[{', '.join(value if isinstance(value, tuple) else sorted(value))}]"
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _duration(value: timedelta) -> str:
    seconds = int(value.total_seconds())
    units = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))
    size, letter = next((size, letter) for size, letter in units if seconds % size == 0)
    return f"{seconds // size}{letter}"


def test_the_example_shows_every_key() -> None:
    """What an operator copies says all that can be said, and of a secret one of the ways to name it."""
    text = (resources.config_dir() / "inquest.example.yaml").read_text("utf-8")
    stems = {re.sub(r"_(env|file)$", "", name) for section in SECTIONS for name in section.model_fields}
    assert sorted(stem for stem in stems if not re.search(rf"\b{stem}(_env|_file)?\b", text)) == []
