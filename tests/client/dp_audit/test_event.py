"""The learnt event finds what two datasets' releases differ in, whatever form it has."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pcevolve.dp_audit.bound import AnyMechanism, Outcomes, find_most_telling

RUNS = 8000
INFERENCE = AnyMechanism(delta=0.0, confidence=0.95)


class Releases:
    """Makes up what many runs released."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(11)

    def draws(self, *probabilities: list[float]) -> Outcomes:
        """Independent draws, one per place."""
        columns = [self._generator.choice(len(each), size=RUNS, p=each) for each in probabilities]
        return released(chosen=np.stack(columns, axis=1))

    def normal(self, mean: list[float]) -> Outcomes:
        return released(noisy=self._generator.normal(mean, size=(RUNS, len(mean))))


@pytest.fixture
def releases() -> Releases:
    return Releases()


def released(chosen: np.ndarray | None = None, noisy: np.ndarray | None = None) -> Outcomes:
    nothing = np.zeros((RUNS, 0))
    return Outcomes(
        nothing.astype(np.int64) if chosen is None else chosen, nothing if noisy is None else noisy
    )


def bound(first: Outcomes, second: Outcomes) -> float:
    """As an audit does: learnt on one half, counted on the other."""
    (learn_first, test_first), (learn_second, test_second) = first.halves(), second.halves()
    event = find_most_telling(learn_first, learn_second, INFERENCE)
    counts = event.count(test_first), event.count(test_second)
    likely, rare = counts if event.likelier == "first" else counts[::-1]
    return INFERENCE.epsilon(likely, rare, RUNS // 2)


def test_a_rare_index_is_found_on_whichever_dataset_it_is_likelier(releases):
    often, seldom = [0.3, 0.3, 0.4], [0.05, 0.45, 0.5]
    for first, second in ((often, seldom), (seldom, often)):
        assert bound(releases.draws(first), releases.draws(second)) == pytest.approx(
            math.log(0.3 / 0.05), rel=0.25
        )


def test_evidence_of_several_draws_adds_up(releases):
    high, low = [0.6, 0.4], [0.4, 0.6]
    one, four = (
        bound(releases.draws(high), releases.draws(low)),
        bound(releases.draws(*[high] * 4), releases.draws(*[low] * 4)),
    )
    assert one < math.log(1.5) < 2 * math.log(1.5) < four < 4 * math.log(1.5)


def test_a_shift_of_noisy_numbers_is_found_in_any_direction(releases):
    flat = bound(releases.normal([0.0, 0.0]), releases.normal([1.0, 0.0]))
    tilted = bound(releases.normal([0.0, 0.0]), releases.normal([math.sqrt(0.5), -math.sqrt(0.5)]))
    assert flat == pytest.approx(tilted, rel=0.3)
    assert tilted > 1.5


def test_a_number_without_noise_decides_alone_if_it_differs_and_says_nothing_if_not(releases):
    noisy = releases.normal([0.0, 0.0]).noisy
    constant, different = noisy.copy(), noisy.copy()
    constant[:, 1], different[:, 1] = 3.0, 3.001
    assert bound(released(noisy=constant), released(noisy=constant)) < 0.2
    assert bound(released(noisy=constant), released(noisy=different)) > 6


def test_no_run_is_in_both_halves():
    outcomes = released(chosen=np.arange(RUNS)[:, None])
    learn, test = outcomes.halves()
    assert len(learn) == len(test) == RUNS // 2
    assert not set(learn.chosen.ravel()) & set(test.chosen.ravel())
