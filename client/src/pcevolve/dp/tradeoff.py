"""The trade-off curve: the best power of a test that tells two neighbouring datasets apart, in arithmetic.

A test has false positives in a share α of cases and true positives in a share β. Each of these bounds β whatever the
test is, so the least of them holds; all are rounded up:

- Gaussian noise alone: ``Φ(Φ⁻¹(α) + μ)``, which is attained.
- pure ε in all: ``min(e^ε α, 1 - e^-ε (1 - α))``, which one access attains.
- equal draws of pure ε each: the likelihood-ratio test on as many randomised responses, which is attained too.
- anything: the test is post-processing, so the Renyi divergences between its own two answers, in both directions, are
  at most those of the accountant. It holds, and is not attained: many draws by the exponential mechanism, and mixtures,
  are safer than it says.

Source: Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022, Proposition 2.12; Balle, Barthe, Gaboardi, Hsu & Sato 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

import numpy as np

from pcevolve.dp.accountants import above, gaussian_mu, merge, pure_epsilon, renyi_divergences
from pcevolve.dp.curves import ROUNDING_SHARE, FloatArray, normal_cdf
from pcevolve.privacy import Event

_ORDERS = np.logspace(-3, 6, 901)
"""α - 1 of the Renyi divergences that are looked at; each proves a bound."""
_MOST_DRAWS = 100_000
_BINOMIAL_ROUNDING = 1e-9
"""More than the rounding error of a sum of binomial probabilities of so many draws."""


def most_true_positives(events: Iterable[Event], false_positives: float) -> float:
    """The largest share of true positives of any test between neighbouring datasets.

    Args:
        events: All that was done to the private data; the neighbour relation is the one of their parameters.
        false_positives: α, the share of cases in which the test may wrongly say yes, in (0, 1).

    Returns:
        In [α, 1]; α itself is what guessing attains.

    Raises:
        ValueError: α is not in (0, 1).
    """
    if not 0 < false_positives < 1:
        raise ValueError(f"false positives must be a share between 0 and 1, not {false_positives}")
    spent = merge(events)
    if not spent:
        return false_positives
    bounds = (_gaussian, _pure, _equal_draws, _renyi)
    return max(false_positives, min(1.0, *(bound(spent, false_positives) for bound in bounds)))


def _gaussian(spent: tuple[Event, ...], alpha: float) -> float:
    """The exact curve of Gaussian noise alone; 1 where anything else was done, or the noise has no width."""
    if any(event.mechanism != "gaussian" or event.value == 0 for event in spent):
        return 1.0
    return (
        normal_cdf(NormalDist().inv_cdf(alpha) + gaussian_mu(spent)) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE
    )


def _pure(spent: tuple[Event, ...], alpha: float) -> float:
    """Return what the sum of pure ε allows; 1 where an event has none."""
    total = pure_epsilon(spent)
    if total is None:
        return 1.0
    loss = above(total)
    # e^700 is near the end of the floats; more loss than that allows everything.
    few, many = math.exp(min(loss, 700.0)) * alpha, 1.0 - math.exp(-loss) * (1.0 - alpha)
    return min(few, many) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE


def _equal_draws(spent: tuple[Event, ...], alpha: float) -> float:
    """Return what equal draws of pure ε allow, however each is chosen after those before; 1 for anything else.

    No pure mechanism tells more than a randomised response that lies with probability 1/(1 + e^ε), so no test is better
    than the one that says yes to many true responses, and tosses a coin at the number where α is used up.
    """
    (event, *others) = spent
    if others or event.mechanism != "permute-and-flip" or event.count > _MOST_DRAWS:
        # Larger sums cost more time than the figure is worth, and their rounding is not bounded here.
        return 1.0
    from scipy.stats import binom  # slow to load

    lie = 1 / (1 + math.exp(min(above(event.value), 700.0)))
    lies = np.arange(event.count + 1)
    right, wrong = binom.pmf(lies, event.count, lie), binom.pmf(lies, event.count, 1 - lie)
    before = np.cumsum(wrong) - wrong
    taken = np.clip((alpha - before) / np.maximum(wrong, np.finfo(float).tiny), 0.0, 1.0)
    return float(right @ taken) + _BINOMIAL_ROUNDING


def _renyi(spent: tuple[Event, ...], alpha: float) -> float:
    """The largest share whose divergences from α no order forbids; 1 where there is no noise."""
    if any(event.mechanism == "gaussian" and event.value == 0 for event in spent):
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # a divergence beyond the floats forbids nothing
        allowed = renyi_divergences(spent, _ORDERS)
    low, high = alpha, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        # In both directions, because Renyi divergence is not symmetric and the accountant bounds both.
        forbidden = _exceeds(middle, alpha, allowed) or _exceeds(alpha, middle, allowed)
        low, high = (low, middle) if forbidden else (middle, high)
    # The upper end of the last interval: the share printed is never below what is allowed.
    return high * (1 + ROUNDING_SHARE) + ROUNDING_SHARE


def _exceeds(first: float, second: float, allowed: FloatArray) -> bool:
    """True if coins that show heads with these probabilities are told apart more easily than any order allows.

    Args:
        first: Whose Renyi divergences from the second are taken, in (0, 1).
        allowed: float64, one divergence for each of the orders.
    """
    heads = (1 + _ORDERS) * math.log(first) - _ORDERS * math.log(second)
    tails = (1 + _ORDERS) * math.log1p(-first) - _ORDERS * math.log1p(-second)
    rounding = ROUNDING_SHARE * (1 + np.abs(heads) + np.abs(tails))
    return bool(((np.logaddexp(heads, tails) - rounding) / _ORDERS > allowed).any())
