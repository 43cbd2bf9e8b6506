"""The Slack forms: what the root and the report say, within Slack's limits, whatever is in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inquest.destinations.shared.slack_blocks import MAX_MESSAGE_CHARS, SlackMessage, report_message, root_message
from inquest.domain.delivery import RevisionKind
from inquest.domain.report import EvidenceLink
from inquest.stages.report import build_report
from tests.builders import Shelf, at, logs
from tests.destinations.hostile import hostile_report
from tests.destinations.test_slack_text import HOSTILE_HERE, signs
from tests.fakes.slack import MAX_ALL_BLOCKS_CHARS
from tests.fakes.slack_blocks import all_text, live, problem_of
from tests.incident import incident_shelf
from tests.reports import HOSTS, episode_now, report_inputs, whole_report

SHELF = incident_shelf()
REPORT = whole_report(SHELF)


def said(message: SlackMessage) -> dict[str, Any]:
    """Give a message as it is posted."""
    return {
        "text": message.text, "blocks": [*message.blocks], "parse": "none", "unfurl_links": False, "unfurl_media": False,
    }  # fmt: skip


def assert_is_taken(message: SlackMessage) -> None:
    posted = said(message)
    assert problem_of(posted["blocks"]) is None
    size = len(json.dumps(posted["blocks"], ensure_ascii=False))
    assert size <= MAX_ALL_BLOCKS_CHARS
    assert len(json.dumps(posted["blocks"], ensure_ascii=False, separators=(",", ":"))) <= MAX_MESSAGE_CHARS


def assert_is_inert(message: SlackMessage) -> None:
    assert [found for found in live(said(message)) if not found.startswith("https://grafana.example/")] == []


def header(message: SlackMessage) -> str:
    (found,) = [block for block in message.blocks if block["type"] == "header"]
    return str(found["text"]["text"])  # type: ignore[index, call-overload]


# ---- what they say


@pytest.mark.parametrize(
    ("kind", "word"),
    [("received", "Received"), ("progress", "In progress"), ("cancelled", "Cancelled"), ("failed", "Failed")],
)
def test_a_root_before_the_verdict_says_where_it_stands(kind: str, word: str) -> None:
    text = all_text(said(root_message(REPORT.but(kind=kind, diagnosis=None, note="Too many at once."), HOSTS)))
    assert f"*{word}*" in text
    assert "Too many at once." in text
    assert "verdict" not in text
    assert "in this thread" not in text


def test_a_root_with_a_verdict_says_it_and_where_the_report_is() -> None:
    text = all_text(said(root_message(REPORT, HOSTS)))
    assert "*Cause found*: Deployment deploy-77" in text
    assert "The report is in this thread." in text


def test_a_resolved_root_keeps_its_verdict() -> None:
    resolved = REPORT.but(kind="resolved", episode_state="resolved", resolved_at=at(20))
    text = all_text(said(root_message(resolved, HOSTS)))
    assert "*Resolved*" in text
    assert "*Cause found*" in text
    assert "2026-03-01 10:20:00 UTC" in text


def test_a_report_has_every_section_and_its_evidence() -> None:
    text = all_text(said(report_message(REPORT, SHELF.contents, HOSTS)))
    for title in ("What happened", "Cause and confidence", "Timeline", "Evidence", "Ruled out", "Next steps"):
        assert f"*{title}" in text
    assert "<https://grafana.example/explore?left=%7B%22a%22%3A1%7D|open>" in text
    assert "This is shortened" not in text


def test_a_degraded_report_says_so_before_anything_else() -> None:
    assert REPORT.diagnosis is not None
    degraded = REPORT.but(diagnosis=REPORT.diagnosis.but(degraded="the model did not answer"))
    for message in (root_message(degraded, HOSTS), report_message(degraded, SHELF.contents, HOSTS)):
        assert "*Degraded*" in str(message.blocks[0])


def test_a_notification_says_what_it_is_about() -> None:
    assert root_message(REPORT, HOSTS).text.startswith("`CheckoutErrors` of `checkout`: *Cause found*")
    assert "*Received*" in root_message(REPORT.but(kind="received"), HOSTS).text


# ---- Slack's limits


def test_a_long_name_is_cut_in_the_header_and_whole_below_it() -> None:
    """BL-060."""
    name = "A" * 290 + "&<>end"
    for message in (root_message(REPORT.but(title=name), HOSTS), report_message(REPORT.but(title=name), {}, HOSTS)):
        assert len(header(message)) <= 150
        assert header(message).endswith("…")
        assert "AAAA&amp;&lt;&gt;end" in all_text(said(message))
        assert_is_taken(message)


def test_a_header_is_not_cut_inside_of_an_entity() -> None:
    for length in range(140, 152):
        cut = header(root_message(REPORT.but(title="x" * length + "&&&&&&", service=""), HOSTS))
        assert len(cut) <= 150
        assert cut.replace("&amp;", "").count("&") == 0


def test_a_report_with_eighty_items_of_evidence_fits_and_counts_what_it_leaves_out() -> None:
    """BL-058, BL-059."""
    shelf = Shelf()
    for number in range(80):
        shelf.add(logs((at(number % 20), f"line {number}"), service="checkout"), expression="x" * 3_000)
    links = tuple(
        EvidenceLink(evidence=item.name, url=f"https://grafana.example/{'y' * 1_500}") for item in shelf.evidence
    )
    inputs = report_inputs(SHELF, evidence=shelf.evidence, asked=tuple(shelf.asked), links=links)
    report = build_report(inputs, episode_now(), revision=1, kind=RevisionKind.REPORT)
    message = report_message(report, shelf.contents, HOSTS)
    assert_is_taken(message)
    text = all_text(said(message))
    assert "in the whole report" in text
    assert "*This is shortened.* The whole report is what `inquest show inv-1` prints" in text
    assert "*Cause found*" in text, "the cause is cut last"
    assert "Roll the deployment back" in text


# ---- hostile text


@pytest.mark.parametrize("text", HOSTILE_HERE)
def test_hostile_text_in_every_field_is_inert_and_fits(text: str) -> None:
    """BL-063, T06, T25."""
    report = hostile_report(text, incident_shelf())
    for message in (root_message(report, HOSTS), report_message(report, SHELF.contents, HOSTS)):
        assert_is_inert(message)
        assert_is_taken(message)


@settings(max_examples=25)
@given(st.one_of(signs, st.text(max_size=400), st.text(alphabet="&<> `", min_size=300, max_size=3_000)))
def test_any_text_in_every_field_is_inert_and_fits(text: str) -> None:
    report = hostile_report(text, incident_shelf())
    for message in (root_message(report, HOSTS), report_message(report, SHELF.contents, HOSTS)):
        assert_is_inert(message)
        assert_is_taken(message)


@pytest.mark.parametrize("url", ["/graph?g0.expr=up", "", "http://exa mple/%zz", "https://evil.test/?d=S"])
def test_an_odd_address_of_an_alert_is_no_link_and_no_reason_for_a_refusal(url: str) -> None:
    """BL-011."""
    episode = REPORT.episode
    first = episode.members[0]
    odd = first.but(alert=first.alert.but(generator_url=url, annotations={"runbook_url": url}))
    message = report_message(REPORT.but(episode=episode.but(members=(odd,))), {}, HOSTS)
    assert_is_taken(message)
    assert_is_inert(message)
