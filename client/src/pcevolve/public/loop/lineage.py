"""What a run has made and released so far, and its next steps by the plan's rules. It handles public types only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from pcevolve.public.calls import Call
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Prototype, PublicEcho, Query, Receipt, list_start

Population = Mapping[str, tuple[Candidate, ...]]
"""The candidates of each class, by label, in the order of the plan."""
Identify: TypeAlias = Callable[[str], str]
"""Maps the digest of an output to the digest of its visible content, or to "" if the output is unusable.

Equal pixels, or words that are equal in normal form, have the same digest.
"""

NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True)
class Pool:
    """The candidates from which a release chooses.

    Attributes:
        views: The lookahead variations by which a candidate is judged, by its id. Empty without lookahead.
        sources: The digest of the source of each of the newest candidates, by its id. Text-to-image has no source.
        repeats: The excluded candidates, which show the same as an earlier candidate of their class.
    """

    candidates: Population
    views: Population = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    repeats: Population = field(default_factory=dict)


IsEnough: TypeAlias = Callable[[Pool], bool]
"""Returns True if the newest candidates of a pool leave something to choose."""


class Judge(Protocol):
    """The private side. It receives all candidates and releases a few of them under differential privacy."""

    def show(self, query: Query, pool: Pool) -> None:
        """Do the public part of the work, whose duration reveals nothing.

        ``release`` gives the same receipt if ``show`` was not called before, but takes longer.
        """
        ...

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Choose the prototypes of every class. The same query always gets the same receipt."""
        ...


