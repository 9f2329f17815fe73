"""Counts around the first candidates, and shifts from them, of private records that are sampled by round (SecPE).

A record that holds secrets is there with a probability of its own, all others always; noise is what the secrets need
and knows nothing of anybody else. Cells lie around the first candidates or their groups, as in ``cells``, where the
publication takes private texts without secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, log10

import numpy as np

from pcevolve.dp.mechanisms import FloatArray, Noise
from pcevolve.dp.sensitivity import JOINT_NORM
from pcevolve.privacy import Events
from pcevolve.selectors.cells import anchors_of
from pcevolve.selectors.coarse import idle_step, is_coarse, without_idle_digits
from pcevolve.selectors.distances import nearest_of_some
from pcevolve.selectors.following import has_form
from pcevolve.selectors.scene import GRID, IntArray, Measurement, PrivateEmbeddings, Scene, expect, only
from pcevolve.selectors.votes import cast_votes

BLOCK_ROWS = 2**13
"""Records whose shifts are worked out at a time."""
DIGITS = 3
"""Of a standard deviation, which is rounded up to them."""
BITS = 14
"""Room that they leave: who says a standard deviation may say one of nine hundred in each of a dozen decades."""


@dataclass(frozen=True)
class SampledCells:
    """Gaussian noise on counts of all cells of all classes, and on sums of shifts from their anchors, together.

    A shift is clipped to the public radius of its class and told in units of it, so a record moves count and sum by
    ``JOINT_NORM`` at most, whatever it holds; one of a unit of m records moves 1/m of that.
    """

    def measure(self, private: PrivateEmbeddings, scene: Scene, events: Events, noise: Noise) -> Measurement:
        """Sample, count, add up, and add noise.

        Returns:
            ``cells``: float64 ``(anchors of all classes,)``, class after class; ``shifts``: float64 ``(anchors, d)``;
            both without idle digits. ``sigma``: float64 ``(1,)``, the standard deviation of their noise.
        """
        expect(only(events), "secret-noise")
        anchors, sigma = _anchors(scene), np.array([_rounded_up(private.sigma_of_secrets)])
        counts = private.shares * _sampled(private.capped, scene.key, noise)
        cell = cast_votes(private, replace(scene, pools=anchors), count=1)[:, 0]
        sums = _sums(private, counts, cell, anchors, scene)
        noisy = noise.gaussian(f"{scene.key}/sampled", sums, float(sigma[0]))
        released = without_idle_digits(noisy, float(sigma[0]))
        return {"cells": released[:, 0].copy(), "shifts": released[:, 1:].copy(), "sigma": sigma}

    def pick(self, measured: Measurement, scene: Scene) -> tuple[IntArray, ...]:
        """Let each cell's centre vote for the candidate that is nearest to it, as often as it counts; keep the best."""
        anchors = _anchors(scene)
        ends = np.cumsum([len(each) for each in anchors])[:-1]
        parts = zip(
            np.split(measured["cells"], ends), np.split(measured["shifts"], ends), anchors, strict=True
        )
        return tuple(_best(*part, scene, target) for target, part in enumerate(parts))

    def rounding_bits(self, measured: Measurement, scene: Scene, events: Events) -> int | None:
        """``BITS``, for the standard deviation, where all else has the form of a release; else None."""
        anchors = _anchors(scene)
        count, width = sum(len(each) for each in anchors), anchors[0].shape[1]
        form = {
            "cells": (np.float64, (count,)),
            "shifts": (np.float64, (count, width)),
            "sigma": (np.float64, (1,)),
        }
        if not has_form(measured, form) or not _is_deviation(float(measured["sigma"][0])):
            return None
        step = idle_step(float(measured["sigma"][0]))
        return BITS if all(is_coarse(measured[name], step) for name in ("cells", "shifts")) else None

    def is_picked(self, measured: Measurement, scene: Scene, picked: Sequence[IntArray]) -> bool:
        """Whether these are what ``pick`` gives."""
        return all(map(np.array_equal, self.pick(measured, scene), picked))


def _sampled(rates: FloatArray, key: str, noise: Noise) -> FloatArray:
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
    scene: Scene,
) -> FloatArray:
    """Of each cell, what its records count and the sum of their shifts, float64 ``(anchors, 1 + d)``; private."""
    every = np.concatenate(anchors)
    radii = np.array([_radius(scene, target) for target in range(len(scene.labels))])
    sums = np.zeros((len(every), 1 + every.shape[1]))
    for rows in _blocks(np.flatnonzero(counts)):
        shifts = private.embeddings[rows] - every[cell[rows]]
        told = np.column_stack([np.ones(len(rows)), _clipped(shifts, radii[private.targets[rows]])])
        np.add.at(sums, cell[rows], np.trunc(told * counts[rows, None] * GRID) / GRID)  # exact in any order
    return sums


def _blocks(rows: IntArray) -> Iterator[IntArray]:
    for start in range(0, len(rows), BLOCK_ROWS):
        yield rows[start : start + BLOCK_ROWS]


def _clipped(shifts: FloatArray, radii: FloatArray) -> FloatArray:
    """Shifts in units of their radius, float64 ``(n, d)``, of norm 1 at most; none where there is no radius."""
    shifts = np.nan_to_num(shifts)  # an anchor that cannot be used is nobody's but where none can
    reach = np.maximum(np.linalg.norm(shifts, axis=1), radii)[:, None] * (1 + 2**-40)
    told: FloatArray = np.divide(shifts, reach, out=np.zeros_like(shifts), where=(radii > 0)[:, None])
    return told


def _radius(scene: Scene, target: int) -> float:
    """Public: the median distance of the class's first candidates from the nearest other one."""
    first = scene.first_of(target)
    usable = first[np.isfinite(first).all(axis=1)]
    if len(usable) < 2:
        return 0.0
    near = nearest_of_some(usable, np.arange(len(usable)), usable, 2)
    pairs = usable[near[:, 0]] - usable[near[:, 1]]
    return float(np.median(np.linalg.norm(pairs, axis=1)))


def _best(counts: FloatArray, shifts: FloatArray, anchors: FloatArray, scene: Scene, target: int) -> IntArray:
    pool, entrants = scene.pools[target], scene.entrants(target)
    usable = np.flatnonzero(np.isfinite(anchors).all(axis=1))
    votes = np.zeros(len(pool))
    if len(usable):
        means = _clipped(shifts[usable] / np.maximum(counts[usable], 1.0)[:, None], np.ones(len(usable)))
        centres = anchors[usable] + _radius(scene, target) * means
        near = nearest_of_some(centres, np.arange(len(centres)), pool[entrants], 1)[:, 0]
        np.add.at(votes, entrants[near], counts[usable])
    return np.resize(entrants[np.argsort(-votes[entrants], kind="stable")], scene.wanted)


def _anchors(scene: Scene) -> tuple[FloatArray, ...]:
    return anchors_of([scene.first_of(target) for target in range(len(scene.labels))], scene.cells)


def _rounded_up(sigma: float) -> float:
    """The next number of ``DIGITS`` digits."""
    step = 10.0 ** (floor(log10(sigma)) + 1 - DIGITS)
    return float(f"{ceil(sigma / step * (1 - 2**-40)) * step:.{DIGITS - 1}e}")


def _is_deviation(sigma: float) -> bool:
    """Whether a number is a standard deviation that secrets may need, in its few digits."""
    return isfinite(sigma) and sigma >= JOINT_NORM and float(f"{sigma:.{DIGITS - 1}e}") == sigma
