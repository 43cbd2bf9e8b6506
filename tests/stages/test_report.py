"""A report is a function of what is recorded and of where the episode stands now."""

from __future__ import annotations

import pytest

from inquest.domain.alert import AlertStatus
from inquest.domain.delivery import RevisionKind
from inquest.domain.event import RunSucceeded, StageCommitted
from inquest.domain.report import EvidenceLink, Report
from inquest.errors import InvariantBroken
from inquest.ports import Revision
from inquest.stages.deliver import DeliverKit, bind, closing
from inquest.stages.report import EpisodeNow, ReportInputs, build_report
from tests.builders import MODEL, alert, at, episode, investigation
from tests.incident import incident_shelf
from tests.reports import TERMINAL, episode_now, report_inputs

SHELF = incident_shelf()
INPUTS = report_inputs(SHELF)


def built(kind: RevisionKind = RevisionKind.REPORT, *, inputs: ReportInputs = INPUTS, **now: object) -> Report:
    return build_report(inputs, episode_now().but(**now), revision=3, kind=kind, note="a note")


def test_a_report_holds_what_is_recorded() -> None:
    report = built()

    assert (report.title, report.service, report.severity) == ("CheckoutErrors", "checkout", "critical")
    assert (report.revision, report.kind, report.note) == (3, "report", "a note")
    assert report.diagnosis == (INPUTS.investigation.diagnosis if INPUTS.investigation else None)
    assert [row.status for row in report.coverage] == ["answered", "answered", "answered", "empty", "truncated"]
    assert (report.terminal_digest, report.stop_reason) == (TERMINAL, "concluded")
    assert report.service_guess is not None
    assert report.model == MODEL
    assert Report.parse(report.canonical()) == report


@pytest.mark.parametrize("kind", list(RevisionKind))
def test_before_an_investigation_starts_its_alert_is_reported(kind: RevisionKind) -> None:
    inputs = ReportInputs(investigation_id="inv-1", workspace="main")
    report = built(kind, inputs=inputs)
    assert (report.title, report.service, report.severity) == ("CheckoutErrors", "checkout", "critical")
    assert (report.diagnosis, report.window, report.coverage) == (None, None, ())
    assert report.kind == kind.value


def test_a_resolved_episode_changes_the_report_and_no_journal() -> None:
    quiet = episode(alert(status=AlertStatus.RESOLVED))
    report = built(RevisionKind.RESOLVED, episode=quiet, resolved_at=at(40))
    assert (report.episode_state, report.resolved_at) == ("resolved", at(40))
    assert report.diagnosis == built().diagnosis


def test_an_episode_that_fires_again_has_no_end() -> None:
    report = built(resolved_at=at(40))
    assert (report.episode_state, report.resolved_at) == ("firing", None)


def test_members_that_joined_are_in_the_report() -> None:
    report = built(RevisionKind.MEMBERS, episode=episode(alert(), alert("PaymentsErrors")))
    assert [member.alert.name for member in report.episode.members] == ["CheckoutErrors", "PaymentsErrors"]


def test_a_report_names_who_concluded_where_that_was_not_the_model() -> None:
    assert INPUTS.investigation is not None
    assert INPUTS.investigation.diagnosis is not None
    diagnosis = INPUTS.investigation.diagnosis.but(author="analyst", degraded="down")
    inputs = INPUTS.but(investigation=INPUTS.investigation.but(diagnosis=diagnosis))
    assert built(inputs=inputs).model == f"{MODEL} (concluded by analyst)"


def test_pages_without_an_address_are_no_links() -> None:
    inputs = INPUTS.but(links=(EvidenceLink(evidence="E1", url=""),))
    assert built(inputs=inputs).links == ()


# ---- the last transaction --------------------------------------------------------------------------------


class Appending:
    """Acts that only append."""

    def __init__(self) -> None:
        self.appended: list[tuple[object, ...]] = []
        self.more: dict[str, object] = {}

    async def append(self, *events: object, **more: object) -> None:
        self.appended.append(events)
        self.more = more


async def test_update_terminal_event_report_and_revision_commit_together() -> None:
    acts = Appending()
    state = INPUTS.investigation
    assert state is not None

    async def recorded(_: object) -> ReportInputs:
        return INPUTS

    update = await bind(DeliverKit(recorded=recorded), acts)(state)  # type: ignore[arg-type]  # append is all it uses

    ((committed, ended),) = acts.appended
    assert committed == StageCommitted(update=update)  # type: ignore[arg-type]  # it is Delivered
    assert ended == RunSucceeded(
        stop_reason="concluded", projection_digest=TERMINAL, signature=INPUTS.signature, spend=INPUTS.spend
    )
    assert acts.more["revisions"] == (Revision(kind=RevisionKind.REPORT),)
    assert acts.more["spend"] == INPUTS.spend
    last = closing(state, INPUTS)
    stored = last.contents[last.update.report.report_digest]
    assert acts.more["contents"] == last.contents
    report = Report.parse(stored)
    assert report == build_report(INPUTS, EpisodeNow(episode=state.episode), revision=0, kind=RevisionKind.REPORT)


@pytest.mark.parametrize(
    ("state", "inputs"),
    [
        (investigation(), INPUTS),
        (INPUTS.investigation, INPUTS.but(terminal_digest=None)),
    ],
)
def test_there_is_no_end_without_diagnosis_and_digest(state: object, inputs: ReportInputs) -> None:
    with pytest.raises(InvariantBroken):
        closing(state, inputs)  # type: ignore[arg-type]  # parametrised
