"""The judge: the one thing that the private side exports.

It embeds candidates, lets a selector measure them with the private data, and lets the budget draw and pay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property

import numpy as np
from safetensors.numpy import load, save

from ..appearance import AS_IS, MATCHED, Appearance, developed
from ..budget.ledger import Account, Paid
from ..budget.mechanisms import FloatArray, Noise
from ..errors import DataError
from ..evolve import Pool, Population
from ..pictures import picture
from ..plan import PublicPlan
from ..privacy import Event
from ..release import Candidate, Choice, Chosen, Query, Receipt
from .appearance import appearances, common_appearance, released_appearance
from .dataset import PrivateDataset
from .encoders import Encoder
from .selectors import Measurement, Records, Scene, Selector
from .selectors.means import misfit
from .selectors.scene import united


@dataclass(frozen=True, repr=False)
class PrivateJudge:
    """Releases prototypes that the private data prefer; private by the events that it pays for.

    Attributes:
        data: The private images.
        encoder: In eval mode; embeds one image at a time.
        received: Bytes of a candidate by digest.
        account: Pays.
        noise: Draws.
        plan: What is public about the run.
        selector: Measures and picks.
        events: What each release does to the data, by iteration.
    """

    data: PrivateDataset
    encoder: Encoder
    received: Callable[[str], bytes]
    account: Account
    noise: Noise
    plan: PublicPlan
    selector: Selector
    events: Mapping[int, tuple[Event, ...]]
    _embedded: dict[tuple[str, Appearance | None], FloatArray] = field(default_factory=dict)

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
        scenes = [self._scene(query, pool, look) for look in self._looks]
        if all(event.free for event in events):
            measured = load(self.account.measured(self._last_measured(query)))
            return self.account.pay(query, events, lambda: self._paid(measured, scenes, pool, b""))
        records = self._records
        return self.account.pay(query, events, lambda: self._drawn(records, scenes, pool, events[0]))

    def _release_appearance(self, query: Query, pool: Pool, event: Event) -> Receipt:
        """Pay for what the private images look like on the whole; the provider's images are the public guess."""
        shown = [each for of_class in pool.candidates.values() for each in of_class]
        prior = common_appearance([picture(self.received(each.digest)) for each in shown])
        expected = self.plan.shots * len(self.plan.labels)

        def draw() -> Paid:
            rows, relation = appearances(self.data.images), self.plan.relation
            found = released_appearance(rows, self.data.unit_of, expected, prior, event, relation, self.noise)
            return Paid((), values=astuple(found))

        return self.account.pay(query, (event,), draw)

    def _drawn(self, records: Records, scenes: Sequence[Scene], pool: Pool, event: Event) -> Paid:
        measured = self.selector.measure(records, united(scenes), event, self.noise)
        return self._paid(measured, scenes, pool, save(dict(measured)))

    def _paid(self, measured: Measurement, scenes: Sequence[Scene], pool: Pool, memory: bytes) -> Paid:
        """Choose, in the look that lies nearer to what was measured if there are two: public post-processing."""
        picks = [self.selector.pick(measured, scene) for scene in scenes]
        values: tuple[float, ...] = ()
        best = picks[0]
        if len(picks) > 1:
            gaps = [misfit(measured, scene, picked) for scene, picked in zip(scenes, picks, strict=True)]
            best, values = (picks[1], MATCHED) if gaps[1] < gaps[0] else (picks[0], AS_IS)
        named = zip(self.plan.labels, best, strict=True)
        choices = tuple(_choice(label, pool.candidates, places) for label, places in named)
        return Paid(choices, memory, values)

    def _last_measured(self, query: Query) -> int:
        """The latest round before this one that looked at the data."""
        earlier = range(query.iteration - 1, 0, -1)
        return next(t for t in earlier if not all(event.free for event in self.events[t]))

    def _scene(self, query: Query, pool: Pool, look: Appearance | None) -> Scene:
        plan = self.plan
        pools = tuple(self._embed(pool.candidates[label], pool.views, look) for label in plan.labels)
        return Scene(
            labels=plan.labels,
            pools=pools,
            wanted=plan.wanted(query.iteration),
            shots=plan.shots,
            iteration=query.iteration,
            iterations=plan.iterations,
            seed=plan.public_seed("pick", query.iteration),
            relation=plan.relation,
            threshold=plan.threshold,
        )

    @cached_property
    def _records(self) -> Records:
        """Embeddings of the private images.

        Raises:
            DataError: A private image has no embedding; nothing was drawn.
        """
        look = self._looks[0]
        shown = [image if look is None else look.given_to(image) for image in self.data.images]
        embedded = self.encoder.embed(shown)
        if not np.isfinite(embedded).all():
            raise DataError(
                f"encoder '{self.encoder.name}' cannot embed a private image: choose another --encoder"
            )
        return Records(embedded, self.data.targets, self.data.unit_of)

    def _embed(
        self, candidates: tuple[Candidate, ...], views: Population, look: Appearance | None
    ) -> FloatArray:
        """float64 ``(candidates, d)``: a candidate's own embedding, or with lookahead the mean of its variations'.

        NaN for what is not an image; a variation that is none is left out of the mean.
        """
        rows = [
            self._mean([view.digest for view in views.get(each.id, (each,))], look) for each in candidates
        ]
        return np.array(rows).reshape(len(candidates), self.encoder.dimension)

    def _mean(self, digests: Sequence[str], look: Appearance | None) -> FloatArray:
        rows = np.stack([self._one(digest, look) for digest in digests])
        usable = rows[np.isfinite(rows).all(axis=1)]
        return np.asarray((usable if len(usable) else rows).mean(axis=0), dtype=np.float64)

    def _one(self, digest: str, look: Appearance | None) -> FloatArray:
        if (digest, look) not in self._embedded:
            image = developed(self.received(digest), look)
            self._embedded[digest, look] = self.encoder.embed([image])[0]
        return self._embedded[digest, look]

    @cached_property
    def _looks(self) -> tuple[Appearance | None, ...]:
        """What candidates are given before they are judged, None if they are taken as they came; under auto, both.

        The private images are given the first.
        """
        receipt = self.account.recorded(Query(self.plan.run_id, 0))
        if receipt is None:
            return (None,)
        released = Appearance.released(receipt.values)
        return (None, released) if self.plan.appearance == "auto" else (released,)


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
        return Paid(tuple(_choice(label, candidates, places[label]) for label in self.plan.labels))

    def _places(self, key: str, count: int, wanted: int) -> list[int]:
        left: list[int] = []
        chosen = []
        for number in range(wanted):
            left = left or list(range(count))
            chosen.append(left.pop(self.noise.uniform(f"{key}/{number}", len(left))))
        return chosen


def _choice(label: str, candidates: Population, places: Iterable[int]) -> Choice:
    named = (candidates[label][place] for place in places)
    return Choice(label, tuple(Chosen(each.id, each.digest) for each in named))
