"""What a body may cost, however it is compressed."""

from __future__ import annotations

import contextlib
import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.entrypoints.http import bodies
from inquest.entrypoints.http.bodies import Buffers, BuffersFull, content_encoding, inflate
from inquest.errors import BadBody, BodyTooLarge, UnknownEncoding

MIB = 1024 * 1024


def bomb(of_mib: int, wbits: int) -> bytes:
    deflater = zlib.compressobj(9, wbits=wbits)
    return b"".join(deflater.compress(bytes(MIB)) for _ in range(of_mib)) + deflater.flush()


@pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15), ("deflate", -15)])
def test_bl_074_a_bomb_is_413_and_takes_bounded_memory(encoding: str, wbits: int) -> None:
    raw = bomb(256, wbits)
    assert len(raw) < MIB
    tracemalloc.start()
    with pytest.raises(BodyTooLarge):
        inflate(raw, encoding, bodies.MAX_BODY_BYTES)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * MIB


def test_a_body_of_exactly_the_cap_passes() -> None:
    raw = gzip.compress(bytes(bodies.MAX_BODY_BYTES))
    assert len(inflate(raw, "gzip", bodies.MAX_BODY_BYTES)) == bodies.MAX_BODY_BYTES


def test_a_stream_of_empty_members_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "INFLATE_TIMEOUT_S", 0.0)
    with pytest.raises(BadBody, match="too long"):
        inflate(gzip.compress(b"") * 10_000, "gzip", MIB)


@given(st.binary(max_size=3000), st.sampled_from(["gzip", "deflate"]))
def test_what_is_compressed_is_inflated(body: bytes, encoding: str) -> None:
    raw = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    assert inflate(raw, encoding, 3000) == body


@given(st.binary(max_size=500), st.sampled_from(["gzip", "deflate"]))
def test_any_bytes_are_inflated_or_refused(raw: bytes, encoding: str) -> None:
    with contextlib.suppress(BadBody):
        assert len(inflate(raw, encoding, 1000)) <= 1000


@given(st.binary(min_size=1, max_size=500), st.sampled_from(["gzip", "deflate"]), st.integers(1, 8))
def test_a_stream_that_is_cut_off_is_refused(body: bytes, encoding: str, missing: int) -> None:
    raw = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    with pytest.raises(BadBody, match="cut off"):
        inflate(raw[:-missing], encoding, 1000)


@pytest.mark.parametrize(
    ("headers", "encoding"),
    [
        ((), ""),
        (("identity",), ""),
        (("",), ""),
        (("gzip",), "gzip"),
        ((" GZip ",), "gzip"),
        (("identity, deflate",), "deflate"),
    ],
)
def test_one_known_encoding_is_read(headers: tuple[str, ...], encoding: str) -> None:
    assert content_encoding(headers) == encoding


@pytest.mark.parametrize("headers", [("br",), ("zstd",), ("gzip, gzip",), ("gzip", "gzip"), ("gzip, br",), ("*",)])
def test_any_other_encoding_is_refused(headers: tuple[str, ...]) -> None:
    with pytest.raises(UnknownEncoding):
        content_encoding(headers)


def test_what_a_body_held_is_handed_back() -> None:
    buffers = Buffers(10)
    with buffers.share() as share:
        share.grow(6)
        with pytest.raises(BuffersFull), buffers.share() as other:
            other.grow(5)
        assert buffers.held == 6
    assert buffers.held == 0
