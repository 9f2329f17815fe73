"""Every request of a plan, in sending order, before any private choice is filled in.

The public plan alone determines how many outputs are requested, in which order, and with which seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise, takewhile, zip_longest
from typing import Final, Literal

from pcevolve.public.fields import PlanFields
from pcevolve.public.parts import Start

STAGES: Final = {"create": "i", "follow": "i", "vary": "i", "look": "l", "extend": "x"}
OPENING: Final = 8
"""Number of images of each class that are requested first, so that a person can look at them early."""

Purpose = Literal["create", "follow", "vary", "look", "extend"]


@dataclass(frozen=True)
class Call:
    """One request of the plan, before any private choice is filled in.

    Attributes:
        slot: Unique name.
        purpose: Kind of request. ``create``: text-to-image. ``follow``: varies an image of the release that a run
            starts from; such a run has no ``create``. ``vary``: varies a released prototype. ``look``: lookahead;
            varies every candidate of a population, so that the variations can judge it. ``extend``: more samples;
            varies every image of the last population once more.
        iteration: 0 for text-to-image; otherwise the round in which the images are made. The release of this round
            chose their source.
        label: Class of the images.
        first: Index of the first image within its class and stage.
        count: Number of images.
        seed: Seed that is sent for the first image; image k uses ``seed + k`` modulo 2**32.
        strength: Image-to-image strength in [0, 1]; None for text-to-image, or if requests set no strength.
        parent: For ``vary``: index among the candidates that the round's release chose from the class.
        source: For other image-to-image calls: id of the varied candidate; public.
        wording: Index of the prompt among its class's ``prompts``; None if the template's prompt is used. If a
            variation keeps its source's prompt, the index is filled in later.
    """

    slot: str
    purpose: Purpose
    iteration: int
    label: str
    first: int
    count: int
    seed: int
    strength: float | None = None
    parent: int | None = None
    source: str | None = None
    wording: int | None = None

    def output(self, index: int) -> str:
        """Return the id of the call's ``index``-th image."""
        stage, of_class, _ = self.slot.split("/")
        return f"{stage}-{of_class}-{self.first + index:06d}"


def name_start(place: int, number: int) -> str:
    """Return the id of one image of the release that a run starts from, by its class's index and its own index."""
    return f"s000-c{place:03d}-{number:06d}"


class PlanCalls(PlanFields):
    """The requests of a plan, derived from its fields. Use ``PublicPlan``, which extends this class."""

    def round(self, iteration: int) -> Iterator[Call]:
        """Yield the calls for a population, in sending order: by class, then by prototype, then by batch.

        For the first population, classes alternate batch by batch, so that the first few answers show every class.
        """
        if iteration:
            return chain.from_iterable(self._of_class(iteration, label) for label in self.labels)
        # A release may contain more images of one class than of another, so classes may have different numbers of
        # calls.
        turns = zip_longest(*(self._first_of_class(label) for label in self.labels))
        return (call for turn in turns for call in turn if call is not None)

    @property
    def opening(self) -> tuple[Call, ...]:
        """The first calls of a plan, until every class has ``OPENING`` images."""
        asked = accumulate(call.count for call in self._first_of_class(self.labels[0]))
        turns = 1 + sum(
            1 for _ in takewhile(lambda images: images < min(OPENING, self.method.initial), asked)
        )
        return tuple(islice(self.round(0), turns * len(self.labels)))

    def _first_of_class(self, label: str) -> Iterator[Call]:
        return self._of_class(0, label) if self.start is None else self._of_start(label, self.start)

    def _of_start(self, label: str, start: Start) -> Iterator[Call]:
        """Yield a class's variations of a release, divided equally among its images; the first get the remainder."""
        place = self.labels.index(label)
        share, rest = divmod(self.method.candidates, len(start.images[place]))
        stop = 0
        for number in range(min(len(start.images[place]), self.method.candidates)):
            first, stop = stop, stop + share + (number < rest)
            for index, count in self._batches(first, stop, first < OPENING):
                source = name_start(place, number)
                yield self._call("follow", 0, label, index, count, start.strength, source=source)

    def _of_class(self, iteration: int, label: str) -> Iterator[Call]:
        for part, (start, stop) in enumerate(pairwise(self._parts(iteration))):
            opens = not iteration and start < OPENING
            for first, count in self._batches(start, stop, opens):
                yield self._call(
                    "vary" if iteration else "create",
                    iteration,
                    label,
                    first,
                    count,
                    strength=self._strength(iteration) if iteration else None,
                    parent=part if iteration else None,
                )

    def _parts(self, iteration: int) -> range | list[int]:
        """Return the indices at which the images of each prototype (or prompt) of a class begin and end."""
        if iteration:
            size = self.method.candidates * self.variations
            return range(0, size + 1, size // self.method.prototypes)
        wordings = max(self.wordings, 1)
        return [-(-part * self.method.initial // wordings) for part in range(wordings + 1)]

    def _batches(self, first: int, stop: int, opens: bool = False) -> Iterator[tuple[int, int]]:
        """Yield index and size of each batch; the first batches of a run are small."""
        while first < stop:
            count = min(self.provider.batch, stop - first, OPENING if opens else stop)
            yield first, count
            first, opens = first + count, opens and first + count < OPENING

    def lookaheads(self, iteration: int) -> Iterator[Call]:
        """Yield the lookahead on a population: ``lookahead`` variations of every candidate, in public order."""
        if self.method.lookahead and iteration < self.method.iterations:
            yield from self._echoes("look", iteration, self.method.lookahead, self._strength(iteration + 1))

    def extensions(self) -> Iterator[Call]:
        """Yield the calls that enlarge the dataset: ``more`` variations of every image of the last population."""
        last = self.method.iterations
        if self.method.more and last:
            yield from self._echoes("extend", last, self.method.more, self._strength(last))

    def _echoes(
        self, purpose: Purpose, iteration: int, copies: int, strength: float | None
    ) -> Iterator[Call]:
        """Yield ``copies`` variations of every image of a population."""
        places: dict[str, int] = dict.fromkeys(self.labels, 0)
        for call in self.round(iteration):
            for index in range(call.count):
                start = places[call.label]
                places[call.label] += copies
                for first, count in self._batches(start, start + copies):
                    yield self._call(
                        purpose,
                        iteration,
                        call.label,
                        first,
                        count,
                        strength=strength,
                        source=call.output(index),
                    )

    def _call(
        self,
        purpose: Purpose,
        iteration: int,
        label: str,
        first: int,
        count: int,
        strength: float | None = None,
        parent: int | None = None,
        source: str | None = None,
    ) -> Call:
        stage = f"{STAGES[purpose]}{iteration:03d}"
        place = self.labels.index(label)
        slot = f"{stage}/c{place:03d}/n{first:06d}"
        seed = self.public_seed(stage, place, first)
        own = purpose == "create" and self.provider.prompts
        wording = first * self.wordings // self.method.initial if own else None
        return Call(slot, purpose, iteration, label, first, count, seed, strength, parent, source, wording)

    def _strength(self, iteration: int) -> float | None:
        """Return the strength of a round's variations; None if requests set no strength."""
        return self.method.strengths[iteration - 1] if self.grades_variations else None

    def _all_calls(self) -> Iterator[Call]:
        """Yield every call of the run, in sending order."""
        for iteration in range(self.method.iterations + 1):
            yield from self.round(iteration)
            yield from self.lookaheads(iteration)
        yield from self.extensions()
