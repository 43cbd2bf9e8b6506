"""A bundle is checked from the file alone: every edit is caught, and the journal adds up to the report."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from inquest.bundles.contents import BundleManifest, entries
from inquest.bundles.reading import open_bundle
from inquest.bundles.verification import UNSIGNED, replay_bundle, verify_bundle
from inquest.destinations.verification import VerifyResult
from inquest.domain.canonical import canonical_json
from inquest.domain.event import GENESIS, RunCancelled, chain_digest
from inquest.domain.value import Json
from inquest.errors import BadBundle, ReplayMismatch
from inquest.ports import Signer, Write
from inquest.runtime.keys import InstallationKey
from tests.bundles.made import KEY, Files, Made, made, packed, unpacked
from tests.destinations.test_verification import changed, leaves
from tests.runtime.whole_runs import WholeRuns

EDITS = 200
RECHAINED = 40


@pytest.fixture(scope="module")
def run() -> Made:
    return asyncio.run(made())


@pytest.fixture(scope="module")
def files(run: Made) -> Files:
    return unpacked(asyncio.run(run.bundle()))


def verified(folder: Path, raw: bytes, key: str | None = KEY.public_key) -> VerifyResult:
    path = folder / "bundle.tar"
    path.write_bytes(raw)
    return verify_bundle(path, key=key)


def resigned(files: Files, signer: Signer | None = None, **about: object) -> Files:
    """Write the manifest anew, as somebody without the key would."""
    held = dict(files[1:])
    manifest = BundleManifest.parse(files[0][1]).but(public_key=None, signature=None, files=entries(held), **about)
    return [("manifest.json", manifest.signed(signer).canonical()), *sorted(held.items())]


# ---- as it was written


async def test_a_bundle_as_it_was_written_is_ok(run: Made, tmp_path: Path) -> None:
    found = verified(tmp_path, await run.bundle())

    assert found.model_dump() == {"ok": True, "problems": (), "notes": ()}


async def test_it_rebuilds_the_projection_byte_for_byte(run: Made, tmp_path: Path) -> None:
    (tmp_path / "bundle.tar").write_bytes(await run.bundle())
    with open_bundle(tmp_path / "bundle.tar") as bundle:
        found = replay_bundle(bundle).projection
        assert found is not None
        assert found.canonical() == bundle.projection
        assert bundle.chronicle == run.recorded.chronicle


async def test_the_same_run_gives_the_same_bytes(run: Made) -> None:
    raw = await run.bundle()

    assert raw == await (await made()).bundle()
    assert len(raw) == run.plan().total_bytes


async def test_without_a_key_it_is_whole_and_says_that_anyone_could_have_made_it(tmp_path: Path) -> None:
    run = await made(WholeRuns(signer=None))
    raw = await run.bundle(None)

    assert verified(tmp_path, raw, None).ok
    assert UNSIGNED in verified(tmp_path, raw, None).notes
    assert verified(tmp_path, raw).problems == ("the bundle is not signed, and a key was given to check it",)


async def test_a_signed_one_says_whose_key_it_is_when_none_is_given(run: Made, tmp_path: Path) -> None:
    found = verified(tmp_path, await run.bundle(), None)

    assert (found.ok, KEY.public_key in found.notes[0]) == (True, True)
    assert verified(tmp_path, await run.bundle(), "00" * 32).problems == (
        "signed with another key than the one that was given",
    )


async def test_one_that_was_cancelled_before_it_began_is_whole_without_a_projection(tmp_path: Path) -> None:
    runs = WholeRuns(signer=KEY)
    fence = await runs.start()
    cancelled = RunCancelled(reason="operator", actor="somebody")
    await runs.memory.commit(Write(fence=fence, expected_version=0, events=(cancelled,)))
    whole = await made()
    recorded = type(whole.recorded)(
        **{**whole.recorded.__dict__, "chronicle": await runs.chronicle(), "rebuilt": None, "report": {}}
    )
    raw = await Made(recorded, {}).bundle()

    assert [name for name, _ in unpacked(raw)] == ["manifest.json", "effects.jsonl", "events.jsonl", "intake.json"]
    assert verified(tmp_path, raw).problems == ("report: missing",)


# ---- edits

Edit = Callable[[random.Random, Files], bytes]


def flip_a_bit(chance: random.Random, files: Files) -> bytes:
    raw = bytearray(packed(files))
    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    return bytes(raw)


def cut_or_append(chance: random.Random, files: Files) -> bytes:
    raw = packed(files)
    return raw + bytes(chance.choice([1, 512, 10_240])) if chance.random() < 0.5 else raw[: -chance.randrange(1, 2_000)]


def take_one_out(chance: random.Random, files: Files) -> bytes:
    gone = chance.choice(files)
    return packed([one for one in files if one is not gone])


def put_one_in(chance: random.Random, files: Files) -> bytes:
    name = "content/" + "".join(chance.choice("0123456789abcdef") for _ in range(64))
    return packed([files[0], *sorted([*files[1:], (name, b"{}")])])


def put_one_in_and_list_it(chance: random.Random, files: Files) -> bytes:
    return packed(resigned([files[0], *files[1:], ("content/" + "a" * 64, b"{}")], KEY))


def swap_two(chance: random.Random, files: Files) -> bytes:
    one, other = chance.sample(range(1, len(files)), 2)
    swapped = list(files)
    swapped[one], swapped[other] = (files[one][0], files[other][1]), (files[other][0], files[one][1])
    return packed(swapped)


def _value(chance: random.Random, files: Files) -> Files:
    """Change one value inside a file of JSON, so that it stays canonical JSON."""
    number = chance.choice([i for i, (name, raw) in enumerate(files) if name.endswith((".json", ".jsonl")) and raw])
    name, raw = files[number]
    lines = raw.splitlines(keepends=True) if name.endswith("l") else [raw]
    line = chance.randrange(len(lines))
    whole: Json = json.loads(lines[line])
    where = chance.choice(leaves(whole))
    holder: Json = whole
    for step in where[:-1]:
        holder = holder[step]  # type: ignore[index]  # the path was read from it
    holder[where[-1]] = changed(holder[where[-1]], chance)  # type: ignore[index]  # likewise
    lines[line] = canonical_json(whole) + (b"\n" if name.endswith("l") else b"")
    return [*files[:number], (name, b"".join(lines)), *files[number + 1 :]]


def edit_a_value(chance: random.Random, files: Files) -> bytes:
    return packed(_value(chance, files))


def edit_a_value_and_the_manifest(chance: random.Random, files: Files) -> bytes:
    return packed(resigned([files[0], *_value(chance, files[1:])], InstallationKey(b"f" * 32)))


@pytest.mark.parametrize(
    "edit",
    [
        flip_a_bit, cut_or_append, take_one_out, put_one_in, put_one_in_and_list_it, swap_two, edit_a_value,
        edit_a_value_and_the_manifest,
    ],
)  # fmt: skip
def test_every_random_edit_is_caught(edit: Edit, files: Files, tmp_path: Path) -> None:
    good = packed(files)
    for seed in range(EDITS // 8):
        raw = edit(random.Random(seed), files)  # noqa: S311  # a seed, so that a failure can be repeated
        found = verified(tmp_path, raw)
        assert not found.ok, (edit.__name__, seed)
        assert not any("\n" in problem for problem in found.problems)
    assert verified(tmp_path, good).ok


# ---- who has no key, and writes all of it anew


def _edited(files: Files, name: str, old: bytes, new: bytes) -> Files:
    assert old in dict(files)[name]
    return [(one, raw.replace(old, new, 1) if one == name else raw) for one, raw in files]


FORGED: dict[str, tuple[Callable[[Files], Files], str]] = {
    "an event": (
        lambda files: _edited(files, "events.jsonl", b"checkout", b"payments"), "event 1 does not have its digest"
    ),
    "the projection": (
        lambda files: _edited(files, "projection.json", b"concluded", b"noise"), "projection.json is not what"
    ),
    "the report": (lambda files: _edited(files, "report/report.md", b"checkout", b"payments"), "report: report.md"),
    "the members": (lambda files: _edited(files, "intake.json", b"checkout", b"payments"), "not the report of this"),
    "no report": (lambda files: [one for one in files if not one[0].startswith("report/")], "report: missing"),
    "no projection": (lambda files: [one for one in files if one[0] != "projection.json"], "projection.json is not"),
    "no receipts": (lambda files: [(n, b"" if n == "effects.jsonl" else raw) for n, raw in files], "the receipt of"),
    "a content more": (lambda files: [*files, ("content/" + _HEX, b"{}")], "belongs to nothing that is recorded"),
}  # fmt: skip
_HEX = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@pytest.mark.parametrize("what", FORGED)
def test_what_is_written_anew_without_the_key_must_still_add_up(what: str, files: Files, tmp_path: Path) -> None:
    forge, told = FORGED[what]
    found = verified(tmp_path, packed(resigned(forge(files))), None)

    assert (found.ok, any(told in problem for problem in found.problems)) == (False, True), found.problems


@pytest.mark.parametrize("about", [{"investigation_id": "inv-2"}, {"workspace": "rival"}, {"terminal_digest": None}])
def test_a_manifest_of_another_investigation_is_told(about: Mapping[str, object], files: Files, tmp_path: Path) -> None:
    found = verified(tmp_path, packed(resigned(files, KEY, **about)))

    assert any(next(iter(about)) in problem for problem in found.problems), found.problems


def test_a_content_that_the_journal_needs_cannot_be_called_missing(files: Files, tmp_path: Path) -> None:
    gone = next(name for name, _ in files if name.startswith("content/"))
    left = resigned([one for one in files if one[0] != gone], KEY, missing=("sha256:" + gone[8:],))

    assert not verified(tmp_path, packed(left)).ok


def test_a_bundle_without_its_journal_is_refused(files: Files, tmp_path: Path) -> None:
    left = resigned([one for one in files if one[0] != "events.jsonl"], KEY)

    assert verified(tmp_path, packed(left)).problems == ("events.jsonl: missing",)


def rechained(chance: random.Random, files: Files) -> Files:
    """Change a value of the journal, and every digest after it, as somebody without the key could."""
    held = dict(files)
    events = [json.loads(line) for line in held["events.jsonl"].splitlines()]
    body = chance.choice(events)["body"]
    where = chance.choice(leaves(body))
    holder: Any = body
    for step in where[:-1]:
        holder = holder[step]
    holder[where[-1]] = changed(holder[where[-1]], chance)
    prev = GENESIS
    for event in events:
        event["prev_digest"] = prev
        prev = event["body_digest"] = chain_digest(prev, canonical_json(event["body"]))
    held["events.jsonl"] = b"".join(canonical_json(event) + b"\n" for event in events)
    return resigned([files[0], *sorted((name, raw) for name, raw in held.items() if name != files[0][0])])


def test_a_journal_that_was_changed_and_chained_anew_raises_nothing_and_lacks_the_signature(
    files: Files, tmp_path: Path
) -> None:
    adds_up = 0
    for seed in range(RECHAINED):
        raw = packed(rechained(random.Random(seed), files))  # noqa: S311  # likewise
        without_key, with_key = verified(tmp_path, raw, None), verified(tmp_path, raw)
        adds_up += without_key.ok  # what no projection holds, such as the name of a release
        assert without_key.ok == (not without_key.problems)
        assert not with_key.ok, seed
        assert not any("\n" in problem for problem in (*without_key.problems, *with_key.problems))
    assert adds_up < RECHAINED / 4


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadBundle, match="cannot be read"), open_bundle(tmp_path):
        pass


def test_replay_names_the_first_difference(files: Files, tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar"
    path.write_bytes(packed(resigned(_edited(files, "projection.json", b"concluded", b"noise"))))
    with open_bundle(path) as bundle, pytest.raises(ReplayMismatch, match=r"projection\.json"):
        replay_bundle(bundle)
