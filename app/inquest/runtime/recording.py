"""What a journal comes to, as a report needs it: the same for the last transaction and for every revision after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from inquest.domain.event import RunCancelled, RunFailed, RunSucceeded
from inquest.domain.evidence import Asked
from inquest.domain.report import EvidenceLink, Signature
from inquest.domain.value import Value
from inquest.ports import Acts, Chronicle, Connector, Signer
from inquest.runtime.replay import Rebuilt, contents_wanted, projection, rebuild
from inquest.stages.report import ReportInputs


class Ended(Value):
    """The digest of the terminal projection, and the installation's signature over it."""

    digest: str
    signature: Signature | None


async def rebuilt_from(acts: Acts) -> Rebuilt:
    """Fold what `acts` has recorded so far."""
    return rebuild(acts.chronicle, await acts.contents(contents_wanted(acts.chronicle)))


def end_of(rebuilt: Rebuilt, chronicle: Chronicle, signer: Signer | None) -> Ended:
    """Give the digest of what `rebuilt` comes to now, signed where there is a key."""
    digest = projection(rebuilt, chronicle.events).canonical_digest()
    return Ended(digest=digest, signature=None if signer is None else signer.sign(digest.encode("ascii")))


def report_inputs(
    rebuilt: Rebuilt, *, connectors: Sequence[Connector], ended: Ended | None, ended_at: datetime | None
) -> ReportInputs:
    """Give what a report of `rebuilt` shows. `ended` is None while it goes on."""
    identity, loop = rebuilt.investigation.identity, rebuilt.loop
    inputs = ReportInputs(
        investigation_id=identity.run_id,
        workspace=identity.workspace_id,
        investigation=rebuilt.investigation,
        spend=rebuilt.spend,
        ended_at=ended_at,
        terminal_digest=None if ended is None else ended.digest,
        signature=None if ended is None else ended.signature,
    )
    if loop is None:
        return inputs
    links = _links(loop.asked, {one.name: one for one in connectors})
    return inputs.model_copy(
        update={
            "ledger": loop.ledger,
            "evidence": loop.evidence,
            "excluded": loop.excluded,
            "asked": loop.asked,
            "links": links,
        }
    )


def recorded_end(chronicle: Chronicle) -> tuple[Ended | None, datetime | None]:
    """Give what the terminal event of a journal says, and when; a cancelled one has no digest. None before the end."""
    last = chronicle.events[-1] if chronicle.events else None
    match None if last is None else last.body:
        case (
            RunSucceeded(projection_digest=digest, signature=signature)
            | RunFailed(projection_digest=digest, signature=signature)
        ):
            return Ended(digest=digest, signature=signature), None if last is None else last.committed_at
        case RunCancelled():
            return None, None if last is None else last.committed_at
        case _:
            return None, None


def _links(asked: Sequence[Asked], connectors: Mapping[str, Connector]) -> tuple[EvidenceLink, ...]:
    """Give each item's page at its source, where the source is still configured and has one."""
    return tuple(
        EvidenceLink(evidence=name, url=connectors[one.source].link(one.query))
        for one in asked
        if one.source in connectors
        for name in one.evidence
    )
