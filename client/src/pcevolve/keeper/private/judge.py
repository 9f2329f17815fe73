"""The private judge: embeds private images, measures within the budget, and returns receipts.

All work that does not need the API is done before the API is first contacted. The duration of this work
depends on the images' sizes, and the API must not be able to measure it. For the judge, a selector measures
candidates with the private data, and the account draws and pays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np
from safetensors.numpy import load, save

from pcevolve.errors import DataError
from pcevolve.keeper.ledger.ledger import Account, Paid
from pcevolve.keeper.private import BATCH_IMAGES
from pcevolve.keeper.private.dataset import PrivateDataset
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.encoders import Encoder
from pcevolve.public.geometry.distances import Embeddings, are_single
from pcevolve.public.loop.lineage import Pool, Population
from pcevolve.public.media.images.appearance import measure_appearances
from pcevolve.public.media.images.decoding import DecodedImage
from pcevolve.public.plan import PublicPlan
from pcevolve.public.privacy import Event, Events
from pcevolve.public.release import WITHHELD, Candidate, Query, Receipt
from pcevolve.public.screen import ProgressCallback, no_progress
from pcevolve.public.selectors import Measurement, PrivateEmbeddings, SelectionInput
from pcevolve.public.selectors.choosing import Chooser, Rendition, choose_renditions, name_choice
from pcevolve.public.selectors.selection import join_renditions
from pcevolve.public.selectors.sums import release_appearance


def embed_images(
    images: Sequence[DecodedImage], encoder: Encoder, rendition: Rendition, show_progress: ProgressCallback
) -> Embeddings:
    """Embed private images in a rendition, ``(images, d)``; rows of unusable images are NaN.

    The result is float32 if that loses no precision, as with most encoders, which halves the memory. Otherwise
    it is float64.

    Raises:
        DataError: A file has changed since it was loaded.
    """
    # zeros, not empty: casting also touches rows without embeddings yet, and garbage values may cause
    # warnings.
    rows: Embeddings = np.zeros((len(images), encoder.dimension), dtype=np.float32)
    for start in range(0, len(images), BATCH_IMAGES):
        batch = slice(start, start + BATCH_IMAGES)
        embedded = encoder.embed(RenditionView(images[batch], rendition))
        # Widened at the first batch that needs it: rounding to float32 could change the nearest candidate.
        rows = rows if are_single(embedded) else rows.astype(np.float64, copy=False)
        rows[batch] = embedded
        show_progress(min(start + BATCH_IMAGES, len(images)), len(images))
    return rows


@dataclass(frozen=True, repr=False, eq=False)
class RenditionView(Sequence[DecodedImage]):
    """Images converted on demand to the form in which an encoder sees them; unchanged without a ``rendition``."""

    images: Sequence[DecodedImage]
    rendition: Rendition

    def __len__(self) -> int:
        return len(self.images)

    @overload
    def __getitem__(self, place: int) -> DecodedImage: ...
    @overload
    def __getitem__(self, place: slice) -> RenditionView: ...
    def __getitem__(self, place: int | slice) -> DecodedImage | RenditionView:
        if isinstance(place, slice):
            return RenditionView(self.images[place], self.rendition)
        image = self.images[place]
        return image if self.rendition is None else self.rendition.apply_to(image)


@dataclass(frozen=True, repr=False)
class PrivateViews:
    """Private images as an encoder's embeddings; each image is embedded once per rendition.

    Attributes:
        caps: For each item, the share of its vote that counts, given its listed secrets; None if all count
            in full.
    """

    data: PrivateDataset
    encoder: Encoder
    caps: FloatArray | None = None
    _embedded: dict[Rendition, Embeddings] = field(default_factory=dict)

    def prepare(self, with_appearances: bool, show_progress: ProgressCallback = no_progress) -> None:
        """Embed the images, and measure their appearances if these will be released; errors as in ``embeddings``."""
        # Before the first request, so that nobody who sees requests can time the work on private images.
        self.embeddings(None, show_progress)
        if with_appearances:
            _ = self.appearances

    def embeddings(
        self, rendition: Rendition, show_progress: ProgressCallback = no_progress
    ) -> PrivateEmbeddings:
        """Return the embeddings in a rendition, with classes and units (``DataError`` if an image has no embedding)."""
        if rendition not in self._embedded:
            self._embedded[rendition] = self._usable(rendition, show_progress)
        return PrivateEmbeddings(self._embedded[rendition], self.data.targets, self.data.unit_of, self.caps)

    @cached_property
    def appearances(self) -> FloatArray:
        """Appearance of each private image, float64 ``(images, 6)``; private."""
        return measure_appearances(self.data.items)

    def _usable(self, rendition: Rendition, show_progress: ProgressCallback) -> Embeddings:
        embedded = embed_images(self.data.items, self.encoder, rendition, show_progress)
        # Only the extremes are checked: NaN propagates to both, and a mask of a million rows would double the
        # memory.
        if not np.isfinite([embedded.min(initial=0.0), embedded.max(initial=0.0)]).all():
            raise DataError(
                f"encoder '{self.encoder.name}' cannot embed a private image: choose another --encoder"
            )
        return embedded


@dataclass(frozen=True, repr=False)
class PrivateJudge:
    """Releases prototypes that the private data prefer, under the privacy of the events that it pays for."""

    views: PrivateViews
    chooser: Chooser
    account: Account
    noise: Noise
    events: Mapping[int, tuple[Event, ...]]

    def show(self, query: Query, pool: Pool) -> None:
        """Do all public work for a release in advance: candidates' embeddings, and the frame of class means."""
        if query.iteration == 0:
            self.chooser.common_appearance(pool)
            return
        all_inputs = self.chooser.find_inputs(query.iteration, pool, self._renditions)
        # The frame is slow public work, a decomposition of all candidates, so it is done outside the private
        # section.
        if self.chooser.plan.centre_first:
            _ = join_renditions(all_inputs).coordinates

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Choose the prototypes of all classes and pay for them; the ledger answers a query that was paid for before.

        Raises:
            BudgetError: Too little of the budget is left; nothing was drawn.
            DataError: A private image has no embedding; nothing was drawn.
        """
        # Before anything is computed, so that a resumed run answers as quickly as ``pay`` would.
        known = self.account.receipt(query)
        receipt = known or self._release(query, pool, self.events[query.iteration])
        if query.iteration == 0:
            _ = self._renditions  # reads the ledger now, so that ``show`` need not
        return receipt

    def _release(self, query: Query, pool: Pool, events: tuple[Event, ...]) -> Receipt:
        if query.iteration == 0:
            return self._release_appearance(query, pool, events[0])
        all_inputs = self.chooser.find_inputs(query.iteration, pool, self._renditions)
        # A free round reuses the ledger's measurement, because measuring again would be another access.
        if all(event.free for event in events):
            measured = load(self.account.read_measured(self._last_measured(query)))
            return self.account.pay(query, events, lambda: self._pay(measured, all_inputs, pool, b""))
        private = self.views.embeddings(self._renditions[0])
        return self.account.pay(query, events, lambda: self._draw(private, all_inputs, pool, events))

    def _release_appearance(self, query: Query, pool: Pool, event: Event) -> Receipt:
        """Release the private images' mean appearance; the mean of the provider's images is the public prior."""
        plan, views = self.chooser.plan, self.views
        # Computed before the transaction, because other runs wait while it is open.
        prior = self.chooser.common_appearance(pool)
        # The nominal number, because the real number of private images would have to be paid for.
        expected = plan.data.shots * len(plan.labels)

        def draw() -> Paid:
            released = release_appearance(
                views.appearances,
                views.data.unit_of,
                expected,
                prior,
                event,
                plan.privacy.relation,
                self.noise,
            )
            return Paid((), values=released.numbers)

        return self.account.pay(query, (event,), draw)

    def _draw(
        self, private: PrivateEmbeddings, all_inputs: tuple[SelectionInput, ...], pool: Pool, events: Events
    ) -> Paid:
        measured = self.chooser.selector.measure(private, join_renditions(all_inputs), events, self.noise)
        # Stored in the same transaction, or a crash could leave a receipt without its measurement.
        return self._pay(measured, all_inputs, pool, save(dict(measured)))

    def _pay(
        self, measured: Measurement, all_inputs: Sequence[SelectionInput], pool: Pool, memory: bytes
    ) -> Paid:
        choices, values = self.chooser.choose(measured, all_inputs, pool)
        return Paid(choices, memory, values)

    def _last_measured(self, query: Query) -> int:
        """Return the last round before the query's round in which the private data were measured."""
        # The latest, because it measured the most candidates.
        earlier = range(query.iteration - 1, 0, -1)
        return next(t for t in earlier if not all(event.free for event in self.events[t]))

    @cached_property
    def _renditions(self) -> tuple[Rendition, ...]:
        """The renditions in which candidates are judged; private images are embedded in the first."""
        plan = self.chooser.plan
        released = 0 in plan.releases
        return choose_renditions(plan, self.account.receipt(Query(plan.run_id, 0)) if released else None)


