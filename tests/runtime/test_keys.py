"""The installation key is made once, kept private, and never shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from inquest.errors import ConfigurationError
from inquest.runtime.clock import RandomIds
from inquest.runtime.keys import InstallationKey, load, load_or_make

if TYPE_CHECKING:
    from pathlib import Path


def test_two_processes_that_make_the_key_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(load_or_make, [tmp_path / "new" / "key"] * 32))

    assert len(keys) == 1
    assert (tmp_path / "new" / "key").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["key"]


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [("ab" * 32, 0o644, "chmod 600"), ("ab" * 31, 0o600, "64 hex digits"), ("zz" * 32, 0o600, "64 hex digits")],
)
def test_a_bad_key_file_is_refused_with_the_way_out(tmp_path: Path, text: str, mode: int, told: str) -> None:
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(mode)

    with pytest.raises(ConfigurationError, match=told) as refused:
        load(path)
    assert text not in str(refused.value)


def test_a_signature_is_checked_with_the_public_key() -> None:
    key = InstallationKey(b"s" * 32)
    signature = key.sign(b"digest")

    public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature.public_key))
    public.verify(bytes.fromhex(signature.signature), b"digest")


def test_derived_keys_differ_by_purpose_and_boundaries_by_investigation() -> None:
    key = InstallationKey(b"s" * 32)

    assert key.derive("cursor") != key.derive("boundary")
    assert key.boundary("a") != key.boundary("b")
    assert key.boundary("a") == InstallationKey(b"s" * 32).boundary("a")
    assert "ssss" not in repr(key)
    assert repr(b"s" * 32) not in repr(key)


def test_ids_are_32_hex_digits_of_version_7_in_order_of_time() -> None:
    made = [RandomIds().new() for _ in range(1000)]

    assert len(set(made)) == 1000
    assert all(len(one) == 32 and one[12] == "7" and one[16] in "89ab" for one in made)
    assert [one[:12] for one in made] == sorted(one[:12] for one in made)


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_seed_that_could_not_sign_at_the_end_is_refused_at_the_beginning(size: int) -> None:
    with pytest.raises(ConfigurationError, match=f"32 bytes, not {size}"):
        InstallationKey(bytes(size))
