"""Any bytes and any text: reading never raises, is never slow, and what is foreign stays text in its own field."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.domain.alert import AlertStatus
from inquest.domain.service import resolve_service
from inquest.domain.value import Json
from inquest.sources.datadog import parse
from inquest.sources.datadog.payload import FIELDS
from inquest.sources.datadog.transitions import read_title, transition_of
from inquest.stages.gather_evidence.opening import seed_asks
from inquest.wire.logql.parser import parse as parse_logql
from inquest.wire.logql.syntax import log_query_of
from tests.builders import facts
from tests.sources.datadog.notifications import TRIGGERED, alert_of, filled

DATA = Path(__file__).parents[2] / "data"
INJECTIONS = [
    json.loads(line)
    for file in ("bugs/intake_injection.jsonl", "cases/injection.jsonl")
    for line in (DATA / file).read_text("utf-8").splitlines()
]
PATIENCE_S = 60.0
"""It bounds a failing test, and is no claim about speed: what is not linear takes hours on these bodies."""
LARGE = 512 * 1024

FIELD_NAMES = st.sampled_from(sorted({key for keys in FIELDS.values() for key in keys} | {"event_id", "org_id", "id"}))
TEXTS = st.text(st.characters(exclude_categories=()), max_size=30) | st.sampled_from(
    [
        "$ALERT_ID",
        "null",
        "[Triggered on {a:b}] x",
        "Recovered",
        "P1",
        "a:b,c:d,",
        "1767225600000",
        "[",
        "{",
        "]}",
        ":",
        ",",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(FIELD_NAMES, JSON, max_size=8))
def test_parse_never_raises_and_gives_one_alert_or_a_reason(fields: dict[str, Json]) -> None:
    read = parse(json.dumps(fields).encode())

    read.canonical()
    assert len(read.alerts) + (read.quarantine is not None) == 1
    for alert in read.alerts:
        assert alert.fingerprint
        assert alert.name
        assert len(alert.fingerprint) <= 128


@given(st.binary(max_size=300))
def test_parse_never_raises_for_any_bytes(body: bytes) -> None:
    assert parse(body).quarantine is not None


@given(st.dictionaries(st.sampled_from(sorted(TRIGGERED)), TEXTS, max_size=6), st.booleans())
def test_parse_never_raises_for_the_template_however_it_is_filled(values: dict[str, str], escaped: bool) -> None:
    read = parse(filled({**TRIGGERED, **values}, escaped=escaped))

    assert len(read.alerts) + (read.quarantine is not None) == 1


@given(TEXTS)
def test_a_title_never_raises_and_reading_its_name_again_changes_nothing(title: str) -> None:
    name = read_title(title).name
    assert title.strip().endswith(name)
    assert read_title(name).name == name or name.startswith("[")


@given(TEXTS)
def test_no_word_but_a_recovery_resolves(word: str) -> None:
    assert transition_of(word, "error", []).status is AlertStatus.FIRING or "recovered" in word.lower()


HOSTILE = [
    "[" * LARGE, "[Triggered on {" * (LARGE // 15), "]}" * (LARGE // 2), "[P1]" * (LARGE // 4), "$" * LARGE,
    "$A[" * (LARGE // 3), "a:b," * (LARGE // 4), "," * LARGE, ":" * LARGE, "{" * LARGE, " " * LARGE, "-_ " * (LARGE // 3),
    "recovered " * (LARGE // 10), "9" * LARGE, "\\" * LARGE, "%" * LARGE,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:15])
async def test_megabytes_of_hostile_text_in_every_field_are_read_to_the_end(text: str) -> None:
    for keys in FIELDS.values():
        body = json.dumps({"alert_id": "1", keys[0]: text}).encode()
        read = await asyncio.wait_for(asyncio.to_thread(parse, body), PATIENCE_S)
        assert len(read.canonical()) < 200_000


@pytest.mark.parametrize("case", INJECTIONS, ids=lambda case: case["id"])
@pytest.mark.parametrize("variable", sorted(TRIGGERED))
def test_injected_text_stays_in_its_field_and_shows_what_it_hides(case: dict[str, str], variable: str) -> None:
    plain, text = alert_of(filled(TRIGGERED)), case["text"]
    found = alert_of(filled({**TRIGGERED, variable: text}))

    assert found.status is AlertStatus.FIRING
    assert not found.is_heartbeat
    assert found.name
    kept = [found.name, found.generator_url, *found.labels, *found.labels.values(), *found.annotations.values()]
    assert not any(hidden in one for one in kept for hidden in "\x1b\x07\u202e\u202c\u200b\x00")
    allowed = {"ALERT_TITLE": "alertname", "ALERT_ID": "monitor_id"}.get(variable)
    changed = {name for name in found.labels if found.labels[name] != plain.labels.get(name)}
    if variable not in {"TAGS", "ALERT_SCOPE", "ALERT_PRIORITY"}:
        assert changed <= {allowed}


@pytest.mark.parametrize("case", INJECTIONS, ids=lambda case: case["id"])
def test_injected_tags_add_no_label_of_ours(case: dict[str, str]) -> None:
    for variable in ("TAGS", "ALERT_SCOPE"):
        found = alert_of(filled({**TRIGGERED, variable: case["text"]}))

        assert found.labels["alertname"] == "Checkout error rate"
        assert (found.labels["monitor_id"], found.severity) == ("148275309", "critical")


@pytest.mark.parametrize("case", INJECTIONS, ids=lambda case: case["id"])
def test_an_injected_service_is_one_value_of_one_matcher_in_the_query_for_its_logs(case: dict[str, str]) -> None:
    found = alert_of(filled({**TRIGGERED, "ALERT_SCOPE": f"service:{case['text']}", "TAGS": ""}))
    service = resolve_service(found.labels, ())

    asks = seed_asks(facts(alert_source="datadog"), service, {"loki_query"})

    for ask in asks:
        tree = log_query_of(parse_logql(str(ask.arguments["expression"])))
        assert [(one.name, one.value) for one in tree.matchers] == [("service", found.labels["service"])]
    assert len(asks) == 2
