"""Aug-PE as published: beside an implementation of its own that knows the paper alone, and what its pool is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from pcevolve.public.calls import Call
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.encoders.files import PublicFrame
from pcevolve.public.loop.evolution import Ask, Evolved, evolve
from pcevolve.public.loop.lineage import Pool
from pcevolve.public.plan import PublicPlan
from pcevolve.public.release import Candidate, Query, Receipt
from pcevolve.public.selectors import METHODS, PrivateEmbeddings
from pcevolve.public.selectors.choosing import Chooser
from support.runs import small_plan

FloatArray = NDArray[np.float64]
WIDTH = 8


def make_random(label: str, index: int) -> str:
    """RANDOM_API: the ``index``-th first text of a class. A text is a point, which follows from what was asked."""
    return write(draw("random", label, index))


def make_variation(text: str, iteration: int, index: int) -> str:
    """VARIATION_API: the ``index``-th variation of a text in an iteration."""
    return write(point(text) + 0.5 * draw("vary", text, iteration, index))


def draw(*of: object) -> FloatArray:
    """A standard normal point that follows from what it is drawn for."""
    seed = int.from_bytes(hashlib.sha256(repr(of).encode()).digest()[:8], "big")
    return np.random.default_rng(seed).normal(size=WIDTH)


def write(place: FloatArray) -> str:
    return " ".join(f"{each:+.6f}" for each in place)


def point(text: str) -> FloatArray:
    return np.array(text.split(), dtype=np.float64)


def run_published(
    private: Mapping[str, FloatArray],
    sizes: tuple[int, int, int],
    threshold: float,
    noise: Sequence[Mapping[str, FloatArray]],
) -> list[dict[str, list[str]]]:
    """Xie et al. 2024, Algorithm 1 with rank selection: S′ of each of T iterations, by class; the last is the dataset.

    Args:
        sizes: N_syn, L and T.
        threshold: H.
        noise: Of each iteration and class, float64 ``(N_syn L,)``.
    """
    count, fold, iterations = sizes
    pools = {label: [make_random(label, index) for index in range(count * fold)] for label in private}
    found = []
    for iteration in range(1, iterations + 1):
        survivors = {}
        for label, pool in pools.items():
            histogram = noise[iteration - 1][label].copy()
            for record in private[label]:
                gaps = [float(np.linalg.norm(record - point(text))) for text in pool]
                histogram[gaps.index(min(gaps))] += 1
            histogram = np.maximum(histogram - threshold, 0)
            best = sorted(range(len(pool)), key=lambda place, of=histogram: -of[place])  # type: ignore[misc]
            survivors[label] = [pool[place] for place in best[:count]]
            varied = [
                make_variation(text, iteration, k) for text in survivors[label] for k in range(fold - 1)
            ]
            pools[label] = survivors[label] + varied
        found.append(survivors)
    return found


class Recorded(SeededNoise):
    """Seeded noise that remembers what it added."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.added: list[FloatArray] = []

    def gaussian(self, key: str, values: FloatArray, sigma: float) -> FloatArray:
        noisy = super().gaussian(key, values, sigma)
        self.added.append(noisy - values)
        return noisy


class Points:
    """Reads a text's point."""

    name = "points"
    dimension = WIDTH
    frame: PublicFrame | None = None

    def embed(self, texts: Sequence[object]) -> FloatArray:
        return np.array([point(str(text)) for text in texts])


