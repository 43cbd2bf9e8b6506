"""What `inquest verify` says of a report folder: whole, unchanged, signed, its claims still holding; or not.

Everything is checked from the folder alone, offline. What it cannot prove it says in `notes`: without a key
that the reader knows, whoever can rewrite the folder can sign it anew.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from inquest.destinations.shared.bundle import (
    EVIDENCE,
    MANIFEST,
    MAX_FILES,
    Manifest,
    evidence_file,
    is_file_name,
    read_manifest,
)
from inquest.destinations.shared.sheet import FORMS_VERSION, RULES_VERSION, Sheet, written
from inquest.destinations.shared.signed import is_signed
from inquest.domain.canonical import digest_of
from inquest.domain.value import Value
from inquest.stages.verification import recheck, uncheckable

MAX_FILE_BYTES = 134_217_728
"""No file of a folder that we wrote is larger."""
MAX_FOLDER_BYTES = 268_435_456
"""Nor all of them together: reading ends there."""
_REVISION = re.compile(r"^r[1-9][0-9]{0,8}\Z")
_EVIDENCE_FILE = re.compile(r"^([0-9a-f]{64})\.json\Z")


class VerifyResult(Value):
    """`ok` when nothing is wrong. `problems` say what is; `notes` what could not be proven, and why."""

    ok: bool
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def verify(path: Path, *, key: str | None = None) -> VerifyResult:
    """Check a revision folder, an investigation's folder (its latest revision), or one file of either.

    `key` is the public key in hex that the reader trusts; without it a signature only shows that the folder
    is as its signer left it, whoever that was. Never raises for what it reads.
    """
    if path.is_dir() and not path.is_symlink():
        folder = _newest(path)
        if isinstance(folder, str):
            return _result([folder])
        return verify_folder(folder, key=key)
    return verify_file(path, key=key)


def verify_folder(path: Path, *, key: str | None = None) -> VerifyResult:
    """Check one revision folder: every file, the signatures, the claims, and that the forms agree."""
    read = _read_folder(path)
    found = verify_files(read.files, key=key)
    problems = [*read.problems, *found.problems]
    manifest = read_manifest(read.files.get(MANIFEST, b""))
    if manifest is not None and _REVISION.match(path.name) and path.name != f"r{manifest.revision}":
        problems.append(f"the folder is named {path.name}, the report is revision {manifest.revision}")
    return _result(problems, list(found.notes))


def verify_files(files: Mapping[str, bytes], *, key: str | None = None) -> VerifyResult:
    """Check the files of a revision by name, wherever they lie."""
    manifest = read_manifest(files.get(MANIFEST, b""))
    if manifest is None:
        return _result(["manifest.json: missing, or not as it was written"])
    notes: list[str] = []
    problems = [*_against_manifest(manifest, files), *_signature(manifest, key, notes)]
    sheet = read_sheet(files.get("report.json"))
    if sheet is None:
        return _result([*problems, "report.json: missing, or not as it was written"], notes)
    problems += _same_subject(manifest, sheet)
    problems += _terminal_signature(sheet, manifest.public_key, notes)
    problems += _forms_and_claims(sheet, files, notes)
    return _result(problems, notes)


def verify_file(path: Path, *, key: str | None = None) -> VerifyResult:
    """Check one file: with the folder around it where there is one, else what it says of itself."""
    folder = path.parent.parent if path.parent.name == EVIDENCE else path.parent
    if (folder / MANIFEST).is_file():
        return verify_folder(folder, key=key)
    raw = _read_file(path)
    if isinstance(raw, str):
        return _result([f"{path.name}: {raw}"])
    named = _EVIDENCE_FILE.match(path.name)
    if named is not None:
        same = digest_of(raw) == f"sha256:{named[1]}"
        return _result([] if same else [f"{path.name}: the content does not have the digest of its name"], [_ALONE])
    sheet = read_sheet(raw)
    if sheet is None:
        return _result([f"{path.name}: no report.json as it was written, and no folder with a manifest"])
    notes = [_ALONE, "the claims were not checked again: their evidence is not here"]
    public_key = None if sheet.report.signature is None else sheet.report.signature.public_key
    problems = [*_terminal_signature(sheet, public_key, notes), *_trusted(public_key, key, notes)]
    return _result(problems, notes)


_ALONE = "the file was checked alone: only a whole folder shows that nothing is missing or changed"


def sheet_at(path: Path) -> Sheet | None:
    """Read the report of a revision folder, an investigation's folder (its latest revision), or a report.json."""
    folder = _newest(path) if path.is_dir() else path.parent
    raw = "" if isinstance(folder, str) else _read_file(folder / "report.json")
    return None if isinstance(raw, str) else read_sheet(raw)


