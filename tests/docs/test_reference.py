"""The reference is complete and true: each table is held against the values of the code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import get_args

import pytest
from pydantic import BaseModel

from inquest.domain.event import Event, EventBody, Steering
from inquest.domain.failure import MESSAGES
from inquest.domain.intake import MemberOutcome
from inquest.domain.planned import CallPlan, Joined
from inquest.entrypoints.http.exposition import OF_A_WORKER, OF_THE_SERVICE
from inquest.models.failures import MESSAGES as MODEL_MESSAGES
from inquest.models.litellm_model import TRY_NEXT
from inquest.runtime.attempts import RETRYABLE
from inquest.settings import Settings
from inquest.stages.comparison import Comparison
from inquest.telemetry import Metrics, create_metrics
from tests.docs.pages import ROOT, code, table

EVENTS = "docs/reference/events.md"


def union(of: object) -> tuple[type[BaseModel], ...]:
    """Give the members of Annotated[A | B, ...]."""
    return get_args(get_args(of)[0])


def tag(of: type[BaseModel], name: str) -> str:
    return str(of.model_fields[name].default)


def fields(of: type[BaseModel], *less: str) -> list[str]:
    return [name for name in of.model_fields if name not in less]


# ---- events ------------------------------------------------------------------------------------------------


def test_every_field_of_the_entry_is_listed() -> None:
    assert [code(row[0])[0] for row in table(EVENTS, "The entry")] == fields(Event)


@pytest.mark.parametrize("body", union(EventBody), ids=lambda body: tag(body, "kind"))
def test_every_field_of_an_event_is_listed(body: type[BaseModel]) -> None:
    assert [code(row[0])[0] for row in table(EVENTS, tag(body, "kind"))] == fields(body, "kind")


def test_no_kind_of_event_is_listed_that_is_gone() -> None:
    headings = re.findall(r"^### (\S+)$", (ROOT / EVENTS).read_text("utf-8"), re.MULTILINE)
    assert headings == [tag(body, "kind") for body in union(EventBody)]


@pytest.mark.parametrize(
    ("heading", "of", "name"),
    [("Planned calls", CallPlan, "plan"), ("Results", Joined, "via"), ("Steering", Steering, "steer")],
)
def test_every_variant_of_an_events_parts_is_listed(heading: str, of: object, name: str) -> None:
    listed = {code(row[0])[0]: code(row[1]) for row in table(EVENTS, heading)}
    assert listed == {tag(one, name): fields(one, name) for one in union(of)}


# ---- closed sets -------------------------------------------------------------------------------------------


def test_every_failure_code_is_listed_with_its_message() -> None:
    rows = table("docs/reference/failure-codes.md", "Failure codes")
    assert {code(row[0])[0]: row[1] for row in rows} == {str(one): said for one, said in MESSAGES.items()}


def test_every_failure_of_a_model_is_listed_with_what_follows() -> None:
    rows = table("docs/explanation/tool-calling.md", "What a provider's failure means")
    assert {code(row[0])[0]: row[1] for row in rows} == {str(one): said for one, said in MODEL_MESSAGES.items()}
    assert {code(row[0])[0] for row in rows if row[2] == "yes"} == {str(one) for one in TRY_NEXT}
    assert {code(row[0])[0] for row in rows if row[3].startswith("yes")} == {str(one) for one in RETRYABLE}


def test_every_word_of_the_accounting_equation_is_listed() -> None:
    rows = table("docs/explanation/intake.md", "Counting")
    assert {code(row[0])[0] for row in rows} == {str(word) for word in MemberOutcome}


def test_every_metric_is_listed_with_its_labels() -> None:
    listed = {code(row[0])[0]: (row[1], code(row[2])) for row in table("docs/reference/metrics.md", "Metrics")}
    assert listed == dict(_metrics(create_metrics()))


def _metrics(metrics: Metrics) -> Iterator[tuple[str, tuple[str, list[str]]]]:
    """Give the name of each metric, who shows it, and its labels."""
    for name, one in vars(metrics).items():
        if name != "registry":
            shown_by = [who for who, names in (("service", OF_THE_SERVICE), ("worker", OF_A_WORKER)) if name in names]
            called = f"{one._name}_total" if one._type == "counter" else one._name
            yield called, (", ".join(shown_by), list(one._labelnames))


def test_every_variable_of_the_environment_is_listed_with_its_default() -> None:
    listed = {code(row[0])[0]: row[1] for row in table("docs/reference/environment.md", "Environment variables")}
    assert listed == {f"INQUEST_{name.upper()}": _shown(name) for name in Settings.model_fields}


def _shown(name: str) -> str:
    default = Settings.model_fields[name].get_default()
    if name == "home":
        return "`~/.local/share/inquest`"
    return "" if default is None else f"`{default:g}`" if isinstance(default, float) else f"`{default}`"


# ---- comparison ----------------------------------------------------------------------------------------


def test_every_field_of_a_comparison_is_listed() -> None:
    listed = {name for row in table("docs/reference/command-line.md", "The JSON of compare") for name in code(row[0])}
    assert listed == set(Comparison.model_fields)
