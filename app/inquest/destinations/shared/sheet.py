"""The JSON form, and the sheet: all that the forms of one revision are written from.

report.json is the sheet in canonical JSON. Whoever has it, and the evidence, can write the other forms anew
and compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from inquest.destinations.shared.html import html
from inquest.destinations.shared.markdown import markdown
from inquest.destinations.shared.outline import page_of
from inquest.domain.report import Report
from inquest.domain.value import Digest, Json, Value

FORMS_VERSION = 3
"""Moves with every change to how a form is written: only the same version can be written anew and compared."""
RULES_VERSION = 3
"""Moves with every change to how claims, verdicts and scores are checked."""


class LeftOut(Value):
    """A content that is not in the folder: too large for its cap, or not at hand when it was written."""

    evidence: str
    digest: Digest
    size: int = Field(ge=0)
    why: Literal["too_large", "missing"]


class Sheet(Value):
    """A report with what its forms need beside it. `link_hosts` are the hosts that links may go to."""

    form: Literal["inquest-report/1"] = "inquest-report/1"
    forms_version: int = FORMS_VERSION
    rules_version: int = RULES_VERSION
    report: Report
    link_hosts: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def written(sheet: Sheet, contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Write every form of a sheet, by file name. Deterministic: the same sheet, the same bytes."""
    sizes = {one.evidence: one.size for one in sheet.left_out}
    page = page_of(sheet.report, contents, sizes)
    hosts = frozenset(sheet.link_hosts)
    verdict = "" if sheet.report.diagnosis is None else sheet.report.diagnosis.verdict.value
    return {
        "report.json": sheet.canonical(),
        "report.md": markdown(page, hosts),
        "report.html": html(page, hosts, verdict=verdict),
    }


def report_schema() -> dict[str, Json]:
    """Give the JSON schema of report.json (draft 2020-12)."""
    schema: dict[str, Json] = Sheet.model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Inquest report, version 1",
        **{name: value for name, value in schema.items() if name != "title"},
    }