class _Read(Value):
    """The files of a folder by name, and what is in it that should not be."""

    files: dict[str, bytes]
    problems: tuple[str, ...]


def _newest(path: Path) -> Path | str:
    """Give the folder to check: `path` itself, or the revision that its `latest` names."""
    latest = path / "latest"
    if (path / MANIFEST).exists() or not latest.is_file() or latest.is_symlink():
        return path
    raw = _read_file(latest)
    name = raw.decode("ascii", errors="replace").strip() if isinstance(raw, bytes) else ""
    if not _REVISION.match(name):
        return "latest: it names no revision"
    newer = [one.name for one in path.iterdir() if _REVISION.match(one.name) and int(one.name[1:]) > int(name[1:])]
    return f"latest: it names {name}, but {newer[0]} is there" if newer else path / name


def _read_folder(path: Path) -> _Read:
    files: dict[str, bytes] = {}
    problems: list[str] = []
    for name in _entries(path, problems):
        if not is_file_name(name):
            problems.append(f"{name}: does not belong to a report folder")
            continue
        if sum(len(read) for read in files.values()) > MAX_FOLDER_BYTES:
            problems.append(f"the folder is larger than {MAX_FOLDER_BYTES} bytes: {name} and what follows was not read")
            break
        raw = _read_file(path / name)
        if isinstance(raw, str):
            problems.append(f"{name}: {raw}")
        else:
            files[name] = raw
    return _Read(files=files, problems=tuple(problems))


def _entries(path: Path, problems: list[str]) -> Iterator[str]:
    """List the names in a folder and its evidence folder, at most MAX_FILES and one more."""
    try:
        listed = _names(path)
        if EVIDENCE in listed and (path / EVIDENCE).is_dir() and not (path / EVIDENCE).is_symlink():
            listed.remove(EVIDENCE)
            listed += [f"{EVIDENCE}/{name}" for name in _names(path / EVIDENCE)]
    except OSError:
        problems.append("the folder cannot be read")
        return
    if len(listed) > MAX_FILES:
        problems.append(f"the folder holds more than {MAX_FILES} files")
    yield from listed[:MAX_FILES]


def _names(path: Path) -> list[str]:
    """List a folder; a name that is no UTF-8 shows its bytes, and is then none of ours."""
    return sorted(os.fsencode(one.name).decode("utf-8", errors="backslashreplace") for one in path.iterdir())


