"""Masks between owners: each pair adds and subtracts the same numbers, which look random to all others."""

from __future__ import annotations

from typing import Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.public.clinics.grid import Residues
from pcevolve.public.clinics.owners import Clinics, split_key

_PURPOSE: Final = b"pcevolve clinics mask 1"
_NUMBER_BYTES: Final = 8


def make_mask(key: OwnerKey, clinics: Clinics, place: int, question: str, size: int) -> Residues:
    """Return one owner's mask for one question, uint64 ``(size,)``; the masks of all owners add up to 0.

    ``y_i = sum_{j>i} m_ij - sum_{j<i} m_ji`` modulo 2^64; ``m_ij`` is ChaCha20 keyed by the secret of i and
    j.

    Args:
        question: Digest of the question. For another question an owner has another mask, so that answers to
            two questions never cancel.
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
    # No nonce is needed: each key, which includes the question, is used for one stream.
    stream = Cipher(ChaCha20(key, b"\0" * 16), mode=None).encryptor()
    data = stream.update(b"\0" * (_NUMBER_BYTES * size)) + stream.finalize()
    return np.frombuffer(data, dtype="<u8").astype(np.uint64)
