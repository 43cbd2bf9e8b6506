"""Writing a bundle: first what it will hold, then its bytes, one piece after the other.

The same investigation gives the same bytes, however often and wherever it is exported with the same key: no
time of export, no name of a machine, no compression is in it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from inquest.bundles.archive import END, header, padding
from inquest.bundles.contents import (
    EFFECTS,
    EVENTS,
    INTAKE,
    MANIFEST,
    PROJECTION,
    REPORT,
    BundleManifest,
    IntakeFacts,
    content_name,
    entries,
    evidence_of,
    has_begun,
    lines,
    needed,
    recorded_digest,
)
from inquest.destinations.shared.bundle import EVIDENCE, FileEntry
from inquest.errors import ReplayMismatch
from inquest.ports import Chronicle, Signer
from inquest.runtime.replay import Rebuilt, projection

PIECE_BYTES = 8 * 1024 * 1024
"""Contents are read so many bytes at a time, or one alone that is larger."""

Fetch = Callable[[Sequence[str]], Awaitable[Mapping[str, bytes]]]
"""Reads contents by digest. Raises NotFound."""


@dataclass(frozen=True)
class Recorded:
    """An ended investigation as a store has it; `rebuilt` is what its journal comes to, None where it never began.

    `report` are the files of its report's folder, {} where there is no report.
    """

    workspace: str
    chronicle: Chronicle
    rebuilt: Rebuilt | None
    intake: IntakeFacts
    report: Mapping[str, bytes]


@dataclass(frozen=True)
class Plan:
    """What a bundle will hold: files by name, and the sizes of contents by digest, all in order."""

    files: Mapping[str, bytes] = field(repr=False)
    sizes: Mapping[str, int]

    @property
    def total_bytes(self) -> int:
        """Give the size of the file that it makes."""
        sizes = [len(raw) for raw in self.files.values()] + list(self.sizes.values())
        return sum(len(header(MANIFEST, 0)) + size + len(padding(size)) for size in sizes) + len(END)


def wanted(recorded: Recorded) -> frozenset[str]:
    """Give the contents that belong into the bundle."""
    return needed(recorded.chronicle) | evidence_of(recorded.rebuilt)


def plan(recorded: Recorded, sizes: Mapping[str, int], signer: Signer | None) -> Plan:
    """Decide what goes in; `sizes` are those of the contents that the store has.

    Raises ReplayMismatch naming a content without which the journal is not whole.
    """
    chronicle = recorded.chronicle
    gone = sorted(needed(chronicle) - sizes.keys())
    if gone:
        raise ReplayMismatch(f"content {gone[0]} is missing from the store")
    contents = {digest: sizes[digest] for digest in sorted(wanted(recorded)) if digest in sizes}
    files = {
        EFFECTS: lines(chronicle.effects),
        EVENTS: lines(chronicle.events),
        INTAKE: recorded.intake.canonical(),
        **_projected(recorded),
        **{REPORT + name: raw for name, raw in recorded.report.items() if not name.startswith(EVIDENCE)},
    }
    listed = {content_name(digest): FileEntry(digest=digest, size=size) for digest, size in contents.items()}
    manifest = BundleManifest(
        investigation_id=chronicle.investigation_id,
        workspace=recorded.workspace,
        terminal_digest=recorded_digest(chronicle.events[-1].body),
        files={**listed, **entries(files)},
        missing=tuple(sorted(wanted(recorded) - contents.keys())),
    )
    return Plan(files={MANIFEST: manifest.signed(signer).canonical(), **files}, sizes=contents)


def _projected(recorded: Recorded) -> dict[str, bytes]:
    if recorded.rebuilt is None or not has_begun(recorded.chronicle):
        return {}
    return {PROJECTION: projection(recorded.rebuilt, recorded.chronicle.events).canonical()}


async def pieces(planned: Plan, fetch: Fetch) -> AsyncIterator[bytes]:
    """Give the bytes of the bundle in order. At most PIECE_BYTES of contents, or one, are held at once."""
    yield _packed(MANIFEST, planned.files[MANIFEST])
    for digests in _batches(planned.sizes):
        found = await fetch(digests)
        for digest in digests:
            yield _packed(content_name(digest), found[digest])
    for name in sorted(planned.files.keys() - {MANIFEST}):
        yield _packed(name, planned.files[name])
    yield END


def _packed(name: str, raw: bytes) -> bytes:
    return header(name, len(raw)) + raw + padding(len(raw))


def _batches(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    batch: list[str] = []
    held = 0
    for digest, size in sizes.items():
        if batch and held + size > PIECE_BYTES:
            yield batch
            batch, held = [], 0
        batch.append(digest)
        held += size
    if batch:
        yield batch
