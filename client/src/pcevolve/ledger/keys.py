"""The secret beside a ledger: it makes fingerprints meaningless to others and edited rows recognisable."""

from __future__ import annotations

import hmac
import secrets
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pcevolve.durable import write_durably
from pcevolve.errors import LedgerError

SIZE = 32


@dataclass(frozen=True, repr=False)
class Key:
    """A ledger's secret: what it makes of a value cannot be made, nor traced back to the value, without it."""

    secret: bytes

    def __repr__(self) -> str:
        """Nothing about the secret."""
        return "Key"

    @classmethod
    def new(cls) -> Self:
        """A key that nobody has, from the operating system's CSPRNG."""
        return cls(secrets.token_bytes(SIZE))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a key file.

        Raises:
            LedgerError: It is not there, or not a whole key.
        """
        if not path.exists():
            raise LedgerError(f"{path} is missing: without it the ledger cannot recognise data; restore it")
        secret = path.read_bytes()
        if len(secret) != SIZE:
            raise LedgerError(f"{path} is damaged: restore it from a backup")
        return cls(secret)

    def save(self, path: Path) -> None:
        """Write the key, for the owner alone, down to the disk."""
        write_durably(path, self.secret, 0o600)

    def fingerprint(self, digest: bytes) -> bytes:
        """Return the ledger's fingerprint of an image: 32 bytes, the same for the same image."""
        return self._mac(b"fingerprint", (digest,))

    def name_fingerprint(self, kind: str, name: str) -> bytes:
        """Return the ledger's fingerprint of a unit's name: 32 bytes, the same for the same name of the same kind.

        Blanks around the words, the case of the kind, and the ways in which Unicode spells one letter do not count.
        """
        spelled = _compose(_compose(kind).casefold()), _compose(name)
        return self._mac(b"name", tuple(each.encode() for each in spelled))

    def seal(self, *parts: bytes) -> bytes:
        """32 bytes that only this key makes of these parts, in this order."""
        return self._mac(b"seal", parts)

    def _mac(self, purpose: bytes, parts: tuple[bytes, ...]) -> bytes:
        framed = b"".join(len(part).to_bytes(8, "big") + part for part in (purpose, *parts))
        return hmac.digest(self.secret, framed, "sha256")


def _compose(text: str) -> str:
    """One spelling of a text for all that look alike to Unicode's canonical equivalence."""
    return unicodedata.normalize("NFC", text).strip()
