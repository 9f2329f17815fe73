"""How often an attacker can be right: never less than any attack attains, and no more than the best one does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pcevolve.dp.accountants import epsilon
from pcevolve.dp.tradeoff import most_true_positives
from pcevolve.privacy import Event

ALPHAS = st.floats(0.001, 0.999)


def gaussian(*multipliers: float) -> list[Event]:
    return [Event("gaussian", str(each)) for each in multipliers]


@given(st.floats(0.2, 50), ALPHAS)
def test_gaussian_noise_has_its_own_exact_curve(multiplier: float, alpha: float):
    exact = stats.norm.cdf(stats.norm.ppf(alpha) + 1 / multiplier)
    assert most_true_positives(gaussian(multiplier), alpha) == pytest.approx(exact, abs=1e-9)
    assert most_true_positives(gaussian(multiplier), alpha) >= exact


def test_several_accesses_add_up_as_their_squares_do():
    one = most_true_positives(gaussian(1.0), 0.05)
    assert most_true_positives(gaussian(2.0, 2.0, 2.0, 2.0), 0.05) == pytest.approx(one)


@given(st.fractions(min_value="1/100", max_value=8), ALPHAS)
def test_randomised_response_attains_the_bound_of_its_pure_loss(value, alpha: float):
    """Two outcomes with log-ratios ±ε: the likeliest test against it, with coins in between, is the bound itself."""
    loss = float(value)
    keep = math.exp(loss) / (1 + math.exp(loss))
    lie = 1 - keep
    attained = keep * alpha / lie if alpha <= lie else keep + lie * (alpha - lie) / keep
    found = most_true_positives([Event("permute-and-flip", str(value))], alpha)
    assert found >= attained - 1e-12
    assert found == pytest.approx(min(attained, 1.0), abs=1e-6)


@given(st.lists(st.sampled_from(["1/2", "1", "3"]), min_size=1, max_size=4), ALPHAS, st.floats(1e-9, 0.5))
def test_it_never_exceeds_what_one_epsilon_at_one_delta_allows(values, alpha: float, delta: float):
    events = [Event("exponential", each) for each in values]
    grid = 10.0 ** (-math.floor(-4 * math.log10(delta)) / 4)  # the accountants are asked on a grid of deltas
    loss = epsilon(events, grid)
    assert most_true_positives(events, alpha) <= min(math.exp(loss) * alpha + grid, 1.0) * (1 + 1e-9)


@given(ALPHAS)
def test_nothing_done_is_a_guess_and_no_noise_is_certainty(alpha: float):
    assert most_true_positives([], alpha) == alpha
    assert most_true_positives([Event("gaussian", "0")], alpha) == 1.0


@given(st.floats(0.3, 10), st.floats(0.01, 0.5), st.floats(0.01, 0.4))
def test_more_false_positives_or_less_noise_help_the_attacker(multiplier: float, alpha: float, more: float):
    here = most_true_positives(gaussian(multiplier), alpha)
    assert alpha <= here <= most_true_positives(gaussian(multiplier), alpha + more)
    assert here <= most_true_positives(gaussian(multiplier * 0.9), alpha)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, math.nan])
def test_a_share_that_is_none_is_refused(share: float):
    with pytest.raises(ValueError, match="share between 0 and 1"):
        most_true_positives(gaussian(1.0), share)


@pytest.mark.statistical
@pytest.mark.parametrize(("noise", "holds"), [(1.0, True), (0.7, False)])
def test_the_best_attack_on_real_draws_comes_close_and_noise_that_is_30_percent_short_is_caught(
    noise: float, holds: bool
):
    """Sums that differ by one sensitivity under noise of multiplier 1: the best test is a threshold."""
    random, draws = np.random.default_rng(1), 40_000
    threshold = noise * stats.norm.ppf(0.95)
    right = float((1.0 + noise * random.normal(size=draws) > threshold).mean())
    bound = most_true_positives(gaussian(1.0), 0.05)
    slack = 4 * math.sqrt(bound * (1 - bound) / draws)
    assert (right <= bound + slack) == holds
    assert right >= bound - slack
