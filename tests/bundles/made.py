"""A bundle of a whole run in memory, and bundles taken apart and put together again."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

from inquest.bundles.archive import END, header, padding
from inquest.bundles.contents import IntakeFacts, PostFacts
from inquest.bundles.writing import Plan, Recorded, pieces, plan, wanted
from inquest.destinations.shared.bundle import folder_files
from inquest.domain.delivery import RevisionKind
from inquest.domain.intake import MemberOutcome, ReceiptState
from inquest.ports import Signer
from inquest.runtime.keys import InstallationKey
from inquest.runtime.recording import recorded_end, report_inputs
from inquest.runtime.replay import contents_wanted, rebuild
from inquest.stages.report import UNREVISED, EpisodeNow, build_report
from tests.builders import T0, episode
from tests.runtime.whole_runs import SIGNAL_ALERT, WholeRuns

KEY = InstallationKey(bytes(32))
POST = PostFacts(
    receipt_id="r-1",
    intake="alertmanager",
    state=ReceiptState.ACCEPTED,
    received_at=T0,
    body_digest="sha256:" + "b" * 64,
    members=1,
    counts={MemberOutcome.OPENED: 1},
)


@dataclass(frozen=True)
class Made:
    """A run as it is recorded, and what its store holds."""

    recorded: Recorded
    contents: Mapping[str, bytes]

    async def fetch(self, digests: Sequence[str]) -> Mapping[str, bytes]:
        return {digest: self.contents[digest] for digest in digests}

    def plan(self, signer: Signer | None = KEY) -> Plan:
        return plan(self.recorded, {digest: len(raw) for digest, raw in self.contents.items()}, signer)

    async def bundle(self, signer: Signer | None = KEY) -> bytes:
        return b"".join([piece async for piece in pieces(self.plan(signer), self.fetch)])


async def made(runs: WholeRuns | None = None) -> Made:
    """Run an investigation to its end and give what an export reads of it."""
    runs = runs or WholeRuns(signer=KEY)
    await runs.run()
    chronicle = await runs.chronicle()
    contents = await runs.memory.content(contents_wanted(chronicle))
    rebuilt = rebuild(chronicle, contents)
    ended, ended_at = recorded_end(chronicle)
    now = episode(SIGNAL_ALERT)
    report = build_report(
        report_inputs(rebuilt, connectors=(), ended=ended, ended_at=ended_at),
        EpisodeNow(episode=now),
        revision=UNREVISED,
        kind=RevisionKind.REPORT,
    )
    recorded = Recorded(
        workspace="main",
        chronicle=chronicle,
        rebuilt=rebuilt,
        intake=IntakeFacts(episode=now, posts=(POST,)),
        report={},
    )
    held = await runs.memory.content(sorted(wanted(recorded)))
    files = folder_files(report, held, (), KEY if runs.signer else None)
    return Made(Recorded(**{**recorded.__dict__, "report": files}), held)


# ---- taken apart and put together


Files = list[tuple[str, bytes]]


def unpacked(raw: bytes) -> Files:
    """Take a bundle apart with the tar of the standard library, as any reader could."""
    with tarfile.open(fileobj=BytesIO(raw)) as archive:
        found = [(one.name, archive.extractfile(one)) for one in archive.getmembers()]
        return [(name, opened.read()) for name, opened in found if opened is not None]


def packed(files: Files) -> bytes:
    """Put files together as a bundle, whatever they hold."""
    return b"".join(header(name, len(raw)) + raw + padding(len(raw)) for name, raw in files) + END
