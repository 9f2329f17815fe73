"""How much an attacker gains from a release: the trade-off curve of a test, and the odds of guessing a secret.

A test that tells two neighbouring datasets apart has a false-positive rate α and a true-positive rate β. Each
of these rules bounds β for every test, so the least of them holds. All are rounded up.

- Gaussian noise alone: ``Φ(Φ⁻¹(α) + μ)``. A test attains it.
- Pure ε in all: ``min(e^ε α, 1 - e^-ε (1 - α))``. A test of one access attains it.
- Any events: a test is post-processing, so the Renyi divergences between its answers on the two datasets, in
  both directions, are at most those of the accountant. The bound is loose for many exponential draws and for
  mixtures.

Source: Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022, Proposition 2.12; Balle, Barthe, Gaboardi, Hsu &
Sato 2020.

(p, r)-secrecy: an attacker who guesses a secret with probability p before a release guesses it with
probability at most r after it. A release that is μ-GDP for the value of a secret allows r = Φ(Φ⁻¹(p) + μ) for
any attack: a guess is a test between the value and all others with a false-positive rate of at most p (Dong,
Roth & Su 2022, for the trade-off curve; SecPE, arXiv 2510.10990, for its use). A secret therefore has a
budget of μ, which the records that hold it share.

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
"""Orders of the Renyi divergences that are evaluated, as α - 1; each order proves a bound."""


def most_true_positives(events: Iterable[Event], false_positives: float) -> float:
    """Return the largest true-positive rate of any test between neighbouring datasets.

    Args:
        events: All events on the private data. The bound holds for the neighbour relation of their
            parameters.
        false_positives: α, the test's false-positive rate, in (0, 1).

    Returns:
        In [α, 1]; guessing attains α.

    Raises:
        ValueError: α is not in (0, 1).
    """
    if not 0 < false_positives < 1:
        raise ValueError(f"false positives must be a share between 0 and 1, not {false_positives}")
    # Merged, because the accountants compose equal events more tightly.
    spent = merge(events)
    if not spent:
        return false_positives
    # All three are valid, so the least holds: which is the best depends on the events.
    bounds = (_gaussian, _pure, _renyi)
    return max(false_positives, min(1.0, *(bound(spent, false_positives) for bound in bounds)))


def _gaussian(spent: tuple[Event, ...], alpha: float) -> float:
    """Return the exact bound for Gaussian noise; 1 if another event is there or a noise multiplier is 0."""
    if any(event.mechanism != "gaussian" or event.value == 0 for event in spent):
        return 1.0
    return (
        normal_cdf(NormalDist().inv_cdf(alpha) + gaussian_mu(spent)) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE
    )


def _pure(spent: tuple[Event, ...], alpha: float) -> float:
    """Return the bound by the sum of pure ε; 1 if an event has no pure ε."""
    total = pure_epsilon(spent)
    # A Gaussian event has no pure epsilon, so this bound says nothing.
    if total is None:
        return 1.0
    loss = above(total)
    # e^700 is near the end of the floats; more loss than that allows everything.
    few, many = math.exp(min(loss, 700.0)) * alpha, 1.0 - math.exp(-loss) * (1.0 - alpha)
    return min(few, many) * (1 + ROUNDING_SHARE) + ROUNDING_SHARE


def _renyi(spent: tuple[Event, ...], alpha: float) -> float:
    """Return the largest rate that no order's Renyi divergence rules out; 1 if a noise multiplier is 0."""
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
    """True if two coins differ by more than the Renyi divergence that is allowed at some order.

    Args:
        first: The first coin's probability of heads, in (0, 1); its divergence from the second is taken.
        second: The second coin's probability of heads, in (0, 1).
        allowed: float64, the largest divergence at each order.
    """
    heads = (1 + _ORDERS) * math.log(first) - _ORDERS * math.log(second)
    tails = (1 + _ORDERS) * math.log1p(-first) - _ORDERS * math.log1p(-second)
    rounding = ROUNDING_SHARE * (1 + np.abs(heads) + np.abs(tails))
    return bool(((np.logaddexp(heads, tails) - rounding) / _ORDERS > allowed).any())


