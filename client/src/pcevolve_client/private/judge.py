"""The judge: the one thing that the private side exports.

It embeds candidates, computes their utilities from the private data, and lets the budget draw and pay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ..budget.ledger import Account, Cost
from ..budget.mechanisms import FloatArray, Mechanism
from ..errors import DataError
from ..evolve import Population
from ..pictures import picture
from ..release import Candidate, Chosen, Query, Receipt
from .dataset import PrivateDataset
from .encoders import Encoder
from .utilities import UTILITIES, distances


@dataclass(frozen=True, repr=False)
class PrivateJudge:
    """Releases prototypes that the private data prefer; ε-DP by the mechanism it is given.

    Attributes:
        data: The private images.
        encoder: In eval mode; private images are embedded in batches of fixed shape.
        received: Bytes of a candidate by digest.
        account: Pays.
        mechanism: Draws.
        epsilon: Cost of one draw.
        utility: Name of the utility.
    """

    data: PrivateDataset
    encoder: Encoder
    received: Callable[[str], bytes]
    account: Account
    mechanism: Mechanism
    epsilon: Fraction
    utility: str

    def __repr__(self) -> str:
        """Nothing about the data."""
        return "PrivateJudge"

    def release(self, query: Query, population: Population) -> Receipt:
        """Choose the prototype of one class and pay for it; a query that was paid for is answered from record.

        Raises:
            BudgetError: Not enough is left; nothing was drawn.
        """
        known = self.account.recorded(query)
        if known is not None:
            return known
        candidates = population[query.label]
        own = self.data.labels.index(query.label)
        utility = UTILITIES[self.utility](distances(self._embed(candidates), self._centres), own)
        return self.account.pay(
            query,
            Cost(self.mechanism.name, self.epsilon),
            lambda: _drawn(self.mechanism, query, utility, self.epsilon, candidates),
        )

    @cached_property
    def _centres(self) -> FloatArray:
        """Mean embedding of each class, float64 ``(classes, d)``. Private.

        Raises:
            DataError: A private image has no embedding; nothing was drawn.
        """
        embedded = self.encoder.embed(self.data.images)
        if not np.isfinite(embedded).all():
            raise DataError(
                f"encoder '{self.encoder.name}' cannot embed a private image: choose another --encoder"
            )
        return np.stack(
            [embedded[self.data.targets == each].mean(axis=0) for each in range(len(self.data.labels))]
        )

    def _embed(self, candidates: tuple[Candidate, ...]) -> FloatArray:
        """Embeddings of what the provider sent, float64 ``(candidates, d)``; NaN for what is not an image."""
        return self.encoder.embed([picture(self.received(each.digest)) for each in candidates])


@dataclass(frozen=True)
class UniformJudge:
    """The ``random`` control: chooses without looking, at no cost, and still leaves a receipt."""

    account: Account
    mechanism: Mechanism

    def release(self, query: Query, population: Population) -> Receipt:
        """Choose any candidate of the class."""
        candidates = population[query.label]
        blind = np.zeros(len(candidates))
        cost = Cost(self.mechanism.name, Fraction(0))
        return self.account.pay(
            query, cost, lambda: _drawn(self.mechanism, query, blind, Fraction(0), candidates)
        )


def _drawn(
    mechanism: Mechanism,
    query: Query,
    utility: FloatArray,
    epsilon: Fraction,
    candidates: tuple[Candidate, ...],
) -> tuple[Chosen, ...]:
    winner = candidates[mechanism.choose(query.key, utility, epsilon)]
    return (Chosen(winner.id, winner.digest),)
