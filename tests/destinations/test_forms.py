"""All forms of a report: their order, their first line, hostile text in every field, none and very much."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from markdown_it import MarkdownIt
from typing_extensions import override

from inquest.destinations.shared.bundle import MANIFEST, evidence_that_fits, folder_files
from inquest.destinations.shared.escape import is_plain_word
from inquest.destinations.shared.sheet import Sheet, report_schema, written
from inquest.domain.delivery import RevisionKind
from inquest.domain.diagnosis import Diagnosis
from inquest.domain.report import EvidenceLink, Report
from inquest.domain.signals import Logs
from inquest.stages.report import EpisodeNow, ReportInputs, build_report
from inquest.stages.verdict import conclude
from tests.builders import Shelf, alert, at, episode, logs, matrix, series
from tests.destinations.hostile import HOSTILE, hostile_report
from tests.incident import basis, incident_shelf, proposal
from tests.reports import HOSTS, episode_now, report_inputs, whole_report

SCHEMA = Path("docs/reference/report.schema.json")
SECTIONS = [
    "What happened and since when",
    "Cause and confidence",
    "Timeline with changes",
    "Evidence",
    "Ruled out",
    "What could not be checked",
    "Next steps",
    "Earlier episodes",
]


def forms(report: Report, shelf: Shelf) -> dict[str, bytes]:
    return written(Sheet(report=report, link_hosts=tuple(sorted(HOSTS))), shelf.contents)


class Page(HTMLParser):
    """What a browser would make of the HTML form."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(raw.decode())

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    @override
    def handle_data(self, data: str) -> None:
        self.text.append(data)


ALLOWED_TAGS = {
    "html", "head", "meta", "title", "style", "body", "p", "strong", "span", "code", "a", "header", "h1", "h2", "main",
    "section", "ul", "li", "div", "table", "thead", "tr", "th", "tbody", "td", "pre", "footer", "svg", "polyline", "line",
}  # fmt: skip
ALLOWED_ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "href", "rel", "id", "scope", "viewbox", "role",
    "aria-hidden", "points", "x1", "x2", "y1", "y2",
}  # fmt: skip


def assert_html_is_inert(raw: bytes) -> None:
    page = Page(raw)
    for tag, attributes in page.tags:
        assert tag in ALLOWED_TAGS, tag
        assert set(attributes) <= ALLOWED_ATTRIBUTES, attributes
        href = attributes.get("href")
        assert href is None or href.startswith(("#E", "https://grafana.example/")), href


def assert_markdown_is_inert(raw: bytes) -> None:
    text = raw.decode()
    assert not [line for line in text.splitlines() if line.startswith("/")]
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(text):
        assert token.type not in {"html_block", "code_block"}, token
        for child in token.children or []:
            assert child.type not in {"html_inline", "image"}, child
            if child.type == "link_open":
                assert str(child.attrs["href"]).startswith("https://grafana.example/")
            if child.type == "text":
                odd = [word for word in child.content.split() if not is_plain_word(word)]
                assert all(OURS.match(word) for word in odd), odd


OURS = re.compile(r"^(?:\[E\d+\]|[▁▂▃▄▅▆▇█│·]+|\d{4}-\d\d-\d\d|report\.json|\(.*|.*\)|[.,:;]+)[.,:;]*\Z")
"""Signs of our own making: references, courses, dates, brackets around code."""


def assert_inert(report: Report, shelf: Shelf) -> None:
    made = forms(report, shelf)
    assert_html_is_inert(made["report.html"])
    assert_markdown_is_inert(made["report.md"])
    for name, raw in made.items():
        text = raw.decode()
        assert "\x1b" not in text
        assert name == "report.json" or not re.search("[\u202a-\u202e\u2066-\u2069\u200b-\u200f]", text)


# ---- what they say ---------------------------------------------------------------------------------------


def headings(raw: bytes) -> list[str]:
    return re.findall(r"^## (.*)$", raw.decode(), re.MULTILINE)


def test_the_sections_are_those_of_the_design_in_their_order() -> None:
    shelf = incident_shelf()
    made = forms(whole_report(shelf), shelf)

    assert headings(made["report.md"]) == SECTIONS
    assert re.findall(r"<h2>(.*?)</h2>", made["report.html"].decode()) == SECTIONS


@pytest.mark.parametrize(
    "said",
    [
        "http_errors_ratio",
        "2026-03-01 10:02:00 UTC",
        "deploy-77",
        '{service="checkout"} |~ "error"',
        "https://grafana.example/explore?left=%7B%22a%22%3A1%7D",
        "3 of 20 items",
        "A crash of the process",
        "Roll the deployment back.",
        "A full disk.",
        "3 of 20 turns",
        "0.0123 USD",
        "openai/example-1",
        "Signed with key",
    ],
)
def test_every_form_says(said: str) -> None:
    shelf = incident_shelf()
    made = forms(whole_report(shelf), shelf)
    page = Page(made["report.html"])
    html = " ".join("".join(page.text).split()) + " ".join(attributes.get("href") or "" for _, attributes in page.tags)

    assert said in made["report.md"].decode()
    assert said in html


