"""Questions to the owners about a release, and their signed answers, which are recorded with the release."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from typing import Annotated, Final, Self

import numpy as np
from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from pcevolve.errors import ProtocolError
from pcevolve.public.calls import Call
from pcevolve.public.clinics.grid import Residues
from pcevolve.public.clinics.owners import MOST_OWNERS, Clinics
from pcevolve.public.loop.lineage import Lineage
from pcevolve.public.release import Candidate
from pcevolve.public.settings import MOST_ITERATIONS, Digest
from pcevolve.public.transcript.records import Received

MOST_PARTS: Final = 8
MOST_VECTOR_BYTES: Final = 2**24
"""Largest number of bytes of an owner's answer. The longest answers have votes for some hundred thousand candidates."""
_PURPOSE: Final = b"pcevolve clinics answer 1"


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Question(_Message):
    """One access to the private data of all owners.

    Attributes:
        plan: Digest of the plan.
        iteration: The release's iteration.
        part: Number of the access within the release, from 0.
        head: Digest of the record so far: the candidates, and all earlier releases.
        earlier: Digest of the questions and answers for the earlier parts of the release.
        step: Step of the grid to which sums are rounded, a power of two. The step is sent because owners' machines
            may round its inputs differently. At any step, the noise is as wide as the rounding requires.
        frame: Centre and axes in which means are measured, as rounded by the coordinator's machine (safetensors).
            Empty if no means are measured.
    """

    plan: Digest
    iteration: Annotated[int, Field(ge=0, le=MOST_ITERATIONS + 1)]
    part: Annotated[int, Field(ge=0, lt=MOST_PARTS)]
    head: Digest
    earlier: Digest
    step: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    frame: Base64Bytes = b""

    @model_validator(mode="after")
    def _has_a_power_of_two(self) -> Self:
        if math.frexp(self.step)[0] != 0.5:
            raise ValueError("step: it is no power of two")
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the question, hex."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class SignedAnswer(_Message):
    """An owner's noisy and masked sum, which reveals nothing without the answers of the other owners.

    Attributes:
        owner: The owner's position in the plan, from 0.
        vector: Integers modulo 2^64, eight bytes each, little-endian.
        signature: The owner's signature of the answer.
    """

    owner: Annotated[int, Field(ge=0, lt=MOST_OWNERS)]
    vector: Annotated[Base64Bytes, Field(max_length=MOST_VECTOR_BYTES)]
    signature: Annotated[Base64Bytes, Field(max_length=64)]

    @classmethod
    def of(cls, owner: int, vector: bytes, signature: bytes) -> Self:
        """Make an answer from its parts."""
        return cls(owner=owner, vector=base64.b64encode(vector), signature=base64.b64encode(signature))

    @property
    def residues(self) -> Residues:
        """The vector, uint64 ``(d,)`` (``ProtocolError`` if the bytes are not a vector)."""
        if not self.vector or len(self.vector) % 8:
            raise ProtocolError("an owner's answer is not a vector")
        return np.frombuffer(self.vector, dtype="<u8").astype(np.uint64)

    def is_signed(self, question: Question, clinics: Clinics) -> bool:
        """Return True if the owner named in the answer has signed exactly this answer to this question."""
        return clinics.has_signed(
            self.owner, state_answer(question.digest, self.owner, self.vector), self.signature
        )


class Exchange(_Message):
    """A question, and the answers of all owners in their order."""

    question: Question
    answers: Annotated[tuple[SignedAnswer, ...], Field(max_length=MOST_OWNERS)]

    def read(self, clinics: Clinics) -> list[Residues]:
        """Return the vectors of all owners, in their order.

        Raises:
            ProtocolError: An answer is missing, repeated, or not signed by its owner for this question.
        """
        if [each.owner for each in self.answers] != [*range(len(clinics.owners))]:
            raise ProtocolError("the answers are not those of each owner, once and in order")
        for each, owner in zip(self.answers, clinics.owners, strict=True):
            if not each.is_signed(self.question, clinics):
                raise ProtocolError(
                    f"owner {owner.name!a} has not signed this answer to this question: its key is not the roster's, "
                    "it was asked something else, or its answer was changed"
                )
        return [each.residues for each in self.answers]


Exchanges = Annotated[tuple[Exchange, ...], Field(max_length=MOST_PARTS)]
"""The exchanges of one release so far, in the order of its accesses."""
_EXCHANGES: TypeAdapter[tuple[Exchange, ...]] = TypeAdapter(Exchanges)


def state_answer(question: str, owner: int, vector: bytes) -> bytes:
    """Return the bytes that an owner signs."""
    return b"/".join(
        (_PURPOSE, question.encode(), str(owner).encode(), hashlib.sha256(vector).hexdigest().encode())
    )


def encode_exchanges(exchanges: Sequence[Exchange]) -> bytes:
    """Return a release's exchanges in their stored form, which is unique."""
    return _EXCHANGES.dump_json(tuple(exchanges))


def decode_exchanges(data: bytes) -> tuple[Exchange, ...]:
    """Read stored exchanges (``ProtocolError`` for any other form)."""
    try:
        found = _EXCHANGES.validate_json(data)
    except ValidationError:
        found = ()
    if encode_exchanges(found) != data:
        raise ProtocolError("what is stored are no answers of owners")
    return found


def digest_exchanges(exchanges: Sequence[Exchange]) -> str:
    """Return the SHA-256 of a release's exchanges, hex."""
    return hashlib.sha256(encode_exchanges(exchanges)).hexdigest()


def note_received(lineage: Lineage, received: Received) -> tuple[Call, tuple[Candidate, ...]]:
    """Register the results of a call and give them the ids that they have in the run.

    Raises:
        ProtocolError: No call of the plan has these results.
    """
    call = lineage.plan.calls.get(received.slot)
    if call is None or received.slot in lineage.answers or len(received.outputs) != call.count:
        raise ProtocolError("the coordinator's record has an answer that the plan does not ask for")
    source = lineage.source(call)
    parent = None if source is None else source.candidate.id
    made = tuple(
        Candidate(call.output(place), call.label, call.iteration, parent, digest)
        for place, digest in enumerate(received.outputs)
    )
    lineage.note(call, made)
    return call, made
