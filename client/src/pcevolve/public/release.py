"""Values that cross from the private side to the public one: candidates by name, receipts, and reasons to send.

None of these types holds bytes. The gate takes them, looks the bytes up in its own record of the provider's
outputs, and builds every request itself.
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
"""Digest of an output that the API's moderation withheld."""


@dataclass(frozen=True)
class Candidate:
    """An output of the provider, named once when its bytes arrive.

    Attributes:
        id: Unique in the run: the slot and the place in the answer.
        label: Class that it was requested for.
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
    """List the images of the release that a run starts from, by class, as candidates; empty for other runs."""
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
    """Count the rounds of variation that a run made, possibly fewer than planned, from its receipts' iterations."""
    return max((each for each in released if each <= plan.method.iterations), default=0)


@dataclass(frozen=True)
class Query:
    """One query to the private data: which candidates of each class become prototypes.

    Attributes:
        iteration: Round of the prototypes (1..T), T+1 for the choice of the dataset, or 0 for the private
            images' appearance.
    """

    run_id: str
    iteration: int

    @property
    def key(self) -> str:
        """Unique name of the query within its run."""
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
        iteration: Round whose requests it allows (1..T); T+1 for the choice of the dataset, 0 for the
            appearance.
        choices: The prototypes, class by class, in the plan's order of classes.
        events: Its events on the private data; the accountants price them.
        relation: Neighbour relation under which the events' parameters hold.
        values: Released numbers, noise included. In iteration 0 the private images' appearance; in the first
            round with class counts the number of units in each class; under ``auto`` appearance whether
            candidates were nearer with it (1) or as they came (0).
        measured: SHA-256, hex, of the paid measurement as safetensors; the choices follow from it. Empty if
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
        """True if a candidate was chosen from a class; in constant time."""
        return item in self._by_label.get(label, ())

    @cached_property
    def _by_label(self) -> dict[str, frozenset[Chosen]]:
        return {each.label: frozenset(each.chosen) for each in reversed(self.choices)}

    def is_among(self, released: Iterable[str]) -> bool:
        """True if any of these ids of a dataset's candidates is one that it chose."""
        return not {one.id for each in self.choices for one in each.chosen}.isdisjoint(released)

    @property
    def id(self) -> str:
        """SHA-256 of the receipt's content, hex."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
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
    """A candidate that the provider made and that a receipt allows to be sent back."""

    candidate: Candidate
    receipt: Receipt

    def __post_init__(self) -> None:
        """Refuse a candidate that the receipt does not name, or of another class or a later round (``EgressError``)."""
        chosen = Chosen(self.candidate.id, self.candidate.digest)
        named = self.receipt.names(self.candidate.label, chosen)
        if not named or self.receipt.iteration <= self.candidate.iteration:
            raise EgressError(f"candidate {self.candidate.id} has no receipt for its class and iteration")


@dataclass(frozen=True)
class PublicEcho:
    """A candidate that the public plan sends back for any private data (lookahead, more samples)."""

    candidate: Candidate
