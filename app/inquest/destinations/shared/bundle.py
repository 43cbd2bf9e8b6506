"""A report folder before it is one: its files by name, the manifest over them, and the bytes that carry it.

    report.json  report.md  report.html  evidence/HEX.json ...  manifest.json

The manifest holds the digest of every file; it is signed with the installation key, so that no file, and no
digest of one, can be changed by whoever lacks the key.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field, ValidationError

from inquest.destinations.shared.sheet import LeftOut, Sheet, written
from inquest.domain.canonical import digest_of
from inquest.domain.evidence import EvidenceItem
from inquest.domain.report import MANIFEST_CONTEXT, Report
from inquest.domain.value import Digest, Value
from inquest.errors import InvariantBroken
from inquest.ports import Signer

MAX_EVIDENCE_BYTES = 33_554_432
"""Of all contents in one folder. Cited ones go in first; what does not fit is listed, with its size."""
MAX_EVIDENCE_FILES = 256
MAX_FILES = MAX_EVIDENCE_FILES + 8
MANIFEST = "manifest.json"
EVIDENCE = "evidence"
FILE_NAME = re.compile(r"^(?:report\.(?:json|md|html)|evidence/[0-9a-f]{64}\.json)\Z")
"""Every name a folder may hold beside its manifest: none can lead out of it."""
_HEX64 = r"^[0-9a-f]{64}$"
_HEX128 = r"^[0-9a-f]{128}$"


class FileEntry(Value):
    """One file of the folder."""

    digest: Digest
    size: int = Field(ge=0)


class Manifest(Value):
    """What the folder holds. `signature` is over MANIFEST_CONTEXT and this value without it."""

    form: Literal["inquest-manifest/1"] = "inquest-manifest/1"
    investigation_id: str
    revision: int
    kind: str
    terminal_digest: Digest | None
    files: dict[str, FileEntry]
    left_out: tuple[LeftOut, ...] = ()
    public_key: str | None = Field(default=None, pattern=_HEX64)
    signature: str | None = Field(default=None, pattern=_HEX128)

    def signed_bytes(self) -> bytes:
        """Give what the signature is over; the public key is under it too."""
        return MANIFEST_CONTEXT + self.but(signature=None).canonical()


def folder_files(
    report: Report, contents: Mapping[str, bytes], hosts: Iterable[str], signer: Signer | None
) -> dict[str, bytes]:
    """Write all files of a folder by name, manifest.json among them."""
    kept, left_out = _fitting(report, contents)
    sheet = Sheet(report=report, link_hosts=tuple(sorted(set(hosts))), left_out=left_out)
    files = {
        **written(sheet, kept),
        **{evidence_file(digest): raw for digest, raw in kept.items()},
    }
    manifest = Manifest(
        investigation_id=report.investigation_id,
        revision=report.revision,
        kind=report.kind,
        terminal_digest=report.terminal_digest,
        files={name: FileEntry(digest=digest_of(raw), size=len(raw)) for name, raw in files.items()},
        left_out=left_out,
    )
    return {**files, MANIFEST: _signed(manifest, signer).canonical()}


def evidence_that_fits(report: Report) -> tuple[str, ...]:
    """Name the contents that a report is built with: those that the diagnosis cites first, then in order of admission.

    Each once, by the sizes that were recorded of them, while MAX_EVIDENCE_BYTES and MAX_EVIDENCE_FILES last.
    """
    chosen: dict[str, None] = {}
    room = MAX_EVIDENCE_BYTES
    for item in _cited_first(report):
        size = item.observation.truncation.original_bytes
        if item.observation.digest not in chosen and size <= room and len(chosen) < MAX_EVIDENCE_FILES:
            chosen[item.observation.digest] = None
            room -= size
    return tuple(chosen)


def evidence_file(digest: str) -> str:
    """Name the file of a content."""
    return f"{EVIDENCE}/{digest.removeprefix('sha256:')}.json"


def pack(files: Mapping[str, bytes]) -> bytes:
    """Put files into one archive (zip, stored, no times): the same files, the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), files[name])
    return packed.getvalue()


def unpack(raw: bytes) -> dict[str, bytes]:
    """Take files out of an archive of `pack`. Raises InvariantBroken for any other."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = archive.namelist()
            if len(names) > MAX_FILES or len(set(names)) != len(names) or not all(is_file_name(name) for name in names):
                raise InvariantBroken("the rendered bytes are no report folder")
            return {name: archive.read(name) for name in names}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InvariantBroken("the rendered bytes are no archive") from error


def is_file_name(name: str) -> bool:
    """Say whether a folder may hold a file of this name."""
    return name == MANIFEST or FILE_NAME.match(name) is not None


def read_manifest(raw: bytes) -> Manifest | None:
    """Read a manifest; None when these are not exactly the bytes of one."""
    try:
        found = Manifest.parse(raw)
    except ValidationError:
        return None
    return found if found.canonical() == raw else None


def _signed(manifest: Manifest, signer: Signer | None) -> Manifest:
    if signer is None:
        return manifest
    with_key = manifest.but(public_key=signer.public_key)
    return with_key.but(signature=signer.sign(with_key.signed_bytes()).signature)


def _fitting(report: Report, contents: Mapping[str, bytes]) -> tuple[dict[str, bytes], tuple[LeftOut, ...]]:
    """Give the contents that go in, and what stays out: not chosen for its size, or not there."""
    chosen = evidence_that_fits(report)
    kept: dict[str, bytes] = {}
    room = MAX_EVIDENCE_BYTES
    for digest in chosen:
        raw = contents.get(digest)
        if raw is not None and len(raw) <= room:  # a text is stored a little larger than it was recorded
            kept[digest] = raw
            room -= len(raw)
    left: list[LeftOut] = []
    for item in _cited_first(report):
        digest = item.observation.digest
        if digest not in kept:
            raw = contents.get(digest)
            size = item.observation.truncation.original_bytes if raw is None else len(raw)
            why: Literal["too_large", "missing"] = "missing" if raw is None and digest in chosen else "too_large"
            left.append(LeftOut(evidence=item.name, digest=digest, size=size, why=why))
    return kept, tuple(left)


def _cited_first(report: Report) -> list[EvidenceItem]:
    cited = _cited(report)
    return sorted(report.evidence, key=lambda item: item.name not in cited)  # stable: admission order within


def _cited(report: Report) -> frozenset[str]:
    diagnosis = report.diagnosis
    if diagnosis is None:
        return frozenset()
    parts = (*diagnosis.causal_chain, *diagnosis.validated_claims, *diagnosis.ruled_out)
    onset = [] if diagnosis.onset is None else [diagnosis.onset.citation.evidence]
    return frozenset([*onset, *(citation.evidence for part in parts for citation in part.citations)])
