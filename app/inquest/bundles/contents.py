"""What a bundle holds, and the manifest over it.

    manifest.json  content/HEX ..  effects.jsonl  events.jsonl  intake.json  projection.json
    report/manifest.json  report/report.html  report/report.json  report/report.md

The evidence of the report is not there twice: its files are the contents of the same digest. An investigation
that never started has no projection, and noise has no report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from inquest.destinations.shared.bundle import FileEntry
from inquest.domain.canonical import digest_of
from inquest.domain.effect import EffectRow
from inquest.domain.episode import Episode
from inquest.domain.event import Event, EventBody, RunFailed, RunStarted, RunSucceeded
from inquest.domain.intake import MemberOutcome, ReceiptState
from inquest.domain.value import Digest, Instant, Value
from inquest.errors import BadBundle
from inquest.ports import Chronicle, Signer
from inquest.runtime.replay import Rebuilt, contents_wanted
from inquest.store.rules import references_of

V = TypeVar("V", bound=Value)

BUNDLE_CONTEXT = b"inquest bundle 1\n"
"""Stands before what is signed of a bundle, so that no other signature of ours passes for one."""
MANIFEST = "manifest.json"
EVENTS = "events.jsonl"
EFFECTS = "effects.jsonl"
INTAKE = "intake.json"
PROJECTION = "projection.json"
REPORT = "report/"
CONTENT = "content/"
_HEX64 = r"^[0-9a-f]{64}$"
_HEX128 = r"^[0-9a-f]{128}$"


class BundleManifest(Value):
    """`signature` is over BUNDLE_CONTEXT and this value without it.

    `missing` are contents of evidence that the store did not have when the bundle was written.
    """

    form: Literal["inquest-bundle/1"] = "inquest-bundle/1"
    investigation_id: str
    workspace: str
    terminal_digest: Digest | None
    files: dict[str, FileEntry]
    missing: tuple[Digest, ...] = ()
    public_key: str | None = Field(default=None, pattern=_HEX64)
    signature: str | None = Field(default=None, pattern=_HEX128)

    def signed_bytes(self) -> bytes:
        """Give what the signature is over; the public key is under it too."""
        return BUNDLE_CONTEXT + self.but(signature=None).canonical()

    def signed(self, signer: Signer | None) -> BundleManifest:
        """Give it with a signature, where there is a key."""
        if signer is None:
            return self
        with_key = self.but(public_key=signer.public_key)
        return with_key.but(signature=signer.sign(with_key.signed_bytes()).signature)


class PostFacts(Value):
    """One post that brought alerts of the investigation: never its bytes, its sender or its credentials."""

    receipt_id: str
    intake: str
    state: ReceiptState
    received_at: Instant
    body_digest: str
    members: int
    counts: dict[MemberOutcome, int]


class IntakeFacts(Value):
    """The alerts as they stood when the bundle was written, and the posts, newest first, that brought them.

    At most as many posts as one page of a list are in it; `unlisted` says whether there were more.
    """

    episode: Episode
    posts: tuple[PostFacts, ...] = ()
    unlisted: bool = False


def content_name(digest: str) -> str:
    """Name the file of a content."""
    return CONTENT + digest.removeprefix("sha256:")


def content_digest(name: str) -> str:
    """Give the digest that the name of a content's file says."""
    return "sha256:" + name.removeprefix(CONTENT)


def entries(files: Mapping[str, bytes]) -> dict[str, FileEntry]:
    """Describe files for the manifest."""
    return {name: FileEntry(digest=digest_of(raw), size=len(raw)) for name, raw in files.items()}


def needed(chronicle: Chronicle) -> frozenset[str]:
    """Give the contents without which a journal is not whole."""
    cited = [digest for event in chronicle.events for digest in references_of(event.body)]
    return frozenset([*cited, *contents_wanted(chronicle)])


def evidence_of(rebuilt: Rebuilt | None) -> frozenset[str]:
    """Give the contents of the evidence: wanted, but one may be missing where its source's answer was not kept."""
    loop = None if rebuilt is None else rebuilt.loop
    return frozenset() if loop is None else frozenset(item.observation.digest for item in loop.evidence)


def has_begun(chronicle: Chronicle) -> bool:
    """Say whether there is anything to rebuild: one that was cancelled in the queue has only its end."""
    return any(isinstance(event.body, RunStarted) for event in chronicle.events)


def recorded_digest(end: EventBody) -> str | None:
    """Give the digest that the end of a journal records; a cancelled one has none."""
    return end.projection_digest if isinstance(end, RunSucceeded | RunFailed) else None


def lines(values: Sequence[Value]) -> bytes:
    """Write values as canonical JSON, one a line."""
    return b"".join(value.canonical() + b"\n" for value in values)


def chronicle_of(investigation_id: str, events: bytes, effects: bytes) -> Chronicle:
    """Read a journal back. Raises BadBundle where these are not the bytes that `lines` writes."""
    found = tuple(_read(Event, line, EVENTS) for line in events.split(b"\n")[:-1])
    rows = tuple(_read(EffectRow, line, EFFECTS) for line in effects.split(b"\n")[:-1])
    for name, raw, values in ((EVENTS, events, found), (EFFECTS, effects, rows)):
        if lines(values) != raw:
            raise BadBundle(f"{name}: not as it was written")
    if [row.key for row in rows] != sorted({row.key for row in rows}):
        raise BadBundle(f"{EFFECTS}: a key stands twice, or out of order")
    version = found[-1].seq if found else 0
    return Chronicle(investigation_id=investigation_id, version=version, events=found, effects=rows)


def read_value(of: type[V], raw: bytes, name: str) -> V:
    """Read a file that holds one value. Raises BadBundle where these are not exactly its bytes."""
    found = _read(of, raw, name)
    if found.canonical() != raw:
        raise BadBundle(f"{name}: not as it was written")
    return found


def _read(of: type[V], raw: bytes, name: str) -> V:
    try:
        return of.parse(raw)
    except (ValidationError, RecursionError) as error:
        raise BadBundle(f"{name}: holds what this release cannot read, or is not as it was written") from error
