"""The types that may leave the client. Code that talks to a provider accepts these and nothing else."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from .errors import EgressError
from .plan import Call, ExactEpsilon, PublicPlan, Relation


@dataclass(frozen=True)
class PublicPrompt:
    """A text prompt made of public words only."""

    text: str
    negative: str

    @classmethod
    def of(cls, plan: PublicPlan, label: str) -> Self:
        """The prompt that the public plan gives to a class."""
        return cls(plan.prompt(label), plan.negative_prompt)


@dataclass(frozen=True)
class Candidate:
    """An output of the provider, named when its bytes arrive and called by that name ever after.

    Attributes:
        id: Unique in the run: the slot and the place in the answer that brought it.
        label: Class it was asked for.
        iteration: Round that made it.
        parent: Id of the candidate that it varies; None for text-to-image.
        digest: SHA-256 of the received bytes, hex.
        media_type: What the bytes are.
    """

    id: str
    label: str
    iteration: int
    parent: str | None
    digest: str
    media_type: str

    @staticmethod
    def name(call: Call, index: int) -> str:
        """Id of the ``index``-th output of a call."""
        return f"i{call.iteration:03d}-{call.slot.split('/')[1]}-{call.first + index:05d}"

    @classmethod
    def received(cls, call: Call, index: int, parent: str | None, data: bytes, media_type: str) -> Self:
        """Name the ``index``-th output of a call."""
        return cls(
            id=cls.name(call, index),
            label=call.label,
            iteration=call.iteration,
            parent=parent,
            digest=hashlib.sha256(data).hexdigest(),
            media_type=media_type,
        )


@dataclass(frozen=True)
class Query:
    """One question to the private data: who of a class's candidates becomes a prototype.

    Attributes:
        run_id: The run that asks.
        iteration: Round for which the prototypes are chosen (1..T).
        label: Class.
    """

    run_id: str
    iteration: int
    label: str

    @property
    def key(self) -> str:
        """Unique name of the question within its run."""
        return f"{self.iteration:03d}/{self.label}"


@dataclass(frozen=True)
class Chosen:
    """A candidate that a paid release named."""

    id: str
    digest: str


@dataclass(frozen=True)
class Receipt:
    """Proof that a release was drawn and paid for in one committed transaction; public.

    Attributes:
        run_id: Run it belongs to.
        iteration: Round whose requests it allows.
        label: Class whose requests it allows.
        chosen: The prototypes, in the order in which the plan's calls use them.
        mechanism: Name of the mechanism that drew them.
        epsilon: Exact pure-DP cost as a fraction, ``"1/4"``.
        relation: Neighbour relation under which the cost holds.
    """

    run_id: str
    iteration: int
    label: str
    chosen: tuple[Chosen, ...]
    mechanism: str
    epsilon: ExactEpsilon
    relation: Relation

    @property
    def id(self) -> str:
        """Digest of the receipt's content."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()

    @property
    def cost(self) -> Fraction:
        """Exact pure-DP cost."""
        return Fraction(self.epsilon)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Undo ``as_dict``.

        Raises:
            KeyError, TypeError: The values are not those of a receipt.
        """
        chosen = tuple(Chosen(**each) for each in values["chosen"])
        return cls(**{**values, "chosen": chosen})


@dataclass(frozen=True)
class Prototype:
    """A candidate that the provider made and that a receipt allows to be sent back."""

    candidate: Candidate
    receipt: Receipt

    def __post_init__(self) -> None:
        """Refuse a candidate that the receipt does not name.

        Raises:
            EgressError: The receipt is for another candidate, class or round.
        """
        named = {(each.id, each.digest) for each in self.receipt.chosen}
        fits = self.receipt.label == self.candidate.label
        fits = fits and self.receipt.iteration == self.candidate.iteration + 1
        if not fits or (self.candidate.id, self.candidate.digest) not in named:
            raise EgressError(f"candidate {self.candidate.id} has no receipt for its class and iteration")