def _read_file(path: Path) -> bytes | str:
    """Read a regular file, or say why not. No link is followed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return "is no regular file"
            if found.st_size > MAX_FILE_BYTES:
                return f"is larger than {MAX_FILE_BYTES} bytes"
            with os.fdopen(os.dup(descriptor), "rb") as opened:
                return opened.read(MAX_FILE_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError:
        return "cannot be read as a file"


def _against_manifest(manifest: Manifest, files: Mapping[str, bytes]) -> Iterator[str]:
    for name in sorted(manifest.files.keys() - files.keys()):
        yield f"{name}: missing"
    for name in sorted(files.keys() - manifest.files.keys() - {MANIFEST}):
        yield f"{name}: not in the manifest"
    for name in sorted(files.keys() & manifest.files.keys()):
        entry = manifest.files[name]
        if len(files[name]) != entry.size or digest_of(files[name]) != entry.digest:
            yield f"{name}: changed since it was written"


def _signature(manifest: Manifest, key: str | None, notes: list[str]) -> Iterator[str]:
    if manifest.signature is None or manifest.public_key is None:
        if key is not None:
            yield "the folder is not signed, and a key was given to check it"
        notes.append("the folder is not signed: whoever could write it could change all of it")
        return
    if not is_signed(manifest.public_key, manifest.signature, manifest.signed_bytes()):
        yield "manifest.json: the signature does not fit"
    yield from _trusted(manifest.public_key, key, notes)


def _trusted(public_key: str | None, key: str | None, notes: list[str]) -> Iterator[str]:
    if key is None:
        if public_key is not None:
            notes.append(f"signed by {public_key}, a key that was not given to compare with: anyone can make one")
    elif public_key != key.strip().lower():
        yield "signed with another key than the one that was given"


def _terminal_signature(sheet: Sheet, public_key: str | None, notes: list[str]) -> Iterator[str]:
    report = sheet.report
    if report.terminal_digest is None:
        notes.append("the report is not of an ended investigation: it has no terminal digest")
        return
    if report.signature is None:
        notes.append("the terminal digest is not signed")
        return
    if public_key is not None and report.signature.public_key != public_key:
        yield "report.json: the terminal digest is signed with another key than the folder"
    if not is_signed(report.signature.public_key, report.signature.signature, report.terminal_digest.encode()):
        yield "report.json: the signature of the terminal digest does not fit"


def read_sheet(raw: bytes | None) -> Sheet | None:
    """Read report.json; None when these are not exactly the bytes of one."""
    if raw is None:
        return None
    try:
        found = Sheet.parse(raw)
    except ValidationError:
        return None
    return found if found.canonical() == raw else None


def _same_subject(manifest: Manifest, sheet: Sheet) -> Iterator[str]:
    report = sheet.report
    pairs = (
        ("investigation_id", manifest.investigation_id, report.investigation_id),
        ("revision", manifest.revision, report.revision),
        ("kind", manifest.kind, report.kind),
        ("terminal_digest", manifest.terminal_digest, report.terminal_digest),
        ("left_out", manifest.left_out, sheet.left_out),
    )
    for name, one, other in pairs:
        if one != other:
            yield f"{name}: manifest.json and report.json differ"


def _forms_and_claims(sheet: Sheet, files: Mapping[str, bytes], notes: list[str]) -> Iterator[str]:
    left_out = {one.digest for one in sheet.left_out}
    expected = {item.observation.digest for item in sheet.report.evidence} - left_out
    contents = {digest: files[name] for digest in expected if (name := evidence_file(digest)) in files}
    for digest in sorted(expected - contents.keys()):
        yield f"{evidence_file(digest)}: missing"
    here = {evidence_file(digest) for digest in expected}
    for name in sorted(name for name in files if name.startswith(EVIDENCE) and name not in here):
        yield f"{name}: no evidence of the report has this content"
    for digest, raw in contents.items():
        if digest_of(raw) != digest:
            yield f"{evidence_file(digest)}: the content does not have the digest of its name"
    if sheet.forms_version == FORMS_VERSION:
        for name, raw in written(sheet, contents).items():
            if files.get(name) != raw:
                yield f"{name}: not what report.json and the evidence give"
    else:
        notes.append(f"the forms are of version {sheet.forms_version}, not ours: they were not written anew")
    if sheet.rules_version != RULES_VERSION:
        notes.append(f"the rules are of version {sheet.rules_version}, not ours: the claims were not checked again")
    elif uncheckable(sheet.report, frozenset(left_out)):
        notes.append("the claims were not checked again: evidence that they cite was too large for the folder")
    else:
        yield from recheck(sheet.report, contents, complete=not left_out)


def _result(problems: list[str], notes: list[str] | None = None) -> VerifyResult:
    return VerifyResult(ok=not problems, problems=tuple(problems), notes=tuple(notes or ()))
