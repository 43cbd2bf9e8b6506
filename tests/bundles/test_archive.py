"""The archive has one form: whatever else a tar could say is refused, in one line."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from io import BytesIO

import pytest

from inquest.bundles import archive
from inquest.bundles.archive import BLOCK, END, Member, header, members, padding
from inquest.errors import BadBundle
from tests.bundles.made import packed

HEX = "a" * 64
FILES = [("manifest.json", b"{}"), (f"content/{HEX}", b"x" * 700), ("events.jsonl", b"{}\n" * 171)]
GOOD = packed(FILES)


def read(raw: bytes) -> list[Member]:
    return list(members(BytesIO(raw), len(raw)))


def test_what_was_written_is_read() -> None:
    found = read(GOOD)

    assert [(one.name, GOOD[one.offset : one.offset + one.size]) for one in found] == FILES


def test_any_tar_reads_it() -> None:
    with tarfile.open(fileobj=BytesIO(GOOD)) as opened:
        assert [(one.name, one.mode, one.uid, one.mtime) for one in opened] == [
            (name, 0o600, 0, 0) for name, _ in FILES
        ]


def changed(**fields: object) -> bytes:
    """Write the second member with another header."""
    info = tarfile.TarInfo(f"content/{HEX}")
    info.size, info.mode = 700, archive.MODE
    for name, value in fields.items():
        setattr(info, name, value)
    odd = info.tobuf(tarfile.USTAR_FORMAT)
    at = 2 * BLOCK
    return GOOD[:at] + odd + GOOD[at + BLOCK :]


def named(name: str) -> bytes:
    return packed([FILES[0], (name, b"x")])


HOSTILE: dict[str, bytes] = {
    "a path out": named("../../etc/passwd"),
    "an absolute path": named("/etc/passwd"),
    "a path out inside": named(f"content/../{HEX}"),
    "a name of ours in a folder": named("report/../manifest.json"),
    "another name": named("notes.md"),
    "a short content": named("content/abc"),
    "an upper-case content": named(f"content/{'A' * 64}"),
    "a line end in a name": named("events.jsonl\n"),
    "a member twice": packed([*FILES, FILES[2]]),
    "the manifest twice": packed([FILES[0], *FILES]),
    "out of order": packed([FILES[0], FILES[2], FILES[1]]),
    "no manifest first": packed(FILES[1:]),
    "a symbolic link": changed(type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "a hard link": changed(type=tarfile.LNKTYPE, linkname="manifest.json"),
    "a device": changed(type=tarfile.CHRTYPE),
    "a folder": changed(type=tarfile.DIRTYPE),
    "a sparse file": changed(type=tarfile.GNUTYPE_SPARSE),
    "an extension": changed(type=tarfile.XHDTYPE),
    "a long name": changed(type=tarfile.GNUTYPE_LONGNAME),
    "an owner": changed(uid=1000, uname="root"),
    "a time": changed(mtime=1),
    "a mode": changed(mode=0o4755),
    "a size of 8 GiB": changed(size=8 * 1024**3 - 1),
    "a negative size": GOOD[: 2 * BLOCK] + b"\x00" * 124 + GOOD[2 * BLOCK + 124 :],
    "nothing": b"",
    "no end": GOOD[: -len(END)],
    "half an end": GOOD[:-BLOCK],
    "something behind the end": GOOD + b"x",
    "more zeros behind the end": GOOD + bytes(BLOCK),
    "cut in the middle": GOOD[: 2 * BLOCK + 600],
    "something in the padding": GOOD[: 2 * BLOCK - 1] + b"x" + GOOD[2 * BLOCK :],
    "a zip": b"PK\x03\x04" + bytes(2 * BLOCK),
    "gzip": b"\x1f\x8b" + bytes(2 * BLOCK),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_was_not_written_so_is_refused(what: str) -> None:
    with pytest.raises(BadBundle) as refused:
        read(HOSTILE[what])

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("bound", "least", "make"),
    [
        ("MAX_MEMBERS", 2, lambda: GOOD),
        ("MAX_BUNDLE_BYTES", len(GOOD) - 1, lambda: GOOD),
    ],
)
def test_bounds_hold(monkeypatch: pytest.MonkeyPatch, bound: str, least: int, make: Callable[[], bytes]) -> None:
    monkeypatch.setattr(archive, bound, least)
    with pytest.raises(BadBundle, match=r"larger than|more than"):
        read(make())

    monkeypatch.setattr(archive, bound, least + 1)
    assert len(read(make())) == 3


def test_a_header_that_promises_more_than_the_file_has_costs_nothing() -> None:
    huge = header("manifest.json", 8 * 1024**3 - 1) + END

    with pytest.raises(BadBundle, match="the file ends before it does"):
        read(huge)


def test_padding_fills_the_block() -> None:
    assert [len(padding(size)) for size in (0, 1, 511, 512, 513)] == [0, 511, 1, 0, 511]
