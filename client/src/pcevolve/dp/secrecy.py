"""(p, r)-secrecy: whoever guesses a secret with probability p before a release guesses it with at most r after it.

A release that is μ-GDP for the value of a secret allows r = Φ(Φ⁻¹(p) + μ), whatever the attack: guessing is a test
between the value and all others, with p false positives at most (Dong, Roth & Su 2022, for the trade-off curve; SecPE,
arXiv 2510.10990, for its use). So a secret has a budget of μ, which the records that hold it share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

import numpy as np

from pcevolve.dp.accountants import epsilon, merge
from pcevolve.dp.curves import normal_cdf
from pcevolve.dp.sensitivity import histogram_sensitivity
from pcevolve.privacy import Event, Relation

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
        events: What was done, each on as many units as change with the secret's value.
        prior: p, in (0, 1).

    Returns:
        In [prior, 1], not below the truth but for rounding.
    """
    spent = merge(events)
    if all(event.mechanism == "gaussian" for event in spent):
        mu = math.sqrt(float(sum(event.count / event.value**2 for event in spent)))
        return most_success(mu, prior)
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
