"""Messages between an owner's front and the coordinator's door over the network."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field

from pcevolve.public.clinics.answers import Exchanges, Question, SignedAnswer
from pcevolve.public.clinics.owners import MOST_OWNERS
from pcevolve.public.parts import Line
from pcevolve.public.settings import Digest

SYNC: Final = "/v1/sync"
BODIES: Final = "/v1/bodies/"
MOST_BYTES: Final = 2**26
"""Largest number of bytes of a message."""
WAIT_SECONDS: Final = 10.0
"""Seconds that a door waits for news before it answers without news."""
Refusal = Literal[
    "DataError", "BudgetError", "LedgerError", "ModelError", "ProtocolError", "UsageError", "DeclinedError",
    "TranscriptError", "ClientError",
]  # fmt: skip
REFUSALS: Final[dict[Refusal, str]] = {
    "DataError": "cannot use its data for this plan: one is unreadable, or classes, units or their number are not the "
    "roster's",
    "BudgetError": "has not enough privacy budget left for this plan",
    "LedgerError": "has a ledger that does not allow this run, or whose account of it differs",
    "ModelError": "has not the encoder that the plan names: compare versions and weights",
    "ProtocolError": "found that plan, record or question are not what was agreed on: compare rosters and versions",
    "UsageError": "cannot take part as it was called",
    "DeclinedError": "does not agree to the plan",
    "TranscriptError": "has a copy of the record that is damaged",
    "ClientError": "cannot go on",
}
"""The text that a coordinator shows for each kind of an owner's refusal. The reason itself stays with the owner."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Sync(_Message):
    """An owner's message.

    Attributes:
        version: The owner's version of the client.
        roster: Digest of the owners in the owner's roster.
        owner: The owner's position, from 0.
        token: The owner's signature for this roster (see ``messages.state_presence``).
        lines: The number of lines of the record that the owner has.
        head: Digest of the last of these lines.
        agreement: The owner's signature of the plan. None before a person agreed.
        question: Digest of the question that ``answer`` answers.
        answer: The owner's answer.
        refusal: Kind of the reason why the owner stops.
    """

    version: Annotated[Line, Field(max_length=40)]
    roster: Digest
    owner: Annotated[int, Field(ge=0, lt=MOST_OWNERS)]
    token: Annotated[Base64Bytes, Field(max_length=64)]
    lines: Annotated[int, Field(ge=0)] = 0
    head: Digest
    agreement: Annotated[Base64Bytes, Field(max_length=64)] | None = None
    question: Digest | None = None
    answer: SignedAnswer | None = None
    refusal: Refusal | None = None


class News(_Message):
    """The coordinator's reply.

    Attributes:
        lines: The lines of the record that the owner does not have yet.
        question: A question that this owner has not answered yet.
        before: Earlier exchanges of the same release.
        missing: Names of the owners for whom the run is waiting.
        figures: The run's figures, at its end.
    """

    lines: Base64Bytes = b""
    question: Question | None = None
    before: Exchanges = ()
    missing: Annotated[tuple[Line, ...], Field(max_length=MOST_OWNERS)] = ()
    figures: dict[str, Any] | None = None


class Denied(_Message):
    """The reason why a message was not accepted, in one line, as it is printed on an owner's terminal."""

    why: Line
