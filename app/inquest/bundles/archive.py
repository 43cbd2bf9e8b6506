"""The archive that carries a bundle: tar (POSIX.1-1988 ustar), in the one way in which we write it.

Each header is a function of name and size, so a reader can demand the very bytes that it would have written
itself. What another tar could say (a link, a device, an owner, a path that leads out, a member twice, an
extension, something after the end) then has no form here. Nothing is compressed: nothing can swell.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from inquest.errors import BadBundle

BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)
MAX_MEMBERS = 8_192
MAX_BUNDLE_BYTES = 2 * 1024**3
"""Of the whole file. An investigation has at most 60 answers of sources, of 16 MiB each."""
MODE = 0o600
NAME = re.compile(
    r"(?:manifest\.json|content/[0-9a-f]{64}|effects\.jsonl|events\.jsonl|intake\.json|projection\.json"
    r"|report/(?:manifest\.json|report\.(?:html|json|md)))\Z"
)
"""Every name that a bundle may hold: none can lead out of a folder."""
FIRST = "manifest.json"
_SHOWN_NAME_CHARS = 100


class Member(NamedTuple):
    """One file of the archive, and where its bytes begin."""

    name: str
    offset: int
    size: int


def header(name: str, size: int) -> bytes:
    """Write the header of a member: no time, no owner."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, MODE
    return info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def padding(size: int) -> bytes:
    """Give what fills the last block of `size` bytes."""
    return bytes(-size % BLOCK)


def begins_like_one(head: bytes) -> bool:
    """Say whether a file that begins with `head` is meant to be one of our archives."""
    return head.startswith(FIRST.encode() + b"\0")


def members(opened: BinaryIO, size: int) -> Iterator[Member]:
    """Give the members of an archive of `size` bytes, in order, without reading what they hold.

    Raises BadBundle, naming where, for anything that we would not have written.
    """
    if size > MAX_BUNDLE_BYTES:
        raise BadBundle(f"it is larger than {MAX_BUNDLE_BYTES} bytes")
    offset, before = 0, ""
    for _ in range(MAX_MEMBERS + 1):
        opened.seek(offset)
        block = opened.read(BLOCK)
        if block == END[:BLOCK]:
            _check_end(opened, offset)
            return
        member = _member(block, offset + BLOCK)
        if member.offset + member.size + len(padding(member.size)) > size:
            raise BadBundle(f"{member.name}: the file ends before it does")
        if not _follows(member.name, before):
            raise BadBundle(f"{member.name}: stands twice, or out of order")
        yield member
        before, offset = member.name, member.offset + member.size
        opened.seek(offset)
        if opened.read(-offset % BLOCK).strip(b"\0"):
            raise BadBundle(f"{member.name}: something is hidden behind it")
        offset += -offset % BLOCK
    raise BadBundle(f"it holds more than {MAX_MEMBERS} files")


def _member(block: bytes, offset: int) -> Member:
    """Read a header: the one that we write for its name and size, byte for byte."""
    try:
        info = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        same = NAME.match(info.name) is not None and header(info.name, info.size) == block
    except (tarfile.HeaderError, ValueError, OverflowError) as error:
        raise BadBundle(f"at byte {offset - BLOCK}: no file of a bundle begins here") from error
    if not same:
        raise BadBundle(f"{info.name[:_SHOWN_NAME_CHARS]!r}: no file of a bundle, or not as one is written")
    return Member(info.name, offset, info.size)


def _follows(name: str, before: str) -> bool:
    return name == FIRST if not before else name != FIRST and (before == FIRST or name > before)


def _check_end(opened: BinaryIO, offset: int) -> None:
    opened.seek(offset)
    if opened.read(len(END) + 1) != END:
        raise BadBundle("its end is not as it was written: cut off, or something follows")
