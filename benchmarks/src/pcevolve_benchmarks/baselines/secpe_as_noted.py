"""SecPE as noted: texts with secrets are sampled anew in every round, counted and averaged around the first candidates.

A record that holds secrets is there with a probability of its own, all others always; noise is what the secrets need
and knows nothing of anybody else. Cells lie around the first candidates or their groups, where the publication takes
private texts without secrets. Every secret has the prior and the bound that are said of all.

Source: SecPE (arXiv 2510.10990), put right: the publication's noise keeps less than it promises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10

import numpy as np

from pcevolve.errors import DataError
from pcevolve.keeper.private.secrets import read_declared
from pcevolve.public.dp.mechanisms import FloatArray, Noise
from pcevolve.public.figures import USUAL_DELTA
from pcevolve.public.geometry.distances import IntArray, nearest_of_some
from pcevolve.public.geometry.frame import round_to_noise_scale
from pcevolve.public.methods import MOST_CELLS
from pcevolve.public.parts import Secrecy
from pcevolve.public.privacy import Budget
from pcevolve.public.selectors import METHODS, Measurement, PrivateEmbeddings, Scope, SelectionInput
from pcevolve.public.selectors.cells import find_anchors
from pcevolve.public.selectors.selection import GRID
from pcevolve.public.selectors.votes import cast_votes
from pcevolve_benchmarks.baselines.secret_noise import Exposed, fair_weights, rates, smallest_sigma
from pcevolve_benchmarks.baselines.session import (
    Accesses,
    Baseline,
    BaselineAccess,
    BaselineImages,
    BaselineSession,
    Options,
)

FINEST = 2.0**14
"""Steps between a rate of 0 and one of 1, to which rates are rounded up before noise is calibrated for them."""
BLOCK_ROWS = 2**13
"""Records whose shifts are worked out at a time."""
DIGITS = 3
"""Of a standard deviation, which is rounded up to them."""


@dataclass(frozen=True)
class SampledCells:
    """Gaussian noise on counts of all cells of all classes, and on sums of shifts from their anchors, together.

    A shift is clipped to the public radius of its class and told in units of it, so a record moves count and sum by
    ``JOINT_NORM`` at most, whatever it holds; one of a unit of m records moves 1/m of that.

    Attributes:
        sigma: Standard deviation of the noise.
    """

    sigma: float

    def measure(
        self, private: PrivateEmbeddings, scene: SelectionInput, events: Accesses, noise: Noise
    ) -> Measurement:
        """Sample, count, add up, and add noise.

        Returns:
            ``cells``: float64 ``(anchors of all classes,)``, class after class; ``shifts``: float64 ``(anchors, d)``;
            both without idle digits. ``sigma``: float64 ``(1,)``, the standard deviation of their noise.
        """
        anchors, sigma = _anchors(scene), np.array([_round_up(self.sigma)])
        counts = private.shares * _sample(private.capped, scene.key, noise)
        cell = cast_votes(private, replace(scene, pools=anchors), count=1)[:, 0]
        sums = _sums(private, counts, cell, anchors, scene)
        noisy = noise.gaussian(f"{scene.key}/sampled", sums, float(sigma[0]))
        released = round_to_noise_scale(noisy, float(sigma[0]))
        return {"cells": released[:, 0].copy(), "shifts": released[:, 1:].copy(), "sigma": sigma}

    def pick(self, measured: Measurement, scene: SelectionInput) -> tuple[IntArray, ...]:
        """Let each cell's centre vote for the candidate that is nearest to it, as often as it counts; keep the best."""
        anchors = _anchors(scene)
        ends = np.cumsum([len(each) for each in anchors])[:-1]
        parts = zip(
            np.split(measured["cells"], ends), np.split(measured["shifts"], ends), anchors, strict=True
        )
        return tuple(_best(*part, scene, target) for target, part in enumerate(parts))


def _sample(rates: FloatArray, key: str, noise: Noise) -> FloatArray:
    """1 for each record that is there this time, else 0; who is there for certain is not drawn."""
    there = rates >= 1.0
    for row in np.flatnonzero((rates > 0) & ~there):
        there[row] = noise.uniform(f"{key}/sampled/{row}", int(GRID)) < rates[row] * GRID
    return there.astype(np.float64)


def _sums(
    private: PrivateEmbeddings,
    counts: FloatArray,
    cell: IntArray,
    anchors: tuple[FloatArray, ...],
    scene: SelectionInput,
) -> FloatArray:
    """Of each cell, what its records count and the sum of their shifts, float64 ``(anchors, 1 + d)``; private."""
    every = np.concatenate(anchors)
    radii = np.array([_radius(scene, target) for target in range(len(scene.labels))])
    sums = np.zeros((len(every), 1 + every.shape[1]))
    for rows in _blocks(np.flatnonzero(counts)):
        shifts = private.embeddings[rows] - every[cell[rows]]
        told = np.column_stack([np.ones(len(rows)), _clip(shifts, radii[private.targets[rows]])])
        np.add.at(sums, cell[rows], np.trunc(told * counts[rows, None] * GRID) / GRID)  # exact in any order
    return sums