@dataclass
class Lineage:
    """A run's answers and releases so far, and their consequences by the plan's rules.

    The loop keeps a lineage, and so does every process that receives the answers and must pool the same candidates.

    Attributes:
        answers: The outputs of each call, by slot.
        receipts: The receipts so far, in order.
        pools: The pool of each release so far, by its iteration.
        known: Every candidate so far, by id.
    """

    plan: PublicPlan
    identify: Identify
    is_enough: IsEnough = lambda pool: True
    answers: dict[str, tuple[Candidate, ...]] = field(default_factory=dict)
    receipts: list[Receipt] = field(default_factory=list)
    pools: dict[int, Pool] = field(default_factory=dict)
    known: dict[str, Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Register the images of the release from which the plan starts."""
        self.known.update((each.id, each) for each in chain(*list_start(self.plan).values()))

    def note(self, call: Call, made: tuple[Candidate, ...]) -> None:
        """Register the outputs of a call."""
        self.answers[call.slot] = made
        self.known.update((each.id, each) for each in made)

    def population(self, calls: Iterable[Call]) -> Population:
        """Return the outputs of some calls, class by class."""
        made: dict[str, list[Candidate]] = {label: [] for label in self.plan.labels}
        for call in calls:
            made[call.label] += self.answers.get(call.slot, ())
        return {label: tuple(each) for label, each in made.items()}

    def populations(self) -> tuple[Population, ...]:
        """Return the population of every completed iteration, the initial one first."""
        rounds = (tuple(self.plan.round(iteration)) for iteration in range(self.plan.method.iterations + 1))
        return tuple(
            self.population(calls) for calls in rounds if all(call.slot in self.answers for call in calls)
        )

    def source(self, call: Call) -> Prototype | PublicEcho | None:
        """Find the candidate that a call varies. It is found by id and never by position."""
        if call.source is not None:
            return PublicEcho(self.known[call.source])
        if call.parent is None:
            return None
        receipt = self.receipts[-1]
        named = receipt.of(call.label)[call.parent]
        return Prototype(self.known[named.id], receipt)

    def pool(self, iteration: int) -> Pool:
        """Return the pool of a release: the newest population, and the earlier ones that the plan keeps.

        An audit runs the loop again, so a run and its audit share this rule.
        """
        if iteration not in self.pools:
            *earlier, newest = self.populations()[: max(iteration, 1)]
            if self.plan.method.pool != "all":
                earlier = [self._survivors()] if self.plan.method.pool == "survivors" else []
            self.pools[iteration] = self._pool_of([*earlier, newest], self._views(max(iteration, 1)))
        return self.pools[iteration]

    def _pool_of(self, populations: Sequence[Population], views: Population = NOTHING) -> Pool:
        newest = chain(*populations[-1].values())
        sources = {each.id: self.known[each.parent].digest for each in newest if each.parent in self.known}
        return make_pool(populations, self.identify, views, sources)

    def find_due(self) -> int | None:
        """Return the plan's first release that was not made yet, or None if all were made."""
        made = {each.iteration for each in self.receipts}
        return next((each for each in self.plan.releases if each not in made), None)

    def find_next(self) -> int | None:
        """Return the next release: the due one, or the final selection if the run ends early."""
        plan, due = self.plan, self.find_due()
        if due is None or self.find_end() is None:
            return due
        is_chosen = self.receipts[-1].iteration == plan.releases[-1]
        return plan.releases[-1] if plan.selects and plan.method.pool == "all" and not is_chosen else None

    def find_end(self) -> Pool | None:
        """Return the candidates that end the run because they leave too little to choose, or None if the run continues.

        There is no early end before the first release. At that point the judge refuses, which costs no budget.
        After the first release, ``--resume`` would get the same recorded answers, so the run ends without further
        payments. The dataset then consists of the choices of the last release and the newest candidates. If the
        pool contains all rounds, the dataset is selected from it as planned.
        """
        due = self.find_due()
        if not self.receipts or (due is None and self.plan.selects) or self.list_missing(due):
            return None
        pool = self._pool_of(self.populations()[-1:]) if due is None else self.pool(due)
        return None if self.is_enough(pool) else pool

    def list_missing(self, due: int | None) -> list[str]:
        """List the slots of unanswered calls for which a release, or the end of all rounds, must wait."""
        rounds = range(self.plan.method.iterations + 1 if due is None else max(due, 1))
        calls = ((*self.plan.round(each), *self.plan.lookaheads(each)) for each in rounds)
        return [call.slot for call in chain(*calls) if call.slot not in self.answers]

    def dataset(self) -> Population:
        """Return the last population with its variations, or the final selection from all rounds.

        No two items have the same visible content.
        """
        plan, last, most = self.plan, self.populations()[-1], None
        if plan.selects and self.receipts[-1].iteration == plan.releases[-1]:
            made = [self._survivors()]
        elif self.find_end() is not None:
            made, most = [self._survivors(), last], plan.method.candidates
        else:
            made = [last, self.population(plan.extensions())]
        whole = join_populations(plan.labels, made)
        kept = share_out(whole, chain(*list_start(plan).values()), self.identify, most)
        return cut_to_proportion(plan, self.receipts, kept)

    def _survivors(self) -> Population:
        """Return the choices of the last release, in order and without repetition. Empty before the first release."""
        # A dictionary keeps the order of the release and removes repetitions.
        ids = {
            label: dict.fromkeys(each.id for last in self.receipts[-1:] for each in last.of(label))
            for label in self.plan.labels
        }
        return {label: tuple(self.known[each] for each in of_class) for label, of_class in ids.items()}

    def _views(self, rounds: int) -> Population:
        """Return the lookahead variations of the first rounds, by candidate."""
        views: dict[str, tuple[Candidate, ...]] = {}
        for call in chain(*map(self.plan.lookaheads, range(rounds))):
            source = call.source or ""
            views[source] = views.get(source, ()) + self.answers.get(call.slot, ())
        return views


def make_pool(
    populations: Sequence[Population],
    identify: Identify,
    views: Population = NOTHING,
    sources: Mapping[str, str] = NOTHING,
) -> Pool:
    """Pool candidates, the oldest first, without those that repeat one of their class (see ``find_repeats``).

    This is public preprocessing of the provider's outputs. The pool of a class depends only on the candidates of this
    class. A picture that occurs in several classes therefore stays available to each of them, and a pool grows only at
    its end.
    """
    repeats, labels = find_repeats(populations, identify), populations[0]
    whole = join_populations(labels, populations)
    kept = {label: tuple(each for each in whole[label] if each.id not in repeats) for label in labels}
    left_out = {label: tuple(each for each in whole[label] if each.id in repeats) for label in labels}
    shown = views.keys() - repeats
    seen = {each.id: views[each.id] for each in _in_order(populations) if each.id in shown}
    return Pool(kept, _part_views(seen, identify), sources, left_out)


def find_repeats(populations: Iterable[Population], identify: Identify) -> frozenset[str]:
    """Return the ids of candidates that show the same as an earlier candidate of their class, round by round."""
    first: dict[tuple[str, str], str] = {}
    return frozenset(
        each.id
        for each in _in_order(populations)
        if (shown := identify(each.digest)) and first.setdefault((each.label, shown), each.id) != each.id
    )


def share_out(
    dataset: Population, taken: Iterable[Candidate], identify: Identify, most: int | None = None
) -> Population:
    """Exclude candidates that are already in the dataset, in any class, so that nothing is released twice.

    The classes take turns, and each takes its next unused candidate. Classes that contain the same few pictures
    therefore share them.

    Args:
        taken: Candidates that no class gets.
        most: Largest number per class. None for no limit.
    """
    gone = {identify(each.digest) for each in taken} - {""}
    kept: dict[str, list[Candidate]] = {label: [] for label in dataset}
    left = {label: iter(of_class) for label, of_class in dataset.items()}
    while left:
        for label in tuple(left):
            each = next((each for each in left[label] if identify(each.digest) not in gone), None)
            if each is None:
                del left[label]
                continue
            kept[label].append(each)
            gone |= {identify(each.digest)} - {""}
    return {label: tuple(of_class[:most]) for label, of_class in kept.items()}


def _in_order(populations: Iterable[Population]) -> Iterator[Candidate]:
    for population in populations:
        for turn in zip_longest(*population.values()):
            yield from (each for each in turn if each is not None)


def _part_views(views: Population, identify: Identify) -> Population:
    """Remove views that repeat an earlier view. A candidate without views is judged by its own image."""
    repeats = find_repeats(({each: (view,)} for each, own in views.items() for view in own), identify)
    left = {each: tuple(view for view in own if view.id not in repeats) for each, own in views.items()}
    return {each: own for each, own in left.items() if own}


def join_populations(labels: Iterable[str], populations: Iterable[Population]) -> Population:
    """Concatenate several populations, class by class, the oldest first."""
    several = list(populations)
    return {label: tuple(each for one in several for each in one[label]) for label in labels}


Image = TypeVar("Image")


def cut_to_proportion(
    plan: PublicPlan, receipts: Iterable[Receipt], dataset: Mapping[str, tuple[Image, ...]]
) -> dict[str, tuple[Image, ...]]:
    """Cut classes to the released proportions: the largest class stays complete, and no class becomes empty.

    This is post-processing of the first receipt's numbers. The dataset is unchanged if there are no numbers, if none of
    them is above 0, or if their count differs from the number of classes. The first images of each class are kept.

    Args:
        plan: States whether class counts are released.
        receipts: The run's receipts. The receipt of the first round has a number for each class, in the plan's order.
    """
    counts = next((each.values for each in receipts if plan.class_counts and each.iteration == 1), ())
    largest = max(counts, default=0.0)
    # Noisy counts can be negative or missing. The sizes then stay unchanged, which is public too.
    if largest <= 0 or len(counts) != len(plan.labels) or not all(map(math.isfinite, counts)):
        return {label: tuple(images) for label, images in dataset.items()}
    shares = {label: max(count, 0.0) / largest for label, count in zip(plan.labels, counts, strict=True)}
    return {
        label: images[: max(1, math.ceil(shares[label] * len(images)))] for label, images in dataset.items()
    }
