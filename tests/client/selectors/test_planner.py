"""Plans before anything is spent: their prices, and how often the ideal case of each family finds the best tenth."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcevolve.dp.mechanisms import SeededNoise
from pcevolve.dp.sensitivity import bounded_sum_sensitivity, histogram_sensitivity
from pcevolve.errors import UsageError
from pcevolve.privacy import Budget, Event
from pcevolve.selectors import METHODS, Scope, method
from pcevolve.selectors.contrastive import exponential_lift
from pcevolve.selectors.control import best_tenth, uniform_lift
from pcevolve.selectors.joint import joint_lift
from pcevolve.selectors.means import means_lift
from pcevolve.selectors.planner import plan, plan_for_noise, verdict
from pcevolve.selectors.votes import draws_lift, histogram_lift

unhurried = settings(deadline=None)  # other people's work on the same cores is no failure
SCOPE = Scope("replace-one", iterations=20, classes=2, shots=10, candidates=100)
TEN = Budget(Fraction(10), 1e-5)
LIFTS = {
    exponential_lift: "exponential",
    joint_lift: "exponential",
    draws_lift: "exponential",
    histogram_lift: "gaussian",
    means_lift: "gaussian",
}
every_lift = pytest.mark.parametrize(
    ("lift", "mechanism"), LIFTS.items(), ids=lambda each: getattr(each, "__name__", "")
)

scopes = st.builds(
    Scope,
    relation=st.sampled_from(["replace-one", "add-remove"]),
    iterations=st.integers(1, 60),
    classes=st.integers(1, 40),
    shots=st.integers(1, 1000),
    candidates=st.integers(1, 2000),
)


def event(mechanism: str, value: float) -> tuple[Event, ...]:
    return (Event(mechanism, str(Fraction(value))),)


# Plans.


def test_the_published_setting_of_pcevolve_cannot_be_told_from_chance():
    planned = plan(Budget(Fraction(10)), method("pcevolve"), SCOPE)
    assert planned.epsilon_per_query == 0.25
    assert planned.epsilon_total == 10
    assert planned.totals == {"pure": 10.0, "zcdp": None, "rdp": None, "gdp": None}
    # The best candidate is only e^0.125 = 1.13 times as likely as the worst
    assert planned.lift_top10 == pytest.approx(0.1118, abs=1e-4)
    assert planned.verdict == "cannot be told from choosing at random"


@pytest.mark.parametrize(
    ("name", "delta", "folder"), [("pcevolve", 0.0, 20), ("pe", 1e-5, 24.38893), ("dp-means", 1e-5, 24.38893)]
)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_ten_is_more_for_the_folder_that_a_subsample_is_drawn_of(name, delta, folder, relation):
    planned = plan(Budget(Fraction(10), delta), method(name), replace(SCOPE, relation=relation))
    assert planned.epsilon_total == pytest.approx(10, rel=1e-6)
    assert planned.epsilon_folder == pytest.approx(folder, rel=1e-6)


def test_private_evolution_s_cat_experiments_cost_what_the_paper_says():
    cats = replace(SCOPE, relation="add-remove", iterations=13)
    planned = plan_for_noise(Fraction(2), 1e-3, method("pe"), cats)
    assert planned.epsilon_total == pytest.approx(6.62, abs=0.005)
    assert (planned.noise_multiplier, planned.sigma, planned.sigma_unit) == (2.0, 2.0, "votes")


@pytest.mark.parametrize("iterations", [0, 20])
@pytest.mark.parametrize(
    ("name", "look"),
    [
        ("pe", None),
        ("pe", "matched"),
        ("dp-means", None),
        ("dp-means", "as-is"),
        ("dp-means", "auto"),
    ],
)
def test_planning_for_noise_undoes_planning_for_epsilon(name, look, iterations):
    scope = replace(SCOPE, iterations=iterations if name == "dp-means" else 20)
    there = plan(TEN, method(name), scope, appearance=look)
    back = plan_for_noise(Fraction(there.noise_multiplier), 1e-5, method(name), scope, look)
    assert back.epsilon_total == pytest.approx(10, rel=1e-6)
    assert back.lift_top10 == pytest.approx(there.lift_top10)
    assert [each.count for each in back.events] == [each.count for each in there.events]


@pytest.mark.parametrize("multiplier", ["1/2", "40"])
def test_an_appearance_that_noise_would_blur_is_not_paid_for(multiplier):
    planned = plan_for_noise(Fraction(multiplier), 1e-5, method("dp-means"), SCOPE)
    assert sum(each.count for each in planned.events if not each.free) == (3 if multiplier == "1/2" else 2)


@pytest.mark.parametrize("name", sorted(METHODS))
def test_every_method_has_a_plan_that_fits_and_is_plain_json(name):
    planned = plan(TEN, method(name), SCOPE)
    assert planned.within_budget
    assert planned.epsilon_total <= 10
    assert 0 <= planned.lift_top10 <= 1
    values = json.loads(json.dumps(planned.as_dict(), allow_nan=False))
    assert (values["method"], values["iterations"], values["relation"]) == (name, 20, "replace-one")


@pytest.mark.parametrize("name", ["random", "t2i"])
def test_methods_that_look_at_nothing_cost_nothing_and_are_chance(name):
    planned = plan(TEN, method(name), SCOPE)
    assert (planned.epsilon_per_query, planned.epsilon_total, planned.lift_top10) == (0, 0, 0.1)
    assert planned.verdict == "cannot be told from choosing at random"


def test_methods_that_plan_no_rounds_cost_nothing():
    assert plan(TEN, method("t2i"), replace(SCOPE, iterations=0)).epsilon_total == 0


@pytest.mark.parametrize("name", [each.name for each in METHODS.values() if each.published])
def test_a_published_calibration_buys_less(name):
    tight = plan(TEN, method(name), SCOPE)
    published = plan(TEN, method(name), SCOPE, "published")
    assert published.lift_top10 < tight.lift_top10
    assert published.epsilon_total < tight.epsilon_total


def test_a_published_calibration_beyond_its_theorem_is_told_as_what_it_is():
    # The classical formula holds for epsilon < 1 per step only.
    planned = plan(Budget(Fraction(100), 1e-5), method("pe"), replace(SCOPE, iterations=3), "published")
    assert planned.epsilon_total > 100
    assert not planned.within_budget


def test_a_method_without_noise_has_no_plan_for_a_noise_multiplier():
    with pytest.raises(UsageError, match="'jvem' adds no Gaussian noise: give --epsilon"):
        plan_for_noise(Fraction(2), 1e-5, method("jvem"), SCOPE)


def test_a_plan_for_noise_needs_a_delta():
    with pytest.raises(UsageError, match="needs --delta"):
        plan_for_noise(Fraction(2), 0.0, method("pe"), SCOPE)


@pytest.mark.parametrize(
    ("name", "relation", "sensitivity"),
    [
        ("pe", "add-remove", 1.0),
        ("pe", "replace-one", math.sqrt(2)),
        ("dp-means", "add-remove", 0.5),  # of deviations, which are clipped to half the radius
        ("dp-means", "replace-one", 1.0),
    ],
)
def test_sigma_is_the_multiplier_times_the_sensitivity_under_the_relation(name, relation, sensitivity):
    planned = plan(TEN, method(name), replace(SCOPE, relation=relation))
    assert planned.sigma == pytest.approx(planned.noise_multiplier * sensitivity)


@pytest.mark.parametrize(
    ("lift", "words"),
    [(0.1, "cannot be told"), (0.149, "cannot"), (0.2, "weak"), (0.5, "useful"), (0.9, "strong")],
)
def test_the_verdict_grows_with_the_lift(lift, words):
    assert verdict(lift, chance=0.1).startswith(words)


def test_a_lift_that_is_all_luck_is_called_so():
    # One of four candidates is "the best tenth", so chance alone finds it a quarter of the time.
    assert verdict(0.25, chance=0.25) == "cannot be told from choosing at random"


# Lifts.


@every_lift
@unhurried
@given(scope=scopes)
def test_a_hopeless_budget_is_no_better_than_chance(lift, mechanism, scope):
    worthless = 1e-9 if mechanism == "exponential" else 1e9
    assert lift(event(mechanism, worthless), scope) == pytest.approx(uniform_lift((), scope), rel=0.01)


@every_lift
@unhurried
@given(scope=scopes)
def test_a_boundless_budget_finds_the_best_tenth(lift, mechanism, scope):
    priceless = 1e6 if mechanism == "exponential" else 1e-9
    assert lift(event(mechanism, priceless), scope) == pytest.approx(1, abs=1e-3)


@every_lift
@unhurried
@given(scope=scopes, value=st.floats(0.01, 20), factor=st.floats(1, 10))
def test_a_larger_budget_never_lifts_less(lift, mechanism, scope, value, factor):
    more = value * factor if mechanism == "exponential" else value / factor
    assert lift(event(mechanism, more), scope) >= lift(event(mechanism, value), scope) - 1e-9


@pytest.mark.parametrize("lift", [joint_lift, draws_lift, histogram_lift, means_lift])
def test_more_shots_lift_more(lift):
    one = event(LIFTS[lift], 0.5 if LIFTS[lift] == "exponential" else 4.0)
    lifts = [lift(one, replace(SCOPE, shots=shots)) for shots in (2, 10, 50, 250)]
    assert lifts == sorted(lifts)
    assert lifts[-1] > 2 * lifts[0]


def test_the_best_tenth_is_never_nobody():
    assert [best_tenth(count) for count in (1, 9, 10, 11, 100)] == [1, 1, 1, 2, 10]


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


def test_a_vote_is_worth_half_as_much_where_records_are_replaced():
    replaced, removed = SCOPE, replace(SCOPE, relation="add-remove")
    assert joint_lift(event("exponential", 1.0), replaced) == joint_lift(event("exponential", 0.5), removed)
    assert histogram_sensitivity("replace-one") == pytest.approx(math.sqrt(2))
