"""The judge: the one thing that the private side exports.

It lets a selector measure candidates with the private data, and lets the budget draw and pay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
from safetensors.numpy import load, save

from ..budget.ledger import Account, Paid
from ..budget.mechanisms import Noise
from ..choosing import Chooser, Look, choice, looks_of
from ..errors import DataError
from ..evolve import Pool, Population
from ..pictures import picture
from ..plan import PublicPlan
from ..privacy import Event
from ..release import Query, Receipt
from ..selectors import Measurement, Records, Scene
from ..selectors.scene import united
from .appearance import appearances, common_appearance, released_appearance
from .dataset import PrivateDataset


@dataclass(frozen=True, repr=False)
class PrivateJudge:
    """Releases prototypes that the private data prefer; private by the events that it pays for.

    Attributes:
        data: The private images.
        chooser: Shows candidates to the selector, and names what it picks.
        account: Pays.
        noise: Draws.
        events: What each release does to the data, by iteration.
    """

    data: PrivateDataset
    chooser: Chooser
    account: Account
    noise: Noise
    events: Mapping[int, tuple[Event, ...]]

    def __repr__(self) -> str:
        """Nothing about the data."""
        return "PrivateJudge"

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Choose the prototypes of all classes and pay for them; what was paid for is answered from record.

        Raises:
            BudgetError: Not enough is left; nothing was drawn.
            DataError: A private image has no embedding; nothing was drawn.
        """
        known = self.account.recorded(query)
        if known is not None:
            return known
        events = self.events[query.iteration]
        if query.iteration == 0:
            return self._release_appearance(query, pool, events[0])
        scenes = self.chooser.scenes(query.iteration, pool, self._looks)
        if all(event.free for event in events):
            measured = load(self.account.measured(self._last_measured(query)))
            return self.account.pay(query, events, lambda: self._paid(measured, scenes, pool, b""))
        records = self._records
        return self.account.pay(query, events, lambda: self._drawn(records, scenes, pool, events[0]))

    def _release_appearance(self, query: Query, pool: Pool, event: Event) -> Receipt:
        """Pay for what the private images look like on the whole; the provider's images are the public guess."""
        plan = self.chooser.plan
        shown = [each for of_class in pool.candidates.values() for each in of_class]
        prior = common_appearance([picture(self.chooser.received(each.digest)) for each in shown])
        expected = plan.shots * len(plan.labels)

        def draw() -> Paid:
            rows = appearances(self.data.images)
            found = released_appearance(
                rows, self.data.unit_of, expected, prior, event, plan.relation, self.noise
            )
            return Paid((), values=astuple(found))

        return self.account.pay(query, (event,), draw)

    def _drawn(self, records: Records, scenes: Sequence[Scene], pool: Pool, event: Event) -> Paid:
        measured = self.chooser.selector.measure(records, united(scenes), event, self.noise)
        return self._paid(measured, scenes, pool, save(dict(measured)))

    def _paid(self, measured: Measurement, scenes: Sequence[Scene], pool: Pool, memory: bytes) -> Paid:
        choices, values = self.chooser.choose(measured, scenes, pool)
        return Paid(choices, memory, values)

    def _last_measured(self, query: Query) -> int:
        """The latest round before this one that looked at the data."""
        earlier = range(query.iteration - 1, 0, -1)
        return next(t for t in earlier if not all(event.free for event in self.events[t]))

    @cached_property
    def _records(self) -> Records:
        """Embeddings of the private images.

        Raises:
            DataError: A private image has no embedding; nothing was drawn.
        """
        look, encoder = self._looks[0], self.chooser.encoder
        shown = [image if look is None else look.given_to(image) for image in self.data.images]
        embedded = encoder.embed(shown)
        if not np.isfinite(embedded).all():
            raise DataError(
                f"encoder '{encoder.name}' cannot embed a private image: choose another --encoder"
            )
        return Records(embedded, self.data.targets, self.data.unit_of)

    @cached_property
    def _looks(self) -> tuple[Look, ...]:
        """The looks in which candidates are judged; the private images are given the first."""
        plan = self.chooser.plan
        return looks_of(plan, self.account.recorded(Query(plan.run_id, 0)))


@dataclass(frozen=True)
class UniformJudge:
    """The ``random`` control: chooses without looking, at no cost, and still leaves a receipt."""

    account: Account
    noise: Noise
    plan: PublicPlan

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Choose any candidates of each class, none twice while there are others."""
        return self.account.pay(query, (Event("uniform"),), lambda: self._drawn(query, pool.candidates))

    def _drawn(self, query: Query, candidates: Population) -> Paid:
        wanted = self.plan.wanted(query.iteration)
        places = {
            label: self._places(f"{query.key}/{label}", len(candidates[label]), wanted)
            for label in candidates
        }
        return Paid(tuple(choice(label, candidates, places[label]) for label in self.plan.labels))

    def _places(self, key: str, count: int, wanted: int) -> list[int]:
        left: list[int] = []
        chosen = []
        for number in range(wanted):
            left = left or list(range(count))
            chosen.append(left.pop(self.noise.uniform(f"{key}/{number}", len(left))))
        return chosen
