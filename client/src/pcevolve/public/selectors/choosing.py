"""The public half of a selection: from candidates to a selector's input, and from a measurement to choices.

Every result depends only on the plan, the provider's images and the released measurements, so an auditor with
the record can repeat all steps. This code never receives private images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from pcevolve.errors import ModelError
from pcevolve.public.calls import Call
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve.public.encoders import Encoder
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.geometry.distances import IntArray
from pcevolve.public.geometry.frame import project
from pcevolve.public.loop.lineage import Pool, Population
from pcevolve.public.media import find_medium
from pcevolve.public.media.images.appearance import AS_IS, MATCHED, Appearance, average_appearance
from pcevolve.public.methods import AugmentedEvolution, Calibrated, CountedVotes, SecretEvolution
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Choice, Chosen, Receipt
from pcevolve.public.selectors import Measurement, SelectionInput, Selector
from pcevolve.public.selectors.means import distance_to_released_means

Rendition: TypeAlias = Appearance | None
"""The appearance to which images are matched before they are embedded. With None, images stay unchanged."""


def choose_renditions(plan: PublicPlan, appearance: Receipt | None) -> tuple[Rendition, ...]:
    """Return the renditions in which candidates are judged.

    Returns:
        One rendition, or two under ``auto``. The second of the two matches the appearance of the private images.
    """
    if appearance is None:
        return (None,)
    released = Appearance.released(appearance.values)
    # The unchanged rendition comes first, so index 1 means "matched" wherever the two are compared.
    return (None, released) if plan.method.appearance == "auto" else (released,)


TOGETHER = 64
"""Largest number of images that are decoded at a time. Their pixels take 200 MB at 1024 x 1024."""


@dataclass(frozen=True, repr=False)
class Chooser:
    """Builds a selector's input from candidates, and turns its picks into choices by candidate id.

    Attributes:
        encoder: The encoder in eval mode. It embeds one image at a time.
        received: Returns a candidate's bytes by digest.
    """

    plan: PublicPlan
    encoder: Encoder
    received: Callable[[str], bytes]
    selector: Selector
    _embedded: dict[tuple[str, Rendition], FloatArray] = field(default_factory=dict)
    _appearing: dict[str, Appearance | None] = field(default_factory=dict)
    _shown: list[Rendition] = field(default_factory=list)
    _latest: list[tuple[int, Pool, list[Rendition], tuple[SelectionInput, ...]]] = field(default_factory=list)

    def common_appearance(self, pool: Pool) -> Appearance:
        """Return the mean appearance of the candidates of all classes."""
        shown = [each.digest for of_class in pool.candidates.values() for each in of_class]
        return average_appearance([self._appearance(digest) for digest in shown])

    def find_inputs(
        self, iteration: int, pool: Pool, renditions: Iterable[Rendition]
    ) -> tuple[SelectionInput, ...]:
        """Return the selector's input for each rendition. The two latest results stay in memory with their caches."""
        wanted = list(renditions)
        for known, shown, seen, all_inputs in self._latest:
            # Pools are compared by identity, because comparing their contents costs more than building the inputs.
            if (known, seen) == (iteration, wanted) and shown is pool:
                return all_inputs
        # If earlier candidates can no longer be chosen, their embeddings would only occupy memory.
        if self.plan.method.pool != "all":
            self._forget_others(pool)
        self._shown[:] = wanted
        made = tuple(self._make_inputs(iteration, pool, rendition) for rendition in wanted)
        # Only two results are kept, because each holds the embeddings of a pool. Judge, release and assessment
        # all use them.
        self._latest[:] = [*self._latest[-1:], (iteration, pool, wanted, made)]
        return made

    def receive(self, call: Call, made: Sequence[Candidate]) -> None:
        """Embed and measure the images of a call in advance, if the next release compares them."""
        plan = self.plan
        compared = call.iteration < plan.method.iterations or plan.selects
        # With lookahead, a candidate is judged by its variations alone, so its own image is not embedded.
        by_views = plan.method.lookahead > 0 and call.iteration < plan.method.iterations
        if not compared or call.purpose not in (("look",) if by_views else ("create", "vary")):
            return
        # Only for the first images: they give the public guess of the appearance, which the provider drew from words.
        if 0 in plan.releases and not call.iteration:
            for each in made:
                self._appearance(each.digest)
        # Before the appearance is released, only ``auto`` is certain to judge candidates in their unchanged form as
        # well.
        settled = 0 not in plan.releases or plan.method.appearance == "auto"
        for rendition in self._shown or ([None] if settled else []):
            self._look([each.digest for each in made], rendition)

    def _forget_others(self, pool: Pool) -> None:
        """Drop the embeddings of images that have left the pool for good."""
        all_of_them = (each for of_class in pool.candidates.values() for each in of_class)
        shown = {view.digest for each in all_of_them for view in pool.views.get(each.id, (each,))}
        for digest, rendition in [key for key in self._embedded if key[0] not in shown]:
            del self._embedded[digest, rendition]
        # The cached inputs may contain images that were just dropped.
        self._latest.clear()

    def choose(
        self, measured: Measurement, all_inputs: Sequence[SelectionInput], pool: Pool
    ) -> tuple[tuple[Choice, ...], tuple[float, ...]]:
        """Choose candidates by a measurement. Of two renditions, use the one whose picks are nearer to the measurement.

        Returns:
            The choices, class by class, and a tuple of released numbers: the class counts or, if there are two
            renditions, the chosen rendition.
        """
        picks = [self.selector.pick(measured, inputs) for inputs in all_inputs]
        values = read_counts(measured)
        best = picks[0]
        if len(picks) > 1:
            shown = zip(all_inputs, picks, strict=True)
            gaps = [distance_to_released_means(measured, inputs, picked) for inputs, picked in shown]
            # One ruler for both renditions, because steps of different lengths cannot be compared.
            near = all_inputs[0].ruler(measured).count_steps(np.array(gaps))
            # If both renditions are equally near, images stay unchanged, so that the run and the audit break the tie in
            # the same way.
            best, values = (picks[1], MATCHED) if near[1] < near[0] else (picks[0], AS_IS)
        named = zip(self.plan.labels, best, strict=True)
        return tuple(name_choice(label, pool.candidates, indices) for label, indices in named), values

    def follows(
        self, measured: Measurement, all_inputs: Sequence[SelectionInput], pool: Pool, receipt: Receipt
    ) -> bool:
        """Return True if a receipt's choices follow from the measurement, up to rounding on another machine."""
        picked = [_indices(pool.candidates[label], receipt.of(label)) for label in self.plan.labels]
        # ``_indices`` drops unknown candidates, so a receipt that names one gives too few indices here.
        if any(len(indices) != all_inputs[0].wanted for indices in picked):
            return False
        if len(all_inputs) == 1:
            is_same = str(receipt.values) == str(read_counts(measured))  # -0.0 equals 0.0
            return is_same and self.selector.is_picked(measured, all_inputs[0], picked)
        if receipt.values not in (AS_IS, MATCHED):
            # Any other value would let the client write a hidden message into the public record.
            return False
        taken = int(receipt.values == MATCHED)
        picks = [self.selector.pick(measured, inputs) for inputs in all_inputs]
        gaps = [distance_to_released_means(measured, *each) for each in zip(all_inputs, picks, strict=True)]
        # Another machine may compute slightly different distances. If the intervals of both renditions overlap, that
        # machine could have chosen either rendition.
        fewest, most = all_inputs[0].ruler(measured).bound_steps(np.array(gaps))
        nearer = fewest[1] < most[0] if taken else most[1] >= fewest[0]
        return bool(nearer) and self.selector.is_picked(measured, all_inputs[taken], picked)

    def points(
        self, images: Sequence[Candidate | Chosen], rendition: Rendition, measured: Measurement
    ) -> FloatArray:
        """Return the coordinates of received images in a measurement's frame, float64 ``(images, k)``.

        The row of an image that cannot be decoded is NaN.
        """
        return project(self.embed(images, rendition), measured["centre"], measured["axes"])

    def embed(self, images: Sequence[Candidate | Chosen], rendition: Rendition = None) -> FloatArray:
        """Embed received images, float64 ``(images, d)``. The row of an image that cannot be decoded is NaN."""
        digests = [each.digest for each in images]
        self._look(digests, rendition)
        rows = np.array([self._embedded[each, rendition] for each in digests], dtype=np.float64)
        return rows.reshape(len(images), self.encoder.dimension)

    def _make_inputs(self, iteration: int, pool: Pool, rendition: Rendition) -> SelectionInput:
        plan = self.plan
        return SelectionInput(
            labels=plan.labels,
            pools=tuple(self._embed(pool.candidates[label], pool.views, rendition) for label in plan.labels),
            wanted=plan.wanted(iteration),
            shots=plan.data.shots,
            iteration=iteration,
            iterations=plan.method.iterations,
            seed=plan.public_seed("pick", iteration),
            relation=plan.privacy.relation,
            threshold=plan.threshold_at(iteration),
            votes=plan.method.of(CountedVotes).votes,
            tau=plan.method.of(Calibrated).tau,
            cells=plan.method.of(SecretEvolution).cells,
            first=plan.method.initial,
            drawn=plan.method.of(AugmentedEvolution).selection == "prob",
            public=self._public,
            noise_factor=plan.noise_factor,
        )

    @cached_property
    def _public(self) -> PublicFrame | None:
        return find_frame(self.plan, self.encoder)

    def _embed(
        self, candidates: tuple[Candidate, ...], views: Population, rendition: Rendition
    ) -> FloatArray:
        """Return float64 ``(candidates, d)``: embeddings, or with lookahead the mean of each candidate's variations.

        The row of an image that cannot be decoded is NaN. Variations that cannot be decoded are left out of the mean.
        """
        shown = [[view.digest for view in views.get(each.id, (each,))] for each in candidates]
        self._look([digest for some in shown for digest in some], rendition)
        rows = [self._mean(some, rendition) for some in shown]
        return np.array(rows).reshape(len(candidates), self.encoder.dimension)

    def _mean(self, digests: Sequence[str], rendition: Rendition) -> FloatArray:
        rows = np.stack([self._embedded[digest, rendition] for digest in digests])
        # If no variation can be decoded, the mean is NaN, and the candidate is not eligible.
        usable = rows[np.isfinite(rows).all(axis=1)]
        return np.asarray((usable if len(usable) else rows).mean(axis=0), dtype=np.float64)

    def _appearance(self, digest: str) -> Appearance | None:
        if digest not in self._appearing:
            image = find_medium(self.plan.modality.kind).decode(self.received(digest))
            self._appearing[digest] = None if image is None else Appearance.of(image)
        return self._appearing[digest]

    def _look(self, digests: Iterable[str], rendition: Rendition) -> None:
        """Embed images that are not embedded yet, in batches. The batch size does not change an embedding."""
        due = [each for each in dict.fromkeys(digests) if (each, rendition) not in self._embedded]
        decode = find_medium(self.plan.modality.kind).decode
        for start in range(0, len(due), TOGETHER):
            some = due[start : start + TOGETHER]
            # Images are decoded in the rendition in which they are judged, because matching an appearance changes their
            # pixels and therefore their embeddings.
            rows = self.encoder.embed([decode(self.received(digest), rendition) for digest in some])
            self._embedded.update(
                # Copied, because a view of one row would keep the array of the batch in memory.
                ((digest, rendition), row.copy())
                for digest, row in zip(some, rows, strict=True)
            )


