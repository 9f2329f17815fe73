"""A provider who sees everything that leaves cannot tell neighbouring datasets apart better than (ε, δ) allows.

Few runs, so that it is quick; ``benchmarks.membership`` makes hundreds for each method and ε. Everything is seeded:
a test that passes once passes always.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from scipy import stats

from membership.attack import Bare, attack, bound, ceiling, limits, power, rehearse, too_quiet
from membership.world import Setting
from pcevolve.public.privacy import Event

pytestmark = pytest.mark.statistical

RUNS = 50
METHODS = ("random", "pcevolve", "jvem", "pe", "dp-means")
LOOKING = METHODS[1:]


def game(method: str) -> Setting:
    return Setting(method, Fraction(4), rounds=1)


@pytest.mark.parametrize("method", METHODS)
def test_an_attacker_who_sees_everything_stays_below_the_bound(method: str):
    setting, bet = game(method), rehearse(game(method))
    result = attack(setting, RUNS, bet)
    assert result.high < result.bound
    assert result.low <= result.expected <= result.high


@pytest.mark.parametrize("method", LOOKING)
def test_a_client_without_noise_is_seen_through(method: str):
    setting, bet = game(method), rehearse(game(method))
    leaky = attack(setting, 40, bet, noise_of=lambda number: Bare())
    assert leaky.advantage == 1
    assert not leaky.as_expected
    assert not leaky.as_paid


def test_a_client_with_30_percent_too_little_noise_is_found_out():
    setting, bet = game("jvem"), rehearse(game("jvem"))
    result = attack(setting, 200, bet, rehearse(setting, too_quiet), too_quiet)
    assert result.power is not None
    assert result.power > 0.9
    assert not result.as_expected
    assert not result.as_paid


@pytest.mark.parametrize("method", ["pcevolve", "jvem"])
def test_the_attack_leaves_nothing_to_be_desired(method: str):
    """It reaches what the events allow, so a selector whose sensitivity is understated by 30 % is over it."""
    setting, bet = game(method), rehearse(game(method))
    true, false = bet.expected()
    allowed = ceiling(setting.events[1])
    assert allowed - 0.08 < true - false < allowed + 0.02
    understated = [replace(each, parameter=str(each.value / Fraction(7, 10))) for each in setting.events[1]]
    assert ceiling(understated) > allowed + 0.1


def test_what_one_draw_allows_is_known_in_closed_form():
    assert ceiling([Event("exponential", "4")]) == pytest.approx(math.tanh(4 / 4))
    assert ceiling([Event("gaussian", "1/2")]) == pytest.approx(2 * stats.norm.cdf(1) - 1)
    assert ceiling([Event("uniform")]) == 0


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (4, 1e-5), (0, 0), (0, 0.1)])
def test_the_bound_is_reached_by_randomised_response(epsilon: float, delta: float):
    """Truth with probability δ, else randomised response: total variation δ + (1 - δ) (e^ε - 1)/(e^ε + 1)."""
    tell = delta + (1 - delta) * math.tanh(epsilon / 2)
    assert bound(epsilon, delta) == pytest.approx(tell)


def test_the_limits_of_an_advantage_hold_as_often_as_they_say():
    true, false, runs = 0.7, 0.4, 60
    low, high = limits(runs)
    covered = (low <= true - false) & (true - false <= high)
    chances = (stats.binom.pmf(range(runs + 1), runs, each) for each in (true, false))
    assert next(chances) @ covered @ next(chances) >= 0.95


def test_power_is_the_false_alarm_rate_when_nothing_is_off():
    assert power((0.7, 0.3), (0.7, 0.3), 200) < 0.025
    assert power((0.7, 0.3), (0.9, 0.1), 200) > 0.99