@dataclass
class Run:
    """The client's loop, chooser and selector around the model; its judge has no ledger."""

    plan: PublicPlan
    private: Mapping[str, FloatArray]
    noise: SeededNoise
    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.events = METHODS["aug-pe"].plan_events(self.plan)
        self.selector = METHODS["aug-pe"].make_selector()
        self.chooser = Chooser(self.plan, Points(), lambda digest: self.texts[digest].encode(), self.selector)
        rows = np.concatenate([self.private[label] for label in self.plan.labels])
        targets = np.repeat(
            np.arange(len(self.plan.labels)), [len(self.private[y]) for y in self.plan.labels]
        )
        self.embedded = PrivateEmbeddings(rows, targets, np.arange(len(rows)))

    def evolved(self) -> Evolved:
        return evolve(self.plan, self, self, self, lambda digest: "")

    def answers(self, asks: Sequence[Ask]) -> Iterator[tuple[Candidate, ...]]:
        for call, source in asks:
            parent = None if source is None else source.candidate
            yield tuple(self._made(call, index, parent) for index in range(call.count))

    def _made(self, call: Call, index: int, parent: Candidate | None) -> Candidate:
        place = call.first + index
        if parent is None:
            text = make_random(call.label, place)
        else:
            each = self.plan.method.candidates * self.plan.variations // self.plan.method.prototypes
            text = make_variation(self.texts[parent.digest], call.iteration, place % each)
        made = Candidate.received(call, index, parent and parent.id, text.encode())
        self.texts[made.digest] = text
        return made

    def show(self, query: Query, pool: Pool) -> None: ...

    def release(self, query: Query, pool: Pool) -> Receipt:
        events = self.events[query.iteration]
        (scene,) = self.chooser.find_inputs(query.iteration, pool, (None,))
        measured = self.selector.measure(self.embedded, scene, events, self.noise)
        choices, _ = self.chooser.choose(measured, (scene,), pool)
        return Receipt(query.run_id, query.iteration, choices, events, self.plan.privacy.relation)

    def generated(self, call: Call) -> None: ...

    def released(self, receipt: Receipt) -> None: ...


def plan_of(
    iterations: int, candidates: int, labels: Sequence[str] = ("a",), **changes: object
) -> PublicPlan:
    """Aug-PE as it is unless somebody says otherwise, but for its sizes."""
    method = METHODS["aug-pe"]
    shape = {
        "method": "aug-pe", "dialect": "chat", "labels": tuple(labels), "candidates": candidates, "batch": 64,
        "prototypes": candidates, "initial": method.initial_for(candidates, method.variations),
        "variations": method.variations, "pool": method.pool, "keep": method.keep, "iterations": iterations,
        "strengths": (0.5,) * iterations, "delta": 1e-5, "encoder": "points",
    }  # fmt: skip
    return small_plan(**{**shape, "weights": None, **changes})


@pytest.mark.parametrize("threshold", [0.0, 2.0])
def test_a_pool_is_the_survivors_and_their_variations_and_the_last_survivors_are_the_dataset(threshold):
    labels, (count, fold, votes) = ("a", "b"), (6, 4, 5)
    private = {
        y: 1.0 + 0.5 * np.random.default_rng(place).normal(size=(25, WIDTH)) for place, y in enumerate(labels)
    }
    noise = Recorded(3)
    plan = plan_of(votes - 1, count, labels, threshold=threshold, epsilon="40")
    run = Run(plan, private, noise)
    evolved = run.evolved()

    by_class = [dict(zip(labels, np.split(added, len(labels)), strict=True)) for added in noise.added]
    expected = run_published(private, (count, fold, votes), threshold, by_class)
    kept = [
        {y: [run.texts[each.digest] for each in receipt.of(y)] for y in labels}
        for receipt in evolved.receipts
    ]
    assert kept == expected
    assert {y: [run.texts[each.digest] for each in evolved.dataset[y]] for y in labels} == expected[-1]
    assert {len(pool.candidates[y]) for pool in evolved.pools.values() for y in labels} == {count * fold}
    assert len(set(map(str, expected))) == votes  # it is no comparison of what never changes


def test_what_was_voted_out_never_comes_back_and_what_is_drawn_twice_is_in_the_pool_once():
    private = {"a": np.random.default_rng(1).normal(size=(25, WIDTH))}
    for changes in ({}, {"selection": "prob"}):
        evolved = Run(plan_of(4, 6, **changes), private, SeededNoise(1)).evolved()
        for before, at in pairwise(sorted(evolved.pools)):
            shown = [each.id for each in evolved.pools[at].candidates["a"]]
            survivors = {each.id for each in evolved.receipts[before - 1].of("a")}
            newest = {each.id for each in evolved.populations[before]["a"]}
            assert set(shown) == survivors | newest
            assert len(shown) == len(set(shown))
