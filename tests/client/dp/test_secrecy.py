"""Secrets: the golden numbers, the best attack against the release, and noise that is too small for the promise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from pcevolve.dp.attacks import most_success, most_success_of, secret_budget, secret_share
from pcevolve.dp.calibration import histogram_sensitivity
from pcevolve.privacy import FREE, Event
from pcevolve.selectors.scene import PrivateEmbeddings
from support.examples import is_nightly

PRIOR = 1e-4
RELATIONS = ("add-remove", "replace-one")


@pytest.mark.parametrize(("factor", "eta"), [(2, 0.178933), (10, 0.628784), (50, 1.143187)])
def test_golden_budgets(factor, eta):
    assert secret_budget(PRIOR, factor * PRIOR) == pytest.approx(eta, abs=5e-7)
    assert most_success(eta, PRIOR) == pytest.approx(factor * PRIOR, rel=1e-4)


@pytest.mark.parametrize(("prior", "bound"), [(0.0, 0.1), (0.2, 0.1), (0.5, 1.0), (1.0, 1.0)])
def test_a_bound_below_the_prior_is_refused(prior, bound):
    with pytest.raises(ValueError, match="0 < prior <= bound < 1"):
        secret_budget(prior, bound)


@given(
    st.floats(1e-6, 0.4),
    st.floats(1.0, 100.0),
    st.integers(1, 50),
    st.floats(0.05, 20.0),
    st.sampled_from(RELATIONS),
    st.integers(0, 2**32 - 1),
)
def test_another_value_of_a_secret_moves_the_counts_by_no_more_than_the_budget(
    prior, factor, holders, multiplier, relation, seed
):
    budget = secret_budget(prior, min(prior * factor, 0.9))
    share = secret_share(budget, holders, multiplier, relation)
    random = np.random.default_rng(seed)
    held = int(random.integers(1, holders + 1))
    before, after = (np.bincount(random.integers(0, 4, held), minlength=4) * share for _ in range(2))
    sigma = multiplier * histogram_sensitivity(relation)
    assert np.linalg.norm(after - before) / sigma <= budget * (1 + 1e-9)
    worst = math.sqrt(2) * holders * share / sigma
    assert share == 1.0 or worst == pytest.approx(budget)


def test_several_releases_say_what_their_events_allow():
    eta = Fraction(secret_budget(PRIOR, 10 * PRIOR))
    assert most_success_of([], PRIOR) == pytest.approx(PRIOR)
    assert most_success_of([FREE, Event("gaussian", str(1 / eta))], PRIOR) == pytest.approx(10 * PRIOR)
    four = Event("gaussian", str(1 / eta), 4)
    assert most_success_of([four], PRIOR) == pytest.approx(most_success(2 * float(eta), PRIOR))


@pytest.mark.parametrize("prior", [1e-6, 1e-4, 1e-2, 0.3])
def test_a_bound_on_draws_is_that_of_pure_privacy_or_better(prior):
    draws = [Event("exponential", "1/2", 3)]
    assert prior < most_success_of(draws, prior) <= math.exp(1.5) * prior * (1 + 1e-3)
    assert most_success_of([Event("exponential", "900")], prior) == 1.0


@pytest.mark.parametrize("prior", [1e-6, 1e-4, 1e-2])
def test_where_the_form_is_closed_the_general_bound_is_not_below_it_and_near(prior):
    noise = Event("gaussian", "2", 3)
    exact = most_success_of([noise], prior)
    general = most_success_of([noise, Event("exponential", "1/1000000")], prior)
    assert exact <= general <= 1.35 * exact


def test_what_a_record_may_count_does_not_depend_on_others():
    private = PrivateEmbeddings(np.zeros((2, 1)), np.zeros(2, int), np.arange(2), caps=np.array([0.3, 1.0]))
    assert private.capped.tolist() == [math.floor(0.3 * 2**30) / 2**30, 1.0]
    assert PrivateEmbeddings(np.zeros((2, 1)), np.zeros(2, int), np.arange(2)).capped.tolist() == [1.0, 1.0]


def success(budget: float, weaker: float, relation: str) -> tuple[float, float]:
    """How often the best attack is right about a secret in ten records, and its standard error.

    It knows all other records, and where the records lie if they hold its guess; it says yes in a share PRIOR of cases
    in which they hold another value.
    """
    holders, multiplier, draws = 10, 0.5, 4_000_000 if is_nightly() else 1_000_000
    share = secret_share(budget, holders, multiplier, relation)
    sigma = multiplier * histogram_sensitivity(relation) * weaker
    noise = np.random.default_rng(1).normal(0, sigma, (draws, 2))
    with_it = noise + np.array([holders * share, 0.0])
    # The likelihood ratio of the two is monotone in the difference of the two cells.
    score = with_it[:, 0] - with_it[:, 1]
    threshold = -holders * share - math.sqrt(2) * sigma * ndtri(PRIOR)
    rate = float(np.mean(score > threshold))
    return rate, math.sqrt(rate * (1 - rate) / draws)


@pytest.mark.statistical
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("factor", [2, 10, 50])
def test_the_best_attack_reaches_the_bound_and_no_more(factor, relation):
    bound = factor * PRIOR
    rate, error = success(secret_budget(PRIOR, bound), 1.0, relation)
    assert abs(rate - bound) < 5 * error


@pytest.mark.statistical
@pytest.mark.parametrize("factor", [10, 50])
def test_noise_that_is_30_percent_too_small_breaks_it(factor):
    bound = factor * PRIOR
    rate, error = success(secret_budget(PRIOR, bound), 0.7, "replace-one")
    assert rate > bound + 5 * error


@given(prior=st.floats(1e-6, 0.4), rise=st.sampled_from([1e-10, 1e-8, 1e-6]))
def test_a_budget_between_close_probabilities_is_rounded_down(prior: float, rise: float):
    bound = prior * (1 + rise)
    density = math.exp(-(ndtri(prior) ** 2) / 2) / math.sqrt(2 * math.pi)
    # Below the median the density rises, so the bound is reached at the latest after a step of this size.
    assert secret_budget(prior, bound) * density <= (bound - prior) * (1 + 1e-9)
