"""Values that pass from the private side to the public side: candidates by name, receipts, and permissions to send.

None of these types holds image bytes. The gate receives them, finds the bytes in its own record of the
provider's outputs, and builds every request itself.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, Self

from pcevolve.errors import EgressError
from pcevolve.public.calls import Call, name_start
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event, Relation

WITHHELD: Final = hashlib.sha256(b"").hexdigest()
"""Digest recorded for an output that the API's moderation withheld."""


@dataclass(frozen=True)
class Candidate:
    """An output of the provider, named once when its bytes arrive.

    Attributes:
        id: Unique in the run; consists of the call's slot and the output's index in the answer.
        label: Class that the output was requested for.
        iteration: Round that made it; 0 for text-to-image.
        parent: Id of the candidate that it varies; None for text-to-image.
        digest: SHA-256 of the received bytes, hex.
    """

    id: str
    label: str
    iteration: int
    parent: str | None
    digest: str

    @classmethod
    def received(cls, call: Call, index: int, parent: str | None, data: bytes) -> Self:
        """Name the ``index``-th output of a call."""
        return cls(
            id=call.output(index),
            label=call.label,
            iteration=call.iteration,
            parent=parent,
            digest=hashlib.sha256(data).hexdigest(),
        )


def list_start(plan: PublicPlan) -> dict[str, tuple[Candidate, ...]]:
    """List the images of the release that a run starts from as candidates, by class; empty for other runs."""
    if plan.start is None:
        return {}
    return {
        label: tuple(
            Candidate(name_start(place, number), label, -1, None, digest)
            for number, digest in enumerate(plan.start.images[place])
        )
        for place, label in enumerate(plan.labels)
    }


def count_rounds(plan: PublicPlan, released: Iterable[int]) -> int:
    """Count the rounds of variation that a run completed, from the iterations of its receipts."""
    return max((each for each in released if each <= plan.method.iterations), default=0)


@dataclass(frozen=True)
class Query:
    """One query to the private data, which selects the candidates of each class that become prototypes.

    Attributes:
        iteration: Round of the prototypes (1..T), T+1 for the choice of the dataset, or 0 for the private
            images' appearance.
    """

    run_id: str
    iteration: int

    @property
    def key(self) -> str:
        """Name of the query, unique within its run."""
        return f"{self.iteration:04d}"


@dataclass(frozen=True)
class Chosen:
    """A candidate that a paid release chose."""

    id: str
    digest: str


@dataclass(frozen=True)
class Choice:
    """The candidates that a release chose from one class, in the order in which the plan's calls use them."""

    label: str
    chosen: tuple[Chosen, ...]


@dataclass(frozen=True)
class Receipt:
    """Proof that a round's release was drawn and paid for in one committed transaction; public.

    Attributes:
        iteration: Round whose requests the receipt allows (1..T); T+1 for the choice of the dataset, 0 for the
            appearance.
        choices: The prototypes of each class, in the plan's order of classes.
        events: The release's events on the private data, from which accountants compute its cost.
        relation: Neighbour relation under which the events' parameters hold.
        values: Released numbers, noise included. In iteration 0 these are the private images' appearance. With class
            counts, the first round releases the number of units in each class. Under ``auto`` appearance, 1 means that
            candidates were nearer to the private images with the released appearance than without it. 0 means the
            opposite.
        measured: SHA-256, hex, of the paid measurement as safetensors, from which the choices follow. Empty if
            nothing was measured, or only ``values``.
    """

    run_id: str
    iteration: int
    choices: tuple[Choice, ...]
    events: tuple[Event, ...]
    relation: Relation
    values: tuple[float, ...] = ()
    measured: str = ""

    def of(self, label: str) -> tuple[Chosen, ...]:
        """Return the choice from a class; empty for an unknown class."""
        return next((each.chosen for each in self.choices if each.label == label), ())

    def names(self, label: str, item: Chosen) -> bool:
        """True if the receipt names a candidate as chosen from a class; in constant time."""
        return item in self._by_label.get(label, ())

    @cached_property
    def _by_label(self) -> dict[str, frozenset[Chosen]]:
        return {each.label: frozenset(each.chosen) for each in reversed(self.choices)}

    def is_among(self, released: Iterable[str]) -> bool:
        """True if the receipt chose any of these candidates of a dataset, given by id."""
        return not {one.id for each in self.choices for one in each.chosen}.isdisjoint(released)

    @property
    def id(self) -> str:
        """SHA-256 of the receipt's content, hex."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """The receipt as plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Build a receipt from the values of ``as_dict`` (``KeyError`` or ``TypeError`` for anything else)."""
        choices = tuple(
            Choice(each["label"], tuple(Chosen(**one) for one in each["chosen"]))
            for each in values["choices"]
        )
        events = tuple(Event(**each) for each in values["events"])
        return cls(**{**values, "choices": choices, "events": events, "values": tuple(values["values"])})


@dataclass(frozen=True)
class Prototype:
    """A candidate made by the provider, with the receipt that allows sending it back."""

    candidate: Candidate
    receipt: Receipt

    def __post_init__(self) -> None:
        """Refuse a candidate of a later round, or one not named by the receipt for its class (``EgressError``)."""
        chosen = Chosen(self.candidate.id, self.candidate.digest)
        named = self.receipt.names(self.candidate.label, chosen)
        if not named or self.receipt.iteration <= self.candidate.iteration:
            raise EgressError(f"candidate {self.candidate.id} has no receipt for its class and iteration")


@dataclass(frozen=True)
class PublicEcho:
    """A candidate that the public plan sends back whatever the private data are (lookahead, more samples)."""

    candidate: Candidate
