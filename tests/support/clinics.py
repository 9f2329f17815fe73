"""Owners for tests: the same keys for the same number."""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from pcevolve.keeper.clinics.keys import OwnerKey
from pcevolve.public.clinics.owners import ClinicOwner, Clinics


def make_key(number: int) -> OwnerKey:
    halves = [hashlib.sha256(f"{kind} {number}".encode()).digest() for kind in ("signing", "agreement")]
    return OwnerKey(
        Ed25519PrivateKey.from_private_bytes(halves[0]), X25519PrivateKey.from_private_bytes(halves[1])
    )


def make_clinics(owners: int, colluding: int = 1, holders: int = 1, shots: int = 10) -> Clinics:
    named = (
        ClinicOwner(name=f"Clinic {number}", shots=shots, key=make_key(number).public)
        for number in range(1, owners + 1)
    )
    return Clinics(owners=tuple(named), colluding=colluding, holders=holders)


def write_roster(path: Path, clinics: Clinics, classes: list[str]) -> Path:
    """A roster file of some owners."""
    lines = [
        f"classes = {classes!r}",
        f"colluding = {clinics.colluding}",
        f"holders = {clinics.holders}",
    ]
    for each in clinics.owners:
        lines += ["[[owner]]", f'name = "{each.name}"', f"shots = {each.shots}", f'key = "{each.key}"']
    path.write_text("\n".join(lines) + "\n")
    return path
