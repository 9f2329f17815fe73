"""What a run has made and released so far, and its next steps by the plan's rules; public types alone."""

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
"""Candidates of each class, by label, in the order of the plan."""
Identify: TypeAlias = Callable[[str], str]
"""Maps the digest of an output to the digest of its visible content; empty if unusable.

Equal pixels, or equal words in normal form, have the same digest.
"""

NOTHING: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True)
class Pool:
    """The candidates that a release chooses from.

    Attributes:
        views: Lookahead: the variations by which a candidate is judged, by its id; empty without lookahead.
        sources: Digest of the source of each of the newest candidates, by its id; absent for text-to-image.
        repeats: Left out: candidates that show the same as an earlier one of their class.
    """

    candidates: Population
    views: Population = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    repeats: Population = field(default_factory=dict)


IsEnough: TypeAlias = Callable[[Pool], bool]
"""True if the newest candidates of a pool leave something to choose."""


class Judge(Protocol):
    """The private side: sees all candidates, releases a few under differential privacy."""

    def show(self, query: Query, pool: Pool) -> None:
        """Do the public part of the work, whose duration reveals nothing.

        It comes before ``release``, which gives the same receipt without it and only takes longer.
        """
        ...

    def release(self, query: Query, pool: Pool) -> Receipt:
        """Choose the prototypes of every class; the same query always gets the same receipt."""
        ...


@dataclass
class Lineage:
    """A run's answers and releases so far, and their consequences by the plan's rules.

    The loop keeps one, and so does every process that receives the answers and has to pool the same
    candidates.

    Attributes:
        answers: The outputs of each call, by slot.
    """

    plan: PublicPlan
    identify: Identify
    is_enough: IsEnough = lambda pool: True
    answers: dict[str, tuple[Candidate, ...]] = field(default_factory=dict)
    receipts: list[Receipt] = field(default_factory=list)
    pools: dict[int, Pool] = field(default_factory=dict)
    known: dict[str, Candidate] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Register the images of the release that the plan starts from."""
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
        """Find the candidate that a call varies, by id and never by position."""
        if call.source is not None:
            return PublicEcho(self.known[call.source])
        if call.parent is None:
            return None
        receipt = self.receipts[-1]
        named = receipt.of(call.label)[call.parent]
        return Prototype(self.known[named.id], receipt)

    def pool(self, iteration: int) -> Pool:
        """Return the pool of a release: the newest population, and earlier ones that the plan's rule keeps.

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
        """Return the first release of the plan that is missing; None if none is."""
        made = {each.iteration for each in self.receipts}
        return next((each for each in self.plan.releases if each not in made), None)

    def find_next(self) -> int | None:
        """Return the next release: the one that is due, or the selection that ends a run early."""
        plan, due = self.plan, self.find_due()
        if due is None or self.find_end() is None:
            return due
        is_chosen = self.receipts[-1].iteration == plan.releases[-1]
        return plan.releases[-1] if plan.selects and plan.method.pool == "all" and not is_chosen else None

    def find_end(self) -> Pool | None:
        """Return the candidates after which a run ends because they leave too little to choose; None while it goes on.

        Before the first release there is no early end: the judge refuses, and nothing is lost without a
        dataset. After it, ``--resume`` could bring no other answers than those on record, so nothing more is
        paid for. The dataset is then what the last release chose, with the newest candidates; from a pool of
        all rounds it is selected as planned.
        """
        due = self.find_due()
        if not self.receipts or (due is None and self.plan.selects) or self.list_missing(due):
            return None
        pool = self._pool_of(self.populations()[-1:]) if due is None else self.pool(due)
        return None if self.is_enough(pool) else pool

    def list_missing(self, due: int | None) -> list[str]:
        """List slots of unanswered calls that a release, or the end of all rounds, waits for."""
        rounds = range(self.plan.method.iterations + 1 if due is None else max(due, 1))
        calls = ((*self.plan.round(each), *self.plan.lookaheads(each)) for each in rounds)
        return [call.slot for call in chain(*calls) if call.slot not in self.answers]

    def dataset(self) -> Population:
        """Return the last population with its variations, or the final selection from all rounds.

        No two show the same.
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
        """Return the last release's choice, in its order, without repetition; empty before the first."""
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
    """Pool candidates, the oldest first, without those that repeat one of their class; see ``find_repeats``.

    Public preprocessing of what the provider sent. A class's pool depends on its own candidates alone, so a
    picture that several classes show stays available to each, and a pool grows only at its end.
    """
    repeats, labels = find_repeats(populations, identify), populations[0]
    whole = join_populations(labels, populations)
    kept = {label: tuple(each for each in whole[label] if each.id not in repeats) for label in labels}
    left_out = {label: tuple(each for each in whole[label] if each.id in repeats) for label in labels}
    shown = views.keys() - repeats
    seen = {each.id: views[each.id] for each in _in_order(populations) if each.id in shown}
    return Pool(kept, _part_views(seen, identify), sources, left_out)


def find_repeats(populations: Iterable[Population], identify: Identify) -> frozenset[str]:
    """Return the ids of candidates that show the same as an earlier one of their class, round by round."""
    first: dict[tuple[str, str], str] = {}
    return frozenset(
        each.id
        for each in _in_order(populations)
        if (shown := identify(each.digest)) and first.setdefault((each.label, shown), each.id) != each.id
    )


def share_out(
    dataset: Population, taken: Iterable[Candidate], identify: Identify, most: int | None = None
) -> Population:
    """Leave out candidates that are in the dataset already, in any class: nothing is released twice.

    Classes take turns to take their next unused candidate, so classes that show the same few pictures share
    them.

    Args:
        taken: Candidates that no class gets.
        most: Maximum number per class; None for no limit.
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
    """Remove views that repeat an earlier one; a candidate without views is judged by itself."""
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
    """Cut classes to the released proportions: the largest stays whole, and none becomes empty.

    Post-processing of the first receipt's numbers. The dataset is unchanged without them, if none is above 0,
    or if they do not fit the classes. The first images of a class are kept.

    Args:
        plan: Says whether class counts are released.
        receipts: The run's receipts; the first round's holds a number for each class, in the plan's order.
    """
    counts = next((each.values for each in receipts if plan.class_counts and each.iteration == 1), ())
    largest = max(counts, default=0.0)
    # Noisy counts can be negative or missing; then sizes stay unchanged, which is public too.
    if largest <= 0 or len(counts) != len(plan.labels) or not all(map(math.isfinite, counts)):
        return {label: tuple(images) for label, images in dataset.items()}
    shares = {label: max(count, 0.0) / largest for label, count in zip(plan.labels, counts, strict=True)}
    return {
        label: images[: max(1, math.ceil(shares[label] * len(images)))] for label, images in dataset.items()
    }
