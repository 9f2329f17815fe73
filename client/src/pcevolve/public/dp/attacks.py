"""Bound what an attacker gains from a release: the true-positive rate of a test, and the odds of guessing a secret.

A test tries to tell two neighbouring datasets apart. α is its false-positive rate, and β its true-positive rate.
Each of the following rules bounds β for every test, so the smallest bound holds. All bounds are rounded up.

- If all noise is Gaussian, β is at most ``Φ(Φ⁻¹(α) + μ)``. Some test attains this bound.
- If the events have a total pure ε, β is at most ``min(e^ε α, 1 - e^-ε (1 - α))``. Some test attains this bound
  if there is a single access.
- For any events, a test is post-processing. The Renyi divergences between its answers on the two datasets, in
  both directions, are therefore at most the divergences of the accountant. This bound is loose for many
  exponential draws and for mixtures of mechanisms.

Source: Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022, Proposition 2.12; Balle, Barthe, Gaboardi, Hsu &
Sato 2020.

(p, r)-secrecy: an attacker who guesses a secret with probability p before a release guesses the secret with
probability at most r after the release. A release that is μ-GDP for the value of a secret allows
r = Φ(Φ⁻¹(p) + μ) for any attack. The reason is that a guess is a test between the true value and all other
values, and the false-positive rate of this test is at most p (Dong, Roth & Su 2022, for the trade-off curve;
SecPE, arXiv 2510.10990, for its use). Each secret therefore has a budget of μ, which the records that contain
the secret share.

>>> round(most_true_positives([Event("gaussian", "1")], false_positives=0.05), 3)
0.26
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

import numpy as np

from pcevolve.public.dp.accountants import above, epsilon, gaussian_mu, merge, pure_epsilon, renyi_divergences
from pcevolve.public.dp.calibration import histogram_sensitivity
from pcevolve.public.dp.curves import ROUNDING_SHARE, FloatArray, normal_cdf
from pcevolve.public.privacy import Event, Relation

_ORDERS = np.logspace(-3, 6, 901)
"""Orders at which the Renyi divergences are computed, as α - 1. Each order proves a bound."""


def most_true_positives(events: Iterable[Event], false_positives: float) -> float:
    """Return the largest true-positive rate of any test between neighbouring datasets.

    Args:
        events: All events on the private data. The bound holds for the neighbour relation that their parameters
            assume.
        false_positives: The false-positive rate α of the test, in (0, 1).

    Returns:
        A rate in [α, 1]. A guess without any data attains α.

    Raises:
        ValueError: α is not in (0, 1).
    """
    if not 0 < false_positives < 1:
        raise ValueError(f"false positives must be a share between 0 and 1, not {false_positives}")
    # Equal events are merged, because the accountants compose them more tightly than single events.
    spent = merge(events)
    if not spent:
        return false_positives
    # All three bounds are valid. Which of them is the smallest depends on the events.
    bounds = (_gaussian, _pure, _renyi)
    return max(false_positives, min(1.0, *(bound(spent, false_positives) for bound in bounds)))


def _gaussian(spent: tuple[Event, ...], alpha: float) -> float:
    """Return the exact bound for Gaussian noise, or 1 if an event is not Gaussian or has a noise multiplier of 0."""
    if any(event.mechanism != "gaussian" or event.value == 0 for event in spent):
        return 1.0
    return (
        normal_cdf(NormalDist().inv_cdf(alpha) + gaussian_mu(spent)) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE
    )


def _pure(spent: tuple[Event, ...], alpha: float) -> float:
    """Return the bound that the sum of pure ε gives, or 1 if an event has no pure ε."""
    total = pure_epsilon(spent)
    if total is None:
        return 1.0
    loss = above(total)
    # e^700 is close to the largest float. At such a loss the bound is 1 anyway.
    few, many = math.exp(min(loss, 700.0)) * alpha, 1.0 - math.exp(-loss) * (1.0 - alpha)
    return min(few, many) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE


def _renyi(spent: tuple[Event, ...], alpha: float) -> float:
    """Return the largest rate that the Renyi divergences allow at every order, or 1 if a noise multiplier is 0."""
    if any(event.mechanism == "gaussian" and event.value == 0 for event in spent):
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):  # a divergence beyond the floats forbids nothing
        allowed = renyi_divergences(spent, _ORDERS)
    low, high = alpha, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        # Renyi divergence is not symmetric, and the accountant bounds both directions.
        forbidden = _exceeds(middle, alpha, allowed) or _exceeds(alpha, middle, allowed)
        low, high = (low, middle) if forbidden else (middle, high)
    # The upper end of the last interval is returned, so that the printed rate is never below the true bound.
    return high * (1 + ROUNDING_SHARE) + ROUNDING_SHARE


def _exceeds(first: float, second: float, allowed: FloatArray) -> bool:
    """Return True if two coins differ by more than the allowed Renyi divergence at some order.

    Args:
        first: The first coin's probability of heads, in (0, 1). The divergence is taken from the first coin to the
            second.
        second: The second coin's probability of heads, in (0, 1).
        allowed: float64, the largest allowed divergence at each order.
    """
    heads = (1 + _ORDERS) * math.log(first) - _ORDERS * math.log(second)
    tails = (1 + _ORDERS) * math.log1p(-first) - _ORDERS * math.log1p(-second)
    rounding = ROUNDING_SHARE * (1 + np.abs(heads) + np.abs(tails))
    return bool(((np.logaddexp(heads, tails) - rounding) / _ORDERS > allowed).any())


PRIORS = tuple(10.0**-power for power in range(6, 0, -1))
"""Prior probabilities for which reports give a probability of guessing.

