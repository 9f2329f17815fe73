"""What an owner's front and the coordinator's door say to each other over the network."""

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
"""Of a message."""
WAIT_SECONDS: Final = 10.0
"""That a door waits for news before it says that there are none."""
Refusal = Literal[
    "DataError", "BudgetError", "LedgerError", "ModelError", "ProtocolError", "UsageError", "DeclinedError",
    "TranscriptError", "ClientError",
]  # fmt: skip
REFUSALS: Final[dict[Refusal, str]] = {
    "DataError": "cannot use its data for this plan: classes, units or their number are not as the roster says",
    "BudgetError": "has not enough privacy budget left for this plan",
    "LedgerError": "has a ledger that does not allow this run, or that knows another story of it",
    "ModelError": "has not the encoder that the plan names: compare versions and weights",
    "ProtocolError": "found that plan, record or question are not what was agreed on: compare rosters and versions",
    "UsageError": "cannot take part as it was called",
    "DeclinedError": "does not agree to the plan",
    "TranscriptError": "has a copy of the record that is damaged",
    "ClientError": "cannot go on",
}
"""What a coordinator is told of an owner who refuses: the kind alone, for why is the owner's. In words."""


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Sync(_Message):
    """An owner's word.

    Attributes:
        token: Its signature for this roster; see ``messages.state_presence``.
        lines: Of the record that it has.
        head: Digest of the last of them.
        agreement: Its signature under the plan; none before its person agreed.
        question: Digest of the question that ``answer`` is to.
        refusal: Why it takes part no more.
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
    """The coordinator's word.

    Attributes:
        lines: What the record has beyond the owner's.
        question: What this owner has not answered yet.
        before: What came before it, of the same release.
        missing: Names of the owners who are waited for.
        figures: Of the run, once it is over.
    """

    lines: Base64Bytes = b""
    question: Question | None = None
    before: Exchanges = ()
    missing: Annotated[tuple[Line, ...], Field(max_length=MOST_OWNERS)] = ()
    figures: dict[str, Any] | None = None


class Denied(_Message):
    """Why somebody was not let in, in a sentence; a coordinator's words reach an owner's terminal, so in one line."""

    why: Line
