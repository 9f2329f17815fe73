"""How often an attacker can be right: never less than any attack attains, and no more than the best one does."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import ndtri

from pcevolve.public.dp.accountants import epsilon
from pcevolve.public.dp.attacks import (
    most_success,
    most_success_of,
    most_true_positives,
    secret_budget,
    secret_share,
)
from pcevolve.public.dp.calibration import histogram_sensitivity
from pcevolve.public.privacy import FREE, Event
from support.examples import is_nightly

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


kinds = st.sampled_from(["exponential", "permute-and-flip", "gaussian"])
histories = st.lists(
    st.builds(Event, kinds, st.sampled_from(["1/2", "1", "3"]), st.integers(1, 9)), min_size=1, max_size=3
)


@given(histories, ALPHAS, st.floats(1e-9, 0.5))
def test_it_never_exceeds_what_any_epsilon_at_any_delta_allows(events, alpha: float, delta: float):
    loss = epsilon(events, delta)
    few, many = math.exp(loss) * alpha + delta, 1 - math.exp(-loss) * (1 - delta - alpha)
    assert most_true_positives(events, alpha) <= min(few, many, 1.0) + 1e-6


def best_attack(truth: list[float], neighbour: list[float], alpha: float) -> float:
    """True positives of the likelihood-ratio test between two distributions over the same outcomes (Neyman-Pearson)."""
    found = 0.0
    pairs = zip(truth, neighbour, strict=True)
    for right, wrong in sorted(pairs, key=lambda pair: pair[1] / pair[0]):
        share = min(1.0, alpha / wrong)
        found, alpha = found + share * right, alpha - share * wrong
    return found


def choices(rate: float, scores: tuple[float, ...], count: int) -> list[float]:
    """Probability of every sequence of draws by the exponential mechanism."""
    weights = [math.exp(rate * each) for each in scores]
    one = [each / sum(weights) for each in weights]
    return [math.prod(each) for each in itertools.product(one, repeat=count)]


@pytest.mark.parametrize("candidates", [2, 3])
@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("eta", ["1/4", "1", "5/2"])
def test_no_attack_on_the_exponential_mechanism_exceeds_the_bound(eta: str, count: int, candidates: int):
    """The one vote of a unit goes from the first candidate to the last: the whole bounded range is used."""
    rate = float(Fraction(eta)) / 2
    scores = (1.0, *([0.0] * (candidates - 1)))
    for alpha in (0.01, 0.05, 0.2):
        truth, neighbour = choices(rate, scores, count), choices(rate, scores[::-1], count)
        attack = best_attack(truth, neighbour, alpha)
        assert attack <= most_true_positives([Event("exponential", eta, count)], alpha)


def test_one_draw_of_a_bounded_range_attains_the_bound_and_a_mechanism_that_is_30_percent_off_breaks_it():
    """Of the two outcomes the rarer one has probability α: no test of one such draw is better."""
    alpha, eta = 0.05, 1.0
    odds = alpha / (1 - alpha) * math.exp(eta)
    found = most_true_positives([Event("exponential", "1")], alpha)
    assert odds / (1 + odds) <= found == pytest.approx(odds / (1 + odds), rel=0.01)
    off = alpha / (1 - alpha) * math.exp(eta / 0.7)
    assert off / (1 + off) > found


def test_a_mixture_of_noise_and_draws_is_bounded_too():
    draws, alpha = 200_000, 0.05
    random = np.random.default_rng(3)
    keep = 1 / (1 + math.exp(-1))

    def losses(used: bool) -> np.ndarray:
        """Log-likelihood ratios of Gaussian noise of multiplier 1 and one randomised response with ε = 1."""
        noisy = used + random.normal(size=draws)
        said = random.random(draws) < (keep if used else 1 - keep)
        return noisy - 0.5 + np.where(said, 1.0, -1.0)

    attack = float((losses(True) > np.quantile(losses(False), 1 - alpha)).mean())
    bound = most_true_positives([*gaussian(1.0), Event("permute-and-flip", "1")], alpha)
    assert attack <= bound <= attack + 0.12
    assert bound > most_true_positives(gaussian(1.0), alpha)


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


@given(
    st.lists(
        st.builds(
            Event,
            kinds,
            st.sampled_from(["0", "1/" + "9" * 300, "1/1000000", "7", "1000", "9" * 300]),
            st.sampled_from([1, 3, 10**9]),
        ),
        max_size=4,
    ),
    st.floats(1e-9, 1 - 1e-9),
)
def test_whatever_a_record_claims_the_answer_is_a_share_that_is_no_less_than_guessing(events, alpha: float):
    assert alpha <= most_true_positives(events, alpha) <= 1


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
