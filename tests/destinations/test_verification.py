"""`verify` catches every edit of a signed folder, and says what it cannot prove."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inquest.destinations.folder import FolderConfig, create_folder_destination
from inquest.destinations.shared.bundle import MANIFEST, FileEntry, Manifest, folder_files, unpack
from inquest.destinations.shared.sheet import FORMS_VERSION, Sheet
from inquest.destinations.verification import verify, verify_folder
from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.delivery import Address, Sent
from inquest.domain.diagnosis import Verdict
from inquest.domain.report import Report
from inquest.domain.value import Json
from inquest.ports import Signer
from inquest.stages.verdict import conclude
from inquest.stages.verification import recheck
from tests.builders import Shelf
from tests.incident import basis, incident_shelf, proposal
from tests.reports import HOSTS, KEY, TestKey, whole_report

SHELF = incident_shelf()
REPORT = whole_report(SHELF)
EDITS = 240


def write(folder: Path, report: Report = REPORT, *, shelf: Shelf = SHELF, signer: Signer | None = KEY) -> Path:
    for name, raw in folder_files(report, shelf.contents, HOSTS, signer).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "r2")


def test_a_folder_as_it_was_written_is_ok(folder: Path) -> None:
    assert verify(folder, key=KEY.public_key).model_dump() == {"ok": True, "problems": (), "notes": ()}


def test_an_investigations_folder_is_its_latest_revision(folder: Path) -> None:
    (folder.parent / "latest").write_text("r2\n")
    assert verify(folder.parent, key=KEY.public_key).ok
    shutil.copytree(folder, folder.parent / "r3")
    assert "names r2, but r3 is there" in verify(folder.parent).problems[0]


# ---- random edits ----------------------------------------------------------------------------------------

Edit = Callable[[random.Random, Path], str]


def some_file(chance: random.Random, folder: Path) -> Path:
    return chance.choice(sorted(path for path in folder.rglob("*") if path.is_file()))


def flip_a_bit(chance: random.Random, folder: Path) -> str:
    path = some_file(chance, folder)
    raw = bytearray(path.read_bytes())
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    path.write_bytes(bytes(raw))
    return f"flipped a bit of {path.name}"


def delete_a_file(chance: random.Random, folder: Path) -> str:
    path = some_file(chance, folder)
    path.unlink()
    return f"deleted {path.name}"


def add_a_file(chance: random.Random, folder: Path) -> str:
    name = chance.choice(["evidence/" + "a" * 64 + ".json", "notes.md", "evidence/x", ".hidden", "report.json.bak"])
    (folder / name).write_bytes(b"{}")
    return f"added {name}"


def append_or_cut(chance: random.Random, folder: Path) -> str:
    path = some_file(chance, folder)
    raw = path.read_bytes()
    path.write_bytes(raw + b"\n" if chance.random() < 0.5 else raw[: -chance.randrange(1, 9)])
    return f"changed the end of {path.name}"


def leaves(value: Json, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        return [found for name, inner in value.items() for found in leaves(inner, (*path, name))]
    if isinstance(value, list):
        return [found for number, inner in enumerate(value) for found in leaves(inner, (*path, number))]
    return [path]


def changed(value: Json, chance: random.Random) -> Json:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + float(chance.choice([1, -1, 1000]))
        case str():
            return value + chance.choice([" ", "x"]) if value else "x"
        case _:
            return "x"


def edit_a_value(chance: random.Random, folder: Path) -> str:
    """Change one value inside a JSON file, so that it stays valid (and canonical) JSON."""
    path = chance.choice(sorted(folder.rglob("*.json")))
    whole: Json = json.loads(path.read_bytes())
    where = chance.choice(leaves(whole))
    holder: Json = whole
    for step in where[:-1]:
        holder = holder[step]  # type: ignore[index]  # the path was read from it
    holder[where[-1]] = changed(holder[where[-1]], chance)  # type: ignore[index]  # likewise
    path.write_bytes(canonical_json(whole))
    return f"edited {'/'.join(map(str, where))} of {path.name}"


def swap_evidence(chance: random.Random, folder: Path) -> str:
    one, other = chance.sample(sorted((folder / "evidence").iterdir()), 2)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    return f"swapped {one.name} and {other.name}"


def rename_evidence(chance: random.Random, folder: Path) -> str:
    path = chance.choice(sorted((folder / "evidence").iterdir()))
    path.rename(path.with_name("b" * 64 + ".json"))
    return f"renamed {path.name}"


def with_manifest(edit: Edit) -> Edit:
    """Make `edit`, and then a manifest that fits it: what an attacker without the key can do."""

    def both(chance: random.Random, folder: Path) -> str:
        said = edit(chance, folder)
        manifest = Manifest.parse((folder / MANIFEST).read_bytes()) if (folder / MANIFEST).exists() else None
        if manifest is None or MANIFEST in said:
            return said
        names = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
        files = {
            name: FileEntry(digest=digest_of(path.read_bytes()), size=path.stat().st_size)
            for name, path in names.items()
            if name != MANIFEST
        }
        (folder / MANIFEST).write_bytes(manifest.but(files=files).canonical())
        return f"{said}, with a fitting manifest"

    return both


PLAIN: list[Edit] = [flip_a_bit, delete_a_file, add_a_file, append_or_cut, edit_a_value, swap_evidence, rename_evidence]
ALL: list[Edit] = [*PLAIN, *(with_manifest(edit) for edit in PLAIN), edit_a_value, edit_a_value]


def test_every_edit_of_a_signed_folder_is_caught(folder: Path, tmp_path: Path) -> None:
    chance = random.Random(20260301)  # noqa: S311  # a fixed seed, so that a failure can be repeated
    missed: list[str] = []
    for number in range(EDITS):
        copy = tmp_path / str(number) / "r2"
        shutil.copytree(folder, copy)
        said = ALL[number % len(ALL)](chance, copy)
        before = {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        after = {path.relative_to(copy): path.read_bytes() for path in copy.rglob("*") if path.is_file()}
        assert before != after, said
        if verify_folder(copy).ok:
            missed.append(said)
        shutil.rmtree(copy)
    assert missed == []


def test_a_whitespace_or_case_change_of_the_manifest_is_an_edit(folder: Path) -> None:
    raw = (folder / MANIFEST).read_bytes()
    whole = json.loads(raw)
    for edited in (
        json.dumps(whole, indent=1).encode(),
        raw + b" ",
        canonical_json({**whole, "signature": whole["signature"].upper()}),
        canonical_json({**whole, "extra": 1}),
    ):
        (folder / MANIFEST).write_bytes(edited)
        assert not verify_folder(folder).ok


def test_a_folder_under_another_revisions_name_is_caught(folder: Path) -> None:
    moved = folder.rename(folder.with_name("r7"))
    assert verify(moved).problems == ("the folder is named r7, the report is revision 2",)


def test_links_and_folders_in_the_place_of_files_are_caught(folder: Path, tmp_path: Path) -> None:
    real = (folder / "report.md").read_bytes()
    (tmp_path / "outside").write_bytes(real)
    (folder / "report.md").unlink()
    (folder / "report.md").symlink_to(tmp_path / "outside")
    assert not verify(folder).ok
    (folder / "report.md").unlink()
    (folder / "report.md").mkdir()
    assert not verify(folder).ok


# ---- who signed it ---------------------------------------------------------------------------------------


def test_signing_anew_with_another_key_passes_only_without_the_readers_key(tmp_path: Path) -> None:
    """The limit of a key that comes with the folder: docs/explanation/evidence.md."""
    forger = TestKey(seed=b"f" * 32)
    forged = REPORT.but(title="Nothing happened", signature=forger.sign(str(REPORT.terminal_digest).encode()))
    folder = write(tmp_path / "r2", forged, signer=forger)

    alone = verify(folder)
    assert alone.ok
    assert "a key that was not given to compare with: anyone can make one" in alone.notes[0]
    pinned = verify(folder, key=KEY.public_key)
    assert pinned.problems == ("signed with another key than the one that was given",)


def test_a_terminal_digest_signed_by_somebody_else_is_caught(tmp_path: Path) -> None:
    other = TestKey(seed=b"o" * 32).sign(str(REPORT.terminal_digest).encode())
    folder = write(tmp_path / "r2", REPORT.but(signature=other))
    assert "signed with another key than the folder" in verify(folder).problems[0]


def test_a_terminal_digest_that_was_not_what_was_signed_is_caught(tmp_path: Path) -> None:
    folder = write(tmp_path / "r2", REPORT.but(terminal_digest="sha256:" + "8" * 64))
    assert verify(folder).problems == ("report.json: the signature of the terminal digest does not fit",)


def test_an_unsigned_folder_is_ok_with_a_note_and_not_with_a_key(tmp_path: Path) -> None:
    folder = write(tmp_path / "r2", REPORT.but(signature=None), signer=None)
    alone = verify(folder)
    assert alone.ok
    assert "not signed" in alone.notes[0]
    assert not verify(folder, key=KEY.public_key).ok


# ---- claims ----------------------------------------------------------------------------------------------


def forged(**changes: object) -> Report:
    assert REPORT.diagnosis is not None
    return REPORT.but(diagnosis=REPORT.diagnosis.but(**changes))


CLAIMS = REPORT.diagnosis.validated_claims if REPORT.diagnosis else ()
WRONG = CLAIMS[1].but(after=0.99, text="It rose.")


@pytest.mark.parametrize(
    ("rule", "report", "problem"),
    [
        ("a claim that does not hold", forged(validated_claims=(*CLAIMS, WRONG)), "claim 7 (change): the extreme"),
        ("a better score", forged(validity_score=1.0), "validity_score: the rules give another"),
        ("no claim behind the cause", forged(validated_claims=()), "verdict: cause_found was proposed"),
        ("another onset", forged(onset=None), "verdict: cause_found was proposed, but it is not shown when"),
        ("a mark taken off", forged(root_cause="redis did it"), "verdict: cause_found was proposed, but its text"),
        ("healthy without a look", forged(verdict=Verdict.HEALTHY), "verdict: healthy was proposed, but"),
    ],
)
def test_a_report_that_its_evidence_does_not_carry_is_caught_even_when_signed(
    tmp_path: Path, rule: str, report: Report, problem: str
) -> None:
    found = verify(write(tmp_path / "r2", report), key=KEY.public_key)
    assert any(one.startswith(problem) for one in found.problems), (rule, found.problems)


def test_a_remediation_mark_taken_off_is_caught(tmp_path: Path) -> None:
    shelf = incident_shelf()
    whole = proposal(shelf)
    step = whole.remediation_steps[0].but(text="Point it at db-primary:5432 again.")
    report = whole_report(shelf).but(diagnosis=conclude(whole.but(remediation_steps=(step,)), basis(shelf)))
    assert recheck(report, shelf.contents) == ()
    assert report.diagnosis is not None
    bare = report.but(diagnosis=report.diagnosis.but(remediation_steps=(step,)))
    assert verify(write(tmp_path / "r2", bare)).problems == (
        "remediation_steps: the rules give another result than the report says",
    )


@pytest.mark.parametrize("verdict", list(Verdict))
def test_what_the_rules_made_passes_the_rules_again(verdict: Verdict) -> None:
    shelf = incident_shelf()
    whole = proposal(shelf)
    broken = whole.but(
        verdict=verdict,
        claims=(*whole.claims, whole.claims[1].but(after=0.9)),
        causal_chain=(whole.causal_chain[1].but(text="redis"), *whole.causal_chain),
        affected_object="pod/x/nowhere",
        root_cause_category="made.up",
        ruled_out=(*whole.ruled_out, whole.ruled_out[0].but(citations=())),
    )
    report = whole_report(shelf).but(diagnosis=conclude(broken, basis(shelf)))
    assert recheck(report, shelf.contents) == ()


def test_forms_of_another_version_are_noted_not_guessed(tmp_path: Path) -> None:
    folder = write(tmp_path / "r2", signer=None)
    sheet = Sheet.parse((folder / "report.json").read_bytes())
    (folder / "report.json").write_bytes(sheet.but(forms_version=9, rules_version=9).canonical())
    with_manifest(lambda _, __: "")(random.Random(0), folder)  # noqa: S311  # not used
    found = verify(folder)
    assert found.ok
    assert any("forms are of version 9" in note for note in found.notes)
    assert any("rules are of version 9" in note for note in found.notes)


def test_a_changed_form_is_caught_even_where_it_cannot_be_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inquest.destinations.verification.FORMS_VERSION", FORMS_VERSION + 1)
    folder = write(tmp_path / "r2")
    assert verify(folder, key=KEY.public_key).ok
    (folder / "report.md").write_text("Nothing happened.")
    assert verify(folder).problems == ("report.md: changed since it was written",)


def test_an_envelope_that_nobody_cites_keeps_its_identity_too(tmp_path: Path) -> None:
    last = REPORT.evidence[-1]
    moved = last.but(observation=last.observation.but(service="payments"))
    folder = write(tmp_path / "r2", REPORT.but(evidence=(*REPORT.evidence[:-1], moved)))
    assert verify(folder).problems == ("E5: the envelope does not have the identity it claims",)


def test_evidence_that_was_too_large_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inquest.destinations.shared.bundle.MAX_EVIDENCE_BYTES", 3_000)
    found = verify(write(tmp_path / "r2"), key=KEY.public_key)
    assert found.problems == ()
    assert "evidence that they cite was too large" in found.notes[0]


# ---- one file --------------------------------------------------------------------------------------------


def test_a_file_inside_a_folder_is_checked_with_it(folder: Path) -> None:
    evidence = next((folder / "evidence").iterdir())
    assert verify(evidence, key=KEY.public_key).ok
    (folder / "report.md").write_text("changed")
    assert not verify(evidence).ok
    assert not verify(folder / "report.html").ok


def test_a_lone_report_json_is_checked_as_far_as_it_goes(folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.json"
    shutil.copy(folder / "report.json", alone)
    found = verify(alone, key=KEY.public_key)
    assert found.ok
    assert any("checked alone" in note for note in found.notes)
    assert not verify(alone, key="0" * 64).ok
    alone.write_bytes(alone.read_bytes().replace(b"sha256:7777", b"sha256:7778"))
    assert not verify(alone).ok


def test_a_lone_evidence_file_has_the_digest_of_its_name(folder: Path, tmp_path: Path) -> None:
    evidence = next((folder / "evidence").iterdir())
    alone = tmp_path / evidence.name
    shutil.copy(evidence, alone)
    assert verify(alone).ok
    alone.write_bytes(b"{}")
    assert not verify(alone).ok


@pytest.mark.parametrize("name", ["nothing", "text.md"])
def test_what_is_no_report_is_a_problem_not_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.md").write_text("hello")
    (tmp_path / "empty").mkdir()
    assert not verify(tmp_path / name).ok
    assert not verify(tmp_path / "empty").ok


async def test_what_the_destination_wrote_is_what_is_verified(tmp_path: Path) -> None:
    destination = create_folder_destination("f", FolderConfig(path=str(tmp_path)), signer=KEY, link_hosts=HOSTS)
    rendered = destination.render(REPORT, SHELF.contents, guest=False)
    assert rendered is not None
    assert await destination.send(rendered, Address(marker="inv-1/r2"), timeout_s=10) == Sent(reference="inv-1/r2")
    assert verify(tmp_path / "inv-1", key=KEY.public_key).ok
    assert unpack(rendered)["report.md"] == (tmp_path / "inv-1/r2/report.md").read_bytes()
