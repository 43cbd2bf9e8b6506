"""Stage 6: the report is built, stored by digest, and its delivery planned, with the end of the run.

The stage's update, the terminal event and the planned revision commit in one transaction: a report that was
promised is in the journal, and nothing runs after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inquest.domain.canonical import digest_of
from inquest.domain.delivery import RevisionKind
from inquest.domain.event import RunSucceeded, StageCommitted
from inquest.domain.investigation import Delivered, ReportSection
from inquest.domain.value import Value
from inquest.errors import InvariantBroken
from inquest.ports import Revision
from inquest.stages.report import UNREVISED, EpisodeNow, ReportInputs, build_report

if TYPE_CHECKING:
    from inquest.domain.investigation import Investigation
    from inquest.ports import Acts
    from inquest.stages.kit import Stage


@dataclass(frozen=True)
class DeliverKit:
    """What stage 6 is bound to.

    `recorded` gives what the journal comes to, with the digest of the terminal projection and its signature.
    """

    recorded: Callable[[Investigation], Awaitable[ReportInputs]]


class Closing(Value):
    """Everything that the last transaction of a successful run writes."""

    update: Delivered
    event: RunSucceeded
    contents: dict[str, bytes]
    revisions: tuple[Revision, ...]


def closing(state: Investigation, inputs: ReportInputs) -> Closing:
    """Build the report of a run that reached a verdict, and what is committed with it.

    The stored report is that of the episode as the investigation saw it, revision 0; each destination's own
    revisions are built from it anew. Raises InvariantBroken without a diagnosis or a terminal digest.
    """
    if state.diagnosis is None or state.gathered is None or inputs.terminal_digest is None:
        msg = "deliver runs after diagnose, on a projection that has its digest"
        raise InvariantBroken(msg)
    report = build_report(inputs, EpisodeNow(episode=state.episode), revision=UNREVISED, kind=RevisionKind.REPORT)
    raw = report.canonical()
    digest = digest_of(raw)
    return Closing(
        update=Delivered(report=ReportSection(report_digest=digest)),
        event=RunSucceeded(
            stop_reason=state.gathered.stop_reason,
            projection_digest=inputs.terminal_digest,
            signature=inputs.signature,
            spend=inputs.spend,
        ),
        contents={digest: raw},
        revisions=(Revision(kind=RevisionKind.REPORT),),
    )


def bind(kit: DeliverKit, acts: Acts) -> Stage:
    """Give stage 6 as a function of the state. It commits its own update, with the end of the run."""

    async def deliver(state: Investigation) -> Delivered:
        last = closing(state, await kit.recorded(state))
        await acts.append(
            StageCommitted(update=last.update),
            last.event,
            contents=last.contents,
            revisions=last.revisions,
            spend=last.event.spend,
        )
        return last.update

    return deliver
