"""The messages between the keeper of the private data and the runner, which has the network.

The runner asks and the keeper answers. Every message is bounded. About the private data it reveals only what
the provider learns as well: the public plan, receipts, and paid measurements.
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
"""Most outputs of one call."""
Iteration = Annotated[int, Field(ge=0, le=10_000)]
Reason = Annotated[str, Field(max_length=1000)]
RunId = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Message(BaseModel):
    """A line of the conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


class Prepare(Message):
    """Compare the ledger with the record, check that the whole plan can be paid for, and embed private images."""

    run_id: RunId


class Prepared(Message):
    """The run can be paid for. The reasons say why ``auto`` chose method and encoder, by public sizes alone."""

    method_reason: Reason = ""
    encoder_reason: Reason = ""


class Settle(Message):
    """Facts that the API states about itself and its model; all others of a plan come from the owner's options.

    Attributes:
        takes_strength: Whether the model takes a degree of variation, if its dialect has one.
        takes_several: Whether one request may ask for several texts.
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
    """The owner agrees: enter the run in the ledger, if this is the plan that the keeper made."""

    plan: Digest


class Begun(Message):
    """The receipts of this run so far, oldest first."""

    receipts: tuple[Receipt, ...] = ()


class Compare(Message):
    """Tell the owner if the recorded first images of the classes cannot be told apart."""

    classes: Annotated[
        tuple[Annotated[tuple[Digest, ...], Field(max_length=MOST_OUTPUTS)], ...],
        Field(max_length=MOST_OUTPUTS),
    ]


class Compared(Message):
    """The images were compared; only the owner learns the result."""


class Made(Message):
    """A call brought these outputs, which are on record; this message has no reply."""

    slot: Annotated[str, Field(max_length=200)]
    digests: Annotated[tuple[Digest, ...], Field(max_length=MOST_OUTPUTS)]


class Show(Message):
    """Do the public part of the work for a release, whose duration reveals nothing."""

    iteration: Iteration


class Shown(Message):
    pass


class Release(Message):
    """Choose and pay; ``head`` commits to everything on record."""

    iteration: Iteration
    head: Digest


class Released(Message):
    """A paid release, and its measurement as safetensors."""

    receipt: Receipt
    measurement: Base64Bytes = b""


class Assess(Message):
    """Compare the dataset with the releases."""


class Assessed(Message):
    """The assessment, which an audit recomputes; None without one."""

    assessment: AssessedFigures | None = None


class Finish(Message):
    """The run is over; its public figures are stored with the owner's."""

    figures: Mapping[str, Any]


class Done(Message):
    pass


class Close(Message):
    """The runner has no more requests."""


class Refused(Message):
    """The keeper stops answering, with a kind of error and an exit code.

    The keeper itself tells the owner the reason.
    """

    kind: str
    code: int


ASKED: Final[Mapping[str, type[Message]]] = {
    each.__name__.lower(): each
    for each in (Prepare, Settle, Begin, Compare, Made, Show, Release, Assess, Finish, Close)
}
"""A runner's messages, by name."""


def digest_plan(plan: PublicPlan) -> str:
    """Return the SHA-256, hex, by which both sides identify a plan."""
    return hashlib.sha256(plan.model_dump_json().encode()).hexdigest()


class PrivateSide(Protocol):
    """The keeper as its runner sees it; every method may raise the error that the owner is told."""

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