def read_counts(measured: Measurement) -> tuple[float, ...]:
    """Return the class counts of a measurement, or nothing if it has none."""
    return tuple(map(float, measured.get("counts", ())))


def find_frame(plan: PublicPlan, encoder: Encoder) -> PublicFrame | None:
    """Return the public frame that a plan names, or None if it names none.

    Raises:
        ModelError: The encoder's frame is not the one that the plan names.
    """
    if plan.encoder.frame is None:
        return None
    # Compared by digest rather than by name: another version of the frame gives other coordinates, and the audit
    # would report a fault of the run.
    if encoder.frame is None or encoder.frame.digest != plan.encoder.frame:
        raise ModelError(
            f"the run was judged in the public frame with sha256 {plan.encoder.frame}, which encoder {encoder.name} of "
            "this version does not bring: use the version of pcevolve that has it"
        )
    return encoder.frame


def _indices(candidates: Sequence[Candidate], chosen: Sequence[Chosen]) -> IntArray:
    """Return the indices of the chosen candidates within their class, int64 ``(chosen,)``.

    Unknown candidates are left out.
    """
    # The digest is compared too, because a forged receipt could use a candidate's id for another image.
    known = {Chosen(each.id, each.digest): index for index, each in enumerate(candidates)}
    return np.array([known[each] for each in chosen if each in known], dtype=np.int64)


def name_choice(label: str, candidates: Population, indices: Iterable[int]) -> Choice:
    """Convert indices of a class's candidates to ids and digests."""
    named = (candidates[label][index] for index in indices)
    return Choice(label, tuple(Chosen(each.id, each.digest) for each in named))
