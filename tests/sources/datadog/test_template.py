"""The shipped template, filled as Datadog fills it: with values, without them, and with text that breaks JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from inquest.domain.alert import AlertStatus
from inquest.sources.datadog import parse
from inquest.sources.datadog.payload import FIELDS
from inquest.stages.extract_alert import TEST_NOTIFICATIONS
from tests.sources.datadog.notifications import TEMPLATE, TRIGGERED, VARIABLE, alert_of, filled

DOCUMENTED = frozenset({
    "AGGREG_KEY", "ALERT_CYCLE_KEY", "ALERT_ID", "ALERT_METRIC", "ALERT_PRIORITY", "ALERT_QUERY", "ALERT_SCOPE",
    "ALERT_STATUS", "ALERT_TITLE", "ALERT_TRANSITION", "ALERT_TYPE", "DATE", "EVENT_TITLE", "EVENT_TYPE", "HOSTNAME",
    "ID", "LINK", "ORG_ID", "ORG_NAME", "SNAPSHOT", "TAGS", "TEXT_ONLY_MSG",
})  # fmt: skip
"""Variables that docs.datadoghq.com/integrations/webhooks lists, of those that are asked for."""
SENDERS_OWN = frozenset({"event_id", "event_type", "org_id", "org_name"})


def test_the_template_is_an_object_of_documented_variables_each_in_quotes() -> None:
    template = json.loads(TEMPLATE)

    assert {value.removeprefix("$") for value in template.values()} == DOCUMENTED
    assert all(value.startswith("$") for value in template.values())


def test_every_field_of_the_template_is_read_and_none_under_another_name_only() -> None:
    template = set(json.loads(TEMPLATE))

    read = {key for keys in FIELDS.values() for key in keys}
    assert template <= read | SENDERS_OWN
    assert {keys[0] for keys in FIELDS.values()} <= template


def test_the_how_to_shows_the_template_and_posts_what_is_taken_for_a_test() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/connect-datadog.md").read_text("utf-8")
    (shown,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (posted,) = re.findall(r"^  -d '(.*)'$", page, re.MULTILINE)

    assert shown == TEMPLATE
    assert alert_of(posted.encode()).name in TEST_NOTIFICATIONS


def test_a_template_of_which_nothing_was_filled_is_quarantined() -> None:
    for unset in (filled({}), filled(dict.fromkeys(DOCUMENTED, "")), filled(dict.fromkeys(DOCUMENTED, "null"))):
        read = parse(unset)

        assert (read.alerts, read.quarantine) == ((), "unset: no variable that could name the alert has a value")


@pytest.mark.parametrize("missing", sorted(DOCUMENTED))
@pytest.mark.parametrize("unset", [None, "", "null"])
def test_any_variable_may_be_missing_and_none_of_it_is_in_the_alert(missing: str, unset: str | None) -> None:
    values = dict(TRIGGERED) | ({missing: unset} if unset is not None else {})
    if unset is None:
        values.pop(missing, None)

    read = parse(filled(values))

    (found,) = read.alerts
    assert found.status is AlertStatus.FIRING
    texts = [
        found.fingerprint,
        found.name,
        *found.labels.values(),
        *found.annotations.values(),
        found.generator_url or "no link",
    ]
    assert [text for text in (*texts, *read.sender.values()) if VARIABLE.search(text) or text in {"", "null"}] == []


@pytest.mark.parametrize("key", ["ALERT_CYCLE_KEY", "ALERT_ID", "AGGREG_KEY"])
def test_an_unset_key_never_names_an_alert(key: str) -> None:
    keyless = {
        name: value for name, value in TRIGGERED.items() if name not in {"ALERT_CYCLE_KEY", "ALERT_ID", "AGGREG_KEY"}
    }
    one = alert_of(filled({**keyless, key: f"${key}"}))
    other = alert_of(filled({**keyless, key: f"${key}", "ALERT_TITLE": "[Triggered] Another"}))

    assert one == alert_of(filled(keyless))
    assert one.fingerprint != other.fingerprint


# ---- text that Datadog puts in as it is


@pytest.mark.parametrize("variable", ["TEXT_ONLY_MSG", "ALERT_TITLE", "ALERT_QUERY", "TAGS", "ALERT_STATUS"])
def test_quotes_that_are_not_escaped_are_quarantined_with_the_byte_where_it_breaks(variable: str) -> None:
    body = filled({**TRIGGERED, variable: 'disk "é full" on db1'}, escaped=False)

    read = parse(body)

    assert read.alerts == ()
    assert read.quarantine == f"invalid_json at byte {body.index(chr(233).encode())}"  # the é, after the quote


def test_raw_line_breaks_are_read_with_a_warning() -> None:
    read = parse(filled({**TRIGGERED, "TEXT_ONLY_MSG": "line 1\nline 2\ttabbed"}, escaped=False))

    (found,) = read.alerts
    assert found.annotations["description"] == "line 1\nline 2\ttabbed"
    assert read.parse_warnings == ("raw control characters inside strings",)


@pytest.mark.parametrize("text", ["a \\ b", "C:\\new", "\\u12", 'ends in a quote"', '"},{"x":"'])
def test_no_text_that_is_put_in_as_it_is_raises(text: str) -> None:
    read = parse(filled({**TRIGGERED, "TEXT_ONLY_MSG": text}, escaped=False))

    assert len(read.alerts) + (read.quarantine is not None) == 1


def test_text_that_is_escaped_comes_through_as_it_was() -> None:
    said = 'he said "no"\n\\ and left\t%%%\n**bold** [x](http://y) <b>z</b>\n%%%'

    assert alert_of(filled({**TRIGGERED, "TEXT_ONLY_MSG": said})).annotations["description"] == said
