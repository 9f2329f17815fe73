"""The messages between the keeper, which holds the private data, and the runner, which has the network.

The runner sends requests and the keeper answers. The size of every message is bounded. A message reveals no
more about the private data than the provider learns anyway: the public plan, receipts, and paid measurements.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Final, Protocol

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field

from pcevolve.public.modality import Advice, ModelSize
from pcevolve.public.parts import Exact, Library
from pcevolve.public.plan import PublicPlan
from pcevolve.public.publish.assessed import AssessedFigures
from pcevolve.public.release import Receipt
from pcevolve.public.settings import Digest

MOST_OUTPUTS: Final = 4096
"""Largest number of outputs of one call."""
Iteration = Annotated[int, Field(ge=0, le=10_000)]
Reason = Annotated[str, Field(max_length=1000)]
RunId = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Message(BaseModel):
    """One message between keeper and runner."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Prepare(Message):
    """Compare the ledger with the record, check that the whole plan can be paid for, and embed the private images."""

    run_id: RunId


class Prepared(Message):
    """The run can be paid for. The reasons explain why ``auto`` chose method and encoder, from public sizes alone."""

    method_reason: Reason = ""
    encoder_reason: Reason = ""


class Settle(Message):
    """Facts that the API states about itself and its model. All other facts of a plan come from the owner's options.

    Attributes:
        takes_strength: True if the model accepts a degree of variation, provided that its dialect has one.
        takes_several: True if one request may ask for several texts.
    """

    size: ModelSize | None = None
    library: Library | None = None
    advice: Advice | None = None
    takes_strength: bool = True
    exact: Exact | None = None
    takes_several: bool = True


class Settled(Message):
    """The public plan."""

    plan: PublicPlan


class Begin(Message):
    """The owner has agreed: enter the run in the ledger, if the digest is that of the keeper's plan."""

    plan: Digest


class Begun(Message):
    """The run's receipts so far, oldest first."""

    receipts: tuple[Receipt, ...] = ()


class Compare(Message):
    """Warn the owner if the recorded first images of the classes cannot be told apart."""

    classes: Annotated[
        tuple[Annotated[tuple[Digest, ...], Field(max_length=MOST_OUTPUTS)], ...],
        Field(max_length=MOST_OUTPUTS),
    ]


class Compared(Message):
    """The images were compared; only the owner learns the result."""


class Made(Message):
    """The outputs of a call, which are on record; this message has no reply."""

    slot: Annotated[str, Field(max_length=200)]
    digests: Annotated[tuple[Digest, ...], Field(max_length=MOST_OUTPUTS)]


class Show(Message):
    """Do the public part of the work for a release in advance. Its duration reveals nothing, so it is not padded."""

    iteration: Iteration


class Shown(Message):
    pass


class Release(Message):
    """Choose candidates and pay for the choice; ``head`` is a hash that commits to everything on record."""

    iteration: Iteration
    head: Digest


class Released(Message):
    """A paid release, with its measurement as safetensors."""

    receipt: Receipt
    measurement: Base64Bytes = b""


class Assess(Message):
    """Compare the dataset with the releases."""


class Assessed(Message):
    """The assessment, which an audit recomputes; None if there is none."""

    assessment: AssessedFigures | None = None


class Finish(Message):
    """The run is finished; store its public figures with the owner's."""

    figures: Mapping[str, Any]


class Done(Message):
    pass


class Close(Message):
    """The runner has no more messages to send."""


class Refused(Message):
    """The keeper stops answering, and names a kind of error and an exit code.

    The keeper itself prints the reason for the owner.
    """

    kind: str
    code: int


ASKED: Final[Mapping[str, type[Message]]] = {
    each.__name__.lower(): each
    for each in (Prepare, Settle, Begin, Compare, Made, Show, Release, Assess, Finish, Close)
}
"""The runner's messages, by name."""


def digest_plan(plan: PublicPlan) -> str:
    """Return the SHA-256, hex, by which keeper and runner identify a plan."""
    return hashlib.sha256(plan.model_dump_json().encode()).hexdigest()


class PrivateSide(Protocol):
    """The keeper's interface for its runner. Every method may raise the error that the owner was shown."""

    def prepare(self, asked: Prepare) -> Prepared: ...

    def settle(self, statement: Settle) -> Settled: ...

    def begin(self, asked: Begin) -> Begun: ...

    def compare(self, asked: Compare) -> Compared: ...

    def made(self, outputs: Made) -> None: ...

    def show(self, asked: Show) -> Shown: ...

    def release(self, asked: Release) -> Released: ...

    def assess(self, asked: Assess) -> Assessed: ...

    def finish(self, result: Finish) -> Done: ...

    def close(self, asked: Close) -> None: ...
