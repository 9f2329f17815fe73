"""The owners whose sums make the releases of a run, as in its public plan."""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
from fractions import Fraction
from typing import Annotated, Final, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pcevolve.public.parts import Line
from pcevolve.public.privacy import Event

FORM: Final = "pcevolve-owner-1:"
"""Prefix of an owner's public key, so that no other kind of key is mistaken for it."""
KEY_BYTES: Final = 32
MOST_OWNERS: Final = 64
SUMS: Final = ("dp-means", "pe", "aug-pe")
"""Methods that release only sums over units with Gaussian noise."""


def _read_key(text: str) -> str:
    split_key(text)
    return text


PublicKey = Annotated[str, Field(max_length=200), AfterValidator(_read_key)]


def split_key(text: str) -> tuple[bytes, bytes]:
    """Return an owner's Ed25519 key, which checks signatures, and its X25519 key, with which masks are agreed.

    Raises:
        ValueError: The text is not a key of this form.
    """
    try:
        data = base64.b64decode(text.removeprefix(FORM), validate=True)
    except binascii.Error:
        data = b""
    if not text.startswith(FORM) or len(data) != 2 * KEY_BYTES or spell_key(data) != text:
        raise ValueError(f"is no owner's key: pcevolve clinics key prints one, which begins with {FORM}")
    return data[:KEY_BYTES], data[KEY_BYTES:]


def spell_key(data: bytes) -> str:
    """Return the text of an owner's public key, from both of its halves."""
    return FORM + base64.b64encode(data).decode()


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ClinicOwner(_Part):
    """One of the owners.

    Attributes:
        shots: Nominal number of privacy units of each class.
    """

    name: Annotated[Line, Field(min_length=1)]
    shots: Annotated[int, Field(ge=1, le=10**6)]
    key: PublicKey


class Clinics(_Part):
    """All owners of a run, in their order, and the collusion against which their noise protects.

    Attributes:
        colluding: t, the number of owners that may share their knowledge with coordinator and provider.
        holders: r, the largest number of owners that have data of the same privacy unit.
    """

    owners: Annotated[tuple[ClinicOwner, ...], Field(min_length=2, max_length=MOST_OWNERS)]
    colluding: Annotated[int, Field(ge=0)] = 1
    holders: Annotated[int, Field(ge=1)] = 1

    @model_validator(mode="after")
    def _are_several(self) -> Self:
        names = [each.name for each in self.owners]
        # Each half is compared separately: the same owner under two names would agree on masks with itself.
        halves = [half for each in self.owners for half in split_key(each.key)]
        if len({*names}) < len(names):
            raise ValueError("two owners have the same name: give each its own")
        if len({*halves}) < len(halves):
            raise ValueError("two owners have the same key: each makes its own with pcevolve clinics key")
        if self.colluding >= len(names):
            raise ValueError(f"colluding: of {len(names)} owners at most {len(names) - 1} can collude")
        if self.holders > len(names):
            raise ValueError(f"holders: there are {len(names)} owners, and no unit is with more")
        return self

    @property
    def honest(self) -> int:
        """N - t, the number of owners whose noise adds up to the noise of the release."""
        return len(self.owners) - self.colluding

    @property
    def noise_factor(self) -> float:
        """Standard deviation of a release's noise, divided by that of a single owner at the same price.

        The shares of N - t owners add up to the noise that is paid for, at ``r`` times the sensitivity. All N
        owners add their shares.
        """
        return self.holders * math.sqrt(len(self.owners) / self.honest)

    @property
    def shots(self) -> int:
        """Nominal number of privacy units of each class, of all owners together."""
        return sum(each.shots for each in self.owners)

    @property
    def digest(self) -> str:
        """SHA-256 of all fields, hex."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def has_signed(self, place: int, statement: bytes, signature: bytes) -> bool:
        """Return True if the owner at a position has signed a statement."""
        from cryptography.exceptions import InvalidSignature  # which a run of one owner does without
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        if place >= len(self.owners):
            return False
        try:
            Ed25519PublicKey.from_public_bytes(split_key(self.owners[place].key)[0]).verify(
                signature, statement
            )
        except InvalidSignature:
            return False
        return True

    def weaken(self, event: Event) -> Event:
        """Return a Gaussian access with the protection that one owner's unit still has if all other owners collude.

        Only the owner's own share of the noise then remains, of variance ``sigma^2 / (N - t)``. Of the unit, only
        the data at this owner are hidden. The sensitivity is that of one owner's sum. ``sigma`` was made for ``r``
        times this sensitivity.
        """
        if event.free:
            return event
        # Rounded down by more than the root's error, so that the resulting loss is never understated.
        left = Fraction(math.sqrt(Fraction(self.holders**2, self.honest)) * (1 - 2**-40))
        return Event(event.mechanism, str(event.value * left), event.count)
