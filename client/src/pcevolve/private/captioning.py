"""Releases captions of private images, and chooses nothing (GCap). NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pcevolve.dp.mechanisms import Noise
from pcevolve.evolution import Pool
from pcevolve.ledger.ledger import Account, Paid
from pcevolve.modality.medium import Item
from pcevolve.privacy import Event
from pcevolve.private.dataset import PrivateDataset
from pcevolve.public.captioning import NOTHING_SAID, measurement_of, one_caption
from pcevolve.public.captions import choices_of
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Query, Receipt
from pcevolve.selectors.noised import drawn_places


class Captions(Protocol):
    """Says in words what images show."""

    def captions(self, images: Sequence[Item]) -> list[str]:
        """What each image shows, in the images' order."""
        ...


@dataclass(frozen=True, repr=False)
class CaptioningJudge:
    """Has private images captioned, and pays with an event that no epsilon bounds.

    The captioner may be an API that is sent the images, so it is asked outside of the ledger's transaction, which
    others wait for. That is no way around paying: a NOT PRIVATE run counts from its enrolment on (``ledger.others``).

    Attributes:
        data: The private images.
        account: Pays.
        noise: Draws which images stand for their classes.
        plan: Says how many captions there are, whatever the data hold.
        event: What the release does to the data.
        captioner: Looks at the images.
    """

    data: PrivateDataset
    account: Account
    noise: Noise
    plan: PublicPlan
    event: Event
    captioner: Captions

    def __repr__(self) -> str:
        """Nothing about the data."""
        return "CaptioningJudge"

    def show(self, query: Query, pool: Pool) -> None:
        """Do nothing: there are no candidates to look at."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Release the captions of all classes; what was paid for is answered from record.

        Raises:
            ClientError: The captioner cannot be asked, or a file is no longer the image that was loaded.
        """
        known = self.account.receipt(query)
        if known is not None:
            return known
        measurement = measurement_of([self._of_class(places) for places in self._places(query)])
        paid = Paid(choices_of(self.plan, measurement), measurement)
        return self.account.pay(query, (self.event,), lambda: paid)

    def _places(self, query: Query) -> list[list[int]]:
        """Numbers of the private images that stand for each class: one of each unit, no more than the plan says."""
        plan, data = self.plan, self.data
        drawn = drawn_places(
            data.targets, data.unit_of, len(plan.labels), plan.prototypes, self.noise, query.key
        )
        return [[number for number in places if number >= 0] for places in drawn.tolist()]

    def _of_class(self, places: list[int]) -> list[str]:
        """As many captions as the plan says: those of some images, again and again where they are fewer."""
        said = self.captioner.captions([self.data.items[place] for place in places])
        captions = [one_caption(each) for each in said] or [NOTHING_SAID]
        return [captions[place % len(captions)] for place in range(self.plan.prototypes)]
