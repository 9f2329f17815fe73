"""How likely a selection takes a candidate of the best tenth, and what that adds up to. Public numbers only.

Luck is one tenth. Prices and ideal cases are the methods' own (each family of ``selectors`` says what it supposes);
here is what the paper's page needs beside them: the published calibrator, a whole run, and budgets turned round.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from pcevolve.public.dp.calibration import classical_deviation, largest_bounded_range
from pcevolve.public.methods import choose_delta
from pcevolve.public.privacy import Budget, Event
from pcevolve.public.selectors import METHODS, Scope
from pcevolve.public.selectors.contrastive import exponential_lift, similarity
from pcevolve.public.selectors.rounds import best_tenth

DELTA = 1e-5
PAPER = Scope("replace-one", iterations=20, classes=2, shots=10, candidates=100)
"""COVIDx and Camelyon17 in the PCEvolve paper: T, C, K, N."""
TAU = 10.0
EVEN = 0.5
POOLS = 4000
"""Simulated pools of candidates over which the published calibrator is averaged."""
AT_BEST, PUBLISHED = "PCEvolve, T = 20, at its very best", "PCEvolve, T = 20, as published (τ = 10)"
COMPOSED, ONE_ROUND = "PCEvolve, T = 20, composed at δ = 1e-5", "PCEvolve, T = 1"
PAPERS_NOISE, PE_20, PE_3 = "PE, T = 20, the papers' noise", "PE, T = 20", "PE, T = 3"
TUPLES, MEANS = (
    "votes for tuples of all classes (jvem), T = 20, δ = 1e-5",
    "one release of means (dp-means), any T",
)
Chance = Callable[[float], float]
"""Of ε: the probability of the best tenth, 0 to 1."""


def of_method(name: str, epsilon: float, scope: Scope) -> float:
    """A method's ideal case at its tightest calibration, in its first round."""
    method = METHODS[name]
    events = method.events(Budget(Fraction(epsilon), DELTA if choose_delta(name) else 0.0), scope)
    return method.lift(events[0], scope)


def of_published_votes(epsilon: float, scope: Scope) -> float:
    """PE's ideal case with the noise that the papers say: sqrt(2 ln(1.25/δ)) / (ε/T) on every count."""
    method = METHODS["pe"]
    return method.lift(method.events(Budget(Fraction(epsilon), DELTA), scope, "published")[0], scope)


def compose(epsilon: float, scope: Scope) -> float:
    """PCEvolve's ideal case where its T C draws share an ε that holds with δ, by the tightest accountant."""
    each = largest_bounded_range(Budget(Fraction(epsilon), DELTA), scope.iterations * scope.classes)
    return exponential_lift((Event("exponential", str(each)),), scope)


def draw_probabilities(utilities: NDArray[np.float64], epsilon: float) -> NDArray[np.float64]:
    """Exponential mechanism of sensitivity 1: probabilities along the last axis."""
    weights = np.exp(epsilon / 2 * (utilities - utilities.max(axis=-1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def calibrate_pools(candidates: int, tau: float = TAU) -> NDArray[np.float64]:
    """Utilities as published, float64 ``(POOLS, candidates)``, best first, of distances that are normally distributed.

    All candidates pass the filter. Mean and width of the distances do not matter, for the calibrator takes them out.
    """
    distances = np.sort(np.random.default_rng(0).standard_normal((POOLS, candidates)), axis=1)
    return np.stack([similarity(each, tau) for each in distances])


def as_published(pools: NDArray[np.float64], epsilon: float) -> float:
    """Probability of the best tenth under the published utility, at ε of one draw, mean over the pools."""
    return float(draw_probabilities(pools, epsilon)[:, : best_tenth(pools.shape[1])].sum(axis=1).mean())


def bits_of_a_run(chance: float, scope: Scope) -> float:
    """How far all T C draws together are from as many blind ones: Kullback-Leibler divergence, in bits.

    Args:
        chance: Of the best tenth, whose candidates are alike, as all others are.
        scope: T and C of the run.
    """
    share = best_tenth(scope.candidates) / scope.candidates
    parts = ((chance, share), (1 - chance, 1 - share))
    return scope.iterations * scope.classes * sum(own * math.log2(own / blind) for own, blind in parts)


def most_difference(pools: NDArray[np.float64], scope: Scope, epsilon: float) -> float:
    """Most by which the mean of any figure between 0 and 1 can differ between a run and one of blind draws.

    Pinsker's inequality: the square root of half the Kullback-Leibler divergence, in nats, of all T C draws together.

    Args:
        pools: Utilities of the candidates, ``(pools, candidates)``.
        scope: T and C of the run.
        epsilon: Of the whole run.
    """
    draws = scope.iterations * scope.classes
    probabilities = draw_probabilities(pools, epsilon / draws)
    each = (probabilities * np.log(probabilities * pools.shape[1])).sum(axis=1).mean()
    return math.sqrt(draws * float(each) / 2)


def least_epsilon(chance: Chance) -> float:
    """The least ε at which the best tenth has an even chance, to four digits; inf if ten million do not do."""
    low, high = 1e-3, 1e7
    if chance(high) < EVEN:
        return math.inf
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if chance(middle) >= EVEN else (middle, high)
    return high


def best_of(iterations: int, tested: int, accuracy: float) -> float:
    """Expected best accuracy of independent guesses, one an iteration, on the same held-out images, 0 to 1."""
    below = binom.cdf(np.arange(tested), tested, accuracy) ** iterations
    return float((tested - below.sum()) / tested)


def compute_published_deviation(epsilon: float, scope: Scope) -> float:
    """σ of the papers' noise on a count, in votes."""
    return classical_deviation(Budget(Fraction(epsilon), DELTA), scope.iterations)


def signal_of_votes(epsilon: float, scope: Scope) -> float:
    """One vote over the noise on a candidate's count."""
    (event,) = METHODS["pe"].events(Budget(Fraction(epsilon), DELTA), scope)[0]
    return 1 / (float(event.value) * math.sqrt(2))


def signal_of_means(epsilon: float, scope: Scope) -> float:
    """K images at the clip radius that agree, over the noise on their sum along where they point."""
    (event,) = METHODS["dp-means"].events(Budget(Fraction(epsilon), DELTA), replace(scope, iterations=1))[0]
    return scope.shots / (2 * float(event.value))


def lines() -> dict[str, Chance]:
    """Return what the picture and the table of changes compare, each as a function of the whole run's ε."""
    once = replace(PAPER, iterations=1)
    few = replace(PAPER, iterations=3)
    pools, draws = calibrate_pools(PAPER.candidates), PAPER.iterations * PAPER.classes
    return {
        PUBLISHED: lambda epsilon: as_published(pools, epsilon / draws),
        AT_BEST: lambda epsilon: of_method("pcevolve", epsilon, PAPER),
        COMPOSED: lambda epsilon: compose(epsilon, PAPER),
        ONE_ROUND: lambda epsilon: of_method("pcevolve", epsilon, once),
        PAPERS_NOISE: lambda epsilon: of_published_votes(epsilon, PAPER),
        PE_20: lambda epsilon: of_method("pe", epsilon, PAPER),
        PE_3: lambda epsilon: of_method("pe", epsilon, few),
        TUPLES: lambda epsilon: of_method("jvem", epsilon, PAPER),
        MEANS: lambda epsilon: of_method("dp-means", epsilon, once),
    }
