"""The messages between the keeper of the private data and the runner, who has the network.

The runner asks and the keeper answers. Every message is bounded, and says nothing of the private data but what the
provider learns as well: the public plan, receipts, and what was measured and paid for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Final, Protocol

from pydantic import Base64Bytes, BaseModel, ConfigDict, Field

from pcevolve.public.assessed import AssessedFigures
from pcevolve.public.modality import Advice, ModelSize
from pcevolve.public.parts import Exact, Library
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Receipt
from pcevolve.public.settings import Digest

MOST_OUTPUTS: Final = 4096
"""Of one call."""
Iteration = Annotated[int, Field(ge=0, le=10_000)]
Reason = Annotated[str, Field(max_length=1000)]
RunId = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class Message(BaseModel):
    """A line of the conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Prepare(Message):
    """Compare the ledger with the record, make sure that all of the plan can be paid for, embed private images."""

    run_id: RunId


class Prepared(Message):
    """The run can be paid for; why ``auto`` chose its method and its encoder, by public sizes alone."""

    method_reason: Reason = ""
    encoder_reason: Reason = ""


class Settle(Message):
    """What the API says of itself and its model; the only facts of a plan that do not come from the owner's options.

    Attributes:
        takes_strength: Whether the model takes a degree of variation, as far as its dialect has one.
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
    """What this run was paid for so far, oldest first."""

    receipts: tuple[Receipt, ...] = ()


class Compare(Message):
    """Tell the owner if the first images of each class, which lie in the record, cannot be told apart."""

    classes: Annotated[
        tuple[Annotated[tuple[Digest, ...], Field(max_length=MOST_OUTPUTS)], ...],
        Field(max_length=MOST_OUTPUTS),
    ]


class Compared(Message):
    """They were compared; the owner alone is told."""


class Made(Message):
    """A call brought these outputs, which lie in the record; there is no answer."""

    slot: Annotated[str, Field(max_length=200)]
    digests: Annotated[tuple[Digest, ...], Field(max_length=MOST_OUTPUTS)]


class Show(Message):
    """Do the public part of the work for a release: anybody may see how long it takes."""

    iteration: Iteration


class Shown(Message):
    """It is done."""


class Release(Message):
    """Choose and pay; ``head`` stands for all that is on record."""

    iteration: Iteration
    head: Digest


class Released(Message):
    """A paid-for release, and what it measured, as safetensors."""

    receipt: Receipt
    measurement: Base64Bytes = b""


class Assess(Message):
    """Compare the dataset with what was released."""


class Assessed(Message):
    """A few numbers, which an audit recomputes; or none."""

    assessment: AssessedFigures | None = None


class Finish(Message):
    """The run is over; its public figures are kept with the owner's."""

    figures: Mapping[str, Any]


class Done(Message):
    """The figures are kept."""


class Close(Message):
    """The runner has nothing more to ask."""


class Refused(Message):
    """Nothing is answered any more: a kind of error and an exit code. Why is told to the owner by the keeper itself."""

    kind: str
    code: int


ASKED: Final[Mapping[str, type[Message]]] = {
    each.__name__.lower(): each
    for each in (Prepare, Settle, Begin, Compare, Made, Show, Release, Assess, Finish, Close)
}
"""What a runner may say, by name."""


def digest_plan(plan: PublicPlan) -> str:
    """SHA-256 by which both sides name a plan, hex."""
    return hashlib.sha256(plan.model_dump_json().encode()).hexdigest()


class PrivateSide(Protocol):
    """The keeper as its runner sees it; every method may raise what the owner is told instead of an answer."""

    def prepare(self, asked: Prepare) -> Prepared:
        """See ``Prepare``."""
        ...

    def settle(self, said: Settle) -> Settled:
        """See ``Settle``."""
        ...

    def begin(self, asked: Begin) -> Begun:
        """See ``Begin``."""
        ...

    def compare(self, asked: Compare) -> Compared:
        """See ``Compare``."""
        ...

    def made(self, told: Made) -> None:
        """See ``Made``."""
        ...

    def show(self, asked: Show) -> Shown:
        """See ``Show``."""
        ...

    def release(self, asked: Release) -> Released:
        """See ``Release``."""
        ...

    def assess(self, asked: Assess) -> Assessed:
        """See ``Assess``."""
        ...

    def finish(self, told: Finish) -> Done:
        """See ``Finish``."""
        ...

    def close(self, asked: Close) -> None:
        """See ``Close``."""
        ...
