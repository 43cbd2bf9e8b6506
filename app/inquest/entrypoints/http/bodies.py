"""Request bodies under ceilings: how many bytes, for how long, and how large when inflated."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager

from inquest.errors import BadBody, BodyTooLarge, UnknownEncoding
from inquest.wire.inflate import PIECE_BYTES, BrokenEncoding, Gzip

MAX_BODY_BYTES = 16 * 1024 * 1024
"""As sent, and again after inflation (design 6)."""
INFLATE_TIMEOUT_S = 5.0
"""A stream of empty gzip members grows nothing and would take seconds: it is given up."""
_FEED_BYTES = 16_384
"""Fed at once, so that the clock is looked at between."""

GZIP = frozenset({"gzip", "x-gzip"})
DEFLATE = "deflate"
IDENTITY = frozenset({"", "identity"})


class SlowBody(Exception):
    """The sender did not finish its body in time."""


class BuffersFull(Exception):
    """Bodies that are being read take all the memory they may."""


class Buffers:
    """The bytes of bodies that all requests of this process hold together."""

    def __init__(self, cap_bytes: int) -> None:
        self._cap = cap_bytes
        self.held = 0

    @contextmanager
    def share(self) -> Iterator[Share]:
        """Give a share, which is handed back at the end."""
        share = Share(self)
        try:
            yield share
        finally:
            self.held -= share.bytes

    def take(self, count: int) -> None:
        """Hold `count` more. Raises BuffersFull."""
        if self.held + count > self._cap:
            raise BuffersFull
        self.held += count


class Share:
    """What one request holds."""

    def __init__(self, of: Buffers) -> None:
        self._of = of
        self.bytes = 0

    def grow(self, count: int) -> None:
        """Hold `count` more. Raises BuffersFull."""
        self._of.take(count)
        self.bytes += count


async def read_body(
    chunks: AsyncIterator[bytes], share: Share, *, announced: int | None, cap: int, timeout_s: float
) -> bytes:
    """Read a whole body as it was sent.

    `announced` is its Content-Length, None for a chunked one. Raises BodyTooLarge over `cap` bytes, at once
    when that is announced; SlowBody when it is not there after `timeout_s`; BuffersFull.
    """
    if announced is not None and announced > cap:
        raise BodyTooLarge(cap)
    body = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            async for chunk in chunks:
                if len(body) + len(chunk) > cap:
                    raise BodyTooLarge(cap)
                share.grow(len(chunk))
                body += chunk
    except TimeoutError as error:
        raise SlowBody from error
    return bytes(body)


def content_encoding(headers: Sequence[str]) -> str:
    """Give the one encoding of a body, "" for none. Raises UnknownEncoding, for two on top of each other too.

    We take gzip and deflate: there is no zstd in our dependencies, and Alertmanager sends none of them.
    """
    named = [name for header in headers for name in (part.strip().lower() for part in header.split(",")) if name]
    match [name for name in named if name not in IDENTITY]:
        case []:
            return ""
        case [name] if name in GZIP or name == DEFLATE:
            return name
        case [_]:
            raise UnknownEncoding("the body's Content-Encoding is not one of gzip, deflate, identity")
        case _:
            raise UnknownEncoding("the body is encoded more than once")


def inflate(raw: bytes, encoding: str, cap: int) -> bytes:
    """Inflate `raw`. Blocks; holds at most `cap` bytes and a piece.

    Raises BodyTooLarge over `cap`, BadBody for a stream that is broken, cut off, or takes too long.
    """
    pieces = _gunzip(raw) if encoding in GZIP else _inflate(raw)
    body = bytearray()
    try:
        for piece in pieces:
            if len(body) + len(piece) > cap:
                raise BodyTooLarge(cap)
            body += piece
    except (BrokenEncoding, zlib.error) as error:
        raise BadBody(f"the body is not {encoding}, or is cut off") from error
    return bytes(body)


def _gunzip(raw: bytes) -> Iterator[bytes]:
    decoder = Gzip()
    until = time.monotonic() + INFLATE_TIMEOUT_S
    for at in range(0, len(raw), _FEED_BYTES):
        if time.monotonic() > until:
            raise BadBody("the body takes too long to inflate")
        yield from decoder.feed(raw[at : at + _FEED_BYTES])
    decoder.finish()


def _inflate(raw: bytes) -> Iterator[bytes]:
    """Inflate "deflate": zlib (RFC 1950), or the raw stream that some senders mean by it."""
    is_zlib = len(raw) >= 2 and raw[0] & 0x0F == zlib.DEFLATED and int.from_bytes(raw[:2]) % 31 == 0  # noqa: PLR2004
    decoder = zlib.decompressobj(zlib.MAX_WBITS if is_zlib else -zlib.MAX_WBITS)
    rest = raw
    while not decoder.eof:
        piece = decoder.decompress(rest, PIECE_BYTES)
        rest = decoder.unconsumed_tail
        if piece:
            yield piece
        elif not decoder.eof:
            raise BrokenEncoding
    if decoder.unused_data:
        raise BrokenEncoding
