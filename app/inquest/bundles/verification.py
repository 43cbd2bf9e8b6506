"""What can be said of a bundle from the file alone: whole, as it was written, its journal adding up to its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from inquest.bundles.contents import evidence_of, has_begun, needed, recorded_digest
from inquest.bundles.reading import Bundle, open_bundle
from inquest.destinations.shared.bundle import EVIDENCE, MANIFEST, evidence_file, read_manifest
from inquest.destinations.shared.signed import is_signed
from inquest.destinations.verification import VerifyResult, read_sheet, verify_files
from inquest.domain.delivery import RevisionKind
from inquest.domain.event import TERMINAL_KINDS, EventBody, RunCancelled, RunFailed, RunSucceeded
from inquest.domain.projection import Projection
from inquest.domain.report import Report
from inquest.errors import BadBundle, InquestError, ReplayMismatch
from inquest.runtime.recording import recorded_end, report_inputs
from inquest.runtime.replay import Rebuilt, check_chain, projection, rebuild
from inquest.stages.report import UNREVISED, EpisodeNow, ReportInputs, build_report

UNSIGNED = "the bundle is not signed: whoever could write it could change all of it"


class Replayed(NamedTuple):
    """What the journal of a bundle comes to; both None where it was cancelled before it began."""

    rebuilt: Rebuilt | None
    projection: Projection | None


def verify_bundle(path: Path, *, key: str | None = None) -> VerifyResult:
    """Check a bundle from its first byte to its last. `key` is the public key in hex that the reader trusts.

    Never raises for what it reads. What is not as it was written, or not as the owner of the key left it, is not
    looked into any further.
    """
    try:
        with open_bundle(path) as bundle:
            notes: list[str] = []
            problems = list(_signatures(bundle, key, notes))
            if problems:
                return VerifyResult(ok=False, problems=tuple(problems), notes=tuple(notes))
            replayed = replay_bundle(bundle)
            problems = [
                *_same_subject(bundle, replayed),
                *_all_contents(bundle, replayed),
                *_report(bundle, replayed, notes),
            ]
    except (BadBundle, ReplayMismatch) as refused:
        return VerifyResult(ok=False, problems=(str(refused),))
    return VerifyResult(ok=not problems, problems=tuple(problems), notes=tuple(dict.fromkeys(notes)))


def replay_bundle(bundle: Bundle) -> Replayed:
    """Rebuild the investigation and compare it, byte for byte, with what is recorded of it.

    Raises ReplayMismatch naming the first difference.
    """
    chronicle = bundle.chronicle
    check_chain(chronicle.events)
    end = _end(bundle)
    if not has_begun(chronicle):
        if bundle.projection is not None:
            raise ReplayMismatch("projection.json is there, and the journal begins nothing")
        return Replayed(None, None)
    rebuilt = _folded(bundle)
    found = projection(rebuilt, chronicle.events)
    digest, recorded = found.canonical_digest(), recorded_digest(end)
    if recorded is not None and digest != recorded:
        raise ReplayMismatch(f"the projection has digest {digest}, the terminal event says {recorded}")
    if found.canonical() != bundle.projection:
        raise ReplayMismatch("projection.json is not what the journal rebuilds to")
    return Replayed(rebuilt, found)


def _folded(bundle: Bundle) -> Rebuilt:
    """Fold the journal; whoever wrote the file may have written anything, and a fold relies on what we write.

    Raises ReplayMismatch, whatever it was that did not fit.
    """
    try:
        return rebuild(bundle.chronicle, bundle.contents)
    except InquestError as said:
        raise ReplayMismatch(" ".join(str(said).split())) from said
    except Exception as unfit:
        raise ReplayMismatch(f"the journal cannot be folded ({type(unfit).__name__})") from unfit


def _end(bundle: Bundle) -> EventBody:
    ends = [event.body for event in bundle.chronicle.events if event.body.kind in TERMINAL_KINDS]
    if len(ends) != 1 or bundle.chronicle.events[-1].body != ends[0]:
        raise ReplayMismatch("the journal does not end once, with its last event")
    return ends[0]


def _signatures(bundle: Bundle, key: str | None, notes: list[str]) -> Iterator[str]:
    manifest = bundle.manifest
    trusted = None if key is None else key.strip().lower()
    if manifest.public_key is None or manifest.signature is None:
        notes.append(UNSIGNED)
        if trusted is not None:
            yield "the bundle is not signed, and a key was given to check it"
        if manifest.public_key != manifest.signature:
            yield "manifest.json: half a signature"
        return
    if not is_signed(manifest.public_key, manifest.signature, manifest.signed_bytes()):
        yield "manifest.json: the signature does not fit"
    if trusted is None:
        notes.append(f"signed by {manifest.public_key}, a key that was not given to compare with: anyone can make one")
    elif trusted != manifest.public_key:
        yield "signed with another key than the one that was given"
    ended, _ = recorded_end(bundle.chronicle)
    if ended is None or ended.signature is None:
        notes.append("the terminal digest is not signed")
        return
    if ended.signature.public_key != manifest.public_key:
        yield "events.jsonl: the terminal digest is signed with another key than the bundle"
    if not is_signed(ended.signature.public_key, ended.signature.signature, ended.digest.encode("ascii")):
        yield "events.jsonl: the signature of the terminal digest does not fit"


def _same_subject(bundle: Bundle, replayed: Replayed) -> Iterator[str]:
    manifest = bundle.manifest
    if manifest.terminal_digest != recorded_digest(_end(bundle)):
        yield "terminal_digest: manifest.json and events.jsonl differ"
    if replayed.rebuilt is None:
        return
    identity = replayed.rebuilt.investigation.identity
    pairs = (
        ("investigation_id", manifest.investigation_id, identity.run_id),
        ("workspace", manifest.workspace, identity.workspace_id),
        ("episode", bundle.intake.episode.episode_id, identity.task_id),
    )
    yield from (f"{name}: the bundle and its journal differ" for name, one, other in pairs if one != other)


def _all_contents(bundle: Bundle, replayed: Replayed) -> Iterator[str]:
    must, may = needed(bundle.chronicle), evidence_of(replayed.rebuilt)
    here, missing = frozenset(bundle.contents), frozenset(bundle.manifest.missing)
    for digest in sorted((must | may) - here - (missing - must)):
        yield f"content {digest}: missing"
    for digest in sorted(here - must - may):
        yield f"content {digest}: belongs to nothing that is recorded"
    if missing & here or not missing <= must | may or list(bundle.manifest.missing) != sorted(missing):
        yield "manifest.json: what it lists as missing is not what is missing"


# ---- the report ------------------------------------------------------------------------------------------


def _report(bundle: Bundle, replayed: Replayed, notes: list[str]) -> Iterator[str]:
    kind = _kind(_end(bundle))
    if kind is None or not bundle.report:
        if kind is not None or bundle.report:
            yield "report: missing" if kind is not None else "report: there is none of noise"
        return
    trusted = bundle.manifest.public_key
    found = verify_files(_folder(bundle), key=trusted)
    yield from (f"report: {problem}" for problem in found.problems)
    notes += [f"report: {note}" for note in found.notes]
    sheet = read_sheet(bundle.report.get("report.json"))
    if sheet is not None and sheet.report != _rebuilt_report(bundle, replayed, sheet.report, *kind):
        yield "report: report.json is not the report of this journal"


def _folder(bundle: Bundle) -> dict[str, bytes]:
    """Give the folder that the report was: its evidence lies among the contents."""
    manifest = read_manifest(bundle.report.get(MANIFEST, b""))
    listed = () if manifest is None else manifest.files
    held = {evidence_file(digest): digest for digest in bundle.contents}
    evidence = {name: bundle.contents[held[name]] for name in listed if name.startswith(EVIDENCE) and name in held}
    return {**bundle.report, **evidence}


class _Kind(NamedTuple):
    kind: RevisionKind
    note: str


def _kind(end: EventBody) -> _Kind | None:
    match end:
        case RunSucceeded(stop_reason=reason) if reason != "noise":
            return _Kind(RevisionKind.REPORT, "")
        case RunFailed(reason=reason):
            return _Kind(RevisionKind.FAILED, reason)
        case RunCancelled(reason=reason):
            return _Kind(RevisionKind.CANCELLED, reason)
        case _:
            return None


def _rebuilt_report(bundle: Bundle, replayed: Replayed, said: Report, kind: RevisionKind, note: str) -> Report:
    """Write the report anew: what the journal says, and of the rest what the report itself says of its episode."""
    ended, ended_at = recorded_end(bundle.chronicle)
    manifest = bundle.manifest
    inputs = ReportInputs(investigation_id=manifest.investigation_id, workspace=manifest.workspace, ended_at=ended_at)
    if replayed.rebuilt is not None:
        inputs = report_inputs(replayed.rebuilt, connectors=(), ended=ended, ended_at=ended_at)
    now = EpisodeNow(
        episode=bundle.intake.episode,
        is_firing=said.episode_state == "firing",
        resolved_at=said.resolved_at,
        earlier=said.earlier,
    )
    return build_report(inputs, now, revision=UNREVISED, kind=kind, note=note)
