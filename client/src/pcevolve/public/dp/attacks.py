"""What an attacker gains by a release, in arithmetic: the trade-off curve of a test, and how well a secret is guessed.

A test that tells two neighbouring datasets apart has false positives in a share α of cases and true positives in a
share β. Each of these bounds β whatever the test is, so the least of them holds; all are rounded up:

- Gaussian noise alone: ``Φ(Φ⁻¹(α) + μ)``, which is attained.
- pure ε in all: ``min(e^ε α, 1 - e^-ε (1 - α))``, which one access attains.
- anything: the test is post-processing, so the Renyi divergences between its own two answers, in both directions, are
  at most those of the accountant. It holds, and is not attained: many draws by the exponential mechanism, and mixtures,
  are safer than it says.

Source: Kairouz, Oh & Viswanath 2015; Dong, Roth & Su 2022, Proposition 2.12; Balle, Barthe, Gaboardi, Hsu & Sato 2020.

(p, r)-secrecy: whoever guesses a secret with probability p before a release guesses it with at most r after it. A
release that is μ-GDP for the value of a secret allows r = Φ(Φ⁻¹(p) + μ), whatever the attack: guessing is a test
between the value and all others, with p false positives at most (Dong, Roth & Su 2022, for the trade-off curve; SecPE,
arXiv 2510.10990, for its use). So a secret has a budget of μ, which the records that hold it share.

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
"""α - 1 of the Renyi divergences that are looked at; each proves a bound."""


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
    bounds = (_gaussian, _pure, _renyi)
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


PRIORS = tuple(10.0**-power for power in range(6, 0, -1))
"""For which it is told what a guess is worth: a diagnosis has no prior of 1e-4."""
_NORMAL = NormalDist()
_QUANTILE_ROUNDING = 1e-14
_DOWN = 1 - 2**-40
"""More than what is rounded here can be rounded up by."""


def secret_budget(prior: float, bound: float) -> float:
    """η: the largest μ at which a secret of prior p is guessed with r at most; ``ValueError`` unless 0 < p <= r < 1."""
    if not 0 < prior <= bound < 1:
        raise ValueError(f"a prior of {prior:g} and a bound of {bound:g}: 0 < prior <= bound < 1 is needed")
    high, low = _NORMAL.inv_cdf(bound), _NORMAL.inv_cdf(prior)
    # Down by more than the rounding of either, which the difference of two close ones would magnify.
    return max(0.0, high - low - _QUANTILE_ROUNDING * (abs(high) + abs(low)))


def most_success(mu: float, prior: float) -> float:
    """r: the largest probability with which a secret is guessed after a μ-GDP release, by its prior."""
    return normal_cdf(_NORMAL.inv_cdf(prior) + mu)


def protection(mu: float) -> dict[float, float]:
    """``most_success`` by prior."""
    return {prior: most_success(mu, prior) for prior in PRIORS}


def most_success_of(events: Iterable[Event], prior: float) -> float:
    """r: the largest probability with which a secret is guessed after accesses that are what the events say for it.

    The release's hockey-stick divergences bound every attack: of outcomes that have probability ``prior`` without the
    secret at most ``e^ε prior + δ`` have it with it, for every ε with its δ. Gaussian events alone have a closed form.

    Args:
        events: What was done, each on as many units as change with the secret's value, with noise of some width.
        prior: p, in (0, 1).

    Returns:
        In [prior, 1], not below the truth but for rounding.
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
    """Return what a record that holds a secret may count in a histogram, in units of a whole vote.

    Neighbours are datasets in which the same records hold another value of one secret. Then each of at most ``holders``
    records takes its share from one entry and puts it into another, so the histogram moves by at most the square root
    of 2 times the sum of their shares, and noise of ``multiplier`` times the sensitivity under the relation makes that
    μ-GDP with μ at most ``budget``. A share depends on its own record and on public numbers alone: were it to depend on
    how many others hold the secret, one more record would move them all.

    Args:
        budget: η of each secret.
        holders: Most records that hold one secret; public.
        multiplier: Standard deviation of the noise over the L2 sensitivity of the histogram.
        relation: Neighbour relation of the histogram's records.

    Returns:
        In [0, 1], rounded down.
    """
    share = budget * multiplier * histogram_sensitivity(relation) / (math.sqrt(2) * holders)
    # Down: a share that is too large would cost more than η, one that is too small wastes a little.
    return min(1.0, share * _DOWN)