A diagnosis has a prior well above 1e-4, so these priors include its order of magnitude.
"""
_NORMAL = NormalDist()
_QUANTILE_ROUNDING = 1e-14
_DOWN = 1 - 2**-40
"""A factor below 1. It rounds down by more than the preceding arithmetic can have rounded up."""


def secret_budget(prior: float, bound: float) -> float:
    """Return η, the largest μ at which a secret with prior p is guessed with probability at most r.

    Args:
        prior: p, the probability of a correct guess before the release.
        bound: r, the largest acceptable probability of a correct guess after the release.

    Raises:
        ValueError: Not 0 < p <= r < 1.
    """
    if not 0 < prior <= bound < 1:
        raise ValueError(f"a prior of {prior:g} and a bound of {bound:g}: 0 < prior <= bound < 1 is needed")
    # After a μ-GDP release the best guess shifts the prior's quantile by μ. The budget is therefore the distance
    # between the two quantiles.
    high, low = _NORMAL.inv_cdf(bound), _NORMAL.inv_cdf(prior)
    # Round down by more than the rounding error of both quantiles. Subtracting two close numbers magnifies that error.
    return max(0.0, high - low - _QUANTILE_ROUNDING * (abs(high) + abs(low)))


def most_success(mu: float, prior: float) -> float:
    """Return r, the largest probability of guessing a secret with prior p after a μ-GDP release."""
    return normal_cdf(_NORMAL.inv_cdf(prior) + mu)


def protection(mu: float) -> dict[float, float]:
    """Return ``most_success`` for each of ``PRIORS``."""
    return {prior: most_success(mu, prior) for prior in PRIORS}


def most_success_of(events: Iterable[Event], prior: float) -> float:
    """Return r, the largest probability of guessing a secret after these events.

    The hockey-stick divergences of the release bound every attack. If an outcome has probability ``prior`` without
    the secret, it has probability at most ``e^ε prior + δ`` with the secret, for each ε and its δ. For Gaussian
    events alone there is a closed form.

    Args:
        events: The events, each scaled to the number of units that change with the secret's value. Noise
            multipliers are above 0.
        prior: p, in (0, 1).

    Returns:
        A probability in [prior, 1]. It is not below the exact value, apart from rounding.
    """
    spent = merge(events)
    if all(event.mechanism == "gaussian" for event in spent):
        return most_success(gaussian_mu(spent), prior)
    # Every pair of ε and δ is valid. Forty values of δ below the prior are tried, and the smallest bound holds.
    deltas = prior * np.logspace(-4, math.log10(1 / prior), 40)
    losses = ((epsilon(spent, float(delta)), float(delta)) for delta in deltas[:-1])
    # e^710 would overflow a float, and from e^700 on the bound is 1 anyway.
    return min(1.0, *(math.exp(min(loss, 700.0)) * prior + delta for loss, delta in losses))


def secret_share(budget: float, holders: int, multiplier: float, relation: Relation) -> float:
    """Return the largest weight that a record with a secret may have in a histogram, as a share of one vote.

    Neighbours are datasets in which the same records hold another value of one secret. Each of at most ``holders``
    records then moves its share from one entry to another. The histogram therefore moves by at most sqrt(2) times the
    sum of the shares. Noise whose standard deviation is ``multiplier`` times the sensitivity under ``relation`` makes
    this change μ-GDP with μ at most ``budget``. The share of a record depends only on public numbers and on the record
    itself. If the share depended on how many other records hold the secret, one additional record would change all
    shares.

    Args:
        budget: The budget η of each secret.
        holders: The largest number of records that hold one secret. It is public.
        multiplier: Standard deviation of the noise over the L2 sensitivity of the histogram.
        relation: Neighbour relation of the histogram's records.

    Returns:
        A share in [0, 1], rounded down.
    """
    share = budget * multiplier * histogram_sensitivity(relation) / (math.sqrt(2) * holders)
    # Round down: a share that is too large would cost more than η, and one that is too small wastes very little.
    return min(1.0, share * _DOWN)
