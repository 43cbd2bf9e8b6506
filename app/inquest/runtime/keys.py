"""The installation key: one seed from which signatures, cursor keys and boundaries come.

In embedded mode it is made on first use; with a shared database every worker gets the same file, and a
worker whose key differs from the one in the database refuses to start.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from inquest.domain.report import Signature
from inquest.errors import ConfigurationError, UnreadableFile
from inquest.files import read_file

SEED_BYTES = 32
MAX_KEY_FILE_BYTES = 1_024
_TOO_OPEN = 0o077


@dataclass(frozen=True)
class InstallationKey:
    """A 32-byte seed. Its repr never shows it."""

    seed: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse a seed that could not sign. Raises ConfigurationError."""
        if len(self.seed) != SEED_BYTES:
            msg = f"an installation key is made of {SEED_BYTES} bytes, not {len(self.seed)}"
            raise ConfigurationError(msg)

    def sign(self, message: bytes) -> Signature:
        """Sign `message` with Ed25519; both parts in hex."""
        key = Ed25519PrivateKey.from_private_bytes(self.seed)
        return Signature(public_key=self.public_key, signature=key.sign(message).hex())

    @property
    def public_key(self) -> str:
        """Give the Ed25519 public key in hex: what a reader pins to trust reports of this installation."""
        key = Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        return key.public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    @property
    def fingerprint(self) -> str:
        """Give 64 hex digits that name the key without being it."""
        return hashlib.sha256(bytes.fromhex(self.public_key)).hexdigest()

    def derive(self, purpose: str) -> bytes:
        """Give a 32-byte HMAC key for `purpose` ("cursor", "boundary", "correlation")."""
        return hmac.new(self.seed, purpose.encode(), hashlib.sha256).digest()

    def boundary(self, investigation_id: str) -> str:
        """Give the 16 hex digits that fence untrusted text in this investigation's prompts.

        Derived, so that a resumed worker writes the same request, and unknown to whoever writes the text.
        """
        return hmac.new(self.derive("boundary"), investigation_id.encode(), hashlib.sha256).hexdigest()[:16]


def load(path: Path) -> InstallationKey:
    """Read the key at `path`: 64 hex digits. Raises ConfigurationError naming the path and the way out."""
    try:
        mode = path.stat().st_mode
        text = read_file(path, most=MAX_KEY_FILE_BYTES).decode("ascii").strip()
    except (OSError, UnreadableFile, UnicodeDecodeError) as error:
        msg = f"INQUEST_KEY_FILE: {path} cannot be read; make one with: openssl rand -hex 32 > {path.name}"
        raise ConfigurationError(msg) from error
    if mode & _TOO_OPEN:
        msg = f"INQUEST_KEY_FILE: {path} is readable by others; chmod 600 it"
        raise ConfigurationError(msg)
    try:
        seed = bytes.fromhex(text)
    except ValueError:
        seed = b""
    if len(seed) != SEED_BYTES:
        msg = f"INQUEST_KEY_FILE: {path} holds no 64 hex digits; make one with: openssl rand -hex 32"
        raise ConfigurationError(msg)
    return InstallationKey(seed)


def load_or_make(path: Path) -> InstallationKey:
    """Read the key at `path`, or make one there (mode 0600). Safe when two processes do it at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        _place(path, secrets.token_bytes(SEED_BYTES).hex())
    return load(path)


def _place(path: Path, text: str) -> None:
    """Put `text` at `path` whole or not at all; the first of two racing processes wins."""
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(text + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        try:
            os.link(beside, path)
        except FileExistsError:
            return
    finally:
        Path(beside).unlink()
