"""Inflating an answer piece by piece, so that a small body that grows huge is cut at the cap."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Protocol

PIECE_BYTES = 65_536
"""The most that one step inflates to."""


class BrokenEncoding(Exception):
    """The body is not in the encoding that its header names."""


class Decoder(Protocol):
    """Turns the bytes of the wire into the bytes of the answer."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give the decoded bytes of `chunk` in pieces. Raises BrokenEncoding."""

    def finish(self) -> None:
        """Say that the body has ended. Raises BrokenEncoding when it ended too early."""


class Identity:
    """No encoding."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give `chunk` as it is."""
        yield chunk

    def finish(self) -> None:
        """Accept any end."""


class Gzip:
    """gzip (RFC 1952), bounded: each step gives at most PIECE_BYTES. Members may follow each other."""

    def __init__(self) -> None:
        self._inflate = _member()
        self._fed = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Give the inflated bytes of `chunk` in pieces."""
        rest = chunk
        try:
            while rest or (self._fed and not self._inflate.eof):
                if self._inflate.eof:
                    self._inflate = _member()
                piece = self._inflate.decompress(rest, PIECE_BYTES)
                self._fed = True
                rest = self._inflate.unused_data if self._inflate.eof else self._inflate.unconsumed_tail
                if piece:
                    yield piece
                elif not rest:
                    break
        except zlib.error as error:
            raise BrokenEncoding from error

    def finish(self) -> None:
        """Refuse a body that broke off; an empty one is empty."""
        if self._fed and not self._inflate.eof:
            raise BrokenEncoding


def _member() -> zlib._Decompress:
    return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)


def decoder_for(content_encoding: str) -> Decoder | None:
    """Give the decoder of a Content-Encoding header, None for one that was never asked for."""
    match content_encoding.strip().lower():
        case "" | "identity":
            return Identity()
        case "gzip" | "x-gzip":
            return Gzip()
        case _:
            return None