@dataclass(frozen=True)
class UniformJudge:
    """The ``random`` control: chooses without private data and at no cost; it returns receipts too."""

    account: Account
    noise: Noise
    plan: PublicPlan

    def show(self, query: Query, pool: Pool) -> None:
        """Do nothing, because this judge does not compare candidates."""

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Choose received candidates of each class at random, without repetition while others remain."""
        return self.account.pay(query, (Event("uniform"),), lambda: self._draw(query, pool.candidates))

    def _draw(self, query: Query, candidates: Population) -> Paid:
        wanted = self.plan.wanted(query.iteration)
        indices = {
            label: self._indices(f"{query.key}/{label}", _came(candidates[label]), wanted)
            for label in candidates
        }
        return Paid(tuple(name_choice(label, candidates, indices[label]) for label in self.plan.labels))

    def _indices(self, key: str, there: list[int], wanted: int) -> list[int]:
        left: list[int] = []
        chosen = []
        for number in range(wanted):
            # Without replacement, because a control that repeats candidates would lose to any method for that
            # reason.
            left = left or list(there)
            chosen.append(left.pop(self.noise.uniform(f"{key}/{number}", len(left))))
        return chosen


def _came(candidates: Sequence[Candidate]) -> list[int]:
    """Return the indices of candidates that the API did not withhold; all indices if it withheld all."""
    came = [index for index, each in enumerate(candidates) if each.digest != WITHHELD]
    return came or list(range(len(candidates)))