def _blocks(rows: IntArray) -> Iterator[IntArray]:
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def _clip(shifts: FloatArray, radii: FloatArray) -> FloatArray:
    """Shifts in units of their radius, float64 ``(n, d)``, of norm 1 at most; none where there is no radius."""
    shifts = np.nan_to_num(shifts)  # an anchor that cannot be used is nobody's but where none can
    reach = np.maximum(np.linalg.norm(shifts, axis=1), radii)[:, None] * (1 + 2**-40)
    told: FloatArray = np.divide(shifts, reach, out=np.zeros_like(shifts), where=(radii > 0)[:, None])
    return told


def _radius(scene: SelectionInput, target: int) -> float:
    """Public: the median distance of the class's first candidates from the nearest other one."""
    first = scene.first_of(target)
    usable = first[np.isfinite(first).all(axis=1)]
    if len(usable) < 2:
        return 0.0
    near = nearest_of_some(usable, np.arange(len(usable)), usable, 2)
    pairs = usable[near[:, 0]] - usable[near[:, 1]]
    return float(np.median(np.linalg.norm(pairs, axis=1)))


def _best(
    counts: FloatArray, shifts: FloatArray, anchors: FloatArray, scene: SelectionInput, target: int
) -> IntArray:
    pool, eligible = scene.pools[target], scene.eligible(target)
    usable = np.flatnonzero(np.isfinite(anchors).all(axis=1))
    votes = np.zeros(len(pool))
    if len(usable):
        means = _clip(shifts[usable] / np.maximum(counts[usable], 1.0)[:, None], np.ones(len(usable)))
        centres = anchors[usable] + _radius(scene, target) * means
        near = nearest_of_some(centres, np.arange(len(centres)), pool[eligible], 1)[:, 0]
        np.add.at(votes, eligible[near], counts[usable])
    return np.resize(eligible[np.argsort(-votes[eligible], kind="stable")], scene.wanted)


def _anchors(scene: SelectionInput) -> tuple[FloatArray, ...]:
    return find_anchors(scene, [len(scene.first_of(target)) for target in range(len(scene.labels))])


def _round_up(sigma: float) -> float:
    """The next number of ``DIGITS`` digits."""
    step = 10.0 ** (floor(log10(sigma)) + 1 - DIGITS)
    return float(f"{ceil(sigma / step * (1 - 2**-40)) * step:.{DIGITS - 1}e}")


def _carry_out(session: BaselineSession) -> BaselineImages:
    """Weigh the texts fairly by the secrets that they hold, and choose."""
    found, sigma = choose_sampling(session)
    views = session.components.views.embeddings(None)
    return session.evolve_by(SampledCells(sigma), replace(views, caps=found))


def choose_sampling(session: BaselineSession) -> tuple[FloatArray, float]:
    """With what probability each text is there in a round, and the standard deviation of the noise that this needs.

    Raises:
        DataError: A secret stands in more texts than is promised.
    """
    promise, data = session.plan.secrecy, session.components.data
    assert promise is not None
    sources = read_declared(session.components.settings, promise)
    held = [(each.places, each.budget) for each in sources.find_held(data) if each.places]
    found = sampling_rates(held, len(data), promise)
    exposed = {_expose(found[list(places)], promise) for places, _ in held}
    return found, smallest_sigma(exposed, session.plan.method.iterations)


def sampling_rates(held: Sequence[tuple[Sequence[int], float]], texts: int, promise: Secrecy) -> FloatArray:
    """With what probability each text is there in a round, float64 ``(texts,)``; 1 for those without secrets.

    Args:
        held: Of each secret, the texts that hold it, and its η.
        texts: How many there are.
        promise: What is promised of each.

    Raises:
        DataError: A secret stands in more texts than is promised.
    """
    if any(len(places) > promise.most for places, _ in held):
        raise DataError(f"a secret stands in more than {promise.most} texts: say a larger --secret-size")
    holders = sorted({place for places, _ in held for place in places})
    number = {place: number for number, place in enumerate(holders)}
    groups = [[number[place] for place in places] for places, _ in held]
    found = np.ones(texts)
    found[holders] = rates(fair_weights(groups, [budget for _, budget in held]))
    return found


def _expose(found: FloatArray, promise: Secrecy) -> Exposed:
    """A secret by its rates, which are rounded up so that few differ."""
    ordered = sorted(np.minimum(np.ceil(found * FINEST) / FINEST, 1.0), reverse=True)
    return Exposed(tuple(map(float, ordered)), promise.prior, promise.bound)


def _accesses(budget: Budget, scope: Scope) -> tuple[Accesses, ...]:
    """One release in each round, whatever the budget: its noise follows from who holds which secret."""
    return (*(((BaselineAccess("secret-noise"),),) * scope.iterations), (BaselineAccess("post-processing"),))


def _usual(given: Options) -> Options:
    """A cell around every first candidate, as noted."""
    initial = given.get("initial") or METHODS["secpe"].initial * int(given.get("candidates", 100))
    return {"cells": given.get("cells") or min(int(initial), MOST_CELLS)}


BASELINE = Baseline(
    name="secpe-as-noted",
    summary="SecPE as noted (texts): those with secrets are sampled anew in every round and counted and averaged "
    "around the first candidates, with noise for the secrets alone; all other texts always count",
    protects=(
        "the listed secrets where it is paid for, and nothing else: whoever guesses one of them with its prior "
        "probability before the run guesses it with its bound at most after all of its releases together; texts that "
        "hold none of them are counted as if they were public"
    ),
    base="secpe",
    accesses=_accesses,
    carry_out=_carry_out,
    paid=False,
    delta=USUAL_DELTA,
    usual=_usual,
)
