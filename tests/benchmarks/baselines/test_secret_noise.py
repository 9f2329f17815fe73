"""SecretNoise: its golden numbers, the best attack against it, and what is put right in it.

The toy: seven records, three secrets, whoever guesses one does so with p = 1e-4 beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_mixture_gaussian_mechanism
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from pcevolve.public.dp.attacks import secret_budget
from pcevolve.public.dp.mechanisms import FloatArray
from pcevolve_benchmarks.baselines.secret_noise import Sampled, fair_weights
from support.examples import is_nightly

GROUPS = ((0, 1, 2), (2, 3, 4, 5), (6,))
PRIOR = 1e-4
BOUNDS = (10 * PRIOR, 10 * PRIOR, 50 * PRIOR)
BUDGETS = [secret_budget(PRIOR, bound) for bound in BOUNDS]
SHARED = 2.4873
"""σ of all three secrets together at a sampling rate of 0.1 over ten rounds."""
DRAWS = 4_000_000 if is_nightly() else 200_000


def smallest_of(rates: tuple[float, ...], rounds: int, prior: float, bound: float, near: float) -> float:
    """The least noise for numbers that a record moves by 1: as published, without the joint norm; rounded up.

    Args:
        rates: With which each record of the secret is sampled in a round.
        rounds: How many.
        prior: p.
        bound: r.
        near: What is looked for, within 5 %.
    """
    low, high = 0.95 * near, 1.05 * near
    for _ in range(8):
        middle = (low + high) / 2
        kept = Sampled(rates, rounds, middle).success(prior) <= bound
        low, high = (low, middle) if kept else (middle, high)
    return high


@dataclass(frozen=True)
class Attacked(Sampled):
    """Rounds of noisy numbers, and who tries to tell from them whether a secret's records are there."""

    def numbers(self, draws: int, random: np.random.Generator, has_secret: bool) -> FloatArray:
        """Noisy numbers of all rounds, float64 ``(draws, rounds)``."""
        noise = random.normal(0, self.sigma, (draws, self.rounds))
        for rate in self.rates if has_secret else ():
            noise += random.random(noise.shape) < rate
        return noise

    def threshold(self, prior: float) -> float:
        """The sum of losses that is exceeded with this probability without the secret."""
        values, mass, _ = self.losses
        false = np.cumsum((mass * np.exp(-values.clip(-600, 600)))[::-1])[::-1]
        return float(values[np.flatnonzero(false <= prior)[0]])


def test_no_secret_gets_more_than_its_budget_and_somebody_of_each_record_s_secrets_gets_all():
    fair = fair_weights(GROUPS, BUDGETS, 1.0)
    spent = [fair[list(group)].sum() for group in GROUPS]
    assert all(each <= budget + 1e-9 for each, budget in zip(spent, BUDGETS, strict=True))
    assert spent[:2] == pytest.approx(BUDGETS[:2])
    assert fair[6] == 1.0


@pytest.mark.parametrize(
    ("rate", "rounds", "sigma"), [(1.0, 1, 6.3615), (1.0, 10, 20.1168), (0.1, 1, 1.4899), (0.1, 10, SHARED)]
)
def test_the_least_noise_of_the_toy(rate: float, rounds: int, sigma: float):
    needed = smallest_of((rate,) * len(GROUPS[1]), rounds, PRIOR, BOUNDS[1], near=sigma)
    assert sigma * (1 - 5e-4) <= needed <= sigma * 1.004  # losses are rounded up
    others = (Sampled((rate,) * len(GROUPS[other]), rounds, sigma).success(PRIOR) for other in (0, 2))
    assert all(each < BOUNDS[other] for each, other in zip(others, (0, 2), strict=True))


def test_the_bound_is_that_of_the_best_attack_in_one_round():
    sigma = 1.4899
    threshold = -sigma * ndtri(PRIOR)
    mass = [math.comb(4, k) * 0.1**k * 0.9 ** (4 - k) for k in range(5)]
    right = sum(each * 0.5 * math.erfc((threshold - k) / sigma / math.sqrt(2)) for k, each in enumerate(mass))
    assert right == pytest.approx(1e-3, rel=1e-3)
    assert right <= Sampled((0.1,) * 4, 1, sigma).success(PRIOR) <= 1.01 * right


def attack(records: int, sigma: float) -> tuple[float, float, float]:
    """How often the best attack is right about a secret, its standard error, and how often it says yes without it."""
    real, random = Attacked((0.1,) * records, 10, sigma), np.random.default_rng(records)
    threshold, block = real.threshold(PRIOR), 50_000
    with_it, without = (
        sum(
            np.count_nonzero(real.loss(real.numbers(block, random, has_secret)).sum(axis=1) > threshold)
            for _ in range(DRAWS // block)
        )
        / DRAWS
        for has_secret in (True, False)
    )
    return with_it, math.sqrt(with_it / DRAWS), without


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("secret", "golden"), [(0, 5.95e-4), (1, 9.99e-4), (2, 1.85e-4)], ids=["three", "four", "one"]
)
def test_the_best_attack_is_as_good_as_is_said_and_no_better_than_is_promised(secret: int, golden: float):
    rate, error, false = attack(len(GROUPS[secret]), SHARED)
    assert abs(rate - golden) < 4 * error
    assert rate < BOUNDS[secret] + 4 * error
    assert false < PRIOR + 4 * math.sqrt(PRIOR / DRAWS)


@pytest.mark.statistical
def test_noise_that_is_30_percent_too_small_is_caught():
    rate, error, _ = attack(len(GROUPS[1]), 0.7 * SHARED)
    assert rate > BOUNDS[1] + 5 * error
    assert Sampled((0.1,) * 4, 10, 0.7 * SHARED).success(PRIOR) > BOUNDS[1]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("of", "rounds", "sigma"), [((0.1,) * 4, 1, 1.4899), ((0.3, 0.05), 3, 2.0), ((1.0, 0.2, 0.2), 10, 6.0)]
)
def test_success_is_what_dp_accounting_s_privacy_loss_distribution_says(of, rounds, sigma):
    mine = Sampled(of, rounds, sigma)
    theirs = from_mixture_gaussian_mechanism(
        sigma, list(range(len(of) + 1)), mine.sampled.tolist(), value_discretization_interval=1e-3
    )._pmf_remove.self_compose(rounds)
    losses = np.linspace(-4, 14, 3601)
    deltas = np.asarray(theirs.get_delta_for_epsilon(losses))
    for prior in (1e-4, 1e-2, 0.2):
        assert mine.success(prior) == pytest.approx((np.exp(losses) * prior + deltas).min(), rel=1e-2)


@given(st.lists(st.sets(st.integers(0, 8), min_size=1, max_size=5), min_size=1, max_size=6), st.data())
def test_fair_weights_keep_every_budget_and_nobody_could_have_more_alone(groups, data):
    budgets = [data.draw(st.floats(0.0, 2.0)) for _ in groups]
    weights = fair_weights([sorted(each) for each in groups], budgets)
    sums = [weights[sorted(each)].sum() for each in groups]
    assert all(spent <= budget + 1e-9 for spent, budget in zip(sums, budgets, strict=True))
    assert ((weights >= 0) & (weights <= 1.0)).all()
    for record, weight in enumerate(weights):
        full = [j for j, each in enumerate(groups) if record in each and sums[j] >= budgets[j] - 1e-6]
        assert weight >= 1.0 - 1e-6 or full or not any(record in each for each in groups)
