"""How a run begins, and how it ends when no report concludes it: as noise, or failed."""

from __future__ import annotations

from datetime import timedelta

from inquest.domain.budget import Spend
from inquest.domain.canonical import digest_of
from inquest.domain.delivery import RevisionKind
from inquest.domain.event import TERMINAL_KINDS, RunFailed, RunStarted, RunSucceeded
from inquest.domain.investigation import StopReason
from inquest.domain.projection import NOTHING_REBUILT
from inquest.errors import FenceLost, Halted, StoreUnavailable
from inquest.ports import Acts, Revision
from inquest.runtime.kit import Open, RunKit
from inquest.runtime.recording import end_of, rebuilt_from
from inquest.telemetry import log, report_error

ATTEMPTS_USED_UP = "every attempt ended by an error"
UNREADABLE = "what it recorded cannot be read back"


async def start(acts: Acts, kit: RunKit, opened: Open) -> None:
    """Record the start, unless it is recorded."""
    if any(isinstance(event.body, RunStarted) for event in acts.chronicle.events):
        return
    first = await opened()
    await acts.append(
        RunStarted(
            identity=first.identity,
            origin=first.origin,
            episode=first.episode,
            models=kit.investigator.models,
            prompts={name: digest_of(raw) for name, raw in kit.prompts.items()},
            limits=kit.limits,
            started_at=first.started_at,
            deadline_at=first.started_at + timedelta(seconds=kit.limits.wall_clock_s),
            release=kit.release,
        ),
        contents={digest_of(raw): raw for raw in kit.prompts.values()},
    )


async def conclude_failed(acts: Acts, kit: RunKit, opened: Open, *, reason: str = ATTEMPTS_USED_UP) -> None:
    """End an investigation whose attempts are used up, with a report of the evidence so far.

    One whose journal cannot be folded, by a bug or because something is missing from the store, ends as well:
    unsigned, and its reason says so. Else it would be tried for ever, and nobody told.
    """
    if has_ended(acts):
        return
    await start(acts, kit, opened)
    spend, ended = Spend(), None
    try:
        rebuilt = await rebuilt_from(acts)
        spend, ended = rebuilt.spend, end_of(rebuilt, acts.chronicle, kit.signer)
    except (FenceLost, Halted, StoreUnavailable):
        raise
    except Exception as error:  # whatever the fold met: it is reported, and the investigation ends all the same
        log().error("journal_unreadable", error=type(error).__name__)
        report_error(error, tags={"investigation": acts.chronicle.investigation_id})
        reason = f"{reason}; {UNREADABLE}"
    await acts.append(
        RunFailed(
            reason=reason,
            projection_digest=NOTHING_REBUILT if ended is None else ended.digest,
            signature=None if ended is None else ended.signature,
            spend=spend,
        ),
        revisions=(Revision(kind=RevisionKind.FAILED, note=reason),),
        spend=None if ended is None else spend,  # what cannot be counted any more stays as it was counted
    )
    count_end(acts, kit)


async def end_as_noise(acts: Acts, kit: RunKit) -> None:
    """End one that was no incident: without diagnosis or report. What was received is closed where it was said."""
    await end_without_report(acts, kit, "noise", revisions=(Revision(kind=RevisionKind.NOISE),))


async def end_without_report(
    acts: Acts, kit: RunKit, stop_reason: StopReason, revisions: tuple[Revision, ...] = ()
) -> None:
    """End one from which no report is delivered."""
    rebuilt = await rebuilt_from(acts)
    ended = end_of(rebuilt, acts.chronicle, kit.signer)
    await acts.append(
        RunSucceeded(
            stop_reason=stop_reason, projection_digest=ended.digest, signature=ended.signature, spend=rebuilt.spend
        ),
        revisions=revisions,
        spend=rebuilt.spend,
    )


def count_end(acts: Acts, kit: RunKit) -> None:
    """Count how it ended."""
    if kit.metrics is None:
        return
    match acts.chronicle.events[-1].body:
        case RunSucceeded(stop_reason=reason):
            kit.metrics.investigations.labels("succeeded", reason).inc()
        case RunFailed():
            kit.metrics.investigations.labels("failed", "").inc()
        case _:
            pass


def has_ended(acts: Acts) -> bool:
    """Say whether the journal has a terminal event: nothing runs after it."""
    return bool(acts.chronicle.events) and acts.chronicle.events[-1].body.kind in TERMINAL_KINDS