PRIORS = tuple(10.0**-power for power in range(6, 0, -1))
"""Prior probabilities for which reports state the chance of a guess; a diagnosis, say, has a prior well above 1e-4."""
_NORMAL = NormalDist()
_QUANTILE_ROUNDING = 1e-14
_DOWN = 1 - 2**-40
"""A factor below 1 that rounds down by more than the arithmetic before it can have rounded up."""


def secret_budget(prior: float, bound: float) -> float:
    """Return η: the largest μ at which a secret of prior p is guessed with probability at most r.

    Raises:
        ValueError: Not 0 < p <= r < 1.
    """
    if not 0 < prior <= bound < 1:
        raise ValueError(f"a prior of {prior:g} and a bound of {bound:g}: 0 < prior <= bound < 1 is needed")
    # The best guess after a mu-GDP release shifts the prior's quantile by mu, so the budget is the distance
    # of the two.
    high, low = _NORMAL.inv_cdf(bound), _NORMAL.inv_cdf(prior)
    # Down by more than the rounding of either, which the difference of two close ones would magnify.
    return max(0.0, high - low - _QUANTILE_ROUNDING * (abs(high) + abs(low)))


def most_success(mu: float, prior: float) -> float:
    """Return r: the largest probability of guessing a secret of prior p after a μ-GDP release."""
    return normal_cdf(_NORMAL.inv_cdf(prior) + mu)


def protection(mu: float) -> dict[float, float]:
    """Return ``most_success`` for each of ``PRIORS``."""
    return {prior: most_success(mu, prior) for prior in PRIORS}


def most_success_of(events: Iterable[Event], prior: float) -> float:
    """Return r: the largest probability of guessing a secret after these events.

    The hockey-stick divergences of the release bound every attack: outcomes with probability ``prior``
    without the secret have probability at most ``e^ε prior + δ`` with it, for each ε and its δ. Gaussian
    events alone have a closed form.

    Args:
        events: The events, each on as many units as change with the secret's value; noise multipliers above
            0.
        prior: p, in (0, 1).

    Returns:
        In [prior, 1]; never below the exact value but for rounding.
    """
    spent = merge(events)
    if all(event.mechanism == "gaussian" for event in spent):
        return most_success(gaussian_mu(spent), prior)
    # Any ε is valid at its δ, so forty are tried between nothing and all of the prior, and the least bound holds.
    deltas = prior * np.logspace(-4, math.log10(1 / prior), 40)
    losses = ((epsilon(spent, float(delta)), float(delta)) for delta in deltas[:-1])
    # Beyond e^700 a float overflows, and the bound is above 1 anyway.
    return min(1.0, *(math.exp(min(loss, 700.0)) * prior + delta for loss, delta in losses))


def secret_share(budget: float, holders: int, multiplier: float, relation: Relation) -> float:
    """Return how much a record that holds a secret may count in a histogram, as a share of a whole vote.

    Neighbours are datasets in which the same records hold another value of one secret. Each of at most
    ``holders`` records then moves its share from one entry to another, so the histogram moves by at most
    sqrt(2) times the sum of the shares. Noise of ``multiplier`` times the sensitivity under ``relation``
    makes that μ-GDP with μ at most ``budget``. The share of a record depends on public numbers and the record
    alone: if it depended on how many others hold the secret, one more record would change the shares of all.

    Args:
        budget: η of each secret.
        holders: The most records that hold one secret; public.
        multiplier: Standard deviation of the noise over the L2 sensitivity of the histogram.
        relation: Neighbour relation of the histogram's records.

    Returns:
        In [0, 1], rounded down.
    """
    share = budget * multiplier * histogram_sensitivity(relation) / (math.sqrt(2) * holders)
    # Down: a share that is too large would cost more than η, one that is too small wastes a little.
    return min(1.0, share * _DOWN)
