"""Releases private images themselves under noise, and chooses nothing (DPImg)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.evolution import Pool
from pcevolve.ledger.ledger import Account, Paid
from pcevolve.modality.images.arrays import levels, values_of
from pcevolve.privacy import Event
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.noised import choices_of, measurement_of, shape_of
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query, Receipt
from pcevolve.selectors.noised import BLANK, drawn_places, noised, sigma_of

SAMPLE: Final = 4096
"""Values of a sample by which it is told how long a release takes."""


@dataclass(frozen=True, repr=False)
class NoisingJudge:
    """Draws, noises and pays in one transaction; private by the event that it pays for.

    Attributes:
        data: The private images; one is read at a time.
        account: Pays.
        noise: Draws.
        plan: Says how many images of which size there are, whatever the data hold.
        event: What the release does to the data.
    """

    data: PrivateDataset
    account: Account
    noise: Noise
    plan: PublicPlan
    event: Event

    def __repr__(self) -> str:
        """Nothing about the data."""
        return "NoisingJudge"

    def show(self, query: Query, pool: Pool) -> None:
        """Do nothing: there are no candidates to look at."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Release the noised images of all classes; what was paid for is answered from record.

        Raises:
            BudgetError: Not enough is left; nothing was drawn.
            DataError: A file is no longer the image that was loaded; nothing was released.
        """
        return self.account.pay(query, (self.event,), lambda: self._drawn(query.key))

    def _drawn(self, key: str) -> Paid:
        plan, (classes, wanted, *shape) = self.plan, shape_of(self.plan)
        places = drawn_places(self.data.targets, self.data.unit_of, classes, wanted, self.noise, key)
        sigma = sigma_of(self.event, int(np.prod(shape)), plan.relation)
        released = noised(places, self._values, tuple(shape), sigma, self.noise, key)
        pixels = np.stack([levels(each) for each in released]).reshape(shape_of(plan))
        measurement = measurement_of(pixels)
        return Paid(choices_of(plan, measurement), measurement)

    def _values(self, number: int) -> FloatArray:
        """A private image in the public size."""
        return values_of(self.data.items[number], self.plan.images.width, self.plan.images.height)


def expected_seconds(
    plan: PublicPlan, event: Event, noise: Noise, clock: Callable[[], float] = time.monotonic
) -> float:
    """How long a release is likely to take on this machine, by a sample of grey: noise is nearly all of its work.

    It depends on public sizes and on this machine alone, whatever the private images are.

    Args:
        plan: Says how many values there are.
        event: Pays for the release; nothing is drawn for it here.
        noise: Is drawn as it will be, and thrown away.
        clock: Seam for tests, in seconds.
    """
    classes, wanted, *shape = shape_of(plan)
    values = math.prod(shape)
    sigma = sigma_of(event, values, plan.relation)
    noise.gaussian("sample", np.full(1, BLANK), sigma)  # the first draw loads what later ones have
    began = clock()
    noise.gaussian("sample", np.full(SAMPLE, BLANK), sigma)
    return (clock() - began) * classes * wanted * values / SAMPLE