def diagnosis(**changed: object) -> Diagnosis:
    shelf = incident_shelf()
    return conclude(proposal(shelf), basis(shelf)).but(**changed)


def test_the_first_line_says_degraded_and_why() -> None:
    shelf = incident_shelf()
    made = forms(whole_report(shelf, diagnosis=diagnosis(degraded="the provider is down")), shelf)
    first = made["report.md"].decode().splitlines()[0]

    assert first.startswith("**Degraded**: concluded by the built-in analyst")
    assert first.endswith("because the provider is down")
    body = made["report.html"].decode().split("<body>")[1].strip()
    assert body.startswith('<p class="banner"><strong>Degraded</strong>')


@pytest.mark.parametrize("kind", [kind for kind in RevisionKind if kind is not RevisionKind.REPORT])
def test_a_revision_of_another_kind_says_so_first(kind: RevisionKind) -> None:
    shelf = incident_shelf()
    made = forms(whole_report(shelf, kind=kind.value, note="queued behind three others"), shelf)
    first = made["report.md"].decode().splitlines()[0]
    assert first.startswith("**")
    assert "queued behind three others" in first


def test_what_was_not_confirmed_is_shown_as_such() -> None:
    shelf = incident_shelf()
    whole = proposal(shelf)
    lesser = conclude(whole.but(claims=(whole.claims[0], whole.claims[1].but(after=0.99)), onset=None), basis(shelf))
    made = forms(whole_report(shelf, diagnosis=lesser), shelf)["report.md"].decode()

    assert "**Its author's summary, not confirmed as the cause**" in made
    assert "**Why it is not more**" in made
    assert "not confirmed: the extreme after it is 0.45" in made


def test_a_step_read_in_evidence_carries_its_warning() -> None:
    shelf = incident_shelf()
    steps = tuple(step.but(from_evidence=True) for step in diagnosis().remediation_steps)
    made = forms(whole_report(shelf, diagnosis=diagnosis(remediation_steps=steps)), shelf)
    for name in ("report.md", "report.html"):
        assert "words of this step were read in evidence" in made[name].decode()


def test_a_link_to_a_host_that_is_not_ours_is_text() -> None:
    shelf = incident_shelf()
    made = forms(whole_report(shelf, links=(EvidenceLink(evidence="E1", url="https://evil.test/x"),)), shelf)
    assert "open `evil.test`" in made["report.md"].decode()
    assert_inert(whole_report(shelf, links=(EvidenceLink(evidence="E1", url="https://evil.test/x"),)), shelf)


def test_the_course_of_the_cited_series_is_drawn_with_the_onset() -> None:
    shelf = incident_shelf()
    made = forms(whole_report(shelf), shelf)
    assert re.search(r"▁│[▅▆▇█]+ 0\.009 to 0\.45", made["report.md"].decode())
    assert made["report.html"].count(b'class="onset"') == 3


# ---- hostile text in every field -------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert_in_every_field_of_every_form(text: str) -> None:
    shelf = incident_shelf()
    hostile = hostile_report(text, shelf)
    assert hostile.title == text
    assert_inert(hostile, shelf)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_that_came_as_evidence_is_inert(text: str) -> None:
    shelf = Shelf()
    shelf.add(logs((at(3), text), pod=text), source="loki", expression=text)
    shelf.add(matrix(series([1.0, 2.0], pod=text)), expression=text)
    report = build_report(
        report_inputs(incident_shelf(), evidence=shelf.evidence, asked=tuple(shelf.asked)),
        EpisodeNow(episode=episode(alert(text, pod=text))),
        revision=1,
        kind=RevisionKind.FAILED,
        note=text,
    )
    assert_inert(report, shelf)


# ---- nothing, and very much ------------------------------------------------------------------------------


def test_a_report_of_nothing_has_all_its_sections() -> None:
    empty = build_report(
        ReportInputs(investigation_id="inv-1", workspace="main"), episode_now(), revision=1, kind=RevisionKind.RECEIVED
    )
    made = forms(empty, Shelf())

    assert headings(made["report.md"]) == SECTIONS
    assert "There is no diagnosis." in made["report.md"].decode()
    assert_inert(empty, Shelf())


def big_shelf(items: int, line_bytes: int) -> Shelf:
    shelf = Shelf()
    for number in range(items):
        line = f"line {number} " + "x" * line_bytes
        shelf.add(logs((at(3), line)), source="loki", expression=f'{{n="{number}"}}', shown_items=0)
    return shelf


def test_a_huge_report_says_what_it_cuts_and_keeps_every_item() -> None:
    shelf = big_shelf(90, 1_000)
    long = "very long " * 200_000
    report = whole_report(
        evidence=shelf.evidence,
        diagnosis=diagnosis(root_cause=long, next_checks=(long,)),
        episode=episode(*(alert(f"Alert{number}") for number in range(200))),
    )
    made = forms(report, shelf)
    text = made["report.md"].decode()

    assert text.count("```text") == 90
    assert text.count("(cut here: 2,000,000 characters in all, whole in report.json)") == 3
    assert "and 150 more alerts, all of them in report.json" in text
    assert long in json.loads(made["report.json"])["report"]["diagnosis"]["root_cause"] + " "
    assert len(made["report.md"]) < 300_000
    assert_html_is_inert(made["report.html"])


