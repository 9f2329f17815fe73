"""Plans before anything is spent: their prices, and how often the ideal case of each family finds the best tenth."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from pcevolve.public.dp.calibration import bounded_sum_sensitivity
from pcevolve.public.dp.mechanisms import SeededNoise
from pcevolve.public.privacy import Budget
from pcevolve.public.selectors import METHODS, Scope, find_method
from pcevolve.public.selectors.contrastive import exponential_lift
from pcevolve.public.selectors.joint import joint_lift
from pcevolve.public.selectors.means import means_lift
from pcevolve.public.selectors.planner import describe_lift, plan, plan_for_noise
from pcevolve.public.selectors.votes import histogram_lift
from support.contract import SCOPES, scope
from support.lifts import event, every_lift

SCOPE = scope(iterations=20)
TEN = Budget(Fraction(10), 1e-5)


def test_the_published_setting_of_pcevolve_cannot_be_told_from_chance():
    planned = plan(Budget(Fraction(10)), find_method("pcevolve"), SCOPE)
    assert planned.epsilon_per_query == 0.25
    assert planned.epsilon_total == 10
    assert planned.totals == {"pure": 10.0, "zcdp": None, "rdp": None, "gdp": None}
    # The best candidate is only e^0.125 = 1.13 times as likely as the worst
    assert planned.lift_top10 == pytest.approx(0.1118, abs=1e-4)
    assert planned.verdict == "indistinguishable from random choice"


@pytest.mark.parametrize(
    ("name", "delta", "folder"), [("pcevolve", 0.0, 20), ("pe", 1e-5, 24.38893), ("dp-means", 1e-5, 24.38893)]
)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_ten_is_more_for_the_folder_that_a_subsample_is_drawn_of(name, delta, folder, relation):
    planned = plan(Budget(Fraction(10), delta), find_method(name), replace(SCOPE, relation=relation))
    assert planned.epsilon_total == pytest.approx(10, rel=1e-6)
    assert planned.epsilon_folder == pytest.approx(folder, rel=1e-6)


@pytest.mark.parametrize("multiplier", ["1/2", "40"])
def test_an_appearance_that_noise_would_blur_is_not_paid_for(multiplier):
    planned = plan_for_noise(Fraction(multiplier), 1e-5, find_method("dp-means"), SCOPE)
    assert sum(each.count for each in planned.events if not each.free) == (3 if multiplier == "1/2" else 2)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_a_plan_that_fits_and_is_plain_json(name):
    planned = plan(TEN, find_method(name), SCOPE)
    assert planned.within_budget
    assert planned.epsilon_total <= 10
    assert 0 <= planned.lift_top10 <= 1
    values = json.loads(json.dumps(planned.as_dict(), allow_nan=False))
    assert (values["method"], values["iterations"], values["relation"]) == (name, 20, "replace-one")


@every_lift
@given(scope=SCOPES)
def test_a_boundless_budget_finds_the_best_tenth(lift, mechanism, scope):
    priceless = 1e6 if mechanism == "exponential" else 1e-9
    assert lift(event(mechanism, priceless), scope) == pytest.approx(1, abs=1e-3)


def test_the_exponential_lift_is_the_frequency_of_real_draws():
    utilities = np.repeat([1.0, 0.0], [10, 90])
    noise = SeededNoise(3)
    draws = [noise.exponential(str(k), utilities, Fraction(4) / 2) for k in range(4000)]
    assert np.mean(np.array(draws) < 10) == pytest.approx(
        exponential_lift(event("exponential", 4), SCOPE), abs=0.03
    )


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_joint_lift_is_that_of_a_whole_block_s_tuples(relation):
    scope = Scope(relation, iterations=1, classes=2, shots=3, candidates=10)
    rate = 1.4 if relation == "add-remove" else 0.7
    agrees = np.zeros((10, 10))
    agrees[0, :] += 3.0  # class 0's records vote for tuples with its best candidate, class 1's likewise
    agrees[:, 0] += 3.0
    odds = np.exp(rate * agrees)
    assert joint_lift(event("exponential", 1.4), scope) == pytest.approx(odds[0].sum() / odds.sum())


@pytest.mark.parametrize(("shots", "sigma"), [(10, 1.0), (4, 0.5), (60, 3.0)])
def test_the_histogram_s_lift_is_the_share_of_simulated_histograms(shots, sigma):
    scope = replace(SCOPE, relation="add-remove", shots=shots)
    votes = np.zeros(100)
    votes[: min(shots, 10)] = max(shots / 10, 1)
    noisy = np.maximum(votes + sigma * np.random.default_rng(0).normal(size=(20_000, 100)), 0)
    share = (noisy[:, :10].sum(axis=1) / noisy.sum(axis=1)).mean()
    assert histogram_lift(event("gaussian", sigma), scope) == pytest.approx(share, rel=0.01)


@pytest.mark.parametrize(
    ("relation", "multiplier"), [("replace-one", 4.0), ("add-remove", 8.0), ("replace-one", 1.0)]
)
def test_the_means_lift_is_that_of_simulated_spheres(relation, multiplier):
    scope = replace(SCOPE, relation=relation)
    generator, coordinates, runs = np.random.default_rng(2), 256, 4000
    released = (
        multiplier * bounded_sum_sensitivity(relation) / 10 * generator.normal(size=(runs, coordinates))
    )
    released[:, 0] += 1.0  # the private mean, at the radius R = 1
    cosines = released[:, 0] / np.linalg.norm(released, axis=1)
    others = generator.normal(size=100_000) / math.sqrt(coordinates)  # cosines of random directions
    chosen = (cosines > np.quantile(others, 0.9)).mean()
    assert means_lift(event("gaussian", multiplier), scope) == pytest.approx(chosen, abs=0.03)


@pytest.mark.parametrize(
    ("name", "relation", "sigma", "unit"),
    [
        ("pe", "add-remove", 4.0, "votes"),
        ("pe", "replace-one", 4 * math.sqrt(2), "votes"),
        ("dp-means", "add-remove", 2.0, "clip radii R"),  # deviations are clipped to half the radius
    ],
)
def test_a_plan_says_the_deviation_of_its_noise_and_of_what(name, relation, sigma, unit):
    planned = plan_for_noise(Fraction(4), 1e-5, find_method(name), replace(SCOPE, relation=relation))
    assert planned.sigma == pytest.approx(sigma)
    assert planned.sigma_unit == unit


def test_a_plan_of_draws_says_no_deviation():
    planned = plan(Budget(Fraction(10)), find_method("pcevolve"), SCOPE)
    assert (planned.sigma, planned.sigma_unit) == (None, None)


@pytest.mark.parametrize(
    ("lift", "words"),
    [
        (0.149, "indistinguishable from random choice"),
        (0.151, "weak: most prototypes would be selected by chance"),
        (0.41, "useful: most selections follow the private data"),
        (0.76, "strong: among the images that the provider draws, the selections follow the private data"),
    ],
)
def test_a_lift_is_worth_a_word_from_half_as_much_again_as_luck(lift: float, words: str):
    assert describe_lift(lift, chance=0.1) == words
