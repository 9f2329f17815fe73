"""The evolution loop (PCEvolve, Algorithm 1; Private Evolution, Algorithm 1). Sees public types only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .plan import Call, PublicPlan
from .release import Candidate, Prototype, PublicPrompt, Query, Receipt

Population = Mapping[str, tuple[Candidate, ...]]
"""Candidates of each class, by label, in the order of the plan."""


class Generator(Protocol):
    """The untrusted generative model behind an API (RANDOM_API and VARIATION_API of the papers)."""

    def create(self, call: Call, prompt: PublicPrompt) -> tuple[Candidate, ...]:
        """Text-to-image: ``call.count`` new candidates."""
        ...

    def vary(self, call: Call, prompt: PublicPrompt, prototype: Prototype) -> tuple[Candidate, ...]:
        """Image-to-image: ``call.count`` variations of a released prototype."""
        ...


class Judge(Protocol):
    """The private side: looks at all candidates, releases a few under differential privacy."""

    def release(self, query: Query, population: Population) -> Receipt:
        """Choose the prototypes of one class; the same query always gets the same receipt."""
        ...


class Watcher(Protocol):
    """Somebody who is told about progress, and learns only what the provider learns too."""

    def generated(self, call: Call) -> None:
        """A call was answered."""
        ...

    def released(self, receipt: Receipt) -> None:
        """A release was paid for."""
        ...


def evolve(plan: PublicPlan, generator: Generator, judge: Judge, watcher: Watcher) -> list[Population]:
    """Run the whole plan.

    Returns:
        The population of every iteration, the initial one first; the last one is the synthetic dataset.
    """
    history = [_initial(plan, generator, watcher)]
    for iteration in range(1, plan.iterations + 1):
        receipts = {}
        for label in plan.labels:
            receipts[label] = judge.release(Query(plan.run_id, iteration, label), history[-1])
            watcher.released(receipts[label])
        history.append(_variations(plan, generator, watcher, iteration, history[-1], receipts))
    return history


def _initial(plan: PublicPlan, generator: Generator, watcher: Watcher) -> Population:
    made: dict[str, tuple[Candidate, ...]] = dict.fromkeys(plan.labels, ())
    for call in plan.round(0):
        made[call.label] += generator.create(call, PublicPrompt.of(plan, call.label))
        watcher.generated(call)
    return made


def _variations(
    plan: PublicPlan,
    generator: Generator,
    watcher: Watcher,
    iteration: int,
    parents: Population,
    receipts: Mapping[str, Receipt],
) -> Population:
    made: dict[str, tuple[Candidate, ...]] = dict.fromkeys(plan.labels, ())
    for call in plan.round(iteration):
        prototype = _prototype(call, parents, receipts[call.label])
        made[call.label] += generator.vary(call, PublicPrompt.of(plan, call.label), prototype)
        watcher.generated(call)
    return made


def _prototype(call: Call, parents: Population, receipt: Receipt) -> Prototype:
    """The prototype that a call varies, found by id, never by position."""
    chosen = receipt.chosen[call.parent or 0]
    candidate = next(each for each in parents[call.label] if each.id == chosen.id)
    return Prototype(candidate, receipt)
