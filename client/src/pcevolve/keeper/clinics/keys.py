"""An owner's private key: a file that only its owner can read, and the key's operations.

For each pair of owners, one adds a mask that the other subtracts. The mask looks random to everyone else.
"""

from __future__ import annotations

import base64
import binascii
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pcevolve.errors import UsageError
from pcevolve.public.clinics.grid import Residues
from pcevolve.public.clinics.owners import KEY_BYTES, Clinics, spell_key, split_key
from pcevolve.public.durable import write_durably

FORM: Final = "pcevolve-owner-private-1:"
_MOST_BYTES: Final = 1000


@dataclass(frozen=True, repr=False)
class OwnerKey:
    """Signs an owner's answers, and agrees on a secret with each of the other owners."""

    signing: Ed25519PrivateKey
    agreement: X25519PrivateKey

    def __repr__(self) -> str:
        return "OwnerKey"

    @classmethod
    def new(cls) -> Self:
        return cls(Ed25519PrivateKey.generate(), X25519PrivateKey.generate())

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a key file (``UsageError`` if it is invalid, or others can read it)."""
        try:
            mode, data = path.stat().st_mode, path.read_bytes()[:_MOST_BYTES]
        except OSError as error:
            raise UsageError(
                f"--key {path}: {error.strerror}; each owner makes one key with pcevolve clinics key"
            ) from None
        if stat.S_IMODE(mode) & 0o077:
            raise UsageError(f"--key {path}: other users can read this file: run chmod 600 {path}")
        try:
            # Parsing errors are not shown, because they might quote the key.
            halves = base64.b64decode(data.decode().strip().removeprefix(FORM), validate=True)
        except (binascii.Error, UnicodeDecodeError):
            halves = b""
        if not data.startswith(FORM.encode()) or len(halves) != 2 * KEY_BYTES:
            raise UsageError(
                f"--key {path}: this file is not an owner's private key: make one with pcevolve clinics key"
            )
        signing, agreement = halves[:KEY_BYTES], halves[KEY_BYTES:]
        return cls(
            Ed25519PrivateKey.from_private_bytes(signing), X25519PrivateKey.from_private_bytes(agreement)
        )

    def save(self, path: Path) -> None:
        """Write a key file readable by its owner alone (``UsageError`` if the file exists)."""
        if path.exists():
            raise UsageError(
                f"{path} already exists and was not overwritten. An owner keeps the same key as long as "
                "the roster is in use; for a new key, choose another file"
            )
        halves = self.signing.private_bytes_raw() + self.agreement.private_bytes_raw()
        write_durably(path, (FORM + base64.b64encode(halves).decode() + "\n").encode(), 0o600)

    @property
    def public(self) -> str:
        """The public key, as text for the roster."""
        parts = self.signing.public_key().public_bytes_raw(), self.agreement.public_key().public_bytes_raw()
        return spell_key(b"".join(parts))

    def agree(self, other: bytes) -> bytes:
        """Return the secret shared with the owner of an X25519 public key."""
        try:
            return self.agreement.exchange(X25519PublicKey.from_public_bytes(other))
        except ValueError:
            raise UsageError("the roster contains a key that cannot be used for key agreement") from None


_PURPOSE: Final = b"pcevolve clinics mask 1"
_NUMBER_BYTES: Final = 8


def make_mask(key: OwnerKey, clinics: Clinics, place: int, question: str, size: int) -> Residues:
    """Return one owner's mask for one question, uint64 ``(size,)``; the masks of all owners add up to 0.

    ``y_i = sum_{j>i} m_ij - sum_{j<i} m_ji`` modulo 2^64. ``m_ij`` is a ChaCha20 stream, keyed by the
    shared secret of owners i and j.

    Args:
        question: Digest of the question. Masks of different questions differ, so that subtracting an
            owner's answers to two questions does not cancel its mask.
    """
    total = np.zeros(size, dtype=np.uint64)
    for other, owner in enumerate(clinics.owners):
        if other != place:
            pair = min(place, other), max(place, other)
            shared = _expand(key.agree(split_key(owner.key)[1]), clinics, question, pair, size)
            total = total + shared if place < other else total - shared
    return total


def _expand(secret: bytes, clinics: Clinics, question: str, pair: tuple[int, int], size: int) -> Residues:
    info = b"/".join((_PURPOSE, clinics.digest.encode(), question.encode(), b"%d/%d" % pair))
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)
    # No nonce is needed: the key depends on the question, so each key is used for one stream.
    stream = Cipher(ChaCha20(key, b"\0" * 16), mode=None).encryptor()
    data = stream.update(b"\0" * (_NUMBER_BYTES * size)) + stream.finalize()
    return np.frombuffer(data, dtype="<u8").astype(np.uint64)