def test_contents_that_do_not_fit_the_folder_are_listed_cited_ones_first() -> None:
    shelf = incident_shelf()
    for number in range(40):
        shelf.add(logs((at(3), f"{number} " + "x" * 1_000_000)), source="loki", expression="{}", shown_items=0)
    report = whole_report(shelf, evidence=shelf.evidence)
    files = folder_files(report, shelf.contents, HOSTS, None)
    sheet = Sheet.parse(files["report.json"])

    evidence = [name for name in files if name.startswith("evidence/")]
    assert sum(len(files[name]) for name in evidence) <= 33_554_432
    assert len(sheet.left_out) == 45 - len(evidence) > 0
    assert {one.why for one in sheet.left_out} == {"too_large"}
    for cited in ("E1", "E2", "E3", "E4"):
        assert cited not in {one.evidence for one in sheet.left_out}
    assert "not in this folder: too large" in files["report.md"].decode()
    assert json.loads(files[MANIFEST])["left_out"] == [one.model_dump(mode="json") for one in sheet.left_out]


def test_what_is_cited_goes_in_first_whatever_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inquest.destinations.shared.bundle.MAX_EVIDENCE_BYTES", 5_000)
    shelf = incident_shelf()
    report = whole_report(shelf, evidence=tuple(reversed(shelf.evidence)))
    sheet = Sheet.parse(folder_files(report, shelf.contents, HOSTS, None)["report.json"])
    assert [one.evidence for one in sheet.left_out] == ["E5"]  # nobody cites it


def test_what_is_too_large_is_told_apart_from_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inquest.destinations.shared.bundle.MAX_EVIDENCE_FILES", 4)
    shelf = incident_shelf()
    report = whole_report(shelf)
    read = {digest: shelf.contents[digest] for digest in evidence_that_fits(report)[1:]}
    sheet = Sheet.parse(folder_files(report, read, HOSTS, None)["report.json"])
    assert [(one.evidence, one.why) for one in sheet.left_out] == [("E1", "missing"), ("E5", "too_large")]


def test_a_content_that_is_larger_than_it_was_said_to_be_takes_no_room_from_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shelf = incident_shelf()
    report = whole_report(shelf)
    monkeypatch.setattr(
        "inquest.destinations.shared.bundle.MAX_EVIDENCE_BYTES", sum(len(raw) for raw in shelf.contents.values())
    )
    first = report.evidence[0].observation.digest
    vast = {**shelf.contents, first: bytes(1_000_000)}
    sheet = Sheet.parse(folder_files(report, vast, HOSTS, None)["report.json"])
    assert [(one.evidence, one.why, one.size) for one in sheet.left_out] == [("E1", "too_large", 1_000_000)]


def test_the_contents_that_fit_are_each_named_once() -> None:
    shelf = incident_shelf()
    report = whole_report(shelf, evidence=(*shelf.evidence, shelf.evidence[0].but(name="E9")))
    assert sorted(evidence_that_fits(report)) == sorted(shelf.contents)


# ---- the schema ------------------------------------------------------------------------------------------


def test_the_published_schema_is_that_of_the_code() -> None:
    """When this fails: python -m tools.report_schema."""
    assert json.loads(SCHEMA.read_text("utf-8")) == report_schema()


def test_report_json_satisfies_the_published_schema() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    shelf = incident_shelf()
    whole = json.loads(forms(whole_report(shelf), shelf)["report.json"])
    Draft202012Validator(schema).validate(whole)
    assert list(Draft202012Validator(schema).iter_errors({**whole, "extra": 1}))
    assert Logs(lines=()).kind == "logs"


@pytest.mark.parametrize(
    ("note", "said"),
    [
        ("asked", "before it had a diagnosis. An operator asked for it."),
        ("expired", "It was deferred until an hour after its episode had ended."),
        ("moved away", "before it had a diagnosis. moved away"),
    ],
)
def test_a_cancelled_report_says_why_and_is_not_called_unfinished(note: str, said: str) -> None:
    shelf, report = Shelf(), whole_report().but(kind="cancelled", note=note, diagnosis=None, stop_reason="")
    text = forms(report, shelf)["report.md"].decode()

    assert said in text
    assert "has not ended" not in text


def test_a_report_that_is_written_for_whoever_asks_calls_itself_no_revision() -> None:
    shelf = incident_shelf()
    report = whole_report(shelf)

    delivered, asked_for = (forms(report.but(revision=number), shelf)["report.md"].decode() for number in (2, 0))

    assert "in workspace `main`, revision 2 (report)" in delivered
    assert "in workspace `main`, no delivered revision: written when it was asked for (report)" in asked_for
    assert "revision 0" not in asked_for
