"""SecretNoise: its golden numbers, the best attack against it, and what is put right in it.

The toy: seven records, three secrets, whoever guesses one does so with p = 1e-4 beforehand.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_mixture_gaussian_mechanism
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from pcevolve.dp.secrecy import most_success, secret_budget
from pcevolve_benchmarks.baselines.secret_noise import Exposed, Sampled, fair_weights, rates, smallest_sigma
from support.examples import is_nightly
from support.sampled_secrets import Attacked, largest_weights, smallest_of

GROUPS = ((0, 1, 2), (2, 3, 4, 5), (6,))
PRIOR = 1e-4
BOUNDS = (10 * PRIOR, 10 * PRIOR, 50 * PRIOR)
BUDGETS = [secret_budget(PRIOR, bound) for bound in BOUNDS]
SHARED = 2.4873
"""σ of all three secrets together at a sampling rate of 0.1 over ten rounds."""
GRID = 1e-5
"""Of a bound, how far the grid of losses may move it; 6e-7 at most in 1,500 pairs of nearly equal rates."""
DRAWS = 4_000_000 if is_nightly() else 200_000


def test_fair_weights_of_the_toy_and_what_they_give_up():
    fair = fair_weights(GROUPS, BUDGETS, 1.0)
    assert fair == pytest.approx([0.2358, 0.2358, *[0.1572] * 4, 1.0], abs=5e-5)
    assert fair.sum() == pytest.approx(2.1004, abs=5e-5)
    largest = largest_weights(GROUPS, BUDGETS, 1.0)
    assert largest.sum() == pytest.approx(2.2576, abs=5e-5)
    assert largest.min() == pytest.approx(0.0)  # who is at a corner of the programme is left out altogether


def test_no_secret_gets_more_than_its_budget_and_somebody_of_each_record_s_secrets_gets_all():
    fair = fair_weights(GROUPS, BUDGETS, 1.0)
    spent = [fair[list(group)].sum() for group in GROUPS]
    assert all(each <= budget + 1e-9 for each, budget in zip(spent, BUDGETS, strict=True))
    assert spent[:2] == pytest.approx(BUDGETS[:2])
    assert fair[6] == 1.0


def test_one_more_record_moves_the_fair_weights_of_the_others():
    more = ((0, 1, 2), (2, 3, 4, 5, 7), (6,))
    before, after = fair_weights(GROUPS, BUDGETS, 1.0), fair_weights(more, BUDGETS, 1.0)
    assert (
        np.count_nonzero(np.abs(after[:7] - before) > 1e-3) == 6
    )  # so the client's shares do not depend on others


@pytest.mark.parametrize(
    ("rate", "rounds", "sigma"), [(1.0, 1, 6.3615), (1.0, 10, 20.1168), (0.1, 1, 1.4899), (0.1, 10, SHARED)]
)
def test_the_least_noise_of_the_toy(rate: float, rounds: int, sigma: float):
    needed = smallest_of((rate,) * len(GROUPS[1]), rounds, PRIOR, BOUNDS[1], near=sigma)
    assert sigma * (1 - 5e-4) <= needed <= sigma * 1.004  # losses are rounded up
    others = (Sampled((rate,) * len(GROUPS[other]), rounds, sigma).success(PRIOR) for other in (0, 2))
    assert all(each < BOUNDS[other] for each, other in zip(others, (0, 2), strict=True))


def test_the_bound_is_that_of_gaussian_noise_where_everybody_is_sampled():
    exact = most_success(math.sqrt(10) * 4 / 20.1168, PRIOR)
    assert exact <= Sampled((1.0,) * 4, 10, 20.1168).success(PRIOR) <= 1.02 * exact


def test_the_bound_is_that_of_the_best_attack_in_one_round():
    sigma = 1.4899
    threshold = -sigma * ndtri(PRIOR)
    mass = [math.comb(4, k) * 0.1**k * 0.9 ** (4 - k) for k in range(5)]
    right = sum(each * 0.5 * math.erfc((threshold - k) / sigma / math.sqrt(2)) for k, each in enumerate(mass))
    assert right == pytest.approx(1e-3, rel=1e-3)
    assert right <= Sampled((0.1,) * 4, 1, sigma).success(PRIOR) <= 1.01 * right


def attacked(records: int, sigma: float) -> tuple[float, float, float]:
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
    rate, error, false = attacked(len(GROUPS[secret]), SHARED)
    assert abs(rate - golden) < 4 * error
    assert rate < BOUNDS[secret] + 4 * error
    assert false < PRIOR + 4 * math.sqrt(PRIOR / DRAWS)


@pytest.mark.statistical
def test_noise_that_is_30_percent_too_small_is_caught():
    rate, error, _ = attacked(len(GROUPS[1]), 0.7 * SHARED)
    assert rate > BOUNDS[1] + 5 * error
    assert Sampled((0.1,) * 4, 10, 0.7 * SHARED).success(PRIOR) > BOUNDS[1]


def test_sampling_rates_depend_on_the_unit_in_which_weights_are_told():
    fair = fair_weights(GROUPS, BUDGETS, 1.0)
    assert rates(2 * fair) == pytest.approx(rates(fair) / 2)


def test_without_a_floor_no_noise_at_all_passes_for_whoever_is_hardly_ever_sampled():
    # Sampled with q = 1e-4, and then seen for certain: q + (1 - q) p is below r.
    silent = Sampled((1e-4,), rounds=1, sigma=0.03)
    assert silent.success(PRIOR) == pytest.approx(2e-4, rel=1e-3)
    assert silent.success(PRIOR) < BOUNDS[0]
    sure = silent.loss(np.array([1.0]))[0]
    assert sure > math.log(1e9)  # who is sampled is given away, whatever the test says
    hidden = Exposed((1e-4,), PRIOR, BOUNDS[0])
    sigma = smallest_sigma([hidden], 1)
    assert sigma == pytest.approx(math.sqrt(2) / BUDGETS[0])
    sampled = Sampled((1.0,), rounds=1, sigma=sigma / math.sqrt(2))
    assert sampled.success(PRIOR) == pytest.approx(BOUNDS[0], rel=0.01)  # even then the promise is kept


def toy(rate: float) -> list[Exposed]:
    return [Exposed((rate,) * len(group), PRIOR, bound) for group, bound in zip(GROUPS, BOUNDS, strict=True)]


@pytest.mark.parametrize(
    ("rate", "rounds", "golden"), [(1.0, 1, 6.3615), (1.0, 10, 20.1168), (0.1, 10, SHARED)]
)
def test_what_is_shipped_has_the_joint_norm_in_it(rate: float, rounds: int, golden: float):
    assert (
        math.sqrt(2) * golden * (1 - 5e-4)
        <= smallest_sigma(toy(rate), rounds)
        <= math.sqrt(2) * golden * 1.004
    )


def test_the_floor_is_above_what_the_toy_needs_in_one_round():
    assert smallest_sigma(toy(0.1), 1) == pytest.approx(
        math.sqrt(2) / BUDGETS[0]
    )  # not the square root of 2 times 1.49


def test_secrets_that_nobody_samples_need_no_noise_but_the_least():
    assert smallest_sigma([], 4) == smallest_sigma([Exposed((0.0, 0.0), PRIOR, 1e-3)], 4) == math.sqrt(2)


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


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5), st.data())
def test_who_is_sampled_more_often_is_guessed_more_often(of, data):
    """Up to the grid of losses: each is a bound from above, and rates that differ by a rounding have other grids."""
    less = tuple(data.draw(st.floats(0.0, each)) for each in of)
    assert Sampled(less, 2, 2.0).success(PRIOR) <= Sampled(tuple(of), 2, 2.0).success(PRIOR) * (1 + GRID)


def test_a_secret_is_covered_by_one_whose_records_are_all_sampled_as_often():
    wide = Exposed((0.3, 0.2), PRIOR, 1e-3)
    assert wide.covers(Exposed((0.3,), PRIOR, 1e-3))
    assert not wide.covers(Exposed((0.3, 0.3), PRIOR, 1e-3))
    assert not wide.covers(Exposed((0.1, 0.1, 0.1), PRIOR, 1e-3))
    assert not wide.covers(Exposed((0.1,), PRIOR, 5e-4))


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


def test_fair_weights_of_many_secrets_take_no_longer_than_they_should():
    random = np.random.default_rng(0)
    groups = [random.choice(20_000, random.integers(1, 11), replace=False).tolist() for _ in range(5_000)]
    weights = fair_weights(groups, [0.6] * len(groups))
    assert max(weights[group].sum() for group in groups) <= 0.6 + 1e-9
